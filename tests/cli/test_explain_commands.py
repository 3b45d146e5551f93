from __future__ import annotations

import json
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu import load_advisor
from whichgpu.cli.advisor import names_of
from whichgpu.engine.records.canonical import sha256_of
from whichgpu.engine.records.reading import read_saved
from whichgpu.engine.records.statement import id_of, respelt


Whichgpu = Callable[..., Any]
ROOT = Path(__file__).parents[2]
SERVING = str(ROOT / "examples" / "llm-serving-70b.yaml")


@pytest.fixture
def record(whichgpu: Whichgpu, tmp_path: Path) -> Path:
    path = tmp_path / "record.json"
    assert whichgpu("recommend", SERVING, "--save", str(path)).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path


def test_why_tells_a_tree_in_three_forms(whichgpu: Whichgpu, record: Path) -> None:
    text = whichgpu("why", str(record))
    assert text.code == 0
    assert text.out.splitlines()[0].endswith("is recommended")
    assert "source: " in text.out
    tree = json.loads(whichgpu("why", str(record), "memory", "--format", "json").out)
    assert tree["steps"][0]["fact"] == "plan.per_gpu_gb"
    markdown = whichgpu("why", str(record), "procurement", "--format", "markdown").out
    assert markdown.startswith("# rent or buy")
    assert "\n  - " in markdown
    short = whichgpu("why", str(record), "--depth", "1").out
    assert "a larger --depth shows them" in short
    assert len(short) < len(text.out)


def test_a_decision_may_come_by_standard_input_and_without_a_digest(whichgpu: Whichgpu, record: Path) -> None:
    bare = whichgpu("recommend", SERVING, "--format", "json").out
    lines = whichgpu("why", "-", "count", stdin=bare).out.splitlines()
    marked = whichgpu("why", str(record), "count").out.splitlines()
    assert lines[:-1] == marked[:-1]
    assert lines[-1] == "Decision: not a record, so nothing vouches for it."
    assert marked[-1].endswith(": unsigned, checksum intact.")
    audited = whichgpu("audit", "-", stdin=bare)
    assert audited.code == 2
    assert "without the digest" in audited.err
    assert whichgpu("audit", "-", stdin=record.read_text()).code == 7


def test_passages_go_by_the_headings_that_the_record_carries(whichgpu: Whichgpu, record: Path) -> None:
    text = whichgpu("why", str(record), "nvidia-is-the-safe-choice", "--format", "markdown").out
    assert 'section 5 "Frequently Asked Questions"' in text
    saved = json.loads(record.read_text())
    sources = saved["statement"]["data"]["knowledge"]["sources.yaml"]["sources"]
    cited = next(row for row in sources if row["id"] == "fpt")
    cited["sections"]["5"] = "Questions of that day"
    carried = read_saved(respelt(sealed(saved)), "r.json")
    names = names_of(load_advisor(tests=False), carried)
    assert names.source("fpt/5") == 'FPT AI Factory guide, section 5 "Questions of that day"'
    assert names.source("fpt/9.9") == "FPT AI Factory guide, 9.9"
    cited["sections"] = ["a list, as another version may have had"]
    again = names_of(load_advisor(tests=False), read_saved(respelt(sealed(saved)), "r.json"))
    assert again.source("fpt/5") == 'FPT AI Factory guide, section 5 "Frequently Asked Questions"'


def sealed(record: dict[str, Any]) -> dict[str, Any]:
    """A record whose checksums are those of what it states."""
    record["statement"]["id"] = id_of(record["statement"])
    return {**record, "sha256": sha256_of(record["statement"])}


@pytest.mark.parametrize("command", ["why", "verdicts", "audit", "replay", "sensitivity", "report"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "nonsense",
        '{"format": "whichgpu.record/1"}',
        '{"format": "whichgpu.decision/1"}',
        "[" * 9999,
        '{"format": "whichgpu.record/1", "sha256": "x", "decision": {}}',
        '{"a": NaN}',
        '{"a": 1e999}',
    ],
)
def test_what_is_no_decision_is_refused(whichgpu: Whichgpu, command: str, text: str) -> None:
    ran = whichgpu(command, "-", stdin=text)
    assert ran.code == 2
    assert ran.out == ""
    assert "failed in itself" not in ran.err


def test_verdicts_filter(whichgpu: Whichgpu, record: Path) -> None:
    everything = whichgpu("verdicts", str(record)).out
    assert "Did not fire" in everything
    fired = json.loads(whichgpu("verdicts", str(record), "--filter", "fired", "--format", "json").out)
    assert {entry["verdict"] for entry in fired} == {"fired"}
    wrong = whichgpu("verdicts", str(record), "--filter", "fird")
    assert (wrong.code, "did you mean fired" in wrong.err) == (2, True)


def test_audit_exits_by_what_it_finds(whichgpu: Whichgpu, record: Path, tmp_path: Path) -> None:
    ran = whichgpu("audit", str(record))
    assert (ran.code, "not signed by a key that is trusted" in ran.out) == (7, True)
    altered = tmp_path / "altered.json"
    altered.write_text(record.read_text().replace('"count":2', '"count":3', 1))
    ran = whichgpu("audit", str(altered))
    assert ran.code == 1
    assert "Authentic: NO" in ran.out
    shown = whichgpu("why", str(altered))
    assert (shown.code, shown.out, "is not what was saved" in shown.err) == (2, "", True)
    answer = json.loads(whichgpu("audit", str(altered), "--format", "json").out)
    assert answer["holds"] is False
    names = {"authentic", "complete", "true_then", "certificate", "same_today"}
    assert {check["name"] for check in answer["checks"]} == names
    assert (answer["verdict"], answer["record"]["state"]) == ("altered", "altered")


def test_why_not_shows_points_and_changes(whichgpu: Whichgpu, record: Path) -> None:
    ran = whichgpu("why-not", str(record), "h100", "--limit", "12")
    assert ran.code == 0
    assert "points of evidence" in ran.out
    assert "ended at its limit of 12 decisions" in " ".join(ran.out.split())
    rejected = json.loads(whichgpu("why-not", str(record), "l4", "--limit", "5", "--format", "json").out)
    assert rejected["standing"] == "rejected"
    assert rejected["rejections"][0]["rule"]
    wrong = whichgpu("why-not", str(record), "h1000x")
    assert (wrong.code, "no GPU is called" in wrong.err) == (2, True)


def test_what_if_diff_and_replay_share_one_view(whichgpu: Whichgpu, record: Path, tmp_path: Path) -> None:
    ran = whichgpu("what-if", str(record), "--set", "concurrency=4", "--set", "peak_qps=unknown")
    assert ran.code == 0
    assert "fact concurrency: 32 became 4" in ran.out
    figures = ran.out.partition("Memory, speed, cost and score")[2].partition("\nFacts\n")[0]
    assert "latency p95 " in figures
    assert re.search(r"latency p95 +[\d,]+ ms +[\d,]+ ms", figures), figures
    assert re.search(r"share of capacity used +[\d.]+ % ", figures), figures
    assert not re.search(r"\d\.\d{3}", figures.replace("0.", "")), figures  # Three digits tell them apart.
    assert not re.search(r"rejects x [\d, ]*\b(\d+), \1\b", ran.out)  # A count is named once, of all its splits.
    other = tmp_path / "other.json"
    whichgpu("recommend", SERVING, "--set", "concurrency=4", "--save", str(other))
    differing = json.loads(whichgpu("diff", str(record), str(other), "--format", "json").out)
    assert {"fact": "concurrency"}.items() <= {"fact": differing["facts"][0]["what"]}.items()
    assert not differing["same"]
    assert "Nothing differs." in whichgpu("replay", str(record)).out
    assert "Nothing differs." in whichgpu("diff", str(record), str(record)).out
    for wrong in (("what-if", str(record)), ("what-if", str(record), "--set", "concurency=3"), ("diff", "-", "-")):
        assert whichgpu(*wrong).code == 2


def test_an_objective_may_be_what_differs(whichgpu: Whichgpu, record: Path) -> None:
    by_option = json.loads(whichgpu("what-if", str(record), "--objective", "cheapest", "--format", "json").out)
    by_fact = json.loads(whichgpu("what-if", str(record), "--set", "objective=cheapest", "--format", "json").out)
    assert by_option["figures"] == by_fact["figures"]
    assert any(cause["kind"] == "objective" for cause in by_fact["causes"])


def test_replay_under_other_rules_names_the_rule(whichgpu: Whichgpu, record: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    shutil.copytree(ROOT / "rules", rules)
    file = next(f for f in rules.glob("*.yaml") if "id: h200-serves-70b-faster" in f.read_text())
    head, mark, tail = file.read_text().partition("id: h200-serves-70b-faster")
    file.write_text(head + mark + tail.replace("points: 2", "points: 1", 1))
    ran = whichgpu("replay", str(record), "--rules", str(rules), "--no-builtin-rules")
    assert ran.code == 0
    assert "rule h200-serves-70b-faster" in ran.out
    audited = whichgpu("audit", str(record), "--rules", str(rules), "--no-builtin-rules")
    assert audited.code in (5, 7)
    assert "True as of its day: yes" in audited.out  # By the rules that it carries.


def test_sensitivity_names_flips(whichgpu: Whichgpu, record: Path) -> None:
    ran = whichgpu("sensitivity", str(record), "--limit", "25")
    assert ran.code == 0
    assert "then " in ran.out
    answer = json.loads(whichgpu("sensitivity", str(record), "--limit", "10", "--format", "json").out)
    assert answer["decisions"] <= 10


def test_report_is_private_and_one_page(whichgpu: Whichgpu, record: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert whichgpu("report", str(record), "-o", str(target)).code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert whichgpu("report", str(record)).out == target.read_text()
    ran = whichgpu("report", str(record), "-o", str(tmp_path / "none" / "report.html"))
    assert (ran.code, "cannot write" in ran.err) == (2, True)
