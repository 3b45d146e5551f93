"""Everything a decision needs, loaded once: vocabulary, knowledge, rulebook and the engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, overload

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor.answer.compact import compact_dict
from whichgpu.engine.advisor.answer.decision import decision_dict
from whichgpu.engine.advisor.answer.lazy import LazyAnswer
from whichgpu.engine.advisor.answer.outline import Outline, outline_of
from whichgpu.engine.advisor.answer.owned import owned_dict
from whichgpu.engine.advisor.answer.parts import AnswerParts
from whichgpu.engine.advisor.answer.tradeoffs import trade_off_list
from whichgpu.engine.advisor.further_facts import check_further_facts
from whichgpu.engine.advisor.intake import Reader, Workload
from whichgpu.engine.advisor.objectives import check_objectives, load_objectives, load_trade_offs
from whichgpu.engine.advisor.options import TradeOffSettings
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.advisor.owned_use import OwnedUse, owned_use
from whichgpu.engine.advisor.pipeline import DecisionContext, choose_plan, decide_workload
from whichgpu.engine.advisor.proof import wishes
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.advisor.stages import Stages, prepare
from whichgpu.engine.advisor.tradeoffs import TradeOff, trade_offs
from whichgpu.engine.catalogue import Knowledge, check_profiles, load_knowledge
from whichgpu.engine.core import (
    VERSION,
    Facts,
    InputError,
    KnowledgeInUse,
    Node,
    Problem,
    collection_paused,
    distinct,
    locate,
    nearest_words,
    use_knowledge,
)
from whichgpu.engine.rules import (
    Difference,
    KnownNames,
    Level,
    MakeLevel,
    Rule,
    Rulebook,
    Vocabulary,
    conditions_of,
    durable_available,
    gathering_differences,
    keep_differences,
    load_rulebook,
    load_vocabulary,
)
from whichgpu.engine.sizing import memory_calculators


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import answer_types, compact_types, part_types


class Decision(Struct, frozen=True):
    """What was decided on one workload; ``to_dict`` puts it under the keys of the output contract."""

    outcome: Outcome
    workload: Workload
    advisor: Advisor
    decided_at: datetime
    #: Where durable-rules and the generated evaluator differ, and which of them counts then.
    differences: tuple[Difference, ...] = ()

    @property
    def fired_by(self) -> answer_types.FiredBy:
        """Who fired the rules: durable-rules if it was there and confirmed them all."""
        return "generated" if self.differences else self.advisor.fired_by

    @property
    def exit_code(self) -> int:
        """0 with a recommendation, 1 without."""
        return 0 if self.outcome.chosen is not None else 1

    @collection_paused()
    def trade_offs(self) -> tuple[TradeOff, ...]:
        """What would be clearly cheaper or faster if one thing were allowed. Takes up to ten further decisions."""
        advisor, given = self.advisor, self.workload.given
        return trade_offs(advisor.context, given, self.outcome, advisor.objectives, advisor.trade_off_settings)

    @collection_paused()
    def owned_use(self) -> OwnedUse | None:
        """What hardware that is owned could do, where it is not the answer. Takes up to four further decisions."""
        return owned_use(self.advisor.context, self.workload.given, self.outcome)

    @overload
    def to_dict(
        self, *, full: Literal[True] = True, trade_offs: bool = False, traced: bool = True
    ) -> answer_types.Decision: ...
    @overload
    def to_dict(
        self, *, full: bool, trade_offs: bool = False, traced: bool = True
    ) -> answer_types.Decision | answer_types.DecisionLine: ...
    def to_dict(
        self, *, full: bool = True, trade_offs: bool = False, traced: bool = True
    ) -> answer_types.Decision | answer_types.DecisionLine:
        """The decision as ``whichgpu.decision/1``.

        Args:
            full: with trace, rules and rejections.
            trade_offs: with ``trade_offs`` and ``owned``, which take further decisions.
            traced: False leaves out what a page for people does not show: the trace, and the plans and rules in full.
        """
        answer = decision_dict(self._parts(full=full, traced=traced), full=full)
        if trade_offs:
            if (owned := self._owned_dict()) is not None:
                answer["owned"] = owned
            answer["trade_offs"] = self._trade_off_list()
        return answer

    def lazily(self, *, full: bool = True, trade_offs: bool = False, traced: bool = True) -> LazyAnswer:
        """The decision of which only the parts are made that are read; arguments as for ``to_dict``.

        ``owned`` is None where there is nothing to say of it.
        """
        further = {"owned": self._owned_dict, "trade_offs": self._trade_off_list} if trade_offs else {}
        return LazyAnswer(self._parts(full=full, traced=traced), further)

    def _owned_dict(self) -> part_types.OwnedUse | None:
        owned = self.owned_use()
        return None if owned is None else owned_dict(owned, self.outcome.intake.facts, self.advisor.vocabulary)

    def _trade_off_list(self) -> list[part_types.TradeOff]:
        return trade_off_list(self.trade_offs(), self.outcome, self.advisor.vocabulary)

    def _parts(self, *, full: bool, traced: bool) -> AnswerParts:
        advisor = self.advisor
        head: answer_types.Head = {
            "fired_by": self.fired_by,
            "engine_version": VERSION,
            "decided_at": self.decided_at.isoformat(),
            "rulebook": {"version": VERSION, "digest": advisor.rulebook.digest, "layers": advisor.layers()},
            "knowledge": {"digest": advisor.knowledge.digest, "prices_as_of": advisor.knowledge.prices_as_of},
        }
        named = (advisor.knowledge, advisor.rules, advisor.vocabulary)
        return AnswerParts(self.outcome, head, *named, self.differences, full=full, traced=traced)

    def compact(self) -> compact_types.CompactAnswer:
        """The answer in under a kilobyte, without its reasons: for runs over many workloads."""
        advisor, today = self.advisor, self.decided_at.date().isoformat()
        return compact_dict(self.outcome, advisor.rules, today, advisor.vocabulary)


class Advisor(Struct, frozen=True):
    """The loaded expert. Immutable, and safe to share between threads."""

    vocabulary: Vocabulary
    knowledge: Knowledge
    rulebook: Rulebook
    rules: Mapping[str, Rule]
    objectives: Mapping[str, Objective]
    default_objective: str
    stages: Stages
    context: DecisionContext
    reader: Reader
    fired_by: answer_types.FiredBy
    trade_off_settings: TradeOffSettings
    folders: tuple[Path, ...] = ()  # of the layers of rules, the lowest first

    def layers(self) -> list[part_types.RuleLayer]:
        """The layers of rules, the lowest first: name, digests of rules and of added knowledge, what was taken away."""
        laid = {Path(layer.folder): layer for layer in self.knowledge.layers if not layer.empty}
        described = []
        for layer, folder in zip(self.rulebook.layers, self.folders, strict=False):
            entry: part_types.RuleLayer = {"name": layer.name, "digest": layer.digest, "rules": layer.rules}
            if stated := layer.responsible.stated():
                entry["responsible"] = cast("part_types.Responsible", stated)
            if folder in laid:
                entry["knowledge"] = laid[folder].digest
            if replaced := self._changed("replaced", layer.name):
                entry["replaced"] = replaced
            if disabled := self._changed("disabled", layer.name):
                entry["disabled"] = disabled
            described.append(entry)
        return described

    def _changed(self, kind: str, layer: str) -> list[str]:
        return sorted(c.rule for c in self.rulebook.changes if (c.kind, c.layer) == (kind, layer))

    def read(self, raw: Node | Mapping[str, object], changes: Iterable[str] = ()) -> Workload:
        """Check a workload against the vocabulary.

        Raises:
            InputError: with every problem found.
        """
        return self.reader.read(raw, changes)

    def objective(self, name: str | None, facts: Facts) -> Objective:
        """The named objective, else the one among the facts, else the default.

        Raises:
            InputError: there is no such objective.
        """
        wanted = name or str(facts.get("objective", self.default_objective))
        if wanted not in self.objectives:
            near = nearest_words(wanted, self.objectives)
            fix = f"one of {', '.join(self.objectives)}"
            raise InputError(Problem("unknown-objective", f"no objective is called {wanted!r}", nearest=near, fix=fix))
        found = replace(self.objectives[wanted], stated=name is not None or "objective" in facts)
        # To whom a faster machine brings nothing, it may cost nothing more by the hour.
        return replace(found, guide_hour_share=0.0) if facts.get("turnaround_critical") is False else found

    @collection_paused()
    def decide(
        self,
        workload: Workload | Node | Mapping[str, object],
        *,
        objective: str | None = None,
        decided_at: datetime,
    ) -> Decision:
        """Decide a workload.

        Args:
            workload: facts by name, raw or read already. Unknown facts may be left out.
            objective: cheapest, fastest or balanced; overrules the fact of that name.
            decided_at: the time to put on the decision; prices are judged stale by it.

        Raises:
            InputError: the workload is wrong.
        """
        read = workload if isinstance(workload, Workload) else self.read(workload)
        chosen = self.objective(objective, read.given)
        if objective is not None and read.given.get("objective") != objective:
            # Rules read the objective too: a stated one is a fact, however it was stated.
            read = replace(read, given={**read.given, "objective": objective})
        with gathering_differences() as differences:
            outcome = decide_workload(self.context, read, chosen, decided_at.date())
        if differences:
            keep_differences(differences, decided_at=decided_at.isoformat(), rulebook=self.rulebook.digest)
        return Decision(outcome, read, self, decided_at, tuple(differences))

    @collection_paused()
    def choose(self, workload: Workload | Mapping[str, object]) -> Outline:
        """The plans that ``decide`` puts first, by card and number, without what is said of them.

        Raises:
            InputError: the workload is wrong.
        """
        read = workload if isinstance(workload, Workload) else self.read(workload)
        found = choose_plan(self.context, read.given, self.objective(None, read.given))
        return outline_of(found.chosen, found.round) if found else (None, [])


@collection_paused()
def load_advisor(
    rules_folders: Sequence[Path] = (),
    *,
    knowledge_folder: Path | None = None,
    own_rules: Path | None = None,
    knowledge: Knowledge | None = None,
    make_level: MakeLevel | None = None,
    tests: bool = True,
) -> Advisor:
    """Load vocabulary, knowledge and rulebook.

    Args:
        rules_folders: further layers over the shipped rules, the lowest first: rules, and the facts, questions, GPUs,
            sources and prices that they bring (see ``whichgpu.engine.core.folders``).
        knowledge_folder: in place of the shipped knowledge.
        own_rules: in place of the shipped rulebook.
        knowledge: loaded already, with the same layers; for prices that were changed since.
        make_level: compiles the rules of a level in place of ``Level``; tests put other engines in.
        tests: read the tests inside rules too; a decision needs none.

    Raises:
        RulebookError: with every problem of the rule files.
        KnowledgeError: with every problem of a knowledge file.
    """
    knowledge_folder = knowledge_folder or locate("knowledge")
    folders = distinct((own_rules or locate("rules"), *rules_folders))
    layers = folders if own_rules else folders[1:]  # All but the shipped rules may bring knowledge of their own.
    use_knowledge(KnowledgeInUse(knowledge_folder, layers))
    vocabulary = load_vocabulary(knowledge_folder, layers=layers)
    knowledge = knowledge or load_knowledge(knowledge_folder, layers=layers)
    check_profiles(vocabulary.facts["task"].choices, knowledge_folder, vocabulary.facts["model_family"].choices)
    check_further_facts(knowledge, vocabulary, layers)
    rulebook = load_rulebook(folders, vocabulary, known_names(knowledge), tests=tests)
    objectives, default = load_objectives(knowledge_folder)
    check_objectives(vocabulary.facts["objective"].choices, objectives)
    conditions = conditions_of(vocabulary)
    make_level = make_level or partial(Level, key=rulebook.key)
    stages = prepare(rulebook, vocabulary, memory_calculators().values(), conditions.defaults, make_level)
    return Advisor(
        vocabulary=vocabulary,
        knowledge=knowledge,
        rulebook=rulebook,
        rules={rule.id: rule for rule in rulebook.rules},
        objectives=objectives,
        default_objective=default,
        stages=stages,
        context=DecisionContext(vocabulary, knowledge, stages, wishes(vocabulary)),
        reader=Reader(vocabulary, knowledge, conditions.aliases),
        fired_by="durable-rules" if durable_available() else "generated",
        trade_off_settings=load_trade_offs(knowledge_folder),
        folders=folders,
    )


@lru_cache(maxsize=1)
def shipped_advisor() -> Advisor:
    """The shipped rulebook and knowledge, loaded once a process."""
    return load_advisor(tests=False)


def known_names(knowledge: Knowledge) -> KnownNames:
    """What rule files may refer to."""
    gpus = knowledge.gpus.values()
    return KnownNames(
        sources=frozenset(knowledge.sources),
        gpus=frozenset(name for gpu in gpus for name in (gpu.id, gpu.family, gpu.series)),
        figures=frozenset(knowledge.figures),
        disagreements=frozenset(knowledge.disagreements),
    )
