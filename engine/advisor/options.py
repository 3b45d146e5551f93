"""What could be allowed instead: changes of single facts that are worth deciding anew beside an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from whichgpu.engine.advisor.measures import Measures, compared_by, is_job, length_known, measures_of
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.advisor.paid_length import work_comes_every
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.catalogue import profile_of
from whichgpu.engine.core import Facts, FrozenModel, Value, number
from whichgpu.engine.rules import Rule, Vocabulary, coerce, inside


if TYPE_CHECKING:
    from whichgpu.engine.advisor.pipeline import DecisionContext


Loosening = Literal["more", "less"]
Kind = Literal[
    "precision",
    "technique",
    "offload",
    "spot",
    "place",
    "card",
    "target",
    "budget",
    "load",
    "objective",
    "commitment",
    "owned",
    "targets_margin",
    "memory_margin",
]

#: Facts that say what the work is. Without them it would be other work.
THE_WORK = frozenset({"task", "model_name", "model_family", "param_count_b", "model_size_class", "peft_method"})
#: Where no fact helps alone, pairs of so many are tried.
_PAIRED = 6
#: Where work must go on at any time, nothing may be taken away.
_LASTING_STAGES = frozenset({"production", "maintenance"})


class Technique(FrozenModel):
    """Another way to do the same work: a fact's value, and what it asks for or leaves as it is, as a sentence."""

    value: bool | int
    asks_for: str


class TradeOffSettings(FrozenModel):
    """What is tried and what is shown. From ``knowledge/objectives.yaml``."""

    least_gain: float  # share by which an option must be cheaper or faster
    most_decisions: int
    most_listed: int
    steps: tuple[float, ...]  # ratios by which a limit is loosened, the smallest first
    serving_precisions: Mapping[str, Mapping[str, tuple[str, ...]]]  # fact -> value -> lower ones, mildest first
    training_precisions: Mapping[str, Mapping[str, tuple[str, ...]]]
    training_techniques: Mapping[str, Technique]  # ways to train a language model in less memory, by fact
    sparse_serving_techniques: Mapping[str, Technique]  # ways to serve one of which each token takes a part, by fact
    targets: Mapping[str, Loosening]
    budgets: Mapping[str, Loosening]
    loads: Mapping[str, Loosening]
    narrowing: tuple[str, ...]
    places: tuple[str, ...]
    cards: tuple[str, ...]  # facts that say which cards are allowed
    offloads: tuple[str, ...]  # facts that let a job fit fewer or smaller cards, slowly
    spot_most_joined_machines: int  # of more that work as one the loss of any stops the work too often
    offload_least_speed: float  # share of the answer's speed below which that is no option


class Option(Struct, frozen=True):
    """One fact to change, and to which values: None takes it away.

    ``nested`` values each allow all that the ones before them allow, so that where the last brings nothing none does.
    """

    kind: Kind
    fact: str
    values: tuple[Value | None, ...]
    nested: bool = False
    asks_for: str | None = None  # as a sentence


def options_of(
    outcome: Outcome,
    given: Mapping[str, Value],
    objectives: Mapping[str, Objective],
    settings: TradeOffSettings,
    context: DecisionContext,
) -> list[Option]:
    """The options that an answer leaves open, in the order in which they are tried.

    Args:
        outcome: an outcome with an answer.
        given: what was stated.
        objectives: by name.
        settings: what is tried.
        context: what the answer was decided with.
    """
    facts, vocabulary = outcome.intake.facts, context.vocabulary
    options = list(_precisions(facts, settings, vocabulary))
    options += _techniques(facts, given, settings)
    options += _offloads(outcome, given, settings)
    if _may_be_interrupted(facts):
        options.append(Option("spot", "interruptible", (True,)))
    options += [Option("place", name, (None,)) for name in settings.places if name in given]
    options += [Option("card", name, (None,)) for name in settings.narrowing if name in given]
    options += _cards(outcome, given, settings, context)
    options += _limits(given, settings, vocabulary)
    # Those that minimise cost or time alone, where they are not what the answer is.
    now = outcome.objective.name if outcome.objective.stated else None
    one_sided = [name for name, objective in objectives.items() if objective.one_sided and name != now]
    return options + [Option("objective", "objective", (name,)) for name in one_sided]


def _precisions(facts: Facts, settings: TradeOffSettings, vocabulary: Vocabulary) -> Iterator[Option]:
    task = facts.get("task")
    serving = isinstance(task, str) and profile_of(task).serves
    for fact, lower in (settings.serving_precisions if serving else settings.training_precisions).items():
        values = lower.get(str(facts.get(fact)), ()) if fact in vocabulary.facts else ()
        if values:
            yield Option("precision", fact, tuple(values))


def _techniques(facts: Facts, given: Mapping[str, Value], settings: TradeOffSettings) -> Iterator[Option]:
    """Other ways to train a language model, or to serve a sparse one, where nobody says how that is done."""
    known: Mapping[str, Technique] = {}
    if facts.get("model_family") == "llm":
        active, whole = number(facts, "active_param_count_b"), number(facts, "param_count_b")
        if facts.get("training") is True:
            known = settings.training_techniques
        elif facts.get("serving") is True and active is not None and whole is not None and active < whole:
            known = settings.sparse_serving_techniques
    for name, technique in known.items():
        if name not in given and facts.get(name) != technique.value:
            yield Option("technique", name, (technique.value,), asks_for=technique.asks_for)


def _offloads(outcome: Outcome, given: Mapping[str, Value], settings: TradeOffSettings) -> Iterator[Option]:
    """What lets a job fit, where nothing does or what is owned is not the answer; and its end, where it was stated.

    Else so slow a job has to be asked for.
    """
    answer = outcome.chosen
    wanted = answer is None or ("gpus_owned" in given and answer.ranked.plan.cost.origin != "owned")
    for name in settings.offloads:
        if given.get(name) is True:
            yield Option("offload", name, (None,))
        elif wanted and name not in given:
            yield Option("offload", name, (True,))


def _may_be_interrupted(facts: Facts) -> bool:
    if facts.get("interruptible") is True or facts.get("mission_critical") is True:
        return False
    return is_job(facts) or not (facts.get("lifecycle_stage") in _LASTING_STAGES or facts.get("latency_hard") is True)


def _limits(given: Mapping[str, Value], settings: TradeOffSettings, vocabulary: Vocabulary) -> Iterator[Option]:
    """Stated limits, loosened step by step within what the facts allow."""
    by_kind: dict[Kind, Mapping[str, Loosening]]
    by_kind = {"target": settings.targets, "budget": settings.budgets, "load": settings.loads}
    for kind, name, looser in ((kind, *limit) for kind, limits in by_kind.items() for limit in limits.items()):
        now, fact = given.get(name), vocabulary.facts.get(name)
        if fact is None or not isinstance(now, int | float) or isinstance(now, bool):
            continue
        wanted = [now * step if looser == "more" else now / step for step in settings.steps]
        if fact.type == "int":
            wanted = [round(value) for value in wanted]
        allowed = [value for value in wanted if inside(fact, value) and value != now]
        values = [coerce(fact, float(f"{value:.3g}") if fact.type != "int" else value) for value in allowed]
        if values:
            yield Option(kind, name, tuple(dict.fromkeys(values)), nested=True)


def _cards(
    outcome: Outcome, given: Mapping[str, Value], settings: TradeOffSettings, context: DecisionContext
) -> list[Option]:
    """What is stated about cards, or left open, that alone keeps a better plan from being the answer."""
    best: dict[tuple[str, Value | None], float] = {}
    for rules, gain in _kept_back(outcome, settings.least_gain, context):
        freeing = [_freeing(rule, given, settings.cards, context.vocabulary) for rule in rules]
        for change in set.intersection(*freeing) if freeing else set():
            best[change] = max(best.get(change, 0.0), gain)
    order = sorted(best, key=lambda change: (-best[change], change[0]))
    return [Option("card", fact, (value,)) for fact, value in order[:3]]


def _freeing(
    rule: Rule, given: Mapping[str, Value], cards: Iterable[str], vocabulary: Vocabulary
) -> set[tuple[str, Value | None]]:
    """The facts whose change could keep a rule from firing: those stated; else what it waits for."""
    read = [name for name in cards if name in rule.reads and name in vocabulary.facts and name not in THE_WORK]
    stated: set[tuple[str, Value | None]] = {(name, None) for name in read if name in given}
    return stated or {(name, True) for name in read if vocabulary.facts[name].type == "bool"}


def _kept_back(
    outcome: Outcome, least_gain: float, context: DecisionContext
) -> Iterator[tuple[tuple[Rule, ...], float]]:
    """The rules against each plan that would be clearly better, and how much better it would be."""
    answer, found = outcome.chosen, outcome.round
    if answer is None or found is None:
        return
    rules = context.stages.prefer.by_id
    for entry in found.judged:
        against = tuple(rules[name] for name in entry.fallbacks if name in rules)
        gain = gain_of(entry.measures, answer.measures, outcome.objective)
        if against and not answer.fallbacks and gain >= 1 + least_gain:
            yield against, gain
    how, objective = compared_by(found.survey.facts), outcome.objective
    by_run, share = how.job and length_known(found.surviving), objective.preference_share
    measured = measures_of(
        found.rejected,
        by_run=by_run,
        comes_every=work_comes_every(
            found.surviving, by_run=by_run, stands_idle=how.stands_idle, busy=how.busy, share=share
        ),
        objective=objective,
        highest_usd_per_gpu_hour=context.knowledge.highest_usd_per_gpu_hour,
        **how._asdict(),
    )
    for row in range(len(found.rejected)):
        gain = gain_of(measured.row(row), answer.measures, outcome.objective)
        if gain >= 1 + least_gain:
            yield found.rejected_by[row], gain


def gain_of(one: Measures, other: Measures, objective: Objective) -> float:
    """How many times better the first is by cost and time as the objective weighs them; 1 where that is not known.

    Unlike merit it asks nothing more of more GPUs.
    """
    gain = 1.0
    for mine, its, exponent in (
        (one.perceived_cost, other.perceived_cost, objective.cost_exponent),
        (one.time, other.time, objective.time_exponent),
    ):
        if exponent:
            if not mine or its is None:
                return 1.0
            gain *= (its / mine) ** exponent
    return gain


def relaxable_facts(
    given: Mapping[str, Value],
    rules: Sequence[Rule],
    vocabulary: Vocabulary,
    qualifies: Callable[[Mapping[str, Value]], bool],
) -> tuple[tuple[str, ...], ...]:
    """The stated facts without which some plan qualifies, one by one; else pairs of them, else the fewest that do.

    Args:
        given: what was stated.
        rules: those that reject, the one that rejects most plans first.
        vocabulary: tells limits and wishes, which are tried first.
        qualifies: whether some plan qualifies on other facts.
    """
    named = [name for rule in rules for name in sorted(rule.reads) if name in given]
    # In the order of the vocabulary: the order in which facts are stated tells nothing.
    stated = [name for name in vocabulary.facts if name in given] + sorted(given.keys() - vocabulary.facts.keys())
    wishes = [name for name in stated if name in vocabulary.facts and vocabulary.facts[name].wish]
    tried = [name for name in dict.fromkeys([*named, *wishes, *stated]) if name not in THE_WORK]
    alone = tuple((name,) for name in tried if qualifies(_without(given, (name,))))
    if alone:
        return alone
    pairs = tuple(pair for pair in combinations(tried[:_PAIRED], 2) if qualifies(_without(given, pair)))
    return pairs or _together(given, tried, qualifies)


def _together(
    given: Mapping[str, Value], tried: Sequence[str], qualifies: Callable[[Mapping[str, Value]], bool]
) -> tuple[tuple[str, ...], ...]:
    """Facts without which some plan qualifies, and of which none can be kept; nothing where not even all do."""
    if not tried or not qualifies(_without(given, tried)):
        return ()
    needed = list(tried)
    for name in reversed(tried):  # Those that reject most are first, and stay longest.
        fewer = [other for other in needed if other != name]
        if qualifies(_without(given, fewer)):
            needed = fewer
    return (tuple(needed),)


def _without(given: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    gone = frozenset(names)
    return {name: value for name, value in given.items() if name not in gone}
