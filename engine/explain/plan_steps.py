"""Steps about plans: why one is the answer or stands below it, its score, its count and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whichgpu.engine.advisor import better_words, ratio_words
from whichgpu.engine.explain.derivation import Phrases, Step, StepBuilder
from whichgpu.engine.explain.evidence import Evidence, TraceEntry
from whichgpu.engine.records import plan_id


#: Why a plan stands below the answer, whatever its points.
_BELOW_FOR = {
    "unverified": "a stated limit cannot be checked for it, so plans that were checked come first",
    "fallback": "chosen only where nothing else does the work",
    "guide_cards": "a guide names other cards for the case, and no objective is stated",
    "guide_counts": "a guide names another number of GPUs for the case, and no objective is stated",
    "larger": "it is larger than the work that is stated calls for",
    "late": "its answers come later than people tolerate, which counts as costlier",
    "sooner": "it is sooner than is asked, and costs clearly more",
    "room": "it only just meets the stated targets, and another plan meets them with room for little more",
}
#: Facts by topic.
_FIGURES = {
    "memory": ("plan.per_gpu_gb",),
    "cost": (
        "plan.usd_per_hour",
        "plan.usd_per_month",
        "plan.usd_per_run",
        "plan.usd_per_1m_tokens",
        "plan.usd_per_1k_samples",
        "plan.rented_usd_per_hour",
    ),
    "power": ("plan.power_w",),
    "speed": tuple(
        f"speed.{name}"
        for name in ("tokens_per_s", "samples_per_s", "ttft_ms", "tpot_ms", "latency_ms", "hours", "qps")
    ),
}


@dataclass(slots=True, frozen=True)
class PlanSteps:
    """Tells of the plans of one decision. ``gpu_names`` maps ids to what people call them."""

    evidence: Evidence
    phrases: Phrases
    gpu_names: Mapping[str, str]
    builder: StepBuilder

    def plan(self, plan: Mapping[str, Any]) -> Step:
        """A plan with what speaks for it, what it costs and, of the answer, what was passed over for it."""
        scope = plan_id(plan)
        chosen = scope == self.evidence.chosen
        says = f"{self.name(plan)} is recommended" if chosen else f"{self.name(plan)}: {self.standing(plan)}"
        steps = [*self._stands_in(plan), self.score(plan), self.count(plan)]
        cost = self.known(("plan.usd_per_hour",), scope)
        speed = self.known(("speed.tokens_per_s", "speed.samples_per_s", "speed.hours"), scope)
        steps += [*speed[:1], *cost, *(self._passed_over() if chosen else ())]
        others = self.evidence.decision["alternatives"] if chosen else ()
        if others and others[0]["score"] is not None:
            steps.append(Step(f"next best: {self.name(others[0])}, {self.standing(others[0])}", "conclusion"))
        return Step(says, "conclusion", steps=tuple(steps))

    def _stands_in(self, plan: Mapping[str, Any]) -> tuple[Step, ...]:
        """The plan that guides and evidence put first, where the recommended one beats it."""
        first = plan.get("stands_in_for")
        if not first:
            return ()
        says = (
            f"it stands in for {self.name(first)}, which the guides and the evidence put first: "
            f"nothing that is stated sets it below that plan, and it is {better_words(first)}"
        )
        whole = self.evidence.plans.get(first["id"])
        return (Step(says, "conclusion", steps=(self.score(whole),) if whole else ()),)

    def _passed_over(self) -> tuple[Step, ...]:
        """The plans that cost less and are faster than the answer, with what decided against each, at what price."""
        steps = []
        for entry in self.evidence.decision["recommendation"].get("chosen_over") or ():
            cost, pace = entry["cost_ratio"], entry["speed_ratio"]
            if cost and pace and cost < 1 < pace:
                better = f"{ratio_words(cost, of_cost=True)} and {ratio_words(pace, of_cost=False)}"
                price = f"that makes the work {ratio_words(1 / cost, of_cost=True)}"
                says = f"not {self.name(entry)}, {better}: {_passed_over_for(entry)}; {price}"
                steps.append(Step(says, "conclusion"))
        return tuple(steps)

    def _ground(self, plan: str | None) -> str | None:
        """What decided for the answer and against a plan that would have been better; None of others."""
        over = self.evidence.decision["recommendation"].get("chosen_over") or ()
        return next((_passed_over_for(entry) for entry in over if entry["id"] == plan), None)

    def standing(self, plan: Mapping[str, Any]) -> str:
        """Why a plan that does the work is not the answer."""
        best = self.evidence.decision["recommendation"]
        if best is None or plan["score"] is None or best["score"] is None:
            return "judged because it was named"
        lost_at = plan.get("below_for")
        beats = {"dominated": "is cheaper and faster", "outweighed": "stands in for it"}.get(str(lost_at))
        if beats:
            by, ground = self.evidence.plans.get(plan.get("dominated_by", "")), self._ground(plan.get("dominated_by"))
            better = f"{self.name(by) if by else plan.get('dominated_by', 'another plan')} {beats}"
            return f"{better}; against that one: {ground}" if ground else better
        if lost_at == "merit":
            return f"too far behind the best by the stated objective, {self.evidence.decision['objective']}"
        if lost_at in _BELOW_FOR:
            return _BELOW_FOR[lost_at]
        first = best.get("stands_in_for") or best
        return f"{first['score'] - plan['score']:.2f} points behind {self.name(first)}"

    def figures(self, topic: str, plan: Mapping[str, Any]) -> Step:
        """The figures of memory, speed, cost or power."""
        says = "power draw" if topic == "power" else topic
        return Step(f"{says} of {self.name(plan)}", "conclusion", steps=self.known(_FIGURES[topic], plan_id(plan)))

    def score(self, plan: Mapping[str, Any]) -> Step:
        """The points of a plan, each with the rule that gave them."""
        entries = self.evidence.of_kind(plan_id(plan), "scored")
        counted = [entry for entry in entries if entry["effects"].get("counted", True)]
        score = plan["score"]
        says = f"score of {self.name(plan)}: {'none' if score is None else f'{score:.2f} points'}"
        return Step(says, "conclusion", steps=tuple(self.builder.entry(entry, points_of(entry)) for entry in counted))

    def count(self, plan: Mapping[str, Any]) -> Step:
        """How this many GPUs came about: why the count was planned, and that it fits."""
        scope = plan_id(plan)
        planned = self.known(("plan.count",), scope)
        asking = [
            self.builder.entry(entry, f"rule {entry['rule']} asks for counts {entry['effects']['consider_counts']}")
            for entry in self.evidence.by_seq.values()
            if entry["kind"] == "advised" and plan["count"] in entry["effects"].get("consider_counts", ())
        ]
        fits = self.known(("plan.headroom_pct", "plan.meets_target"), scope)
        why = plan.get("why_count") or "planned"
        return Step(f"number of GPUs: {plan['count']} ({why})", "conclusion", steps=(*planned, *asking, *fits))

    def line(self, line: Mapping[str, Any]) -> Step:
        """A plan that was evaluated, in a line: what became of it and its figures."""
        split = str(line["id"]).removeprefix(f"{line['gpu']}x{line['count']}").strip("-")
        name = f"{self.name(line)} ({split})" if split else self.name(line)
        says = f"{name}: {line['standing']}" + (f", as {line['because']}" if line["because"] else "")
        figures = tuple(
            Step(self.phrases.says(f"plan.{name}", value), "figure", fact=f"plan.{name}", value=value)
            for name, value in line["figures"].items()
        )
        score = () if line["score"] is None else (Step(f"score: {line['score']:.2f} points", "figure"),)
        return Step(says, "conclusion", rule=", ".join(line["rules"]) or None, steps=(*figures, *score))

    def known(self, facts: tuple[str, ...], scope: str) -> tuple[Step, ...]:
        """Those of the facts that the trace has of a plan, or of the workload."""
        found = [(name, self.evidence.producer(name, scope)) for name in facts]
        return tuple(self.builder.fact(name, by["effects"][name], by["seq"]) for name, by in found if by is not None)

    def name(self, plan: Mapping[str, Any]) -> str:
        """How many of which GPU, as people call it."""
        return f"{plan['count']} x {self.gpu_name(plan['gpu'])}"

    def gpu_name(self, gpu: str) -> str:
        """What people call a GPU."""
        return self.gpu_names.get(gpu, gpu)


def _passed_over_for(entry: Mapping[str, Any]) -> str:
    """What decided against a plan that the answer was chosen over, with the ground of the rule behind it."""
    ground = entry["because"].rstrip(".")
    return f"{_BELOW_FOR[entry['reason']]} ({ground})" if entry["reason"] in _BELOW_FOR else ground


def points_of(entry: TraceEntry) -> str:
    """The points that a rule gave, in words."""
    points, reason = entry["effects"].get("points", 0), entry["effects"].get("reason", "")
    return f"{points:+.2f} for {reason}" if isinstance(points, float) else f"{points:+d} for {reason}"
