"""What is kept between runs: never stale, never damaged, never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import Struct

from whichgpu.engine.core import compiled, recall_compiled, remember_compiled
from whichgpu.engine.core.compiled import compiled_key
from whichgpu.engine.core.yaml.cache import sources_alone


class Pair(Struct, frozen=True):
    low: float
    high: tuple[str, ...] = ()


PAIR = Pair(1.5, ("a", "b"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("WHICHGPU_CACHE", raising=False)
    (tmp_path / "a.yaml").write_text("a: 1\n")
    return tmp_path


def key_of(home: Path, *more: str) -> str:
    key = compiled_key([home / "a.yaml"], *more)
    assert key is not None
    return key


def entry(home: Path) -> Path:
    (found,) = (home / "cache").rglob("*.msgpack")
    return found


def test_what_was_kept_comes_back(home: Path) -> None:
    assert recall_compiled("pair", key_of(home), Pair) is None
    remember_compiled("pair", key_of(home), PAIR)
    assert recall_compiled("pair", key_of(home), Pair) == PAIR
    assert recall_compiled("other", key_of(home), Pair) is None


def test_another_content_name_or_part_is_another_key(home: Path) -> None:
    keys = {key_of(home), key_of(home, "x"), key_of(home, "x", ""), key_of(home, "", "x")}
    (home / "a.yaml").write_text("a: 2\n")
    keys.add(key_of(home))
    (home / "a.yaml").rename(home / "b.yaml")
    keys.add(str(compiled_key([home / "b.yaml"])))
    assert len(keys) == 6


def test_a_file_of_the_same_size_and_time_is_still_another(home: Path) -> None:
    before = key_of(home)
    stat = (home / "a.yaml").stat()
    (home / "a.yaml").write_text("a: 3\n")
    os.utime(home / "a.yaml", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert key_of(home) != before


def test_another_version_of_the_program_has_other_keys(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(home)
    monkeypatch.setattr(compiled, "_code_stamp", lambda: b"another version")
    assert key_of(home) != before


def test_a_changed_module_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module.py").write_text("a = 1\n")
    monkeypatch.setattr(compiled, "_ENGINE", str(tmp_path))
    before = compiled._code_stamp.__wrapped__()
    (tmp_path / "module.py").write_text("a = 11\n")
    assert compiled._code_stamp.__wrapped__() != before


def test_a_file_that_cannot_be_read_has_no_key(home: Path) -> None:
    assert compiled_key([home / "none.yaml"]) is None
    remember_compiled("pair", None, PAIR)
    assert recall_compiled("pair", None, Pair) is None
    assert list((home / "cache").rglob("*")) == []


@pytest.mark.parametrize("damage", [b"", b"x", lambda data: data[:-1], lambda data: data[:20] + b"?" + data[21:]])
def test_a_damaged_entry_is_as_good_as_missing_and_is_mended(home: Path, damage: object) -> None:
    remember_compiled("pair", key_of(home), PAIR)
    path = entry(home)
    path.write_bytes(damage(path.read_bytes()) if callable(damage) else damage)
    assert recall_compiled("pair", key_of(home), Pair) is None
    remember_compiled("pair", key_of(home), PAIR)
    assert recall_compiled("pair", key_of(home), Pair) == PAIR


def test_an_entry_of_another_form_is_as_good_as_missing(home: Path) -> None:
    remember_compiled("pair", key_of(home), {"low": "much"})
    assert recall_compiled("pair", key_of(home), Pair) is None


def test_a_folder_that_cannot_be_written_or_read_is_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "cache").write_text("a file where the folder should be")
    remember_compiled("pair", key_of(home), PAIR)
    assert recall_compiled("pair", key_of(home), Pair) is None

    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    (home / "cache").unlink()
    monkeypatch.setattr(Path, "replace", full)
    remember_compiled("pair", key_of(home), PAIR)
    assert [path for path in (home / "cache").rglob("*") if path.is_file()] == []


def test_many_writers_and_readers_at_once_never_see_half_of_it(home: Path) -> None:
    key = key_of(home)
    large = Pair(2.5, tuple(map(str, range(20_000))))
    code = (
        "import sys\nfrom whichgpu.engine.core import recall_compiled, remember_compiled\n"
        "from msgspec import Struct\nclass Pair(Struct, frozen=True):\n    low: float\n    high: tuple[str, ...] = ()\n"
        "large = Pair(2.5, tuple(map(str, range(20_000))))\n"
        f"for _ in range(20):\n    remember_compiled('pair', {key!r}, large)\n"
        f"    assert recall_compiled('pair', {key!r}, Pair) == large\n"
    )

    def run(_: int) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
        return done.returncode, done.stderr

    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(run, range(2))) == {(0, "")}
    assert recall_compiled("pair", key, Pair) == large
    assert entry(home)


def test_old_entries_go(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_MOST_ENTRIES", 6)
    for number in range(9):
        remember_compiled("pair", key_of(home, str(number)), PAIR)
    assert 3 <= len(list((home / "cache").rglob("*.msgpack"))) <= 6


def test_who_trusts_no_cache_neither_reads_nor_writes_one(home: Path) -> None:
    remember_compiled("pair", key_of(home), PAIR)
    with sources_alone():
        assert recall_compiled("pair", key_of(home), Pair) is None
        remember_compiled("other", key_of(home), PAIR)
    assert recall_compiled("other", key_of(home), Pair) is None
    assert recall_compiled("pair", key_of(home), Pair) == PAIR
