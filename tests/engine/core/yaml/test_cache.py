from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.yaml import cache, read_document


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("WHICHGPU_CACHE", raising=False)
    (tmp_path / "a.yaml").write_text("a: [1, 'x']\nb: {c: yes}\n")
    return tmp_path


def entries(home: Path) -> list[Path]:
    return sorted((home / "cache").rglob("*.json"))


def test_a_second_reading_comes_from_the_cache_with_positions(home: Path, monkeypatch: pytest.MonkeyPatch):
    first = read_document(home / "a.yaml", error=KnowledgeError, cached=True)
    assert first.node.line == 1
    assert first.plain == {"a": [1, "x"], "b": {"c": True}}
    assert [path.suffixes[-2:] for path in entries(home)] == [[".nodes", ".json"], [".plain", ".json"]]

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr("whichgpu.engine.core.yaml.composing.compose", refuse)
    again = read_document(home / "a.yaml", error=KnowledgeError, cached=True)
    assert again.plain == first.plain
    assert pack_free(again.node) == pack_free(first.node)
    assert again.node.source.line(2) == "b: {c: yes}"


def test_who_reads_values_keeps_no_places(home: Path):
    document = read_document(home / "a.yaml", error=KnowledgeError, cached=True)
    assert document.plain["a"] == [1, "x"]
    assert [path.suffixes[-2] for path in entries(home)] == [".plain"]
    assert document.node.line == 1
    assert read_document(home / "a.yaml", error=KnowledgeError, cached=True).node.source.line(2) == "b: {c: yes}"
    assert [path.suffixes[-2] for path in entries(home)] == [".nodes", ".plain"]


def pack_free(node: object) -> str:
    return repr(node)


def test_a_warm_cache_never_imports_yaml(home: Path):
    read_document(home / "a.yaml", error=KnowledgeError, cached=True).plain  # noqa: B018
    code = (
        "import sys\nfrom whichgpu.engine.core.yaml import read_document\n"
        "from whichgpu.engine.core.errors import KnowledgeError\n"
        f"assert read_document({str(home / 'a.yaml')!r}, error=KnowledgeError, cached=True).plain\n"
        "assert 'yaml' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")


def test_changed_content_is_read_anew(home: Path):
    assert read_document(home / "a.yaml", error=KnowledgeError, cached=True).plain["a"] == [1, "x"]
    (home / "a.yaml").write_text("a: 2\n")
    assert read_document(home / "a.yaml", error=KnowledgeError, cached=True).plain == {"a": 2}


def test_broken_entries_are_ignored_and_mended(home: Path):
    read_document(home / "a.yaml", error=KnowledgeError, cached=True).plain  # noqa: B018
    for path in entries(home):
        path.write_text("{ not json")
    assert read_document(home / "a.yaml", error=KnowledgeError, cached=True).plain["b"] == {"c": True}
    assert all(json.loads(path.read_text()) for path in entries(home))
    for path in entries(home):
        if ".nodes" in path.name:
            path.write_text("[1]")
    assert read_document(home / "a.yaml", error=KnowledgeError, cached=True).node.line == 1


def test_off_means_off(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHICHGPU_CACHE", "off")
    assert read_document(home / "a.yaml", error=KnowledgeError, cached=True).plain["a"] == [1, "x"]
    assert entries(home) == []


def test_a_folder_that_cannot_be_written_is_skipped(home: Path, monkeypatch: pytest.MonkeyPatch):
    (home / "cache").write_text("a file where the folder should be")
    assert read_document(home / "a.yaml", error=KnowledgeError, cached=True).plain["a"] == [1, "x"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "other"))

    def fail(self: Path, target: Path) -> None:
        raise OSError

    monkeypatch.setattr(Path, "replace", fail)
    assert read_document(home / "a.yaml", error=KnowledgeError, cached=True).plain["a"] == [1, "x"]
    assert list((home / "other").rglob("*.*")) == []


def test_values_that_json_cannot_hold_are_not_kept(home: Path):
    cache.remember("plain", "0", {1: {2}})
    assert cache.recall("plain", "0") is cache.MISSING


def test_old_entries_are_pruned(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cache, "_MOST_ENTRIES", 6)
    for number in range(9):
        cache.remember("plain", str(number), number)
    kept = entries(home)
    assert 3 <= len(kept) <= 6
    assert cache.recall("plain", "8") == 8


def test_the_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch, home: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.cache_folder() == home / ".cache" / "whichgpu" / f"source-{cache.EDITION}"
    monkeypatch.setattr(sys, "platform", "darwin")
    folder = cache.cache_folder()
    assert folder is not None
    assert folder.is_relative_to(home / "Library" / "Caches")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(home / "local"))
    folder = cache.cache_folder()
    assert folder is not None
    assert folder.is_relative_to(home / "local")
    monkeypatch.delenv("LOCALAPPDATA")
    assert cache.cache_folder() is None
    assert cache.recall("plain", "0") is cache.MISSING
    cache.remember("plain", "0", 1)

    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", homeless)
    assert cache.cache_folder() is None
