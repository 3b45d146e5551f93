"""All checks over a rulebook, by what they are about; each is found by standing in a module of this folder."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from whichgpu.engine.authoring.lint.finding import Check


def _found() -> tuple[Check, ...]:
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    checks = [check for module in modules for check in vars(module).values() if isinstance(check, Check)]
    return tuple(sorted(checks, key=lambda check: check.id))


#: Every check, sorted by id.
ALL_CHECKS = _found()
