"""``whichgpu doctor``: what is installed, which engine fires the rules and why, how old the data is."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load, now
from whichgpu.cli.health import health, health_blocks
from whichgpu.cli.options import output_format, rules_options


_PACKAGES = ("whichgpu", "durable-rules", "pydantic", "PyYAML", "click")


@click.command()
@output_format("text", "json", "markdown")
@rules_options
def doctor(form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Say which engine fires the rules and why, with versions, digests and the age of the prices."""
    advisor = load(rules, builtin=builtin, tests=False)
    report = {"python": python_version(), "packages": installed(), **health(advisor, now().date())}
    output.emit_as(form, report, health_blocks(report))
    return 0


def python_version() -> str:
    """Implementation, version and platform."""
    return f"{platform.python_implementation()} {platform.python_version()} on {sys.platform}"


def installed() -> dict[str, Any]:
    """The version of each package that matters; None where it is not installed."""
    found: dict[str, Any] = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
