"""Every command that writes, on a file system of 64 KB that fills up: nothing that was there is lost, nothing is cut.

    python benchmarks/small_disk.py

It makes the file system in a namespace of its own (Linux, `unshare`), so that it needs no rights and leaves nothing.
Each command runs with less and less room. It must either do all of its work or refuse with exit code 2 and leave what
was there as it was; a session keeps the answers that it had room for.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from whichgpu.cli.main import run


SIZE_KB = 64
ROOM_LEFT_KB = (60, 24, 12, 8, 4, 0)
RULE = """\
# The user's own rule: this comment must survive.
rules:
  - id: no-t4-here
    stage: reject
    each: plan
    because:  the site has none
    when: [ {plan.gpu: nvidia-t4} ]
    then: [ {reject: true} ]
"""
WORKLOAD = "task: inference\nmodel_name: llama-3.1-8b\nconcurrency: 4\n"
FILE = "kept"  # Stands for the file that a command writes.
WRITERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("workload.yaml", ("init", "--force", FILE)),
    ("record.json", ("recommend", "{outside}/workload.yaml", "--save", FILE)),
    ("record.json.gz", ("recommend", "{outside}/workload.yaml", "--save", FILE)),
    ("page.html", ("report", "{outside}/record.json", "-o", FILE)),
    ("rules/own.yaml", ("rules", "fmt", FILE)),
    ("own/rules/own.yaml", ("rules", "new", "another-rule", "--in", "{small}/own")),
    ("register.sqlite", ("register", "add", "{outside}/record.json", "--file", FILE)),
    ("data/whichgpu/prices.csv", ("prices", "import", "{outside}/prices.csv")),
    ("man1/whichgpu.1", ("man", "{small}/man1")),
    ("book/index.md", ("rules", "docs", "{small}/book")),
    ("schemas/rules.schema.json", ("schema", "--write", "{small}/schemas")),
    ("session.json", ("ask", "--session", FILE, "--plain")),
)
PRICES = "provider,provider_class,gpu,count,usd_per_hour,as_of,source\n" + "".join(
    f"cloud-{number},neocloud,nvidia-l4,{number},{number}.5,2026-11-20,gcosts\n" for number in range(1, 400)
)


def main() -> int:
    if "--inside" not in sys.argv:
        script = Path(__file__).resolve()
        return subprocess.run(
            ["unshare", "-rm", sys.executable, str(script), "--inside", *sys.argv[1:]], check=False
        ).returncode
    with tempfile.TemporaryDirectory() as outside, tempfile.TemporaryDirectory() as small:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "tmpfs", small], check=True)
        try:
            return _all(Path(small), Path(outside))
        finally:
            subprocess.run(["umount", small], check=True)


def _all(small: Path, outside: Path) -> int:
    (outside / "workload.yaml").write_text(WORKLOAD, "utf-8")
    (outside / "prices.csv").write_text(PRICES, "utf-8")
    _run(("recommend", str(outside / "workload.yaml"), "--save", str(outside / "record.json")), "")
    wrong = done = refused = 0
    for name, words in WRITERS:
        for room_kb in ROOM_LEFT_KB:
            code, faults = _once(small, outside, name, words, room_kb)
            done, refused, wrong = done + (code == 0), refused + (code == 2), wrong + len(faults)
            for fault in faults:
                print(f"{' '.join(words)} with {room_kb} KB left: {fault}")
    runs = len(WRITERS) * len(ROOM_LEFT_KB)
    print(f"{len(WRITERS)} commands, {runs} runs: {done} done, {refused} refused, {wrong} faults")
    return 1 if wrong else 0


def _once(small: Path, outside: Path, name: str, words: tuple[str, ...], room_kb: int) -> tuple[int, list[str]]:
    """Exit code, and what is wrong, of one command with so much room."""
    subprocess.run(f"rm -rf {small}/* {small}/.[!.]*", shell=True, check=True)  # Our own folder.
    file = small / name
    file.parent.mkdir(parents=True, exist_ok=True)
    before = RULE if name.endswith("own.yaml") else "" if name.startswith("register") else WORKLOAD
    if name == "data/whichgpu/prices.csv":
        before = PRICES[: PRICES.index("cloud-3,")]
    elif name == "session.json":
        before = ""
    if before:
        file.write_text(before, "utf-8")
    _fill(small, room_kb)
    os.environ["XDG_DATA_HOME"] = str(small / "data")
    places = {"small": str(small), "outside": str(outside)}
    asked = tuple(str(file) if word == FILE else word.format(**places) for word in words)
    typed = "cheapest\n\n\n\n\nserving\nllama-3.1-8b\n" if words[0] == "ask" else ""
    code, printed = _run(asked, typed)
    faults = [f"exit {code}: {printed[-300:]}"] if code not in {0, 1, 2} else []
    faults += ["traceback"] if "Traceback" in printed else []
    faults += [f"left behind: {path.name}" for path in small.rglob("*.part")]
    if words[0] == "man" and file.exists() and not file.read_text("utf-8").endswith("\n"):
        faults.append("a page is cut")
    elif code == 2 and words[0] != "man" and before and (not file.exists() or file.read_text("utf-8") != before):
        faults.append(f"refused, and {name} is not what it was")
    if code == 2 and "cannot keep the interview" in printed and "objective=cheapest" not in printed:
        faults.append("an answer is lost")
    if name == "session.json" and file.exists():
        try:
            json.loads(file.read_text("utf-8") or "{}")
        except ValueError:
            faults.append("the session is cut")
    if (
        name == "register.sqlite"
        and code == 2
        and file.exists()
        and _run(("register", "verify", "--file", str(file)), "")[0] > 2
    ):
        faults.append("the register does not verify")
    return code, faults


def _fill(small: Path, room_kb: int) -> None:
    """Leave so much room, and no more."""
    with contextlib.suppress(OSError), (small / "filler").open("wb", buffering=0) as filler:
        free_kb = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize // 1024
        filler.write(b"x" * 1024 * max(0, free_kb - room_kb))


def _run(words: tuple[str, ...], typed: str) -> tuple[int, str]:
    out, (before, sys.stdin) = io.StringIO(), (sys.stdin, io.TextIOWrapper(io.BytesIO(typed.encode())))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return run(list(words)), out.getvalue()
    finally:
        sys.stdin = before


if __name__ == "__main__":
    sys.exit(main())
