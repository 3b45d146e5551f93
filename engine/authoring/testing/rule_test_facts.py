"""The facts that a rule would see on a made-up case: what the tests inside rules are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from whichgpu.engine.advisor import Advisor, ResolvedIntake, ResolvingIntake, compute
from whichgpu.engine.authoring.testing.cases import key_of
from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, InputError, Problem, Value
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import Each, ResolvedFacts, coerce, probing


class LateFacts(Mapping[str, Value]):
    """Facts of which some are resolved last, and computed only when one of them is asked for."""

    def __init__(
        self,
        facts: Mapping[str, Value],
        late: frozenset[str],
        resolve: Callable[[], Facts],
        one: Callable[[str], Value | None] | None = None,
    ) -> None:
        """Prepare.

        Args:
            facts: those that are known now.
            late: names of those that are resolved last.
            resolve: gives those of ``late`` that come to be known, among others.
            one: gives one of them, None where it stays unknown, with less work than all.
        """
        self._facts = facts
        self._late = late
        self._resolve = resolve
        self._one = one

    def __getitem__(self, name: str) -> Value:
        if name in self._facts:
            return self._facts[name]
        if name not in self._late:
            raise KeyError(name)
        if self._one is None:
            return self._whole[name]
        value = self._one(name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)

    @cached_property
    def _whole(self) -> Facts:
        late = {name: value for name, value in self._resolve().items() if name in self._late}
        return {**late, **self._facts}


class RuleTestFacts:
    """Resolves the facts of a rule's test as a decision would, and lays what the test states over them."""

    def __init__(self, advisor: Advisor) -> None:
        self.advisor = advisor
        closes = {fact for level in advisor.stages.outcome.levels for fact in level.closes}
        facts = advisor.vocabulary.facts.values()
        self._late = frozenset(closes | {fact.name for fact in facts if fact.available == "outcome"})
        self._workload = frozenset(fact.name for fact in facts if fact.scope == "workload")
        self._of_plans = frozenset(fact.name for fact in facts if fact.scope in ("plan", "candidate"))
        self._resolving: dict[object, ResolvingIntake] = {}

    def facts_for(self, given: Mapping[str, object], plan: Mapping[str, object], each: Each) -> Facts:
        """All facts that a rule of this scope would read.

        Args:
            given: workload facts. Those that are resolved later may be stated too, and then stand. A fact stated as
                unknown is so, whatever would resolve it.
            plan: ``gpu`` and ``count``, and ``plan.*``, ``gpu.*`` or ``candidate.*`` facts that are to differ.
            each: the rule's scope.

        Raises:
            InputError: a name or value is wrong.
        """
        values = {name: self.value(name, value) for name, value in given.items()}
        stated = {name: value for name, value in values.items() if value is not None}
        hidden = values.keys() - stated.keys()
        made = None if each == "workload" else _PlanOfTest(self, stated, plan, each)
        if "model_name" in stated:
            self._begun(stated)  # A look-up may refuse what is stated, which is reported at once.
        # What is stated stands, and the catalogue is known; many rules ask for no more.
        known = {**stated, **made.known} if made else stated
        facts: Facts = LateFacts(
            known, self._workload - hidden, lambda: self.resolve(stated).intake.facts, lambda n: self._fact(stated, n)
        )
        if made is not None:
            facts = LateFacts(facts, self._of_plans - made.stated, lambda: made.facts)
        if each != "plan":
            plan_of = made.plan_of if made else lambda: None
            late = self._late - hidden
            facts = LateFacts(facts, late, lambda: self._outcome(self.resolve(stated).intake, plan_of()))
        return facts

    # Whether the two engines agree is not what these tests ask.
    @probing()
    def resolve(self, stated: Mapping[str, Value]) -> ResolvedIntake:
        """What stated facts come to before any plan."""
        return self._begun(stated).finished()

    @probing()
    def _fact(self, stated: Mapping[str, Value], name: str) -> Value | None:
        """One of these facts, resolved as far as it needs; most rules ask for one that is resolved early."""
        return self._begun(stated).resolving.fact(name)

    def _begun(self, stated: Mapping[str, Value]) -> ResolvingIntake:
        key = key_of(stated)
        if key not in self._resolving:
            self._resolving[key] = self.advisor.context.begin(stated)
        return self._resolving[key]

    @probing()
    def _outcome(self, intake: ResolvedFacts, plan: Plan | None) -> Facts:
        """The facts of the last moment: what renting and owning come to, and what advise rules set."""
        procurement = compute(intake.facts, plan, gpus=self.advisor.knowledge.gpus)
        return self.advisor.stages.outcome.run({}, extra=procurement.candidates, before=intake).facts

    def derived(self, intake: ResolvedFacts, facts: dict[str, Value]) -> dict[str, Value]:
        """The plan's facts with those that plan-scope derive rules add."""
        for level in self.advisor.stages.plan_levels:
            resolution = level.run(intake.facts, [facts], ["the plan of a test"]).resolutions[0]
            facts = {**resolution.values, **facts}
        return facts

    def gpu(self, name: object) -> Gpu | None:
        """The GPU that a test names; of a family or series the one that sorts first and can be planned with."""
        if name is None:
            return None
        match = self.advisor.knowledge.find_gpu(str(name))
        if not match.found:
            raise InputError(Problem("unknown-gpu", f"no GPU is called {name!r}", fact="gpu", nearest=match.nearest))
        members = [self.advisor.knowledge.gpus[gpu_id] for gpu_id in match.ids]
        return next((gpu for gpu in members if gpu.plannable), members[0])

    def count(self, raw: object, smallest: int | None) -> int:
        """How many GPUs a test names, else the fewest that fit."""
        value = self.value("plan.count", raw) if raw is not None else smallest
        return int(value) if isinstance(value, int | float) else 1

    def value(self, name: str, raw: object) -> Value | None:
        """What a test states of a fact; None for unknown. Raises InputError."""
        fact = self.advisor.vocabulary.fact(name)
        if fact is None:
            nearest = self.advisor.vocabulary.nearest(name)
            raise InputError(Problem("unknown-fact", f"there is no fact {name!r}", fact=name, nearest=nearest))
        return coerce(fact, raw)


class _PlanOfTest:
    """The plan that a test states: what is known without sizing it, and all of it once that is asked for."""

    def __init__(self, of: RuleTestFacts, given: Mapping[str, Value], stated: Mapping[str, object], each: Each) -> None:
        self._of = of
        self._given = given
        self._each = each
        self._count = stated.get("count")
        self._gpu = of.gpu(stated.get("gpu"))
        named = {name: of.value(name, value) for name, value in stated.items() if "." in name}
        self._named = {name: value for name, value in named.items() if value is not None}
        self.stated = frozenset(named)
        gpu_facts = of.advisor.knowledge.gpu_facts[self._gpu.id] if self._gpu else {}
        sure = {**gpu_facts, **self._whatever_it_takes()}
        # What is stated as unknown is left out.
        self.known = {name: value for name, value in sure.items() if name not in named} | self._named

    def _whatever_it_takes(self) -> dict[str, Value]:
        """What a plan of this GPU and count is however it comes out: nothing has to be sized for it."""
        if self._gpu is None:
            return {}
        count = {} if self._count is None else {"plan.count": self._of.count(self._count, None)}
        return {"plan.gpu": self._gpu.id, "plan.family": self._gpu.family, **count}

    @cached_property
    def _made(self) -> tuple[Plan | None, dict[str, Value]]:
        gpu, facts = self._gpu, dict[str, Value]()
        if gpu is None:
            return None, facts
        intake, model = self._of.resolve(self._given)
        maker = self._of.advisor.context.plan_maker(model, intake)
        wants_smallest = self._count is None or self._each == "candidate"
        smallest = maker.smallest_count(gpu) if wants_smallest else None
        plan = maker.plan(gpu, self._of.count(self._count, smallest), "stated in a test")
        facts |= plan.facts
        if self._each == "candidate":
            facts["candidate.is_current"] = intake.facts.get("current_gpu") in (gpu.id, gpu.family, gpu.series)
            facts["candidate.fits_one"] = smallest == 1
            facts |= {"candidate.min_count": smallest} if smallest is not None else {}
        return plan, facts

    def plan_of(self) -> Plan | None:
        """The plan itself; None where no GPU is named."""
        return self._made[0]

    @cached_property
    @probing()
    def facts(self) -> Facts:
        """All facts of the plan, with those that derive rules add."""
        made = {name: value for name, value in self._made[1].items() if name not in self.stated}
        return self._of.derived(self._of.resolve(self._given).intake, {**made, **self.known})
