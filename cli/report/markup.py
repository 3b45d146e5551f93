"""HTML elements. What is not markup already is escaped, so nothing from a workload file can become markup."""

from __future__ import annotations

from html import escape

from whichgpu.cli.render.blocks import printable


class Markup(str):
    """Text that is HTML. Only ``tag``, ``text`` and ``join`` make it."""

    __slots__ = ()


Child = str | Markup

_VOID = frozenset({"meta", "line", "rect", "path", "circle", "br"})


def text(value: str) -> Markup:
    """Plain text as HTML; control characters are shown as replacement characters."""
    return Markup(escape(printable(value), quote=True))


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """An element. ``class_`` and ``for_`` lose the underscore, other underscores become hyphens.

    True is an attribute without a value; None and False leave it out.
    """
    written = "".join(
        f" {_name(key)}" if value is True else f' {_name(key)}="{text(_number(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Several pieces in a row; those that are not markup are escaped."""
    return Markup("".join(child if isinstance(child, Markup) else text(child) for child in children))


def verbatim(css: str) -> Markup:
    """A text of this program that is markup or CSS as it stands. Never for anything that came from outside."""
    return Markup(css)


def _name(key: str) -> str:
    return key.rstrip("_") if key.endswith("_") else key.replace("_", "-")


def _number(value: str | float | bool) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
