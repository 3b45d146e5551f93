"""Records of earlier revisions of this repository, audited by the program of today.

    python benchmarks/revisions.py [--revisions 20] [--first-form 4] [--keep FOLDER]

Each revision is unpacked as a work tree of its own, and its own program saves signed records of two of its examples.
Of those each must be authentic, complete, and true as of its day: the same bytes, or with the differences named. Where
today's answer is another, what changed it has to be named. Records from before the second form must read as unsigned
with an intact checksum. What fails is printed, and the exit code is 1. It needs git and the whole history.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from whichgpu import Advisor, load_advisor
from whichgpu.engine.core import InputError
from whichgpu.engine.explain import Check, audit
from whichgpu.engine.records import Keyring, PublicKey, read_saved


TOP = Path(__file__).resolve().parents[1]
#: The commit that brings this file brings records of the second form that state their arithmetic.
SECOND_FORM = "engine/records/arithmetic.py"
ADDED = ("log", "--diff-filter=A", "--format=%H")
#: Two of them of each revision, in turn.
EXAMPLES = ("qlora-7b", "llm-chat-8b", "object-detection", "lora-13b", "llm-serving-70b", "sdxl-training")
UNSIGNED = "unsigned, checksum intact"


def git(*words: str) -> str:
    """What git says in this repository."""
    return subprocess.run(["git", "-C", str(TOP), *words], capture_output=True, check=True, text=True).stdout.strip()


def revisions(amount: int, before: int) -> tuple[list[str], list[str]]:
    """Commits that save records of the second form, and some before them: evenly spread over those that change code.

    Those of the main line alone: what lies between on a branch was never handed out.
    """
    first = git(*ADDED, "--", SECOND_FORM).split()[-1]
    code = ("--", "engine", "rules", "knowledge")
    line = ("rev-list", "--reverse", "--first-parent")
    since = [first, *git(*line, "--ancestry-path", f"{first}..HEAD", *code).split()]
    # Before these the package had another name, and its program would not be the one that runs.
    named = git(*ADDED, "--", "whichgpu/__init__.py").split()[-1]
    older = git(*line, f"{named}..{git(*ADDED, '--', 'engine/records/statement.py').split()[-1]}^", *code).split()
    return spread(since, amount), spread(older, before)


def spread(commits: Sequence[str], amount: int) -> list[str]:
    """So many of them, the first and the last among them."""
    if amount < 2:
        return list(commits[:amount])
    return [commits[round(number * (len(commits) - 1) / (amount - 1))] for number in range(amount)]


def saved_by(commit: str, examples: Sequence[str], folder: Path, home: Path) -> list[Path]:
    """Records of examples, saved by a revision's own program; what it prints where it saves none."""
    tree, files = folder / "tree", []
    git("worktree", "add", "--detach", "--force", str(tree), commit)
    try:
        for name in examples:
            file = folder / f"{commit[:8]}-{name}.json"
            own = {"PYTHONPATH": str(tree), "XDG_CONFIG_HOME": str(home), "WHICHGPU_CACHE": "off"}
            words = ["recommend", str(tree / "examples" / f"{name}.yaml"), "--save", str(file)]
            done = subprocess.run(
                [sys.executable, "-P", "-m", "whichgpu", *words],
                env={**os.environ, **own},
                capture_output=True,
                check=False,
                text=True,
            )
            if file.exists():
                files.append(file)
            else:
                print(f"{commit[:8]} saves no record of {name}: {done.stderr.strip()[-200:]}")
    finally:
        git("worktree", "remove", "--force", str(tree))
    return files


def faults_of(checks: Mapping[str, Check], *, first_form: bool) -> list[str]:
    """What an audit of an honest record says that it should not, or leaves out."""
    authentic, then, today = checks["authentic"], checks["true_then"], checks["same_today"]
    faults = []
    if first_form:
        if authentic.says != UNSIGNED:
            faults.append(f"authentic: {authentic.says}")
        if then.holds is False:
            faults.append(f"true then: {then.says}")
    else:
        if not authentic.holds:
            faults.append(f"authentic: {authentic.says} {authentic.findings}")
        if not then.holds:
            faults.append(f"true then: {then.says} {then.findings}")
    if checks["complete"].holds is not True:
        faults.append(f"complete: {checks['complete'].says} {checks['complete'].findings[:3]}")
    # The answer's own change and, after it, what changed it.
    causes = [finding for finding in today.findings if " became " not in finding]
    if today.holds is False and not causes:
        faults.append(f"today: {today.says}, and no cause is named: {today.findings}")
    return faults


def audited(file: Path, advisor: Advisor, trusted: Mapping[str, PublicKey]) -> dict[str, Check]:
    """The checks of a record by name."""
    saved = read_saved(file.read_bytes(), file.name, trusted)
    return {check.name: check for check in audit(saved, advisor, today=datetime.now(UTC))}


def main() -> int:
    """Run, print a line for each record and the figures, and say whether every record passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--revisions", type=int, default=20)
    parser.add_argument("--first-form", type=int, default=4)
    parser.add_argument("--keep", type=Path, help="keep the records here, and take those that lie here already")
    options = parser.parse_args()
    advisor, started = load_advisor(tests=False), time.process_time()
    since, older = revisions(options.revisions, options.first_form)
    counted: Counter[str] = Counter()
    failed = 0
    with TemporaryDirectory(prefix="whichgpu-") as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        home = folder / "home"
        ring = Keyring(home / "whichgpu" / "keys")
        trusted = {key.id: key for key in (ring.own() or ring.create("bench", None),)}
        for number, commit in enumerate([*older, *since]):
            first_form = number < len(older)
            files = sorted(folder.glob(f"{commit[:8]}-*.json"))
            examples = [EXAMPLES[(2 * number + more) % len(EXAMPLES)] for more in (0, 1)]
            for file in files or saved_by(commit, examples, folder, home):
                form = "first form" if first_form else "second form"
                counted[f"{form}, records"] += 1
                try:
                    checks = audited(file, advisor, trusted)
                except InputError as error:
                    faults = [f"refused: {error}"]
                else:
                    faults = faults_of(checks, first_form=first_form)
                    then, today = checks["true_then"], checks["same_today"]
                    held = "the same bytes" if then.holds and not then.findings else f"{then.holds}, {then.says}"
                    counted[f"{form}, as of its day: {held.partition(' (')[0]}"] += 1
                    counted[f"{form}, today: {'the same answer' if today.holds else 'another'}"] += 1
                    print(f"{file.stem}: {held}; {'; '.join(then.findings[:2])} | today: {'; '.join(today.findings)}")
                failed += bool(faults)
                for fault in faults:
                    print(f"  {file.stem} FAILS: {fault}", flush=True)
    print(f"{len(since)} revisions and {len(older)} of before: {failed} records fail")
    for what, count in sorted(counted.items()):
        print(f"  {count:3} {what}")
    print(f"{time.process_time() - started:.0f} s of CPU time here")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
