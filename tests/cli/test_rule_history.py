"""`rules log`: what became of a rule, from version control."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from whichgpu.cli.rulehistory import extent_of, history_of
from whichgpu.engine.core.errors import InputError


TEXT = """# yes
- id: one
  title: One
  then: {warn: W-X}

- table: two
  rows:
    - id: a
      then: {points: 1}
    - {id: b, then: {points: 2}}

- id: a
  title: Another
"""
EXTENTS = [
    ("one", "one", (2, 4)),
    ("two", "two", (6, 10)),
    ("a", "two", (8, 9)),
    ("b", "two", (10, 10)),
    ("a", "a", (12, 13)),
]


@pytest.mark.parametrize(("name", "within", "extent"), EXTENTS)
def test_the_lines_of_an_entry(name: str, within: str, extent: tuple[int, int]) -> None:
    assert extent_of(name, TEXT, within=within) == extent
    assert extent_of("none", TEXT, within="none") is None


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=A. Expert", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True)  # noqa: S603, S607


def commit(folder: Path, text: str, subject: str) -> None:
    (folder / "rules.yaml").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", subject)


def test_each_commit_that_touched_a_rule_is_reported(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    commit(tmp_path, TEXT, "rules: a first one")
    commit(tmp_path, TEXT.replace("points: 1", "points: 3"), "rules: more points")
    (tmp_path / "rules.yaml").write_text("# further up\n" + TEXT)  # Not committed: the lines are those of the commit.
    newest, first = history_of("two/a", tmp_path / "rules.yaml")
    assert (newest.author, newest.subject) == ("A. Expert", "rules: more points")
    assert newest.lines == ("-      then: {points: 1}", "+      then: {points: 3}")
    assert first.subject == "rules: a first one"
    with pytest.raises(InputError, match="no commit has 'three'"):
        history_of("three", tmp_path / "rules.yaml")


def test_where_no_git_keeps_it_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules.yaml").write_text(TEXT)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(InputError, match="in no git repository"):
        history_of("one", tmp_path / "rules.yaml")
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(InputError, match="not installed"):
        history_of("one", tmp_path / "rules.yaml")
