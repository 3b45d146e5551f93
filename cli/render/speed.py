"""Speed figures in words. A figure that has no words yet is shown under its own name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whichgpu.cli.render.figures import hours, milliseconds, number


_LABELS: dict[str, tuple[str, Callable[[float], str]]] = {
    "tokens_per_s": ("tokens per second", number),
    "samples_per_s": ("samples per second", number),
    "images_per_s": ("images per second", number),
    "requests_per_s": ("requests per second at this load", number),
    "in_flight": ("requests in flight", number),
    "utilization": ("share of capacity used", lambda value: f"{number(100 * value)} %"),
    "capacity_tokens_per_s": ("tokens per second, at most", number),
    "qps": ("requests per second, at most", number),
    "steps_per_s": ("steps per second", number),
    "max_concurrency": ("requests at a time, at most", number),
    "ttft_ms": ("wait for the first token", milliseconds),
    "tpot_ms": ("time per further token", milliseconds),
    "latency_ms": ("time to a full answer", milliseconds),
    "hours": ("length of the run", hours),
    "step_s": ("seconds per step", number),
    "mfu": ("share of peak arithmetic reached", lambda value: f"{number(100 * value)} %"),
}
UNKNOWN = "unknown"
_BANDS = ("_low", "_high")
#: Beside the figure that they belong to, or in the JSON alone.
_BESIDE = ("_p95_ms", "_p99_ms", "_mean_ms", "overloaded")


def speed_pairs(speed: Mapping[str, float | None]) -> tuple[tuple[str, str], ...]:
    """``label, value (low to high)`` for every known figure, the usual ones first."""
    known = {name: value for name, value in speed.items() if value is not None}
    names = [name for name in known if not name.endswith((*_BANDS, *_BESIDE))]
    order = list(_LABELS)
    names.sort(key=lambda name: (order.index(name) if name in order else len(order), name))
    return tuple((_label(name), _value(name, known)) for name in names)


def headline_speed(speed: Mapping[str, float | None]) -> str:
    """The one figure that stands for a plan's speed in a table."""
    for name in ("tokens_per_s", "samples_per_s", "images_per_s", "qps", "hours", "latency_ms"):
        value = speed.get(name)
        if value is not None:
            shows = _LABELS[name][1](value)
            return shows if name in ("hours", "latency_ms") else f"{shows} {_SHORT[name]}"
    return UNKNOWN


_SHORT = {"tokens_per_s": "tokens/s", "samples_per_s": "samples/s", "images_per_s": "images/s", "qps": "requests/s"}


def _label(name: str) -> str:
    return _LABELS[name][0] if name in _LABELS else name.replace("_", " ")


def _value(name: str, known: Mapping[str, float]) -> str:
    form = _LABELS[name][1] if name in _LABELS else number
    low, high = known.get(f"{name}_low"), known.get(f"{name}_high")
    band = f" ({form(low)} to {form(high)})" if low is not None and high is not None else ""
    late = known.get(name.replace("_ms", "_p95_ms")) if name.endswith("_ms") else None
    tail = f"; 95 of 100 within {form(late)}" if late is not None and form(late) != form(known[name]) else ""
    over = " - overloaded" if name == "utilization" and known.get("overloaded") else ""
    return f"{form(known[name])}{band}{tail}{over}"
