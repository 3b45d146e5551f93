"""Hypothesis profiles: ``HYPOTHESIS_PROFILE=quick`` for a second interpreter, ``ci`` (the default) for the full run."""

from __future__ import annotations

import os

from hypothesis import HealthCheck
from hypothesis import settings


_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "derandomize": True}

settings.register_profile("ci", max_examples=100, **_CALM)
settings.register_profile("quick", max_examples=15, **_CALM)
settings.register_profile("thorough", max_examples=1000, **{**_CALM, "derandomize": False})
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
