"""A page that a script writes anew keeps the sections that a person wrote."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COMMENT = "\n## Known limits\n\nWhat misses, and why.\n\n## History\n\nEarlier figures.\n"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("report_pages", BENCHMARKS / "report_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_was_written_by_hand_follows_the_new_figures(pages: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\nOld figures.\n{COMMENT}")
    pages.write_page(page, "# Title\n\nNew figures.\n")
    assert page.read_text() == f"# Title\n\nNew figures.\n{COMMENT}"


def test_a_page_without_such_sections_is_what_the_script_wrote(pages: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    pages.write_page(page, "# Title\n\nFigures.\n")
    assert page.read_text() == "# Title\n\nFigures.\n"


@pytest.mark.parametrize("name", ["columns", "decisions", "deployments", "fleet"])
def test_pages_of_scripts_have_one_hand_written_part(pages: ModuleType, name: str) -> None:
    text = (BENCHMARKS / f"{name}.md").read_text(encoding="utf-8")
    assert text.count(pages.BY_HAND) == 1
    assert "write_page(" in (BENCHMARKS / f"{name}.py").read_text(encoding="utf-8")
