"""What the site takes in besides the pages of docs/, and what it may not ask of a network. Called by MkDocs.

Pages that lie elsewhere in the repository and one page per package of ``engine/`` are added; links that hold
in the repository are made to hold on the site; a diagram that would need a script becomes a table.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shutil
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


ROOT = Path(__file__).resolve().parents[2]
#: Pages of the repository that are not in docs/; on the site they have the same path.
ELSEWHERE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "benchmarks").rglob("*.md")),
)
_LINK = re.compile(r"\[(?P<text>[^\]\n]*(?:\n[^\]\n]*)?)\]\((?P<path>[\w./-]+)(?P<anchor>#[\w./-]+)?\)")
_MERMAID = re.compile(r"^```mermaid\n(?P<graph>.*?)^```$", re.DOTALL | re.MULTILINE)
_NODE = re.compile(r'^ *(\w+)\W+"([^"]+)"', re.MULTILINE)
_EDGE = re.compile(r"^ *(\w+) -->(?:\|([^|]*)\|)? (\w+)$", re.MULTILINE)
#: A tag but <a> that names an outside address, the same in a style, and what the theme fetches a script for. The
#: address of the page itself, which `mkdocs serve` adds, is not fetched.
_FETCHED = re.compile(
    r"""<(?!a\b|link\s+rel="canonical")\w+\b[^>]*?\s(?:src|srcset|href|data|poster)=["']?(?:https?:)?//[^\s"'>]*"""
    r"""|(?:url\(\s*["']?|@import\s+["'])(?:https?:)?//[^\s"')]*"""
    r"""|class=["']?mermaid\b"""
)
_staged: list[tempfile.TemporaryDirectory[str]] = []


@event_priority(100)  # Before mkdocstrings reads where packages lie.
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lay the folders of the checkout under their import name, where mkdocstrings reads them (docs/decisions/0011)."""
    tree = tempfile.TemporaryDirectory(prefix="whichgpu-site-")
    _staged.append(tree)
    for name, inside in (("whichgpu", "whichgpu"), ("engine", "whichgpu/engine")):
        shutil.copytree(ROOT / name, Path(tree.name, inside), ignore=shutil.ignore_patterns("__pycache__"))
    config.plugins["mkdocstrings"].config["handlers"]["python"]["paths"] = [tree.name]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that lie elsewhere, and one page per package."""
    for page in ELSEWHERE:
        files.append(File.generated(config, page, abs_src_path=str(ROOT / page)))
    for package in packages():
        files.append(File.generated(config, f"reference/{package.name}.md", content=reference_of(package)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Links and diagrams as the site can show them."""
    return _MERMAID.sub(_table_of, _LINK.sub(lambda link: _relinked(link, page.file.src_uri), markdown))


def on_post_build(*, config: MkDocsConfig) -> None:
    """Refuse a site that would fetch something."""
    for tree in _staged:
        tree.cleanup()
    found = [
        f"{path.relative_to(config.site_dir)}: {what}"
        for path in sorted(Path(config.site_dir).rglob("*"))
        if path.suffix in {".html", ".css", ".svg"}
        for what in fetched_by(path)
    ]
    if found:
        raise PluginError("The site has to work without a network, but these are fetched:\n" + "\n".join(found))


def packages() -> list[Path]:
    """The packages of the engine."""
    return sorted(path.parent for path in (ROOT / "engine").glob("*/__init__.py"))


def reference_of(package: Path) -> str:
    """The page of a package: what it exports, by the module that holds it, in the order of its ``__init__.pyi``."""
    name = ".".join(("whichgpu", *package.relative_to(ROOT).parts))
    lines = [f"# {package.name}", "", f"::: {name}", "    options: {members: false}", ""]
    for line in ast.parse((package / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            members = ", ".join(alias.name for alias in line.names)
            lines += [f"::: {name}.{line.module}", f"    options: {{members: [{members}]}}", ""]
    return "\n".join(lines) + "\n"


def fetched_by(path: Path) -> list[str]:
    """What a browser would fetch from elsewhere to show a page or a style sheet; links to click are none of it."""
    return [match.group() for match in _FETCHED.finditer(path.read_text(encoding="utf-8"))]


def _relinked(link: re.Match[str], page: str) -> str:
    """A link that leaves docs/: to the page on the site, or only its words where the site has none."""
    here = page if page in ELSEWHERE else f"docs/{page}"
    target = posixpath.normpath(posixpath.join(posixpath.dirname(here), link["path"]))
    inside = target.startswith("docs/")
    if (inside and here != page) or not (ROOT / target).exists():
        return link.group()
    if target not in ELSEWHERE and not (inside and target.endswith((".md", ".json"))):
        return link["text"]
    path = posixpath.relpath(target.removeprefix("docs/"), posixpath.dirname(page) or ".")
    return f"[{link['text']}]({path}{link['anchor'] or ''})"


def _table_of(fence: re.Match[str]) -> str:
    """A flowchart as a table of its arrows."""
    names = dict(_NODE.findall(fence["graph"]))
    edges = _EDGE.findall(fence["graph"])
    rows = [f"| {names[start]} | {label} | {names[end]} |" for start, label, end in edges]
    return "\n".join(("| From | What | To |", "| --- | --- | --- |", *rows))
