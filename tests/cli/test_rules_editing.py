"""Writing, forming, showing, drawing and comparing rules from the command line, and layers over the built-in ones."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu.cli.ruletemplate import DEFAULT_EACH
from whichgpu.engine.core.folders import locate
from whichgpu.engine.rules.rulebook.formatting import formatted
from whichgpu.engine.rules.rulebook.grammar import EACH_OF_STAGE


Whichgpu = Callable[..., Any]
LAYER = """\
# What holds here.
- disable: cuda-code-needs-nvidia
  because: All of our code was ported.

- id: no-small-cards
  title: No small cards in production
  stage: reject
  each: plan
  when:
    - gpu.vram_gb < 40
    - lifecycle_stage == production
  then:
    reject: "{gpu.name} is too small"
  because: The house decided so.
  sources: [whichgpu-judgement]
  valid_until: 2025-01-01
"""
CASES = [
    (stage, each) for stage, scopes in EACH_OF_STAGE.items() for each in scopes if (stage, each) != ("derive", "plan")
]


@pytest.fixture
def few_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests inside rules and the scenarios are hundreds of workloads; examples and the sample will do here."""
    monkeypatch.setattr("whichgpu.engine.authoring.diff.comparing.workloads_in_tests", lambda rules: [])
    monkeypatch.setattr("whichgpu.engine.authoring.diff.comparing.scenario_workloads", lambda folders: [])


def git(*arguments: str) -> None:
    program = shutil.which("git") or "git"
    who = ["-c", "user.name=x", "-c", "user.email=x@x.example"]
    subprocess.run([program, *who, *arguments], check=True)  # noqa: S603 - our own words


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "house.yaml").write_text(LAYER)
    return folder


# ---------------------------------------------------------------- new


@pytest.mark.parametrize(("stage", "each"), CASES)
def test_a_template_can_be_loaded_and_passes_its_tests(
    whichgpu: Whichgpu, tmp_path: Path, stage: str, each: str
) -> None:
    folder = tmp_path / "acme"
    ran = whichgpu("rules", "new", "my-rule", "--stage", stage, "--each", each, "--in", str(folder))
    assert ran.code == 0, ran.err
    assert "Wrote my-rule into" in ran.out
    assert (folder / ".schemas" / "rules.schema.json").is_file()
    assert (folder / "acme.yaml").read_text().startswith("# yaml-language-server: $schema=.schemas/rules.schema.json\n")
    ran = whichgpu("rules", "test", "--rules", str(folder), "--no-builtin-rules")
    assert ran.code == 0, ran.out + ran.err
    assert "2 of 2 tests of 1 rule passed." in ran.out


def test_a_table_is_appended(whichgpu: Whichgpu, tmp_path: Path) -> None:
    for name, option in (("one", []), ("two", ["--table"])):
        assert whichgpu("rules", "new", name, *option, "--topic", "cards", "--in", str(tmp_path)).code == 0
    text = (tmp_path / "cards.yaml").read_text()
    assert formatted(text, "cards.yaml") == text
    ran = whichgpu("rules", "test", "--rules", str(tmp_path), "--no-builtin-rules")
    assert "6 of 6 tests of 3 rules passed." in ran.out
    ran = whichgpu("rules", "new", "two", "--topic", "cards", "--in", str(tmp_path))
    assert ran.code == 2
    assert "has a rule 'two' already" in ran.err


def test_a_template_is_printed_where_no_folder_is_named(whichgpu: Whichgpu) -> None:
    for stage, each in DEFAULT_EACH.items():
        out = whichgpu("rules", "new", "my-rule", "--stage", stage).out
        assert f"  stage: {stage} " in out
        assert f"  each: {each} " in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["My Rule"], "kebab-case"),
        (["my-rule", "--stage", "prefer", "--each", "candidate"], "--each plan"),
        (["my-rule", "--in", ".", "--topic", "prices!"], "the topic cannot be"),
        (["my-rule", "--in", "x", "--topic", "sources"], "holds no rules in a layer"),
    ],
)
def test_a_wrong_template_is_refused(whichgpu: Whichgpu, options: list[str], said: str) -> None:
    ran = whichgpu("rules", "new", *options)
    assert ran.code == 2
    assert said in ran.err


# ---------------------------------------------------------------- fmt


MESSY = """\
# head

- id: a
  because: It is.
  then: {reject: no}
  stage: reject
  title: A
  tests:
      - given: {task: inference}
        fires: true
- title: B   # why not
  id: b
  when:
  - training
  # a note
  - plan.count > 8


  stage: reject
# tail of the file
"""


def test_formatting_keeps_every_comment_and_the_content(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(MESSY)
    assert whichgpu("rules", "fmt", str(file), "--check").code == 1
    assert file.read_text() == MESSY
    ran = whichgpu("rules", "fmt", str(tmp_path))
    assert ran.code == 0
    assert "1 of 1 file were changed." in ran.out
    text = file.read_text()
    for comment in ("# head", "# why not", "    # a note\n    - plan.count > 8", "# tail of the file"):
        assert comment in text
    assert (
        "- id: a\n  title: A\n  stage: reject\n  then: {reject: no}\n  because: It is.\n  tests:\n    - given" in text
    )
    assert whichgpu("rules", "fmt", str(tmp_path), "--check").code == 0
    assert whichgpu("rules", "fmt", "-", stdin=MESSY).out == text


def test_shipped_rules_keep_their_content_when_formatted() -> None:
    for path in sorted(locate("rules").glob("[a-e]*.yaml")):
        text = path.read_text()
        once = formatted(text, path.name)  # Raises where content or a comment would be lost.
        assert formatted(once, path.name) == once


def test_what_cannot_be_formatted(whichgpu: Whichgpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no rule file is named" in whichgpu("rules", "fmt").err
    assert whichgpu("rules", "fmt", "-", stdin="- [1").code == 2
    assert whichgpu("rules", "fmt", str(tmp_path / "none.yaml")).code == 2
    monkeypatch.setitem(__import__("sys").modules, "ruamel.yaml", None)
    ran = whichgpu("rules", "fmt", "-", stdin=MESSY)
    assert ran.code == 2
    assert "pip install 'whichgpu[edit]'" in ran.err


# ---------------------------------------------------------------- layers


def test_what_a_layer_changes_is_listed(whichgpu: Whichgpu, layer: Path) -> None:
    ran = whichgpu("rules", "list", "--changed", "--rules", str(layer))
    assert ran.code == 0
    for words in ("Layer house", "1 rule added", "1 rule disabled", "because: All of our code was ported."):
        assert words in ran.out
    (entry,) = json.loads(whichgpu("rules", "list", "--changed", "--format", "json", "--rules", str(layer)).out)
    assert [(change["kind"], change["rule"]) for change in entry["rules"]] == [
        ("disabled", "cuda-code-needs-nvidia"),
        ("added", "no-small-cards"),
    ]
    assert "No layer lies over" in whichgpu("rules", "list", "--changed").out


def test_the_environment_names_layers(
    whichgpu: Whichgpu, layer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "team"
    other.mkdir()
    (other / "vocabulary.yaml").write_text("facts:\n  own: {type: bool, question: Own?, askable: always, topic: job}\n")
    monkeypatch.setenv("WHICHGPU_RULES", f"{layer}:")
    report = json.loads(whichgpu("doctor", "--format", "json", "--rules", str(other)).out)
    assert [entry["name"] for entry in report["rulebook"]["layers"]] == ["rules", "house", "team"]
    assert report["rulebook"]["expired"] == ["no-small-cards"]
    assert "Rules past their day" in whichgpu("doctor").out
    assert "Own?" in whichgpu("init", "-", "--rules", str(other)).out
    assert "Own?" in whichgpu("facts", "own", "--rules", str(other)).out
    assert whichgpu("facts", "own").code == 2
    monkeypatch.setenv("WHICHGPU_RULES", str(tmp_path / "nowhere"))
    ran = whichgpu("doctor")
    assert ran.code == 2
    assert "WHICHGPU_RULES" in ran.err


def test_imported_prices_are_those_of_a_layer_too(whichgpu: Whichgpu, tmp_path: Path) -> None:
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "gpus.yaml").write_text(
        "gpus:\n  - {id: acme-one, family: acme-one, series: acme, name: Acme One, vendor: acme, vram_gb: 48}\n"
    )
    prices = tmp_path / "own.csv"
    prices.write_text(
        "provider,provider_class,gpu,count,usd_per_hour,as_of,source\nacme,neocloud,Acme One,1,0.5,2026-11-01,lab\n"
    )
    assert whichgpu("prices", "import", str(prices)).code == 2
    assert whichgpu("prices", "import", str(prices), "--rules", str(folder)).code == 0
    assert "$0.50" in whichgpu("prices", "acme-one", "--rules", str(folder)).out
    report = json.loads(whichgpu("doctor", "--format", "json", "--rules", str(folder)).out)
    assert report["imported_prices"]
    assert "acme" in {entry["provider"] for entry in report["prices"]}


def test_an_answer_that_rests_on_an_aged_rule_says_so(whichgpu: Whichgpu, layer: Path, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("task: inference\nparam_count_b: 8\nlifecycle_stage: production\n")
    aged = json.loads(whichgpu("recommend", str(file), "--format", "json", "--rules", str(layer)).out)
    (warning,) = (entry for entry in aged["warnings"] if entry["code"] == "W-RULE-PAST-ITS-DAY")
    assert "no-small-cards (by 2025-01-01)" in warning["text"]
    (layer / "house.yaml").write_text(LAYER.replace("2025-01-01", "2999-01-01"))
    fresh = json.loads(whichgpu("recommend", str(file), "--format", "json", "--rules", str(layer)).out)
    assert "W-RULE-PAST-ITS-DAY" not in {entry["code"] for entry in fresh["warnings"]}


# ---------------------------------------------------------------- show and graph


def test_a_rule_in_plain_words(whichgpu: Whichgpu) -> None:
    ran = whichgpu("rules", "show", "does-not-fit")
    assert ran.code == 0
    for words in ("A rule that rules plans out", "What it reads", "plan.fits", "It fires on", "Ground"):
        assert words in ran.out
    (shown,) = json.loads(whichgpu("rules", "show", "does-not-fit", "--format", "json").out)
    assert shown["reads"] == ["plan.fits"]
    assert "llm-serving-70b" in shown["fires_on"]
    rows = json.loads(whichgpu("rules", "show", "model-size-class", "--format", "json").out)
    assert len(rows) > 1
    assert all("model_size_class" in row["writes"] and row["feeds"] for row in rows)


def test_what_surrounds_a_rule_is_drawn(whichgpu: Whichgpu) -> None:
    ran = whichgpu("rules", "graph", "over-budget-per-hour", "--depth", "1")
    assert ran.out.startswith("flowchart LR\n")
    assert '["over-budget-per-hour<br/>reject"]:::reject' in ran.out
    assert '(["budget_usd_per_hour"])' in ran.out
    fact = whichgpu("rules", "graph", "model_size_class", "--depth", "1").out
    assert fact.count("model-size-class/") > 1
    assert ":::derive" in fact
    whole = whichgpu("rules", "graph").out
    assert '["limits"]' in whole
    assert "-->|" in whole
    assert "did you mean over-budget-per-hour" in whichgpu("rules", "graph", "over-budget-per-our").err
    assert "overrides" in whichgpu("rules", "graph", "procurement-verdict", "--depth", "1").out


# ---------------------------------------------------------------- diff


@pytest.mark.usefixtures("few_workloads")
def test_a_comparison_for_a_pull_request(whichgpu: Whichgpu, layer: Path) -> None:
    command = ["rules", "diff", "builtin", str(layer), "--sample", "4", "--processes", "1"]
    found = json.loads(whichgpu(*command, "--format", "json").out)
    assert [(rule["id"], rule["kind"]) for rule in found["rules"]] == [
        ("cuda-code-needs-nvidia", "removed"),
        ("no-small-cards", "added"),
    ]
    assert found["compared"]["sample"] == 4
    moved = next(entry for entry in found["moved"] if entry["workload"] == "llm-chat-8b")
    answer = moved["parts"]["recommendation"]
    assert answer["old"] != answer["new"]
    page = whichgpu(*command, "--format", "markdown").out
    assert page.startswith("# Rules: builtin against ")
    assert "## Workloads with another answer" in page
    assert f"{answer['old']} -\\> {answer['new']}" in page


def test_editions_that_are_not_there(whichgpu: Whichgpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no git repository is here" in whichgpu("rules", "diff", "v1.0", "builtin").err
    if shutil.which("git"):
        git("init", "-q", str(tmp_path))
        ran = whichgpu("rules", "diff", "v1.0", "builtin")
        assert ran.code == 2
        assert "neither a folder nor a git revision" in ran.err


@pytest.mark.usefixtures("few_workloads")
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_revision_of_a_layer(whichgpu: Whichgpu, layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(layer)
    git("init", "-q")
    git("add", "house.yaml")
    git("commit", "-qm", "first")
    (layer / "house.yaml").write_text(LAYER.replace("< 40", "< 24"))
    ran = whichgpu("rules", "diff", "HEAD", ".", "--sample", "3", "--processes", "1")
    assert ran.code == 0, ran.err
    assert "1 rule changed" in ran.out
    assert "condition: gpu.vram_gb < 40 -> gpu.vram_gb < 24" in ran.out
    assert "It now fires nowhere" in ran.out


# ---------------------------------------------------------------- schema


def test_schemas_of_files(whichgpu: Whichgpu, tmp_path: Path) -> None:
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "vocabulary.yaml").write_text("facts:\n  own: {type: bool}\n")
    assert '"own"' in whichgpu("schema", "rules", "--rules", str(folder)).out
    assert '"own"' not in whichgpu("schema", "rules").out
    ran = whichgpu("schema", "rulez")
    assert ran.code == 2
    assert "did you mean rules" in ran.err
    assert whichgpu("schema", "--write", str(tmp_path / "s")).code == 0
    assert (tmp_path / "s" / "gpus.schema.json").is_file()
