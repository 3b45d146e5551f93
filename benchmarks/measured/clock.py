"""Seconds on the device: of calls, and of the steps of a trainer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import transformers


#: Where everything is run; without a GPU only to see that it runs.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def now() -> float:
    """The time once everything that was asked of the device is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def mean_seconds(call: Callable[[], Any], times: int) -> float:
    """Of a call, after one that is not timed."""
    call()
    begun = now()
    for _ in range(times):
        call()
    return (now() - begun) / times


class Clock(transformers.TrainerCallback):
    """When each step of a trainer ended."""

    def __init__(self) -> None:
        self._ends: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Note it."""
        self._ends.append(now())

    def seconds(self) -> float:
        """Between the ends of two steps, of all but the first."""
        return (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
