"""GPU, count and verdict of an answer in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.names import Names
from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import Value
from whichgpu.engine.interview import Answered
from whichgpu.engine.plans import count_owned, owned_gpus


_VERDICTS = {"rent": "rent", "buy": "buy", "hybrid": "own some, rent the rest", "undecided": "rent or buy still open"}
_VERDICTS["owned"] = "which you have"


def answer_text(answer: Answered, names: Names, owned: Mapping[str, int]) -> str:
    """GPU, count and verdict in words.

    Args:
        answer: the answer.
        names: of GPUs.
        owned: how many of each GPU the person has.
    """
    return f"{plan_text(answer.gpu, answer.count, names)}, {verdict_text(answer, owned)}"


def verdict_text(answer: Answered, owned: Mapping[str, int]) -> str:
    """Whether to rent or to buy; what somebody has already is not bought."""
    verdict = str(answer.procurement)
    if verdict == "buy" and answer.count and owned.get(answer.gpu or "", 0) >= answer.count:
        verdict = "owned"
    return _VERDICTS.get(verdict, verdict)


def owned_in(decision: Mapping[str, Any], advisor: Advisor) -> dict[str, int]:
    """How many of each GPU the person has for whom a record decided, by id."""
    stated = decision["facts"].get("gpus_owned")
    return owned_cards({"gpus_owned": tuple(stated["value"])}, advisor) if stated else {}


def owned_cards(given: Mapping[str, Value], advisor: Advisor) -> dict[str, int]:
    """How many of each GPU a person has, by id."""
    owned = owned_gpus(given)
    each = ((gpu.id, count_owned(gpu, owned)) for gpu in advisor.knowledge.plannable)
    return {name: count for name, count in each if count}


def plan_text(gpu: str | None, count: int | None, names: Names) -> str:
    """GPU and count in words."""
    return f"{count} x {names.gpu(gpu)}" if gpu else "no plan"
