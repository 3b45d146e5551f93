"""docs/first-rule.md is carried out word for word: its files are written, its commands run, its output is there."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu import load_advisor


GUIDE = Path(__file__).parents[2] / "docs" / "first-rule.md"
PART = re.compile(r"<!-- file: (?P<file>\S+) -->\n```\w+\n(?P<text>.*?)```|```console\n(?P<console>.*?)```", re.DOTALL)


def steps() -> list[tuple[str, str]]:
    """The guide's files (name, text) and consoles ("", text), in order."""
    found = PART.finditer(GUIDE.read_text(encoding="utf-8"))
    return [(match["file"] or "", match["text"] or match["console"]) for match in found]


def commands(console: str) -> list[tuple[str, list[str]]]:
    """Each command of a console with the words that its output has to hold."""
    found: list[tuple[str, list[str]]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
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
    monkeypatch.chdir(tmp_path)
    load = loading_once()
    for door in ("whichgpu.cli.advisor.load_advisor", "whichgpu.engine.authoring.diff.answers.load_advisor"):
        monkeypatch.setattr(door, load)
    monkeypatch.setattr("whichgpu.engine.authoring.diff.comparing.workloads_in_tests", lambda rules: [])
    said: list[tuple[str, str]] = []
    for file, text in steps():
        if file:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(text, encoding="utf-8")
            continue
        for command, wanted in commands(text):
            words = shlex.split(command, comments=True)
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
    return tmp_path, said


def test_the_guide_can_be_carried_out(carried_out: tuple[Path, list[tuple[str, str]]]) -> None:
    folder, said = carried_out
    assert len(said) >= 14
    record = json.loads((folder / "desk.json").read_text())["decision"]
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
