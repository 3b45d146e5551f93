"""Everything a decision needs, loaded once: vocabulary, knowledge, rulebook and the engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor.answer.outline import Outline, outline_of
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.further_facts import check_further_facts
from whichgpu.engine.advisor.intake import Reader, Workload
from whichgpu.engine.advisor.objectives import check_objectives, load_objectives, load_trade_offs
from whichgpu.engine.advisor.options import TradeOffSettings
from whichgpu.engine.advisor.pipeline import DecisionContext, choose_plan, decide_workload
from whichgpu.engine.advisor.proof import wishes
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.advisor.stages import Stages, prepare
from whichgpu.engine.catalogue import Knowledge, check_profiles, load_knowledge
from whichgpu.engine.core import (
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
    from whichgpu.engine.advisor.answer import answer_types, part_types


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
