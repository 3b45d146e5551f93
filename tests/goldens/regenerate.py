"""The page of every example, section by section, kept so that an expert can read what a change does.

python tests/goldens/regenerate.py            shows how the answers differ from the kept pages
python tests/goldens/regenerate.py --write    keeps the answers as they are now
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path


HERE = Path(__file__).parent
ROOT = HERE.parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from whichgpu.cli.advisor import names_of
from whichgpu.cli.render.decision import decision_blocks
from whichgpu.cli.render.screen import Screen
from whichgpu.cli.render.text import to_text
from whichgpu.engine.advisor.advisor import Advisor, shipped_advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.yaml import read_yaml


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def pages(advisor: Advisor, folder: Path = ROOT / "examples") -> dict[str, str]:
    """For each example its page in plain text. Digests, and which engine fired, say nothing about the answer."""
    names = names_of(advisor)
    made = {}
    for path in sorted(folder.glob("*.yaml")):
        answer = advisor.decide(read_yaml(path, error=InputError), decided_at=MOMENT).to_dict()
        answer["fired_by"] = "either engine"
        answer["rulebook"]["digest"] = answer["knowledge"]["digest"] = "*" * 12
        made[path.stem] = to_text(decision_blocks(answer, names), Screen())
    return made


def kept() -> dict[str, str]:
    """The kept pages."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.txt"))}


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What changed, as a unified diff over all pages; empty where nothing did."""
    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, "").splitlines(keepends=True), after.get(name, "").splitlines(keepends=True)
        lines += difflib.unified_diff(old, new, f"kept/{name}.txt", f"now/{name}.txt", n=2)
    return "".join(lines)


def main(arguments: list[str]) -> int:
    """Show the difference, and keep the new pages if asked to. The exit code is 1 where kept and new differ."""
    before, after = kept(), pages(shipped_advisor())
    changes = difference(before, after)
    sys.stdout.write(changes or "The answers are as kept.\n")
    if "--write" in arguments:
        for name in set(before) - set(after):
            (HERE / f"{name}.txt").unlink()
        for name, page in after.items():
            (HERE / f"{name}.txt").write_text(page, encoding="utf-8")
        return 0
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
