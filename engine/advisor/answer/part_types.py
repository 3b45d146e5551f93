"""Parts of an answer beside its plans: facts, verdicts, advice, questions, trade-offs, and how they were learned."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from whichgpu.engine.advisor.answer.keys import Amount, Count, Day, FactValue, FactValues, MaybeValue, Number, Word, doc
from whichgpu.engine.advisor.answer.plan_types import Plan
from whichgpu.engine.advisor.options import Kind
from whichgpu.engine.advisor.outcome import CandidateVerdict
from whichgpu.engine.rules import Origin


NoAnswerKind = Literal["nothing_fits", "facts_missing", "contradictory"]


class Responsible(TypedDict, total=False):
    """Who said so, as far as it is stated."""

    author: Annotated[Word, doc("Who wrote it.")]
    reviewed_by: Annotated[Word, doc("Who looked at it.")]
    approved_on: Annotated[Word, doc("The day on which it was approved.")]


class RuleLayer(TypedDict):
    """A folder of rules, and what it changes in those below it."""

    name: Annotated[str, doc("The name of the folder.")]
    digest: Annotated[Word, doc("SHA-256 over its rules.")]
    rules: Annotated[int, doc("How many rules it has.")]
    responsible: NotRequired[Annotated[Responsible, doc("Who answers for it.")]]
    knowledge: NotRequired[Annotated[Word, doc("SHA-256 over the knowledge that it adds.")]]
    replaced: NotRequired[Annotated[list[Word], doc("Rules of lower layers that it replaces.")]]
    disabled: NotRequired[Annotated[list[Word], doc("Rules of lower layers that it takes away.")]]


class RulebookInfo(TypedDict):
    """The rules that were used."""

    version: Annotated[str, doc("The version of the program that they came with.")]
    digest: Annotated[Word, doc("SHA-256 over all rules.")]
    layers: Annotated[list[RuleLayer], doc("Their folders, the lowest first.")]


class KnowledgeInfo(TypedDict):
    """The knowledge that was used."""

    digest: Annotated[Word, doc("SHA-256 over GPUs, models, prices and constants.")]
    prices_as_of: Annotated[Day | None, doc("The day of the newest price.")]


class Fact(TypedDict):
    """A fact of the workload, as it was resolved."""

    value: Annotated[FactValue, doc("Its value.")]
    origin: Annotated[Origin, doc("Where the value came from.")]
    seq: Annotated[int | None, doc("The entry of the trace that resolved it; null without a trace.")]


class NoAnswer(TypedDict):
    """Why nothing is recommended."""

    kind: Annotated[NoAnswerKind, doc("Nothing fits, facts are missing, or facts contradict each other.")]
    why: Annotated[Word, doc("The reason in words.")]
    facts: Annotated[list[Word], doc("The facts that it hangs on.")]
    relaxable: NotRequired[Annotated[list[list[Word]], doc("Stated facts without which some plan qualifies.")]]
    rules: NotRequired[Annotated[list[Word], doc("The rules behind it.")]]


class Candidate(TypedDict):
    """The verdict on a GPU that was named."""

    gpu: Annotated[Word, doc("The GPU.")]
    family: Annotated[Word, doc("Its family.")]
    verdict: Annotated[CandidateVerdict, doc("How it came off.")]
    reason: Annotated[str, doc("Why, in words.")]
    rule: Annotated[Word | None, doc("The rule behind that.")]
    plan: Annotated[Plan | None, doc("The plan that was judged; null where the GPU cannot be planned with.")]
    facts: Annotated[FactValues, doc("What the catalogue says of the GPU.")]
    is_current: NotRequired[Annotated[bool, doc("It is the GPU that is in use today.")]]


class Rejection(TypedDict):
    """Counts of a GPU that are out of the question, and why."""

    gpu: Annotated[Word, doc("The GPU.")]
    family: Annotated[Word, doc("Its family.")]
    rule: Annotated[Word | None, doc("The rule that rejects them; null where they were passed over or not planned.")]
    reason: Annotated[str, doc("Why, in words.")]
    counts: Annotated[list[Count], doc("The counts.")]
    sources: NotRequired[Annotated[list[Word], doc("On whose word.")]]


class Phase(TypedDict):
    """The answer for one phase of a job that trains and serves."""

    phase: Annotated[Word, doc("The phase.")]
    recommendation: Annotated[Plan | None, doc("The plan for it.")]


class Figure(TypedDict):
    """A figure that is worth showing."""

    value: Annotated[FactValue, doc("Its value, or its range.")]
    low: NotRequired[Annotated[Number | None, doc("The lower end of its band.")]]
    high: NotRequired[Annotated[Number | None, doc("The upper end.")]]
    unit: Annotated[str | None, doc("Its unit.")]
    formula: NotRequired[Annotated[str, doc("How it is computed.")]]
    sources: Annotated[list[Word], doc("On whose word.")]


class Remark(TypedDict):
    """Advice or a warning."""

    code: Annotated[Word, doc("Its code, which is stable: A-... or W-...")]
    text: Annotated[str, doc("What is said of this case.")]
    because: Annotated[str, doc("The ground.")]
    rule: Annotated[Word | None, doc("The rule that says it.")]
    also: NotRequired[Annotated[list[Word], doc("Other rules that say the same.")]]
    scope: NotRequired[Annotated[str, doc("What it is about: workload, a plan, or a GPU that was named.")]]
    sources: Annotated[list[Word], doc("On whose word.")]
    priority: NotRequired[Annotated[int, doc("1 is the most important.")]]


class Target(TypedDict):
    """A figure to watch, and where it should lie."""

    code: Annotated[Word, doc("The figure.")]
    text: Annotated[str, doc("What is said of this case.")]
    because: Annotated[str, doc("The ground.")]
    rule: Annotated[Word | None, doc("The rule that says it.")]
    sources: Annotated[list[Word], doc("On whose word.")]
    low: NotRequired[Annotated[Number | None, doc("The lower end.")]]
    high: NotRequired[Annotated[Number | None, doc("The upper end.")]]
    unit: NotRequired[Annotated[str | None, doc("The unit.")]]


class Position(TypedDict):
    """What one source says."""

    source: Annotated[Word, doc("The source.")]
    says: Annotated[str, doc("Its position.")]


class Disagreement(TypedDict):
    """Sources that contradict each other in something that bears on the case."""

    id: Annotated[Word, doc("Its name in the knowledge base.")]
    title: NotRequired[Annotated[str, doc("What it is about.")]]
    positions: Annotated[list[Position], doc("Who says what.")]
    followed: Annotated[str | None, doc("Whom this answer follows.")]
    why: Annotated[str | None, doc("Why.")]
    rules: NotRequired[Annotated[list[Word], doc("The rules that tell of it.")]]


class Assumption(TypedDict):
    """What was taken for granted."""

    fact: Annotated[Word, doc("The fact.")]
    value: Annotated[FactValue, doc("The value.")]
    because: NotRequired[Annotated[str | None, doc("Why.")]]


class OpenQuestion(TypedDict):
    """A fact that is worth stating."""

    fact: Annotated[Word, doc("The fact.")]
    question: Annotated[str, doc("The question to ask.")]
    blocking: NotRequired[Annotated[bool, doc("Without it nothing is recommended, or nothing is proven.")]]
    asked_by: NotRequired[Annotated[Word | None, doc("The rule that asks.")]]


class TradeOffPlan(TypedDict):
    """The plan that a trade-off leads to."""

    id: Annotated[Word, doc("The plan.")]
    gpu: Annotated[Word, doc("Its GPU.")]
    count: Annotated[Count, doc("How many of them.")]
    usd_per_hour: Annotated[Amount | None, doc("What it costs, on the terms of the trade-off.")]


class TradeOff(TypedDict):
    """What would be cheaper or faster if one thing were allowed."""

    kind: Annotated[Kind, doc("What would be allowed.")]
    change: Annotated[FactValues | None, doc("The fact to state instead; null takes it away.")]
    says: Annotated[str, doc("The same in words.")]
    plan: Annotated[TradeOffPlan, doc("The plan that it leads to.")]
    cost_ratio: Annotated[Number | None, doc("Its cost by the answer's.")]
    speed_ratio: Annotated[Number | None, doc("Its speed by the answer's.")]
    usd_per_hour_delta: Annotated[Number | None, doc("What it costs more for an hour.")]
    term_months: NotRequired[Annotated[Count | None, doc("The term of a commitment.")]]


class OwnedUse(TypedDict):
    """What hardware that is owned could do, where it is not the answer."""

    id: Annotated[Word, doc("The plan.")]
    gpu: Annotated[Word, doc("Its GPU.")]
    count: Annotated[Count, doc("How many of them.")]
    holds: Annotated[bool, doc("It holds the job, with what is changed.")]
    change: Annotated[FactValues | None, doc("The facts to state for it; null where nothing is changed.")]
    rules: Annotated[list[Word], doc("The rules that reject it, though it holds the job.")]
    says: Annotated[str, doc("The same in words.")]
    usd_per_hour: Annotated[Amount | None, doc("What it costs an hour: electricity and upkeep.")]
    usd_per_run: Annotated[Amount | None, doc("What the stated run costs.")]
    tokens_per_s: Annotated[Number | None, doc("Tokens per second over all GPUs.")]
    samples_per_s: Annotated[Number | None, doc("Samples per second over all GPUs.")]
    hours: Annotated[Number | None, doc("Wall time of the stated run.")]
    latency_ms: Annotated[Number | None, doc("Time until an answer is complete, for half of the requests.")]
    cost_ratio: Annotated[Number | None, doc("Its cost by the answer's.")]
    speed_ratio: Annotated[Number | None, doc("Its speed by the answer's.")]


class RefusedPlan(TypedDict):
    """A plan that is not published because a figure of it cannot be true."""

    plan: Annotated[Word, doc("The plan.")]
    gpu: NotRequired[Annotated[Word, doc("Its GPU.")]]
    count: NotRequired[Annotated[Count, doc("How many of them.")]]
    figure: Annotated[Word, doc("The figure.")]
    value: Annotated[Number | str, doc("Its value.")]
    why: Annotated[Word, doc("Why it cannot be true.")]


class AskedFact(TypedDict):
    """A fact that an interview learned."""

    fact: Annotated[Word, doc("The fact.")]
    origin: Annotated[
        Literal["asked", "stated", "file", "usual", "now"],
        doc("How it was learned; usual: Enter took the usual answer; now: left open, to be answered at once."),
    ]


class ChangedAnswer(TypedDict):
    """What the answer would be with another value."""

    value: Annotated[MaybeValue, doc("The value.")]
    gpu: Annotated[Word | None, doc("The GPU then.")]
    count: Annotated[Count | None, doc("How many of them.")]
    procurement: Annotated[str, doc("The verdict on renting or buying.")]


class UnknownFact(TypedDict):
    """A question that was answered with "unknown"."""

    fact: Annotated[Word, doc("The fact.")]
    assumed: Annotated[MaybeValue, doc("What was assumed instead.")]
    robust: Annotated[bool, doc("No value that was tried changes the answer.")]
    changes: Annotated[list[ChangedAnswer], doc("Values that do.")]


class UnaskedFact(TypedDict):
    """A question that was not asked, since it cannot change the answer."""

    fact: Annotated[Word, doc("The fact.")]
    why: Annotated[Word, doc("Why it cannot.")]
    checked: Annotated[Word, doc("How that is known.")]


class Interview(TypedDict):
    """How an interview led to the facts."""

    answered: Annotated[list[AskedFact], doc("What was learned.")]
    unknown: Annotated[list[UnknownFact], doc("What was not known.")]
    unasked: Annotated[list[UnaskedFact], doc("What was not asked.")]
