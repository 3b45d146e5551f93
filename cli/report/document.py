"""The frame of every page: one HTML document with its style inside, that loads nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

from whichgpu.cli.report.markup import Child, tag, verbatim


_STYLE = Path(__file__).parent / "style.css"


def document(title: str, *body: Child) -> str:
    """A page as text, UTF-8, to be read without network and without scripts."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        tag("title", title),
        tag("style", verbatim(_STYLE.read_text(encoding="utf-8"))),
    )
    skip = tag("a", "Skip to the contents", href="#main", class_="skip")
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", skip, *body), lang="en") + "\n"
