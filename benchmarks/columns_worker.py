"""A checkout that answers the orders of ``columns.py``: ``columns_worker.py CHECKOUT``, a JSON list a line.

It drives this checkout and that of commit 0c7b3ce, whose packages are called otherwise.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


CHECKOUT = Path(sys.argv[1])
sys.path.insert(0, str(CHECKOUT))
OLD = not (CHECKOUT / "whichgpu").is_dir()

if OLD:
    from engine.explain.phrases import Phrases
    from engine.explain.sensitivity import sensitivity

    from engine import InputError, load_expertise as load_advisor
    from engine.explain.whynot import why_not
else:
    import msgspec

    from whichgpu import InputError, load_advisor
    from whichgpu.engine.explain.derivation import Phrases
    from whichgpu.engine.explain.sensitivity_search import sensitivity
    from whichgpu.engine.explain.whynot import why_not
    from whichgpu.engine.interview import answered
    from whichgpu.engine.records.again import decide_again, recorded_facts
    from whichgpu.engine.rules import probing


MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
Facts = dict[str, Any]


class Side:
    """The orders, by name: each takes CPU seconds, which it returns."""

    def __init__(self) -> None:
        self._advisor: Any = load_advisor()
        self._phrases = Phrases(self._advisor.vocabulary)

    def decide(self, hand: list[Facts]) -> float:
        """Read and decide each workload."""
        return self._each(hand, self._decided)

    def line(self, hand: list[Facts]) -> float:
        """The same, and write the line of ``--jsonl``."""

        def write(facts: Facts) -> None:
            answer = self._decided(facts).to_dict(full=False)
            json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

        return self._each(hand, write)

    def compact(self, hand: list[Facts]) -> float:
        """The same with the line of ``--jsonl --compact``."""

        def write(facts: Facts) -> None:
            with nullcontext() if OLD else probing():
                msgspec.json.encode(self._decided(facts).compact())

        return self._each(hand, write)

    def why_not(self, hand: list[Any]) -> float:
        """One search for what keeps a GPU back."""
        decision = self._decided(hand[0]).to_dict()
        return self._each(hand[1:], lambda gpu: why_not(decision, gpu, self._advisor, phrases=self._phrases))

    def sensitivity(self, hand: list[Any]) -> float:
        """One search for what flips the answer."""
        decision = self._decided(hand[0]).to_dict()
        return self._each(hand[:1], lambda _: sensitivity(decision, self._advisor))

    def findings(self, facts: Facts, gpu: str) -> dict[str, Any]:
        """What both searches find: changes by goal, each with the answer that it is said to bring; CPU seconds."""
        try:
            decision = self._decided(facts).to_dict()
        except InputError:
            return {}
        began = time.process_time()
        found = why_not(decision, gpu, self._advisor, phrases=self._phrases)
        between = time.process_time()
        flips = sensitivity(decision, self._advisor)
        plan = decision["recommendation"]
        return {
            "answer": [plan["gpu"], plan["count"]] if plan else None,
            "standing": found.standing,
            "seconds": [between - began, time.process_time() - between],
            "why_not": [
                [goal, [_change(change) for change in nearest.changes], nearest.recommendation, nearest.plan]
                for goal in ("fits", "wins")
                for nearest in (getattr(found.search, goal) if found.search else ())
            ],
            "sensitivity": [
                [
                    list(turn.flips),
                    [_change(turn.change)],
                    [turn.verdict.gpu, turn.verdict.count],
                    turn.verdict.procurement,
                ]
                for turn in flips.turns
            ],
        }

    def checked(self, facts: Facts, found: dict[str, Any]) -> list[Any]:
        """The claims of this checkout's searches that a decision in full does not bear out."""
        advisor, wrong = self._advisor, []
        decision = self._decided(facts).to_dict()
        given, before = recorded_facts(decision, advisor), answered(decide_again(decision, advisor).outcome)
        for kind in ("why_not", "sensitivity"):
            for claim in found[kind]:
                changed = dict(given)
                for name, after in claim[1]:
                    changed.pop(name, None)
                    if after is not None:
                        changed[name] = tuple(after) if isinstance(after, list) else after
                outcome = decide_again(decision, advisor, given=changed).outcome
                now = answered(outcome)
                if kind == "sensitivity":
                    true = [[now.gpu, now.count], now.procurement] == claim[2:] and list(
                        before.differs_in(now)
                    ) == claim[0]
                else:
                    chosen = outcome.chosen.ranked.plan.id if outcome.chosen else None
                    true = chosen == claim[2] and claim[3] in {entry.ranked.plan.id for entry in outcome.judged}
                if not true:
                    wrong.append([kind, claim])
        return wrong

    def memory_mb(self) -> float:
        """Memory in use."""
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def grow(self, what: str, times: int) -> tuple[int, str]:
        """Load a catalogue with copies of every GPU, or a rulebook with further rules; how many there are then."""
        if what == "gpus":
            self._advisor = load_advisor(knowledge=_more_gpus(self._advisor.knowledge, times))
            return len(self._advisor.knowledge.gpus), "GPUs"
        import tempfile  # noqa: PLC0415

        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "many.yaml").write_text(_more_rules(self._advisor, times), encoding="utf-8")
            self._advisor = load_advisor([Path(folder)])
        return len(self._advisor.rules), "rules"

    def _decided(self, facts: Facts) -> Any:
        return self._advisor.decide(facts, decided_at=MOMENT)

    def _each(self, hand: list[Any], do: Any) -> float:
        began = time.process_time()
        for item in hand:
            try:
                do(item)
            except InputError:  # Refused by this side, and quickly.
                continue
        return time.process_time() - began


def _change(change: Any) -> list[Any]:
    return [change.fact, list(change.after) if isinstance(change.after, tuple) else change.after]


def _more_gpus(knowledge: Any, times: int) -> Any:
    """Copies of each GPU under further names, with offers of their own."""
    gpus, facts, offers = dict(knowledge.gpus), dict(knowledge.gpu_facts), list(knowledge.offers)
    for number in range(1, times):
        for gpu in knowledge.gpus.values():
            name = f"{gpu.id}-copy{number}"
            family = f"{gpu.family}-copy{number}"
            gpus[name] = msgspec.structs.replace(gpu, id=name, family=family, name=f"{gpu.name} copy {number}")
            facts[name] = {**knowledge.gpu_facts[gpu.id], "gpu.id": name, "gpu.family": family}
        offers += [msgspec.structs.replace(offer, gpu=f"{offer.gpu}-copy{number}") for offer in knowledge.offers]
    digest = f"{knowledge.digest}-{times}"
    return replace(knowledge, gpus=gpus, gpu_facts=facts, offers=tuple(offers), digest=digest)


#: What a copy of a rule on plans does, in which stage.
_EFFECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "reject": ("reject", {"reject": "never"}),
    "prefer": ("prefer", {"points": 1, "reason": "cost"}),
}


def _more_rules(advisor: Any, times: int) -> str:
    """Rules with the conditions of those that there are, and one more that hardly ever holds."""
    rules = []
    for number in range(1, times):
        for rule in advisor.rulebook.rules:
            stage, then = _EFFECTS.get(rule.stage if rule.each == "plan" else "", ("advise", {"ask": "task"}))
            rules.append(
                {
                    "id": f"{rule.id.replace('/', '-')}-copy{number}",
                    "title": rule.title,
                    "stage": stage,
                    "each": rule.each,
                    "when": [*(condition.text for condition in rule.when), f"num_models_served == {7000 + number}"],
                    "then": then,
                    "because": "A rulebook of this size.",
                    "sources": ["whichgpu-judgement"],
                }
            )
    return json.dumps(rules)  # JSON is YAML, but for the size that is read.


if __name__ == "__main__":
    side = Side()
    for line in sys.stdin:
        order, *arguments = json.loads(line)
        print(json.dumps(getattr(side, order)(*arguments)), flush=True)
