"""Answers as people speak: ``50 users``, ``10 per second``, ``$2000 a month``, ``4x3090``, ``next Friday``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, time, timedelta

from whichgpu.engine.rules import FactDef


_NUMBER = r"(?P<number>\$?\s*\d[\d,._]*\s*(?:k|m|thousand|million)?)"
_ABOUT = re.compile(r"^(?:about|around|roughly|approximately|circa|ca\.?|up to|at most|at least|~|<)\s*", re.IGNORECASE)
_PERIOD = r"(?P<period>s|sec|second|min|minute|h|hr|hour|day|month|mo|year)"
_PER = re.compile(rf"^{_NUMBER}\s*(?P<what>[a-z$ ]*?)\s*(?:per|an?|/|each|every)\s*{_PERIOD}$", re.IGNORECASE)
#: What an amount of money may be counted in; another currency is refused with what it is in dollars.
_DOLLARS = re.compile(r"(?:us)?\s*(?:\$|usd|dollars?)?", re.IGNORECASE)
_IN_ALL = re.compile(rf"^{_NUMBER}\s*(?:usd|dollars?)?\s*(?:in all|in total|total|altogether|once)$", re.IGNORECASE)
_CARDS = re.compile(r"^(?P<count>\d+)\s*(?:x|\N{MULTIPLICATION SIGN}|\*)?\s*(?P<gpu>[a-z0-9].*)$", re.IGNORECASE)
_SECONDS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600, "day": 86400}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WRITTEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_FIRST_WORD = re.compile(rf"^(?:{'|'.join(_WRITTEN)})\b", re.IGNORECASE)
_DAY = 24
#: When a day that is named as a deadline ends for those who work by it.
_CLOSE_OF_DAY = time(18)
DEADLINE = "deadline_hours"
#: The facts that hold how fast an answer must come: all of it, and its first word.
WHOLE_ANSWER, FIRST_WORD = "latency_slo_ms", "ttft_slo_ms"
_TO_FIRST_WORD = re.compile(
    r"^(?P<time>.+?)\s+(?:to|until|till|before|for)\s+(?:the\s+)?first\s+(?:word|token)s?$", re.IGNORECASE
)
_IN_TIME = re.compile(r"^(?:(?:all|whole|complete)\s+)?(?:in|within|after)\s+", re.IGNORECASE)
#: The facts that hold a budget, by the period in which it is spent.
BUDGETS = {"h": "budget_usd_per_hour", "month": "budget_usd_per_month", "": "budget_usd_total"}
#: What nouns are counted where a fact asks for it; anything else beside a number is a slip.
_NOUNS = {
    "peak_qps": r"requests?|reqs?|quer(?:y|ies)|calls?|messages?|questions?|prompts?|documents?|images?|pictures?",
    "concurrency": r"users?|people|persons?|requests?|clients?|sessions?|at a time|at once|concurrent(?: users?)?",
    "image_px": r"px|pixels?",
    "project_months": r"months?",
    "num_models_served": r"models?",
    "video_streams": r"streams?|cameras?",
    "frames_per_second": r"fps|frames?",
    "audio_hours_per_hour": r"calls?|streams?|hours?|live calls?",
    "requests_total": r"(?:requests?|documents?|pictures?|images?|clips?|passages?|prompts?|texts?)(?: in all)?",
    "audio_hours_total": r"(?:hours?|h)(?: (?:of )?(?:audio|sound|speech|calls|recordings))?",
    "video_hours_total": r"(?:hours?|h)(?: of (?:video|footage))?",
    "batch_size_per_gpu": r"samples?|images?|pictures?|sequences?|texts?",
}


def readings(fact: FactDef, text: str, moment: datetime) -> Iterator[tuple[str, str]]:
    """Other ways to take an answer: the fact that it is of, and what to read, the likeliest first.

    Args:
        fact: that was asked.
        text: what was written.
        moment: now, from which days are counted.
    """
    words = _ABOUT.sub("", " ".join(text.split()))
    words = _counted(words)
    if words != text:
        yield fact.name, words
    if fact.name in BUDGETS.values():
        yield from _budget(words)
    elif fact.items == "gpu_count":
        yield fact.name, ", ".join(_cards(part.strip()) for part in re.split(r",|\band\b|\+", words) if part.strip())
    elif fact.name == DEADLINE and (hours := _hours_until(words.casefold(), moment)) is not None:
        yield fact.name, f"{hours:g} h"
    elif fact.name == WHOLE_ANSWER:
        first = _TO_FIRST_WORD.match(words)
        yield FIRST_WORD if first else WHOLE_ANSWER, _IN_TIME.sub("", first["time"] if first else words)
    elif fact.numeric:
        per = _PER.match(words)
        if per and _is_counted_in(per["what"], fact) and per["period"].casefold() in _SECONDS:
            rate = _value(per["number"]) / _SECONDS[per["period"].casefold()]
            yield fact.name, f"{rate:.6g}"
        noun = _NOUNS.get(fact.name)
        counted = re.match(rf"^{_NUMBER}\s+(?:{noun})$", words, re.IGNORECASE) if noun else None
        if counted:
            yield fact.name, counted["number"]


def _counted(words: str) -> str:
    """``two cards`` as ``2 cards``."""
    return _FIRST_WORD.sub(lambda found: str(_WRITTEN.index(found[0].casefold()) + 1), words)


def _budget(words: str) -> Iterator[tuple[str, str]]:
    """An amount, and over which time it is spent; without one it is taken by the month."""
    per = _PER.match(words)
    if per is None:
        total = _IN_ALL.match(words)
        if total:
            yield BUDGETS[""], total["number"]
        return
    if not _DOLLARS.fullmatch(per["what"].strip()):
        return
    period = per["period"].casefold()
    amount = _value(per["number"])
    if period in {"month", "mo"}:
        yield BUDGETS["month"], f"{amount:g}"
    elif period in {"h", "hr", "hour"}:
        yield BUDGETS["h"], f"{amount:g}"
    elif period == "year":
        yield BUDGETS["month"], f"{amount / 12:.6g}"
    elif period == "day":
        yield BUDGETS["h"], f"{amount / _DAY:.6g}"


def _is_counted_in(what: str, fact: FactDef) -> bool:
    """Whether a rate of so many of something a second is one of this fact: 500 tokens a second are no requests."""
    counted, per_second, _ = (fact.unit or "").partition("/s")
    nouns = _NOUNS.get(fact.name) or f"{re.escape(counted.removesuffix('s'))}s?"
    return bool(per_second) and (not what or re.fullmatch(nouns, what.strip(), re.IGNORECASE) is not None)


def _value(number: str) -> float:
    digits = re.sub(r"[$,_\s]", "", number.casefold()).replace("thousand", "k").replace("million", "m")
    scale = {"k": 1e3, "m": 1e6}.get(digits[-1], 1.0)
    return float(digits.rstrip("km").rstrip(".")) * scale


def _cards(text: str) -> str:
    """``4x3090`` as ``4 x rtx 3090``."""
    text = _counted(text)
    found = _CARDS.match(text)
    if found is None or not re.search(r"[x\N{MULTIPLICATION SIGN}* ]", text[: found.start("gpu")] or ""):
        return _card(text)
    return f"{found['count']} x {_card(found['gpu'].strip())}"


def _card(name: str) -> str:
    """A card by its number alone is a GeForce RTX: no other vendor's cards are called by four digits."""
    return re.sub(r"^([2-9]0[5-9]0)\b", r"rtx \1", name)


def _hours_until(words: str, moment: datetime) -> float | None:
    """Hours until a day or in a span: ``tomorrow``, ``next Friday``, ``2026-12-01``, ``in 3 days``, ``overnight``."""
    span = re.match(r"^(?:in|within)\s+(?:an?|one)\s+(hour|day|week|month)$", words)
    if span:
        return {"hour": 1.0, "day": 24.0, "week": 168.0, "month": 730.0}[span[1]]
    words = re.sub(r"^(?:by|before|until|on|within|in)\s+", "", words)
    number = re.match(r"^(\d+(?:\.\d+)?)\s*(hours?|h|days?|d|weeks?|w|months?)$", words)
    if number:
        return float(number[1]) * {"h": 1.0, "d": 24.0, "w": 168.0, "m": 730.0}[number[2][0]]
    day = _day(words, moment)
    if day is None:
        return None
    hours = (day - moment).total_seconds() / 3600
    return round(hours, 1) if hours > 0 else None


def _day(words: str, moment: datetime) -> datetime | None:
    """The end of the day that is meant."""
    close = moment.replace(hour=_CLOSE_OF_DAY.hour, minute=0, second=0, microsecond=0)
    ahead = {"tomorrow": 1, "overnight": 1, "next week": 11 - moment.weekday()}
    ahead |= dict.fromkeys(("this week", "end of the week", "end of week"), (4 - moment.weekday()) % 7)
    for place, name in enumerate(_WEEKDAYS):
        days = (place - moment.weekday()) % 7 or 7
        ahead |= dict.fromkeys((name, f"next {name}", f"this {name}"), days)
    if words in {"today", "tonight"}:
        return moment.replace(hour=23, minute=59)
    if words in ahead:
        return close + timedelta(days=ahead[words])
    try:
        return datetime.combine(datetime.fromisoformat(words).date(), _CLOSE_OF_DAY, moment.tzinfo)
    except ValueError:
        return None
