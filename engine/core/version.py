"""The version of whichgpu. A test holds it to the one in ``pyproject.toml``."""

from __future__ import annotations


#: Written here because asking the installed package for it costs 17 ms of every start.
VERSION = "0.1.0"
