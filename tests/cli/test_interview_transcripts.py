"""Seven whole interviews against golden transcripts, one of them on a real pseudo-terminal as well.

After a change of rules or wording: ``WHICHGPU_NEW_GOLDENS=1 pytest tests/cli/test_interview_transcripts.py``, then read
what changed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from whichgpu import Advisor
from whichgpu.cli.main import whichgpu as command
from whichgpu.engine.advisor.advisor import shipped_advisor


_HERE = Path(__file__).parent


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, _HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lines_for = _load("respondent").lines_for

SERVING = {
    "task": "serve a trained",
    "model_name": "llama 3.1 8b",
    "weight_precision": "bf16",
    "context_tokens": "8k",
    "serving_mode": "2",
    "peak_qps": "2",
    "concurrency": "8 users",
    "objective": "money",
    "budget_usd_per_month": "$4000 a month",
    "latency_slo_ms": "20 seconds",
    "deployment_site": "cloud",
    "org_type": "small team",
    "always_on": "yes",
    "lifecycle_stage": "production",
    "demand_predictable": "yes",
    "utilization_pct": "40 %",
    "burst_or_datacenter_need": "no",
    "runs_cadence": "continuous",
}
TUNING = {
    "task": "3",
    "model_name": "unknown",
    "param_count_b": "13b",
    "model_family": "language",
    "peft_method": "qlora",
    "compute_precision": "mixed",
    "batch_size_per_gpu": "two",
    "gpus_owned": "1x4090",
    "seq_len_tokens": "2048",
    "run_hours": "8 h",
    "deployment_site": "workstation",
    "org_type": "student",
    "lifecycle_stage": "prototype",
    "runs_cadence": "now and then",
    "demand_predictable": "no",
}
VISION = {
    "task": "full_finetuning",
    "model_name": "yolo11m",
    "compute_precision": "bf16",
    "batch_size_per_gpu": "16",
    "image_px": "640",
    "run_hours": "1 day",
    "deployment_site": "cloud",
    "org_type": "individual",
    "lifecycle_stage": "development",
    "demand_predictable": "n",
}
UNSURE: dict[str, str] = {"model_name": "mistral-7b", "org_type": "enterprise"}
IMAGES = {
    "task": "inference",
    "model_name": "sdxl",
    "weight_precision": "fp16",
    "image_px": "1024",
    "serving_mode": "batch",
    "traffic_level": "moderate",
    "concurrency": "1",
    "deployment_site": "datacenter",
    "org_type": "start-up",
    "demand_predictable": "no",
}
PRETRAINING = {
    "task": "pretrain",
    "param_count_b": "7b",
    "model_family": "1",
    "compute_precision": "bf16",
    "batch_size_per_gpu": "1",
    "seq_len_tokens": "4k",
    "train_tokens_b": "100b",
    "deployment_site": "cloud",
    "org_type": "enterprise",
    "lifecycle_stage": "training",
    "demand_predictable": "yes",
    "utilization_pct": "90",
    "horizon_years": "3",
}

#: Name -> answers, lines typed at a question before its answer, lines at the end.
INTERVIEWS: dict[str, tuple[dict[str, str], dict[str, list[str]], list[str]]] = {
    "serving_with_help": (
        SERVING,
        {
            "weight_precision": ["?", "sixteen", "why"],
            "context_tokens": ["a few"],
            "serving_mode": ["show", "edit 8 4k", "back"],
            "org_type": ["quit"],
        },
        [""],
    ),
    "tuning_on_a_desk": (TUNING, {"deployment_site": ["why", "back"], "param_count_b": ["save"]}, [""]),
    "vision_with_a_wish": (VISION, {}, ["needs_ecc?", "nonsense 3", "objective cheapest", ""]),
    "nothing_known": (UNSURE, {"serving_mode": ["quit"], "batch_size_per_gpu": ["quit"]}, [""]),
    "images_saved": (IMAGES, {"image_px": ["save", "edit task inference", "edit 99"]}, [""]),
    "pretraining": (PRETRAINING, {"train_tokens_b": ["a lot"], "org_type": ["?"]}, [""]),
    "answered_at_once": (
        {
            "task": "serve",
            "model_name": "llama 3.1 8b",
            "weight_precision": "",
            "deployment_site": "1",
            "context_tokens": "now",
        },
        {},
        [],
    ),
}
#: Fewer than are tried for a person, which would take most of the time of these tests.
SAMPLES = 4
ON_A_TERMINAL = ("vision_with_a_wish",)


@pytest.fixture(scope="module")
def advisor() -> Advisor:
    return shipped_advisor()


@pytest.fixture(scope="module")
def typed(advisor: Advisor) -> Callable[[str], list[str]]:
    """What the person of an interview types: as it was kept, or worked out anew where goldens are written."""

    @cache
    def lines(name: str) -> list[str]:
        kept = _HERE / "transcripts" / f"{name}.txt"
        if os.environ.get("WHICHGPU_NEW_GOLDENS") != "1":
            return re.findall(r"^> ?(.*)$", kept.read_text(encoding="utf-8"), re.MULTILINE)
        answers, before, after = INTERVIEWS[name]
        found: list[str] = lines_for(advisor, answers, before, after)
        return found

    return lines


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, advisor: Advisor) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("whichgpu.cli.commands.ask.load", lambda *_args, **_options: advisor)
    monkeypatch.setattr("whichgpu.engine.interview.sureness.SAMPLES", SAMPLES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)


def _masked(text: str, session: Path) -> str:
    """What differs from run to run taken out, and the answer cut after its first lines."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n").replace(str(session), "SESSION")
    dialogue, heading, answer = text.partition("Recommendation\n==============\n")
    return dialogue + heading + "\n".join(answer.split("\n")[:1]) + "\n"


def _compare(name: str, text: str) -> None:
    file = _HERE / "transcripts" / f"{name}.txt"
    if os.environ.get("WHICHGPU_NEW_GOLDENS") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", INTERVIEWS)
def test_transcript(name: str, typed: Callable[[str], list[str]], tmp_path: Path) -> None:
    _compare(name, _masked(_run(typed(name)), tmp_path / "s.json"))


def _sittings(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """The command of each sitting and what is typed in it: quitting ends one, and resume begins the next."""
    command, sitting = ["ask", "--plain", "--session", "s.json"], list[str]()
    for line in lines:
        sitting.append(line)
        if line == "quit":
            yield command, sitting
            command, sitting = ["resume", "--plain", "s.json"], []
    yield command, sitting


def _run(lines: list[str]) -> str:
    text = ""
    for arguments, sitting in _sittings(lines):
        typed = "".join(f"{line}\n" for line in sitting)
        ran = CliRunner().invoke(command, arguments, input=typed, standalone_mode=False)
        assert ran.exception is None, ran.output
        assert ran.return_value == (1 if sitting[-1] == "quit" else 0)
        text += ran.output
    return text


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are not to be had")
@pytest.mark.parametrize("name", ON_A_TERMINAL)
def test_transcript_on_a_terminal(name: str, typed: Callable[[str], list[str]], tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    environment = {
        **os.environ,
        "NO_COLOR": "1",
        "TERM": "xterm",
        "PAGER": "cat",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(_HERE.parents[1]),
    }
    fewer = f"from whichgpu.engine.interview import sureness; sureness.SAMPLES = {SAMPLES}"
    program = f"import sys; {fewer}; from whichgpu.cli.main import run; sys.exit(run(sys.argv[1:]))"
    seen = ""
    for arguments, sitting in _sittings(typed(name)):
        child = pexpect.spawn(
            sys.executable,
            ["-c", program, *arguments],
            cwd=str(tmp_path),
            env=environment,
            encoding="utf-8",
            timeout=60,
            dimensions=(50, 100),
        )
        for line in sitting:
            child.expect("\n> ")
            seen += child.before + child.after
            child.sendline(line)
        child.expect(pexpect.EOF)
        child.close()
        seen += child.before
        assert child.exitstatus == (1 if sitting[-1] == "quit" else 0)
    _compare(name, _masked(seen, tmp_path / "s.json"))
