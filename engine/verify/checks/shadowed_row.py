"""Row of a ``hit: first`` table that an earlier row always takes.

Why: the row is never reached, so what it says never counts.

Bad::

      rows:
        - {id: any, if: ['-'], then: {set: {tier: low}}}
        - {id: large, if: ['>= 70'], then: {set: {tier: high}}}

Good: the special row first, the general one last.

Silence: put ``# lint: allow shadowed-row`` at the end of the line with the row's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.verify.boxes import boxes_of
from engine.verify.finding import Check
from engine.verify.finding import Desk
from engine.verify.finding import Finding


def _run(desk: Desk) -> Iterator[Finding]:
    for table in desk.rulebook.tables:
        if table.hit != "first":
            continue
        rows = [desk.rulebook.rule(row) for row in table.rows]
        boxes = [boxes_of(row, desk.vocabulary) for row in rows]
        for at, row in enumerate(rows):
            for before in range(at):
                covered = all(any(box.within(wide) for wide in boxes[before]) for box in boxes[at])
                same = [condition.expr for condition in row.when] == [condition.expr for condition in rows[before].when]
                if boxes[at] and (covered or same):
                    yield CHECK.about(
                        row,
                        f"{row.id} is never reached: {rows[before].id} matches wherever it does",
                        fix=f"move it above {rows[before].id}, or narrow that row",
                    )
                    break


CHECK = Check("shadowed-row", "error", _run, __doc__ or "")
