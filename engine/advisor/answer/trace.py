"""The trace: every fact, firing and figure in order, each with what it was made from, down to inputs and sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from whichgpu.engine.advisor.answer.plan_provenance import (
    PRICE_LIST_FACTS,
    TERM_EXPLANATIONS,
    Computed,
    by_provenance,
    parts_of_facts,
    plan_numbers,
    term_inputs,
)
from whichgpu.engine.advisor.answer.wording import because, rejection_text, say
from whichgpu.engine.advisor.outcome import CandidateJudgement, Fired, Judged, Rejection
from whichgpu.engine.catalogue import Gpu, sources_of_fact
from whichgpu.engine.core import Facts
from whichgpu.engine.plans import Plan, cost_provenance
from whichgpu.engine.rules import Effect, ResolvedFacts, Rule, Vocabulary, facts_read, words


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import trace_types


TraceEntry = dict[str, Any]

_PLANNER = ("whichgpu-judgement",)


class TraceBuilder:
    """Writes entries and remembers which one resolved which fact."""

    def __init__(self, vocabulary: Vocabulary, rules: Mapping[str, Rule]) -> None:
        self._vocabulary = vocabulary
        self._rules = rules
        self._seq_of: dict[tuple[str, str], int] = {}
        self._reads: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._words: dict[tuple[object, ...], str] = {}
        self._stand_ins: dict[tuple[str, ...], int] = {}
        self.entries: list[TraceEntry] = []

    def seq(self, fact: str, scope: str = "workload") -> int | None:
        """The entry that resolved a fact, in the scope or else in the workload's."""
        return self._seq_of.get((scope, fact), self._seq_of.get(("workload", fact)))

    def add_resolved(
        self, resolved: ResolvedFacts, stated: Mapping[str, Mapping[str, Any]] | None = None, plan_id: str = "workload"
    ) -> None:
        """One entry a fact, in the order of resolving. Facts that stand in the trace already are passed over.

        Args:
            resolved: what was resolved.
            stated: for facts whose figure names the values it was made from, those values.
            plan_id: the plan that such a figure is about.
        """
        stated = stated or {}
        for name, fact in resolved.resolved.items():
            if ("workload", name) in self._seq_of:
                continue
            best = fact.candidate
            rule = self._rules.get(best.by)
            if rule:
                entry = self._of_rule(best.origin, rule, resolved.facts, "workload", {name: fact.value})
            else:
                matched = self._read(best.inputs, {**resolved.facts, **stated.get(name, {})}, plan_id)
                maker = (None, None) if best.origin == "given" else (best.by, best.formula or None)
                entry = self._entry(best.origin, "workload", matched, {name: fact.value}, best.sources, *maker)
            if fact.overruled:
                entry["overruled"] = [{"origin": c.origin, "by": c.by, "value": c.value} for c in fact.overruled]
            self._seq_of[("workload", name)] = entry["seq"]
        for collision in resolved.collisions:
            why = f"{' and '.join(collision.rules)} set it to different values, so it stays unknown"
            self._entry("derived", "workload", [], {collision.fact: None}, (), because=why)

    def add_plan(self, plan: Plan, facts: Facts, shared: Facts) -> None:
        """The numbers of a plan: its GPU, its layout, the terms of its memory, its speed and cost, and what follows."""
        scope = plan.id
        own = {name: value for name, value in sorted(facts.items()) if name not in shared}
        device, layout, rest = parts_of_facts(own)
        self._add_layout(plan, device, layout)
        prices = cost_provenance(plan.cost, plan.gpu, plan.count, shared)
        self._add_listed(plan, rest)
        first = len(self.entries)
        for name, made in (*plan_numbers(plan), *prices.items()):
            self._number(scope, name, made)
        figures = [
            {"condition": None, "fact": name, "value": value, "seq": entry["seq"]}
            for entry in self.entries[first:]
            for name, value in entry["effects"].items()
        ]
        for provenance, names in by_provenance(rest):
            made_from = [figure for figure in figures if figure["fact"].startswith(provenance.figures)]
            made_from += self._known(provenance.reads, {**shared, **own}, scope)
            self._group(scope, "plans", {name: rest[name] for name in names}, made_from, ())

    def _group(
        self,
        scope: str,
        calculator: str,
        effects: Mapping[str, Any],
        matched: list[TraceEntry],
        sources: Iterable[str],
        because: str | None = None,
    ) -> None:
        """Several facts of one plan that share their origin, as one entry."""
        if effects:
            kind = "looked_up" if calculator.startswith("knowledge.") else "computed"
            entry = self._entry(kind, scope, matched, effects, sources, calculator, because)
            self._seq_of |= {(scope, name): entry["seq"] for name in effects}

    def _add_layout(self, plan: Plan, device: Mapping[str, Any], layout: Mapping[str, Any]) -> None:
        """What is known of a plan's GPU, and how the planner laid it out."""
        self._add_device(plan.id, plan.gpu, device)
        why = f"this count was planned as: {plan.why_count}"
        self._group(plan.id, "plans.layout", layout, [], _PLANNER, why)

    def _add_device(self, scope: str, gpu: Gpu, facts: Mapping[str, Any]) -> None:
        """What the catalogue says of a GPU: facts of the same sources in one entry."""
        by_sources: dict[tuple[str, ...], dict[str, Any]] = {}
        for name, value in facts.items():
            by_sources.setdefault(sources_of_fact(gpu, name), {})[name] = value
        for sources, group in by_sources.items():
            self._group(scope, "knowledge.gpus", group, [], sources)

    def _add_listed(self, plan: Plan, facts: dict[str, Any]) -> None:
        """What is counted on the price list, which is taken out of a plan's facts."""
        sources = [quote.offer.source for quote in plan.cost.compared]
        listed = {name: facts.pop(name) for name in sorted(PRICE_LIST_FACTS & facts.keys())} if sources else {}
        self._group(plan.id, "knowledge.offers", listed, [], sources, "providers on the price list that cover the plan")

    def _add_rejected_plan(self, rejection: Rejection, read: Iterable[str], shared: Facts) -> None:
        """What the rules that reject a plan read of it, made from what. No more is held of it."""
        scope, facts = rejection.plan.id, rejection.facts
        device, layout, rest = parts_of_facts({n: facts[n] for n in sorted(read) if n in facts and n not in shared})
        used = {name for provenance, _ in by_provenance(rest) for name in provenance.reads if name.startswith("gpu.")}
        device |= {name: facts[name] for name in sorted(used) if name in facts}
        plan = {"plan.gpu": rejection.plan.gpu.id, "plan.count": rejection.plan.count}
        self._add_layout(rejection.plan, device, layout | plan)
        self._add_listed(rejection.plan, rest)
        numbers, known = plan_numbers(rejection.plan) if rest else (), {**shared, **facts}
        for provenance, names in by_provenance(rest):
            inputs = {read for name, made in numbers if name.startswith(provenance.figures) for read in made.inputs}
            made_from = self._read([name for name in sorted(inputs) if self.seq(name, scope)], known, scope)
            made_from += self._known(provenance.reads, known, scope)
            self._group(scope, "plans", {name: rest[name] for name in names}, made_from, ())

    def add_candidate(self, candidate: CandidateJudgement, gpu: Gpu) -> None:
        """How a GPU that the user named stands, under ``candidate GPU``; its plan is in the trace already."""
        scope = f"candidate {candidate.gpu_id}"
        if candidate.plan is None:
            device = {name: value for name, value in sorted(candidate.facts.items()) if name.startswith("gpu.")}
            self._add_device(scope, gpu, device)
        else:
            for name in candidate.facts:
                if (seq := self.seq(name, candidate.plan.id)) is not None:
                    self._seq_of.setdefault((scope, name), seq)
        standing = {n: value for n, value in sorted(candidate.facts.items()) if n.startswith("candidate.")}
        why = "how this GPU came off among the plans"
        self._group(scope, "candidates", standing, [], _PLANNER, why)

    def add_rejections(self, rejections: Iterable[Rejection], shared: Facts) -> None:
        """One entry for each GPU and rule; the counts that it concerns are among the effects."""
        grouped: dict[tuple[str, str], list[Rejection]] = {}
        for rejection in rejections:
            for rule in rejection.rules:
                grouped.setdefault((rejection.plan.gpu.id, rule.id), []).append(rejection)
        examples: dict[str, tuple[Rejection, set[str]]] = {}
        for (_, rule_id), (first, *_) in grouped.items():
            examples.setdefault(first.plan.id, (first, set()))[1].update(self._rules[rule_id].reads)
        for plan_id in sorted(examples):
            self._add_rejected_plan(*examples[plan_id], shared)
        for (gpu, rule_id), group in sorted(grouped.items()):
            rule, first = self._rules[rule_id], group[0]
            facts = {**shared, **first.facts}
            effects = {"gpu": gpu, "counts": sorted(entry.plan.count for entry in group)}
            reason = rejection_text(rule, facts, self._vocabulary)
            self._of_rule("rejected", rule, facts, first.plan.id, effects, reason)

    def add_score(self, judged: Judged, shared: Facts) -> None:
        """One entry for each award of points."""
        scope = judged.ranked.plan.id
        facts = {**shared, **judged.facts}
        for award in judged.ranked.awards:
            rule = self._rules.get(award.rule) if award.rule else None
            effects = {"points": award.points, "reason": award.reason, "counted": award.counted}
            if rule:
                self._of_rule("scored", rule, facts, scope, effects)
            else:
                read = self._read(term_inputs(award.reason, facts), facts, scope)
                reason = f"the {award.reason} term of the objective: {TERM_EXPLANATIONS[award.reason.split()[0]]}"
                self._entry("scored", scope, read, effects, _PLANNER, "rank", reason)

    def add_advice(self, fired: Iterable[Fired], final: ResolvedFacts) -> None:
        """One entry for each rule that advised, warned, asked or set something in the last stage.

        A rule's entry has the value that the rule gives a fact, and under ``beaten`` what stands instead.
        """
        for item in fired:
            rule = item.rule
            entry = self._of_rule("advised", rule, item.facts, item.scope, _effects(rule.effects, item.facts))
            beaten = [
                {"fact": name, "value": item.facts.get(name), "by": _prevailed(name, rule, final)}
                for name, value in entry["effects"].get("set", {}).items()
                if value is not None and value != item.facts.get(name)
            ]
            if beaten:
                entry["beaten"] = beaten
            if rule.text:
                entry["text"] = say(rule.text, item.facts, self._vocabulary)

    def _number(self, scope: str, name: str, made: Computed) -> None:
        matched = [
            {"condition": None, "fact": key, "value": value, "seq": self._seq_of_used(scope, key, value)}
            for key, value in sorted(made.inputs.items())
        ]
        sources = (made.source,) if made.source else ()
        self._entry("computed", scope, matched, {name: made.value}, sources, name, made.formula)

    def _seq_of_used(self, scope: str, fact: str, value: Any) -> int | None:
        """The entry behind a value that a figure of a plan was made from.

        A plan may use another than the resolved one, say the batch that fills its cards. It gets an entry of its own;
        rules go on reading what is resolved.
        """
        seq = self.seq(fact, scope)
        if seq is None or (resolved := self.entries[seq - 1]["effects"].get(fact)) == value:
            return seq
        key = (scope, fact, repr(value))
        if key not in self._stand_ins:
            replaced = [{"condition": None, "fact": fact, "value": resolved, "seq": seq}]
            why = "this plan is computed with its own value of it"
            entry = self._entry("computed", scope, replaced, {fact: value}, _PLANNER, "sizing.job", why)
            self._stand_ins[key] = entry["seq"]
        return self._stand_ins[key]

    def _entry(
        self,
        kind: str,
        scope: str,
        matched: list[TraceEntry],
        effects: Mapping[str, Any],
        sources: Iterable[str],
        calculator: str | None = None,
        because: str | None = None,
    ) -> TraceEntry:
        entry: TraceEntry = {
            "seq": len(self.entries) + 1,
            "kind": kind,
            "rule": None,
            "calculator": calculator,
            "scope": scope,
            "matched": matched,
            "effects": dict(effects),
            "because": because,
            "sources": list(dict.fromkeys(sources)),
        }
        self.entries.append(entry)
        return entry

    def _of_rule(
        self, kind: str, rule: Rule, facts: Facts, scope: str, effects: Mapping[str, Any], reason: str | None = None
    ) -> TraceEntry:
        """The entry of a rule that fired, with its general reason where no other is given."""
        reason = because(rule, facts, self._vocabulary) if reason is None else reason
        entry = self._entry(kind, scope, self._matched(rule, facts, scope), effects, rule.sources, None, reason)
        entry["rule"] = rule.id
        if stated := rule.responsible.stated():
            entry["responsible"] = stated
        return entry

    def _matched(self, rule: Rule, facts: Facts, scope: str) -> list[TraceEntry]:
        if rule.id not in self._reads:
            self._reads[rule.id] = tuple(tuple(sorted(facts_read(condition.expr))) for condition in rule.when)
        matched = []
        for number, names in enumerate(self._reads[rule.id]):
            values = tuple(facts.get(name) for name in names)
            # A rule meets the same values on many plans, so each wording is kept. The types tell True from 1, which are
            # equal as keys.
            key = (rule.id, number, values, *map(type, values))
            if key not in self._words:
                self._words[key] = words(rule.when[number].expr, self._vocabulary, facts)
            for name, value in zip(names, values, strict=True):
                seq = self.seq(name, scope)
                matched.append({"condition": self._words[key], "fact": name, "value": value, "seq": seq})
        return matched

    def _known(self, names: Iterable[str], facts: Facts, scope: str) -> list[TraceEntry]:
        """The reading of facts that are known and stand in the trace."""
        return self._read([name for name in names if name in facts and self.seq(name, scope)], facts, scope)

    def _read(self, names: Iterable[str], facts: Facts, scope: str) -> list[TraceEntry]:
        return [
            {"condition": None, "fact": name, "value": facts.get(name), "seq": self.seq(name, scope)} for name in names
        ]


def _prevailed(fact: str, rule: Rule, final: ResolvedFacts) -> str:
    """Whose word on a fact stands against that of a rule: a producer's, or of rules that say different things."""
    if fact in final.resolved:
        return final.resolved[fact].candidate.by
    others = (name for collision in final.collisions if collision.fact == fact for name in collision.rules)
    return " and ".join(name for name in others if name != rule.id)


def _effects(effects: tuple[Effect, ...], facts: Facts) -> trace_types.AdvisedEffects:
    """What an advise rule did, keyed by the word that the rule file uses."""
    done: dict[str, Any] = {}
    for effect in effects:
        word, kept = effect.traced(facts)
        if isinstance(kept, dict):
            done.setdefault(word, {}).update(kept)
        else:
            done.setdefault(word, []).extend(kept)
    return cast("trace_types.AdvisedEffects", done)
