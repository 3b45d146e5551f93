"""Speed at the stated load, held against the targets that were stated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from whichgpu.cli.render.blocks import Row, Tone
from whichgpu.cli.render.figures import hours, hours_band, joined, milliseconds, number, percent
from whichgpu.cli.render.speed import UNKNOWN, headline_speed, labels_of
from whichgpu.cli.render.support import level_of, support_sentences
from whichgpu.engine.sizing import at_percentile


JsonObject = Mapping[str, Any]

#: What is waited for: the target, the figure and its words.
_WAITS = (
    ("ttft_slo_ms", "ttft", "first token"),
    ("tpot_slo_ms", "tpot", "each further token"),
    ("latency_slo_ms", "latency", "whole answer"),
)


def speed_rows(decision: JsonObject) -> list[Row]:
    """The throughput at the load, the waits or the length of the run beside their targets, and what is withheld."""
    plan = decision["recommendation"]
    speed = plan["speed"]
    stated = {name: fact["value"] for name, fact in decision["facts"].items() if fact["origin"] == "given"}
    withheld = support_sentences(plan, labels_of(plan.get("support", ())), withheld=True)
    headline = headline_speed(speed)
    if headline == UNKNOWN:
        return [Row("Speed", " ".join(withheld) or "No speed can be worked out from what is known.", "warn")]
    level = _level(plan, speed)
    rows = [Row("Speed", f"{headline}{_load(speed, stated)}{level}.", "bad" if speed.get("overloaded") else "plain")]
    run = list(_run(speed, decision["facts"]))
    waits = [*_waits(speed, decision["facts"]), *run]
    if waits:
        missed = any(met is False for _, met in waits)
        stands = any(met for _, met in waits)
        tone: Tone = "bad" if missed else "good" if stands else "plain"
        lead = f"{_of_a_hundred(decision['facts'])}: " if len(waits) > len(run) else ""
        rows.append(Row("Time", f"{lead}{'; '.join(words for words, _ in waits)}.", tone))
    if withheld:
        rows.append(Row("Not given", " ".join(withheld), "warn"))
    return rows


def _level(plan: JsonObject, speed: Mapping[str, float | None]) -> str:
    levels = {level for name in speed if (level := level_of(plan, name))}
    return f" ({joined(sorted(levels))})" if levels else ""


def _load(speed: Mapping[str, float | None], stated: JsonObject) -> str:
    """Under which load: what was stated of it, and how much of the capacity it takes."""
    parts = []
    if streams := stated.get("video_streams"):
        parts.append(_streams(speed, streams))
    elif "peak_qps" in stated:
        parts.append(f"{number(stated['peak_qps'])} requests/s")
    if "concurrency" in stated:
        users = stated["concurrency"]
        parts.append(f"{number(users)} user{'' if users == 1 else 's'} at a time")
    load = f" at {joined(parts)}" if parts else ""
    if speed.get("overloaded"):
        return f"{load}, which is beyond its capacity"
    used = speed.get("utilization")
    return f"{load}, {percent(100 * used)} of its capacity" if used is not None else load


def _streams(speed: Mapping[str, float | None], streams: int) -> str:
    """``8 of up to 12 streams of 30 frames/s``."""
    most, rate = speed.get("max_streams"), speed.get("qps")
    if not most or not rate:
        return f"{number(streams)} streams"
    return f"{number(streams)} of up to {number(int(most))} streams of {rate / most:.3g} frames/s"


def _of_a_hundred(facts: JsonObject) -> str:
    percentile = _percentile(facts)
    return f"{number(percentile)} of 100 requests" if percentile.is_integer() else f"{percent(percentile)} of requests"


def _percentile(facts: JsonObject) -> float:
    return float(facts.get("slo_percentile", {}).get("value") or 95)


def _waits(speed: Mapping[str, float | None], facts: JsonObject) -> Iterator[tuple[str, bool | None]]:
    """``first token within 320 ms (500 ms asked: met)`` and whether the target is met; None where none is stated."""
    if facts.get("serving_mode", {}).get("value") == "batch" and not any(target in facts for target, *_ in _WAITS):
        return  # Nobody waits for any one answer.
    percentile = _percentile(facts)
    for target, figure, words in _WAITS:
        value = _judged(speed, f"{figure}_ms", percentile)
        asked = facts.get(target, {}).get("value")
        if value is None or (figure == "tpot" and asked is None and speed.get("latency_ms") is not None):
            continue
        if asked is None:
            yield f"{words} within {milliseconds(value)}", None
        else:
            kept = _kept(value, _judged(speed, f"{figure}_ms_high", percentile), asked)
            yield f"{words} within {milliseconds(value)} ({milliseconds(asked)} asked: {kept})", value <= asked


def _judged(speed: Mapping[str, float | None], name: str, percentile: float) -> float | None:
    """The time by which a target is judged: that of the stated share of requests, as the plan was held against it."""
    return None if speed.get(name) is None else float(at_percentile(speed, name, percentile))


def _kept(value: float, slow_end: float | None, most: float) -> str:
    """Whether a time is within what is asked: by the estimate, and at the slow end of its band."""
    if value > most:
        return "missed"
    return "met, but not at the slow end of the band" if slow_end is not None and slow_end > most else "met"


#: What a batch job has of work, as people state it.
_WORK = (
    ("audio_hours_total", "hours of sound"),
    ("video_hours_total", "hours of video"),
    ("requests_total", "requests"),
)


def _the_run_takes(facts: JsonObject) -> str:
    """``the run takes``, or what of it takes so long where the number of epochs is assumed."""
    epochs = facts.get("epochs", {})
    if epochs.get("origin") != "assumed":
        return "the run takes"
    passes = epochs["value"]
    said, take = ("one pass", "takes") if passes == 1 else (f"{number(passes)} passes", "take")
    return f"{said} over the data, as epochs are not stated, {take}"


def _run(speed: Mapping[str, float | None], facts: JsonObject) -> Iterator[tuple[str, bool | None]]:
    """The length of the run, of a batch job with its work, beside the deadline."""
    value, deadline = speed.get("hours"), facts.get("deadline_hours", {}).get("value")
    if value is None:
        return
    low, high = speed.get("hours_low"), speed.get("hours_high")
    work = next((f"{number(facts[name]['value'])} {noun} take" for name, noun in _WORK if name in facts), "")
    takes = work or _the_run_takes(facts)
    band = f", likely {hours_band(low, high)}" if low is not None and high is not None else ""
    if deadline is None:
        yield f"{takes} {hours(value)}{band}", None
    else:
        kept = _kept(value, high, deadline)
        yield f"{takes} {hours(value)}{band}; {hours(deadline)} asked: {kept}", value <= deadline
