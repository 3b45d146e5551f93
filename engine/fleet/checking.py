"""Jobs of a result decided again the long way, as ``recommend`` decides them, and held against their rows."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.fleet.store import Manifest, read_parts


class Checked(NamedTuple):
    """How many jobs were decided again, and which came out otherwise, by row."""

    jobs: int
    otherwise: tuple[int, ...]


def check_result(folder: Path, manifest: Manifest, advisor: Advisor, amount: int, seed: int = 0) -> Checked:
    """Decide random jobs of a result again, with all rules fired as for a record, and compare the whole answers.

    Args:
        folder: of the result.
        manifest: of it.
        advisor: with the same rules and prices.
        amount: jobs, at most as many as were decided; equal ones count each.
        seed: of the choice.

    Raises:
        InputError: a part cannot be read.
    """
    chance, seen = random.Random(seed), 0  # noqa: S311 - a sample of rows guards no secret.
    drawn: list[tuple[int, str, str]] = []
    for columns, _rows in read_parts(folder, manifest, ("row", "facts", "answer")):
        for job in zip(*(columns[name].items() for name in ("row", "facts", "answer")), strict=True):
            if job[2] is None:
                continue
            seen += 1
            if len(drawn) < amount:
                drawn.append(job)
            elif (place := chance.randrange(seen)) < amount:
                drawn[place] = job
    moment = datetime.fromisoformat(manifest.decided_at)
    otherwise = [row for row, facts, answer in drawn if not _same(advisor, facts, answer, moment)]
    return Checked(len(drawn), tuple(sorted(otherwise)))


def _same(advisor: Advisor, facts: str, answer: str, moment: datetime) -> bool:
    decision = advisor.decide(msgspec.json.decode(facts), decided_at=moment)
    compact, full = decision.compact(), decision.to_dict(traced=False)
    stored = msgspec.json.decode(answer)
    plan = full["recommendation"]
    named = (plan["id"] if plan else None, full["procurement"]["verdict"])
    again = msgspec.json.decode(msgspec.json.encode(compact))
    return bool(again == stored) and named == ((stored["plan"] or {}).get("id"), stored["procurement"])
