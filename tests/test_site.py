"""The site: links hold in the repository too; what its hooks take in, relink and refuse."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest


ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
#: A file or folder of the repository between backticks; what a page leaves to the reader (NAME) is none.
NAMED = re.compile(r"`((?:engine|cli|knowledge|rules|tests|docs|benchmarks|examples)/[a-z0-9_/.*-]+)`")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "_site" / "hooks.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_lead_somewhere_in_the_repository() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert len(PAGES) > 50
    assert not broken


def test_files_that_guides_name_exist() -> None:
    """A page that says where something is computed must not outlive the file."""
    guides = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
    guides.remove(ROOT / "CHANGELOG.md")  # It speaks of what was.
    gone = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in guides
        for path in NAMED.findall(page.read_text(encoding="utf-8"))
        # Decisions are named by their numbers.
        if not any(ROOT.glob(path.rstrip("/.") + ("*" if path[-4:].isdigit() else "")))
    ]
    assert not gone


def on_site(hooks: ModuleType, page: str, markdown: str) -> str:
    text: str = hooks.on_page_markdown(markdown, page=SimpleNamespace(file=SimpleNamespace(src_uri=page)))
    return text


@pytest.mark.parametrize(
    ("page", "link", "wanted"),
    [
        ("rules.md", "[a](first-rule.md)", "[a](first-rule.md)"),
        ("rules.md", "[a](https://example.org/x.md)", "[a](https://example.org/x.md)"),
        ("interview.md", "[a](../benchmarks/QUESTIONS.md)", "[a](benchmarks/QUESTIONS.md)"),
        ("decisions/0001-x.md", "[a](../../CONTRIBUTING.md#words)", "[a](../CONTRIBUTING.md#words)"),
        ("rules.md", "[the rules](../rules)", "the rules"),
        ("CONTRIBUTING.md", "[a](docs/rules.md#layers)", "[a](rules.md#layers)"),
        ("benchmarks/accuracy/REPORT.md", "[a](README.md)", "[a](README.md)"),
        ("benchmarks/accuracy/REPORT.md", "[a](run.py)", "a"),
        ("rules.md", "[a](nowhere.md)", "[a](nowhere.md)"),
    ],
)
def test_links_that_leave_docs(hooks: ModuleType, page: str, link: str, wanted: str) -> None:
    assert on_site(hooks, page, link) == wanted


def test_a_diagram_becomes_a_table(hooks: ModuleType) -> None:
    graph = '```mermaid\nflowchart LR\n  n1["limits"]\n  n2["power"]\n  n1 -->|task| n2\n  n2 --> n1\n```\n'
    table = on_site(hooks, "rulebook/README.md", graph)
    assert "| limits | task | power |" in table
    assert "| power |  | limits |" in table
    assert "mermaid" not in table


def test_every_package_has_a_page_with_all_that_it_exports(hooks: ModuleType) -> None:
    assert [package.name for package in hooks.packages()] == sorted(
        path.name for path in (ROOT / "engine").iterdir() if (path / "__init__.py").exists()
    )
    assert "::: whichgpu.engine.plans.costs" in hooks.reference_of(ROOT / "engine" / "plans")
    page = hooks.reference_of(ROOT / "engine" / "advisor")
    assert "::: whichgpu.engine.advisor.api\n    options: {members: [decide, size]}" in page


@pytest.mark.parametrize(
    ("name", "text", "amount"),
    [
        ("a.html", '<script src="https://example.org/x.js"></script>', 1),
        ("a.html", '<link rel="stylesheet" href="//example.org/x.css">', 1),
        ("a.html", "<p><img alt='' src='http://example.org/x.png'><iframe src=https://example.org></iframe>", 2),
        ("a.html", '<div style="background: url(https://example.org/x.png)">', 1),
        ("a.html", '<pre class="mermaid">', 1),
        ("a.css", '@import "https://example.org/x.css"; a { background: url(//example.org/x.png) }', 2),
        (
            "a.html",
            '<a href="https://example.org">there</a> <script src="../x.js"></script> <svg xmlns="http://www.w3.org">',
            0,
        ),
        ("a.html", '<link rel="canonical" href="http://127.0.0.1:8000/a.html">', 0),
        ("a.css", "a { background: url(x.png) }", 0),
    ],
)
def test_what_a_browser_would_fetch(hooks: ModuleType, tmp_path: Path, name: str, text: str, amount: int) -> None:
    (tmp_path / name).write_text(text)
    assert len(hooks.fetched_by(tmp_path / name)) == amount


def test_every_page_has_a_place_on_the_site() -> None:
    """Where the site is not built in the tests, a page that ``mkdocs build --strict`` would refuse is found here."""
    places = (ROOT / "docs" / ".nav.yml").read_text(encoding="utf-8")
    pages = [page.name for page in (ROOT / "docs").glob("*.md")]
    assert len(pages) > 10
    assert [page for page in pages if not re.search(rf"- {re.escape(page)}$", places, re.MULTILINE)] == []
