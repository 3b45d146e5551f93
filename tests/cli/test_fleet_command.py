"""``whichgpu fleet``: jobs in, rows out, a report and a comparison, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from whichgpu.cli import fleet as cli_fleet
from whichgpu.cli.fleet import ProgressLine
from whichgpu.engine.fleet import Progress, read_map


Whichgpu = Callable[..., Any]
MAPS = Path(__file__).parents[2] / "examples" / "fleet"


def jobs(folder: Path, *rows: dict[str, Any] | str) -> str:
    file = folder / "jobs.jsonl"
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(file)


TRY = {"task": "experimentation", "run_hours": 2}


def test_jobs_without_a_map_are_workloads(whichgpu: Whichgpu, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    command = ("fleet", jobs(tmp_path, TRY, TRY, "{"), "-o", out, "--format", "jsonl", "--processes", "1")
    ran = whichgpu(*command, "--check", "2")
    assert ran.code == 2, ran.err
    assert "3 jobs, 1 of them wrong (whichgpu fleet report " in ran.out
    assert "2 of 2 jobs, decided again as recommend does, come out the same" in ran.out
    # Complete already: reported again, and nothing is decided.
    assert whichgpu(*command).out.startswith("3 jobs")
    other = whichgpu(*command, "--set", "num_gpus=2")
    assert other.code == 2
    assert "begun with other facts of --set" in other.err


@pytest.fixture
def history(whichgpu: Whichgpu, tmp_path: Path) -> Path:
    """The example of Slurm, decided."""
    out = tmp_path / "out"
    ran = whichgpu(
        "fleet", "run", str(MAPS / "slurm.psv"), "--map", str(MAPS / "slurm.yaml"), "-o", str(out), "--processes", "1"
    )
    assert ran.code == 0, ran.err
    assert ran.out.startswith("8 jobs; 5 decisions")
    return out


class Tags(HTMLParser):
    """The tags of a page, each closed as it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_what_is_wrong_with_jobs_is_said(whichgpu: Whichgpu, tmp_path: Path) -> None:
    jobs, out = tmp_path / "jobs.csv", tmp_path / "out"
    jobs.write_text("task,model_name,concurency\ninference,llama-3.1-8b,4\n")
    ran = whichgpu("fleet", str(jobs), "-o", str(out), "--processes", "1")
    assert (ran.code, ran.out.split(";")[0]) == (2, f"1 job, 1 of them wrong (whichgpu fleet report {out} says why)")
    assert "; 0 decisions; " in ran.out
    text = " ".join(whichgpu("fleet", "report", str(out)).out.split())
    assert "1 job: is wrong, or could not be read" in text
    assert "such as: 'concurency' is no fact of a workload; did you mean concurrency?" in text
    page = whichgpu("fleet", "report", str(out), "-o", str(tmp_path / "p.html"), "--currency", "EUR")
    assert (page.code, "the page shows amounts in US dollars" in page.err) == (2, True)


def test_report_and_comparison(history: Path, whichgpu: Whichgpu, tmp_path: Path) -> None:
    text = whichgpu("fleet", "report", str(history)).out
    for title in ("By team", "By GPU", "By task", "The changes that save most", "Memory"):
        assert f"\n{title}\n" in text
    assert "(smallest-that-does-it)" in text  # Behind what the rule says.
    assert "-> 1 x GeForce RTX 3090: " in text
    assert "nvidia-" not in text.split("How it was compared")[0]
    assert "the sources disagree on a point that this answer touches (W-SOURCES-DISAGREE) (1 job)" in " ".join(
        text.split()
    )
    found = json.loads(whichgpu("fleet", "report", str(history), "--format", "json").out)
    assert sum(found["status"].values()) == 8
    assert found["whole"]["saving_usd"] == pytest.approx(
        sum(g["saving_usd"] for g in found["by_team"].values()), abs=0.05
    )
    page = tmp_path / "page.html"
    assert whichgpu("fleet", "report", str(history), "-o", str(page)).code == 0
    tags = Tags()
    tags.feed(page.read_text())
    assert tags.open == []
    assert tags.seen.count("svg") == 3
    assert "script" not in tags.seen
    again = tmp_path / "again"
    ran = whichgpu("fleet", str(history), "-o", str(again), "--processes", "1", "--set", "vendor_preference=amd")
    assert ran.code == 0, ran.err
    diff = whichgpu("fleet", "diff", str(history), str(again))
    assert diff.code == 0
    assert "of 8 jobs are decided otherwise" in diff.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fleet", "none.csv", "-o", "out"), "there is no file none.csv"),
        (("fleet", "report", "none"), "holds no result"),
        (("fleet", "x.csv", "-o", "out", "--address", "auto"), "--engine ray"),
        (("fleet", "x.csv"), "Missing option"),
    ],
)
def test_wrong_commands(arguments: tuple[str, ...], says: str, whichgpu: Whichgpu) -> None:
    ran = whichgpu(*arguments)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_ctrl_c_says_what_is_kept(whichgpu: Whichgpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_fleet, "run_fleet", interrupted)
    ran = whichgpu("fleet", jobs(tmp_path, TRY), "-o", str(tmp_path / "out"), "--processes", "1")
    assert ran.code == 130
    assert "0 rows are kept" in ran.err


def test_progress_tells_rate_and_time_left(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 31.0, 40.0, 62.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    line = ProgressLine(100)
    line.show(Progress(100, 0.1, 0, 0))
    line.show(Progress(300, 0.2, 20, 0))
    line.show(Progress(720, 0.5, 62, 3))
    line.end()
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "720 jobs, 10/s (62 decided at 1/s), 3 wrong, 50 %, about 78 s left"


@pytest.mark.parametrize("form", ["alibaba-gpu-2023", "opencost", "philly-gavel", "slurm"])
def test_every_example_map_is_sound(form: str, advisor: Any) -> None:
    assert read_map(MAPS / f"{form}.yaml", advisor.vocabulary).then
