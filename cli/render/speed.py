"""Speed figures in words. A figure that has no words yet is shown under its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from whichgpu.cli.render.figures import hours, milliseconds, number


#: Labels and values.
Rows = tuple[tuple[str, str], ...]

_LABELS: dict[str, tuple[str, Callable[[float], str]]] = {
    "audio_hours_per_hour": ("hours of audio per hour", number),
    "capacity_audio_hours_per_hour": ("hours of audio per hour, at most", number),
    "tokens_per_s": ("tokens per second", number),
    "input_tokens_per_s": ("tokens read per second", number),
    "samples_per_s": ("samples per second", number),
    "images_per_s": ("images per second", number),
    "requests_per_s": ("requests per second at this load", number),
    "in_flight": ("requests in flight", number),
    "utilization": ("share of capacity used", lambda value: f"{number(100 * value)} %"),
    "capacity_tokens_per_s": ("tokens per second, at most", number),
    "capacity_samples_per_s": ("samples per second, at most", number),
    "qps": ("requests per second, at most", number),
    "steps_per_s": ("steps per second", number),
    "max_concurrency": ("concurrent requests, at most", number),
    "max_streams": ("video streams, at most", lambda value: number(int(value))),
    "ttft_ms": ("time to first token", milliseconds),
    "tpot_ms": ("time per output token", milliseconds),
    "latency_ms": ("end-to-end latency", milliseconds),
    "hours": ("length of the run", hours),
    "step_s": ("seconds per step", number),
    "mfu": ("share of peak arithmetic reached", lambda value: f"{number(100 * value)} %"),
}
UNKNOWN = "unknown"
_BANDS = ("_low", "_high")
#: Beside the figure that they belong to, or in the JSON alone.
BESIDE = ("_p95_ms", "_p99_ms", "_mean_ms", "overloaded")
#: Figures that grow without end where more requests come than are answered.
_GROWING = frozenset({"in_flight", "ttft_ms", "latency_ms"})


def speed_pairs(speed: Mapping[str, float | None], levels: Mapping[str, str] = MappingProxyType({})) -> Rows:
    """``label, value (low to high), level`` for every known figure, the usual ones first, in units that people use too.

    Args:
        speed: figures, each with its band.
        levels: of the figures in words, by name.
    """
    known = {name: value for name, value in speed.items() if value is not None}
    names = [name for name in known if not name.endswith((*_BANDS, *BESIDE)) and not _said_otherwise(name, known)]
    order = list(_LABELS)
    names.sort(key=lambda name: (order.index(name) if name in order else len(order), name))
    rows: list[tuple[str, str]] = []
    for name in names:
        rows.append((_label(name), _with_level(_value(name, known), levels.get(name))))
        rows += [(label, _with_level(value, levels.get(name))) for label, value in _as_people_say(name, known)]
    return tuple(rows)


def _said_otherwise(name: str, known: Mapping[str, float]) -> bool:
    """Samples that are pictures or requests are called so."""
    return name == "samples_per_s" and any(
        known.get(same) == known[name] for same in ("images_per_s", "requests_per_s")
    )


def labels_of(names: Iterable[str]) -> dict[str, str]:
    """What figures are called."""
    return {name: _label(name) for name in names}


def _with_level(value: str, level: str | None) -> str:
    return f"{value}, {level}" if level else value


def _as_people_say(name: str, known: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """The same figure in the units in which people speak of it."""
    value, generates = known[name], "steps_per_s" in known
    if name == "tpot_ms" and value > 0:
        yield "tokens per second for each user", number(1000 / value)
    elif name == "images_per_s" and value < 1:
        yield "images per minute", number(60 * value)
    elif name == "max_streams" and value > 0:
        yield "frames per second of each of them", number(known["qps"] / value)
    elif name == "samples_per_s" and generates and "images_per_s" not in known and value > 0:
        yield "seconds per clip, over all GPUs", number(1 / value)


def headline_speed(speed: Mapping[str, float | None]) -> str:
    """The one figure that stands for a plan's speed in a table."""
    generates = speed.get("steps_per_s") is not None
    per_s = speed.get("images_per_s") if "images_per_s" in speed else speed.get("samples_per_s")
    if generates and per_s and per_s < 1:
        return f"{number(60 * per_s)} images a minute" if "images_per_s" in speed else f"{number(1 / per_s)} s a clip"
    for name in _HEADLINES:
        value = speed.get(name)
        if value is not None:
            shows = _LABELS[name][1](value)
            most = speed.get(_CAPACITIES.get(name, ""))
            if most is not None:  # What flows at the stated load is the same for every plan that is large enough.
                shows = f"{shows} of {number(most)}"
            return shows if name in ("hours", "latency_ms") else f"{shows} {_SHORT[name]}"
    return UNKNOWN


_SHORT = {
    "audio_hours_per_hour": "h of audio an hour",
    "tokens_per_s": "tokens/s",
    "samples_per_s": "samples/s",
    "images_per_s": "images/s",
    "requests_per_s": "requests/s",
    "qps": "requests/s",
}
#: What the rates are at most.
_CAPACITIES = {
    "audio_hours_per_hour": "capacity_audio_hours_per_hour",
    "tokens_per_s": "capacity_tokens_per_s",
    "images_per_s": "capacity_samples_per_s",
    "requests_per_s": "capacity_samples_per_s",
    "samples_per_s": "capacity_samples_per_s",
}
#: Which figure stands for a speed: the first that is known.
_HEADLINES = (
    "audio_hours_per_hour",
    "tokens_per_s",
    "images_per_s",
    "requests_per_s",
    "samples_per_s",
    "qps",
    "hours",
    "latency_ms",
)


def _label(name: str) -> str:
    return _LABELS[name][0] if name in _LABELS else name.replace("_", " ")


def _value(name: str, known: Mapping[str, float]) -> str:
    if name in _GROWING and known.get("overloaded"):
        return "overloaded: grows as long as requests arrive faster than they are answered"
    form = _LABELS[name][1] if name in _LABELS else number
    low, high = known.get(f"{name}_low"), known.get(f"{name}_high")
    ends = () if low is None or high is None else (form(low), form(high))
    band = f" ({' to '.join(ends)})" if len(set(ends)) > 1 else ""  # A load that is stated has no band.
    late = known.get(name.replace("_ms", "_p95_ms")) if name.endswith("_ms") else None
    tail = f"; p95 {form(late)}" if late is not None and form(late) != form(known[name]) else ""
    over = " - overloaded" if name == "utilization" and known.get("overloaded") else ""
    return f"{form(known[name])}{band}{tail}{over}"
