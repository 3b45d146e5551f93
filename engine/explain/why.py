"""Why: the derivation of whatever the reader names, from conclusion to inputs and sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whichgpu.engine.core import InputError, Problem, nearest_words
from whichgpu.engine.explain.derivation import Phrases, Step, StepBuilder, to_dict
from whichgpu.engine.explain.differences import shown
from whichgpu.engine.explain.evidence import Evidence, TraceEntry
from whichgpu.engine.explain.plan_steps import PlanSteps, points_of


__all__ = ["Explainer", "Step", "to_dict"]

#: Conclusions that have a word of their own.
TOPICS = ("recommendation", "gpu", "count", "memory", "speed", "cost", "score", "procurement", "power")


@dataclass(slots=True)
class Explainer:
    """Answers why on one decision. ``gpu_names`` maps ids to what people call them."""

    evidence: Evidence
    phrases: Phrases
    gpu_names: Mapping[str, str]
    _builder: StepBuilder = field(init=False)  # of the present answer
    _plans: PlanSteps = field(init=False)

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._builder = StepBuilder(self.evidence, self.phrases)
        self._plans = PlanSteps(self.evidence, self.phrases, self.gpu_names, self._builder)

    def standing(self, plan: Mapping[str, Any]) -> str:
        """Why a plan that does the work is not the answer."""
        return self._plans.standing(plan)

    def why(self, what: str = "recommendation") -> Step:
        """The derivation of a topic, a fact, a GPU, a rule or a code.

        Raises:
            InputError: the decision knows nothing of that name.
        """
        self._begin()
        word = what.strip()
        if word in TOPICS:
            return self._topic(word)
        name = self.phrases.vocabulary.resolve(word) or word
        if name in self.evidence.decision["facts"]:
            return self._fact(name)
        if name.startswith(("plan.", "gpu.")):
            for step in self._plans.known((name,), self.evidence.chosen or "workload"):
                return step
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
                return self._plans.plan(plan)
            case "score":
                return self._plans.score(plan)
            case "count":
                return self._plans.count(plan)
        return self._plans.figures(word, plan)

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
            counts = ", ".join(map(str, dict.fromkeys(effects.get("counts", ()))))  # One of each, of several splits.
            return f"rejects {self._plans.gpu_name(effects.get('gpu', ''))} x {counts}: {entry['because']}"
        if entry["kind"] == "scored":
            return f"{entry['scope']}: {points_of(entry)}"
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
            steps += [self._plans.plan(plan) for plan in self.evidence.plans.values() if plan["gpu"] == gpu]
            steps += [self._builder.entry(entry, self._effect(entry)) for entry in self.evidence.rejections(gpu)]
            rest = [
                line for line in self.evidence.lines if line["gpu"] == gpu and line["id"] not in self.evidence.plans
            ]
            steps += [self._plans.line(line) for line in rest]
        if len(steps) == 1:
            return steps[0]
        return Step(f"{self._plans.gpu_name(word)} in this decision", "conclusion", steps=tuple(steps))

    def _ids(self, word: str) -> list[str]:
        """GPU ids of the decision that a word means: an id, a family, or a name."""
        shown = (*self.evidence.plans.values(), *self.evidence.decision["rejected"])
        known = {(entry["gpu"], entry["family"], self.gpu_names.get(entry["gpu"], "")) for entry in shown}
        known |= {(line["gpu"], line["id"], self.gpu_names.get(line["gpu"], "")) for line in self.evidence.lines}
        asked = _folded(word)
        if not asked:
            return []
        exact = {names[0] for names in known if asked in map(_folded, names)}
        # Without its maker's name, and then as the beginning of one: h100 means all of them.
        short = {names[0] for names in known if asked == _folded(names[0].partition("-")[2])}
        begun = {names[0] for names in known if _folded(names[0].partition("-")[2]).startswith(asked)}
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
