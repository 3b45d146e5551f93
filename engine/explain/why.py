"""Why: the derivation of whatever the reader names, from conclusion to inputs and sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whichgpu.engine.advisor import better_words, ratio_words
from whichgpu.engine.core import InputError, Problem, nearest_words
from whichgpu.engine.explain.derivation import Phrases, Step, StepBuilder, to_dict
from whichgpu.engine.explain.differences import shown
from whichgpu.engine.explain.evidence import Evidence, TraceEntry, plan_id


__all__ = ["Explainer", "Step", "to_dict"]

#: Why a plan stands below the answer, whatever its points.
_BELOW_FOR = {
    "unverified": "a stated limit cannot be checked for it, so plans that were checked come first",
    "fallback": "chosen only where nothing else does the work",
    "guide_cards": "a guide names other cards for the case, and no objective is stated",
    "guide_counts": "a guide names another number of GPUs for the case, and no objective is stated",
    "larger": "it is larger than the work that is stated calls for",
    "late": "its answers come later than people tolerate, which counts as costlier",
    "room": "it only just meets the stated targets, and another plan meets them with room for little more",
}
#: Conclusions that have a word of their own.
TOPICS = ("recommendation", "gpu", "count", "memory", "speed", "cost", "score", "procurement", "power")
_PLAN_FACTS = {
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


@dataclass(slots=True)
class Explainer:
    """Answers why on one decision. ``gpu_names`` maps ids to what people call them."""

    evidence: Evidence
    phrases: Phrases
    gpu_names: Mapping[str, str]
    _builder: StepBuilder = field(init=False)  # of the present answer

    def why(self, what: str = "recommendation") -> Step:
        """The derivation of a topic, a fact, a GPU, a rule or a code.

        Raises:
            InputError: the decision knows nothing of that name.
        """
        self._builder = StepBuilder(self.evidence, self.phrases)
        word = what.strip()
        if word in TOPICS:
            return self._topic(word)
        name = self.phrases.vocabulary.resolve(word) or word
        if name in self.evidence.decision["facts"]:
            return self._fact(name)
        if name.startswith(("plan.", "gpu.")) and (steps := self._known((name,), self.evidence.chosen or "workload")):
            return steps[0]
        answer = self._rule(word) or self._gpu(word) or self._code(word) or self._unknown_fact(name)
        if answer is None:
            raise self._no_such(what)
        return answer

    def _fact(self, name: str) -> Step:
        fact = self.evidence.decision["facts"][name]
        return self._builder.fact(name, fact["value"], fact["seq"])

    def _topic(self, word: str) -> Step:
        if word == "procurement":
            return self._procurement()
        plan = self.evidence.decision["recommendation"]
        if plan is None:
            return self._no_recommendation()
        match word:
            case "recommendation" | "gpu":
                return self._plan(plan)
            case "score":
                return self._score(plan)
            case "count":
                return self._count(plan)
        says = "power draw" if word == "power" else word
        return Step(f"{says} of {self._name(plan)}", "conclusion", steps=self._known(_PLAN_FACTS[word], plan_id(plan)))

    def _plan(self, plan: Mapping[str, Any]) -> Step:
        scope = plan_id(plan)
        chosen = scope == self.evidence.chosen
        says = f"{self._name(plan)} is recommended" if chosen else f"{self._name(plan)}: {self.standing(plan)}"
        steps = [*self._stands_in(plan), self._score(plan), self._count(plan)]
        cost = self._known(("plan.usd_per_hour",), scope)
        speed = self._known(("speed.tokens_per_s", "speed.samples_per_s", "speed.hours"), scope)
        steps += [*speed[:1], *cost, *(self._passed_over() if chosen else ())]
        others = self.evidence.decision["alternatives"] if chosen else ()
        if others and others[0]["score"] is not None:
            steps.append(Step(f"next best: {self._name(others[0])}, {self.standing(others[0])}", "conclusion"))
        return Step(says, "conclusion", steps=tuple(steps))

    def _stands_in(self, plan: Mapping[str, Any]) -> tuple[Step, ...]:
        """The plan that guides and evidence put first, where the recommended one beats it."""
        first = plan.get("stands_in_for")
        if not first:
            return ()
        says = (
            f"it stands in for {self._name(first)}, which the guides and the evidence put first: "
            f"nothing that is stated sets it below that plan, and it is {better_words(first)}"
        )
        whole = self.evidence.plans.get(first["id"])
        return (Step(says, "conclusion", steps=(self._score(whole),) if whole else ()),)

    def _passed_over(self) -> tuple[Step, ...]:
        """The plans that cost less and are faster than the answer, with what decided against each, at what price."""
        steps = []
        for entry in self.evidence.decision["recommendation"].get("chosen_over") or ():
            cost, pace = entry["cost_ratio"], entry["speed_ratio"]
            if cost and pace and cost < 1 < pace:
                better = f"{ratio_words(cost, of_cost=True)} and {ratio_words(pace, of_cost=False)}"
                price = f"that makes the work {ratio_words(1 / cost, of_cost=True)}"
                says = f"not {self._name(entry)}, {better}: {_passed_over_for(entry)}; {price}"
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
            better = f"{self._name(by) if by else plan.get('dominated_by', 'another plan')} {beats}"
            return f"{better}; against that one: {ground}" if ground else better
        if lost_at == "merit":
            return f"too far behind the best by the stated objective, {self.evidence.decision['objective']}"
        if lost_at in _BELOW_FOR:
            return _BELOW_FOR[lost_at]
        first = best.get("stands_in_for") or best
        return f"{first['score'] - plan['score']:.2f} points behind {self._name(first)}"

    def _score(self, plan: Mapping[str, Any]) -> Step:
        entries = self.evidence.of_kind(plan_id(plan), "scored")
        counted = [entry for entry in entries if entry["effects"].get("counted", True)]
        score = plan["score"]
        says = f"score of {self._name(plan)}: {'none' if score is None else f'{score:.2f} points'}"
        return Step(says, "conclusion", steps=tuple(self._builder.entry(entry, _points(entry)) for entry in counted))

    def _count(self, plan: Mapping[str, Any]) -> Step:
        """How this many GPUs came about: why the count was planned, and that it fits."""
        scope = plan_id(plan)
        planned = self._known(("plan.count",), scope)
        asking = [
            self._builder.entry(entry, f"rule {entry['rule']} asks for counts {entry['effects']['consider_counts']}")
            for entry in self.evidence.by_seq.values()
            if entry["kind"] == "advised" and plan["count"] in entry["effects"].get("consider_counts", ())
        ]
        fits = self._known(("plan.headroom_pct", "plan.meets_target"), scope)
        why = plan.get("why_count") or "planned"
        return Step(f"number of GPUs: {plan['count']} ({why})", "conclusion", steps=(*planned, *asking, *fits))

    def _known(self, facts: tuple[str, ...], scope: str) -> tuple[Step, ...]:
        found = [(name, self.evidence.producer(name, scope)) for name in facts]
        return tuple(self._builder.fact(name, by["effects"][name], by["seq"]) for name, by in found if by is not None)

    def _no_recommendation(self) -> Step:
        missing = self.evidence.decision["no_answer"]
        rules = [e for rule in missing.get("rules", ()) for e in self.evidence.by_rule.get(rule, ())[:1]]
        steps = tuple(self._builder.entry(entry, str(entry["because"])) for entry in rules)
        return Step(f"No recommendation: {missing['why']}", "conclusion", steps=steps)

    def _procurement(self) -> Step:
        decision = self.evidence.decision
        verdict = decision["procurement"]
        steps = []
        for rule in verdict.get("rules", ()):
            for entry in self.evidence.by_rule.get(rule, ()):
                if "procurement" in entry["effects"].get("set", {}):
                    steps.append(self._builder.entry(entry, f"rule {rule} says so"))
        for threshold in verdict["thresholds"]:
            if threshold["value"] is not None:
                says = f"{threshold['limit']}: {self.phrases.says(threshold['fact'], threshold['value'])}"
                steps.append(Step(f"{says}, so {threshold['says']}", "condition", sources=(threshold["source"],)))
        figures = ("breakeven_months", "monthly_rent_usd", "monthly_own_usd")
        steps += [self._fact(name) for name in figures if name in decision["facts"]]
        says = f"rent or buy: {verdict['verdict']} ({verdict['because'].rstrip('.')})"
        return Step(says, "conclusion", steps=tuple(steps))

    def _rule(self, rule: str) -> Step | None:
        entries = self.evidence.by_rule.get(rule, ())
        verdicts = [entry for entry in self.evidence.decision["rules"] if entry["id"] == rule]
        if not entries and not verdicts:
            return None
        steps = tuple(self._builder.entry(entry, self._effect(entry)) for entry in entries)
        says = f"rule {rule}: {_verdict(verdicts[0])}" if verdicts else f"rule {rule}"
        return Step(says, "conclusion", steps=steps)

    def _effect(self, entry: TraceEntry) -> str:
        """What a rule did, where."""
        effects = entry["effects"]
        if entry["kind"] == "rejected":
            counts = ", ".join(map(str, effects.get("counts", ())))
            return f"rejects {self._gpu_name(effects.get('gpu', ''))} x {counts}: {entry['because']}"
        if entry["kind"] == "scored":
            return f"{entry['scope']}: {_points(entry)}"
        if entry["kind"] == "advised":
            done = "; ".join(f"{key} {shown(value)}" for key, value in sorted(effects.items()))
            return f"{done} ({entry['scope']})"
        return "; ".join(self.phrases.says(name, value) for name, value in sorted(effects.items()))

    def _gpu(self, word: str) -> Step | None:
        ids = self._ids(word)
        if not ids:
            return None
        steps: list[Step] = []
        for gpu in ids:
            steps += [self._plan(plan) for plan in self.evidence.plans.values() if plan["gpu"] == gpu]
            steps += [self._builder.entry(entry, self._effect(entry)) for entry in self.evidence.rejections(gpu)]
            rest = [
                line for line in self.evidence.lines if line["gpu"] == gpu and line["id"] not in self.evidence.plans
            ]
            steps += [self._line(line) for line in rest]
        if len(steps) == 1:
            return steps[0]
        return Step(f"{self._gpu_name(word)} in this decision", "conclusion", steps=tuple(steps))

    def _line(self, line: Mapping[str, Any]) -> Step:
        """A plan that was evaluated, in a line: what became of it and its figures."""
        split = str(line["id"]).removeprefix(f"{line['gpu']}x{line['count']}").strip("-")
        name = f"{self._name(line)} ({split})" if split else self._name(line)
        says = f"{name}: {line['standing']}" + (f", as {line['because']}" if line["because"] else "")
        figures = tuple(
            Step(self.phrases.says(f"plan.{name}", value), "figure", fact=f"plan.{name}", value=value)
            for name, value in line["figures"].items()
        )
        score = () if line["score"] is None else (Step(f"score: {line['score']:.2f} points", "figure"),)
        return Step(says, "conclusion", rule=", ".join(line["rules"]) or None, steps=(*figures, *score))

    def _ids(self, word: str) -> list[str]:
        """GPU ids of the decision that a word means: an id, a family, or a name."""
        shown = (*self.evidence.plans.values(), *self.evidence.decision["rejected"])
        known = {(entry["gpu"], entry["family"], self.gpu_names.get(entry["gpu"], "")) for entry in shown}
        known |= {(line["gpu"], line["id"], self.gpu_names.get(line["gpu"], "")) for line in self.evidence.lines}
        asked = _folded(word)
        exact = {names[0] for names in known if asked in map(_folded, names)}
        # Without its maker's name, and then as the beginning of one: h100 means all of them.
        short = {names[0] for names in known if asked == _folded(names[0].partition("-")[2])}
        begun = {names[0] for names in known if asked and _folded(names[0].partition("-")[2]).startswith(asked)}
        return sorted(exact or short or begun)

    def _code(self, word: str) -> Step | None:
        decision = self.evidence.decision
        remarks = [e for key in ("warnings", "advice", "monitoring") for e in decision[key] if e["code"] == word]
        if not remarks:
            return None
        said = [entry for remark in remarks for entry in self.evidence.by_rule.get(remark["rule"] or "", ())]
        steps = [self._builder.entry(e, f"rule {e['rule']}") for e in said if e["kind"] == "advised"]
        sources = () if steps else tuple(remarks[0]["sources"])
        return Step(f"{word}: {remarks[0]['text']}", "conclusion", sources=sources, steps=tuple(steps))

    def _unknown_fact(self, name: str) -> Step | None:
        """A fact of the vocabulary that this decision did not resolve: who would have read it."""
        if self.phrases.vocabulary.fact(name) is None:
            return None
        waiting = [entry["id"] for entry in self.evidence.decision["rules"] if name in entry.get("missing", ())]
        steps = tuple(Step(f"rule {rule} is undecided without it", "condition") for rule in waiting)
        return Step(f"{self.phrases.label(name)}: unknown in this decision", "unknown", fact=name, steps=steps)

    def _no_such(self, what: str) -> InputError:
        decision = self.evidence.decision
        known = [*TOPICS, *decision["facts"], *(entry["id"] for entry in decision["rules"])]
        known += [plan["gpu"] for plan in self.evidence.plans.values()]
        known += [entry["gpu"] for entry in decision["rejected"]]
        message = f"this decision says nothing of {what!r}"
        fix = f"ask about {', '.join(TOPICS)}, a fact, a GPU, a rule or a code such as W-..."
        return InputError(Problem("nothing-known", message, nearest=nearest_words(what, known), fix=fix))

    def _name(self, plan: Mapping[str, Any]) -> str:
        return f"{plan['count']} x {self._gpu_name(plan['gpu'])}"

    def _gpu_name(self, gpu: str) -> str:
        return self.gpu_names.get(gpu, gpu)


def _passed_over_for(entry: Mapping[str, Any]) -> str:
    """What decided against a plan that the answer was chosen over, with the ground of the rule behind it."""
    ground = entry["because"].rstrip(".")
    return f"{_BELOW_FOR[entry['reason']]} ({ground})" if entry["reason"] in _BELOW_FOR else ground


def _points(entry: TraceEntry) -> str:
    points, reason = entry["effects"].get("points", 0), entry["effects"].get("reason", "")
    return f"{points:+.2f} for {reason}" if isinstance(points, float) else f"{points:+d} for {reason}"


def _verdict(entry: Mapping[str, Any]) -> str:
    match entry["verdict"]:
        case "not_fired" if entry.get("failed"):
            value = entry.get("value")
            return f"did not fire, as {entry['failed']} is false" + (f" (it is {value})" if value is not None else "")
        case "undecided":
            return f"undecided without {', '.join(entry.get('missing', ()))}"
        case "overridden":
            return f"overridden by {entry.get('by')}"
        case _:
            return str(entry["verdict"]).replace("_", " ")


def _folded(word: str) -> str:
    return "".join(character for character in word.casefold() if character.isalnum())
