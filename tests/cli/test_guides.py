"""Guides in docs/ are carried out word for word: their files are written, their commands run, their output is there."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor, load_advisor


ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PART = re.compile(r"<!-- file: (?P<file>\S+) -->\n```\w+\n(?P<text>.*?)```|```console\n(?P<console>.*?)```", re.DOTALL)
#: A file or folder of the repository, and what is said to be in one.
PATH = re.compile(r"\b(?:engine|rules|knowledge)/[\w./-]*\w")
INSIDE = re.compile(r"`(\w+)`\s+in\s+`(engine/[\w/]+\.py)`")
RULE = re.compile(r"\[`([\w/-]+)`\]\(rulebook/")


def steps(guide: str) -> list[tuple[str, str]]:
    """The guide's files (name, text) and consoles ("", text), in order."""
    found = PART.finditer((DOCS / guide).read_text(encoding="utf-8"))
    return [(match["file"] or "", match["text"] or match["console"]) for match in found]


def commands(console: str) -> list[tuple[str, list[str]]]:
    """Each command of a console with the words that its output has to hold."""
    found: list[tuple[str, list[str]]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() and line != "...":
            found[-1][1].append(line.strip())
    return found


def loading_once() -> Callable[..., Advisor]:
    """``load_advisor``, loading each layer once for as long as none of its files is changed."""
    known: dict[object, Advisor] = {}

    def load(folders: Sequence[Path] = (), **options: Any) -> Advisor:
        files = [path for folder in folders for path in sorted(Path(folder).rglob("*.*"))]
        key = (tuple(path.read_bytes() for path in files if path.is_file()), options.get("own_rules"))
        if key not in known:
            known[key] = load_advisor([Path(folder).resolve() for folder in folders], **(options | {"tests": True}))
        return known[key]

    return load


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def carried_out(
    whichgpu: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, list[tuple[str, str]]]:
    """The guide's folder after all of its steps, and what each command said."""
    load = loading_once()
    for door in ("whichgpu.cli.advisor.load_advisor", "whichgpu.engine.authoring.diff.answers.load_advisor"):
        monkeypatch.setattr(door, load)
    monkeypatch.setattr("whichgpu.engine.authoring.diff.comparing.workloads_in_tests", lambda rules: [])
    return tmp_path, said_in("first-rule.md", whichgpu, tmp_path, monkeypatch)


def said_in(
    guide: str, whichgpu: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, str]]:
    """What each command of a guide said when it was carried out in a folder."""
    monkeypatch.chdir(folder)
    said: list[tuple[str, str]] = []
    for file, text in steps(guide):
        if file:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
            continue
        for command, wanted in commands(text):
            words = shlex.split(command, comments=True)
            if words[0] == "python3":  # How it is installed: tests are run where it is.
                continue
            if words[0] == "export":
                monkeypatch.setenv(*words[1].split("="))
                continue
            alone = ["--processes", "1"] if words[1:3] == ["rules", "diff"] else []
            ran = whichgpu(*words[1:], *alone)
            output = squeezed(ran.out + ran.err)
            assert ran.code == (2 if "# exits with 2" in command else 0), f"{command}\n{ran.out}\n{ran.err}"
            for line in wanted:
                assert squeezed(line) in output, f"{command}\n{ran.out}\n{ran.err}"
            said.append((command, output))
    return said


def test_the_guide_can_be_carried_out(carried_out: tuple[Path, list[tuple[str, str]]]) -> None:
    folder, said = carried_out
    assert len(said) >= 14
    record = json.loads((folder / "desk.json").read_text())["statement"]["answer"]
    layers = {layer["name"]: layer for layer in record["rulebook"]["layers"]}
    assert layers["acme"]["rules"] == 2
    assert len(layers["acme"]["knowledge"]) == len(layers["acme"]["digest"]) == 64
    assert record["recommendation"]["gpu"] == "acme-hush-48"
    rejected = next(entry for entry in record["rejected"] if entry["gpu"] == "nvidia-rtx-4090")
    assert rejected["rule"] == "no-loud-card-in-an-office"
    assert "52 dB" in rejected["reason"]
    book = folder / "book"
    assert "Nobody can work beside a card" in (book / "acme.md").read_text()
    assert "no-loud-card-in-an-office" in (book / "layers.md").read_text()
    assert "Does the machine stand in an office" in (book / "facts.md").read_text()


@pytest.mark.parametrize("guide", ["index.md", "one-fact.md"])
def test_a_page_that_shows_output_can_be_carried_out(
    guide: str, whichgpu: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said_in(guide, whichgpu, tmp_path, monkeypatch)


def test_the_program_on_the_first_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found
    exec(found[1], {})  # noqa: S102
    assert capsys.readouterr().out.strip() == found[1].rpartition("  # ")[2].strip()


@pytest.mark.parametrize("page", ["one-fact.md", "one-fact.svg"])
def test_what_one_fact_names_is_there(page: str, advisor: Advisor) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [path for path in PATH.findall(text) if not (ROOT / path).exists()] == []
    for name, path in INSIDE.findall(text):
        assert re.search(rf"^(?:class|def) {name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name
    known = {rule.id for rule in advisor.rulebook.rules}
    assert set(RULE.findall(text)) <= known
    assert "target-missed/request-rate" in text
    assert "target-missed/request-rate" in known
    assert "peak_qps" in text
