from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu.cli.main import COMMANDS


Whichgpu = Callable[..., Any]


@pytest.fixture
def pages(whichgpu: Whichgpu, tmp_path: Path) -> Path:
    folder = tmp_path / "share" / "man1"
    assert whichgpu("man", str(folder)).code == 0
    return folder


def test_each_command_has_a_page_that_says_what_its_help_says(whichgpu: Whichgpu, pages: Path) -> None:
    assert {f"whichgpu-{name}.1" for name in COMMANDS} < {page.name for page in pages.iterdir()}
    assert "whichgpu-rules-lint.1" in {page.name for page in pages.iterdir()}
    for page in pages.iterdir():
        text = page.read_text("utf-8")
        assert not any(mark in text for mark in ("\b", r"\\b", "\n\\b")), page.name
    said = (pages / "whichgpu-prices-import.1").read_text("utf-8")
    assert r"\fB\-\-rules\fP DIR" in said
    assert "\\b" not in whichgpu("completion", "--help").out


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_pages_are_sound_roff(pages: Path) -> None:
    ran = subprocess.run(  # noqa: S603 - our own pages
        ["groff", "-man", "-ww", "-z", *map(str, sorted(pages.iterdir()))],  # noqa: S607 - wherever it is
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_folder_that_cannot_be_made_is_reported(whichgpu: Whichgpu, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    ran = whichgpu("man", str(tmp_path / "file" / "man1"))
    assert ran.code == 2
    assert "cannot write" in ran.err
