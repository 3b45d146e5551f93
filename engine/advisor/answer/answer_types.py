"""The answers themselves: a decision, its line, its record, the answer to ``size``, and a line that is refused.

The keys are stable: none is renamed, removed or given another type within a format number. Keys may be added, so a
reader must ignore those that it does not know. What is not always there is ``NotRequired``, as are keys that records
of the same format from before may lack.
"""

from __future__ import annotations

from typing import Annotated
from typing import Literal
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from whichgpu.engine.advisor.answer.keys import Amount
from whichgpu.engine.advisor.answer.keys import Count
from whichgpu.engine.advisor.answer.keys import Day
from whichgpu.engine.advisor.answer.keys import FactValue
from whichgpu.engine.advisor.answer.keys import FactValues
from whichgpu.engine.advisor.answer.keys import MaybeValue
from whichgpu.engine.advisor.answer.keys import Number
from whichgpu.engine.advisor.answer.keys import OneOf
from whichgpu.engine.advisor.answer.keys import Word
from whichgpu.engine.advisor.answer.keys import doc
from whichgpu.engine.advisor.answer.plan_types import Alternative
from whichgpu.engine.advisor.answer.plan_types import Memory
from whichgpu.engine.advisor.answer.plan_types import Outranked
from whichgpu.engine.advisor.answer.plan_types import Parallelism
from whichgpu.engine.advisor.answer.plan_types import Plan
from whichgpu.engine.advisor.answer.plan_types import Recommendation
from whichgpu.engine.advisor.answer.plan_types import Speed
from whichgpu.engine.advisor.answer.trace_types import RuleVerdict
from whichgpu.engine.advisor.answer.trace_types import TraceEntry
from whichgpu.engine.advisor.objectives import shipped_objectives
from whichgpu.engine.advisor.options import Kind
from whichgpu.engine.advisor.outcome import CandidateVerdict
from whichgpu.engine.plans.costs.comparison import ComparisonSays
from whichgpu.engine.plans.costs.comparison import Side
from whichgpu.engine.plans.costs.thresholds import ThresholdSays
from whichgpu.engine.rules.resolution.model import Origin


FiredBy = Literal["durable-rules", "reference"]
NoAnswerKind = Literal["nothing_fits", "facts_missing", "contradictory"]
Band = Annotated[list[Number], Field(min_length=2, max_length=2)]


class RuleLayer(TypedDict):
    """A folder of rules, and what it changes in those below it."""

    name: Annotated[str, doc("The name of the folder.")]
    digest: Annotated[Word, doc("SHA-256 over its rules.")]
    rules: Annotated[int, doc("How many rules it has.")]
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
    """A fact of the workload, as it was settled."""

    value: Annotated[FactValue, doc("Its value.")]
    origin: Annotated[Origin, doc("Where the value came from.")]
    seq: Annotated[int | None, doc("The entry of the trace that settled it; null without a trace.")]


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


class Threshold(TypedDict):
    """A guide's rule of thumb for renting or buying, applied to this case."""

    id: Annotated[Word, doc("The rule of thumb.")]
    source: Annotated[str, doc("The guide.")]
    fact: Annotated[str, doc("The fact that it looks at.")]
    value: Annotated[Number | None, doc("Its value here; null where it is unknown.")]
    limit: Annotated[str, doc("The rule in words.")]
    says: Annotated[ThresholdSays, doc("What it says here.")]
    scope: NotRequired[Annotated[str, doc("What it was drawn for.")]]
    in_scope: NotRequired[Annotated[bool, doc("Nothing that is known lies outside of that.")]]
    agrees: NotRequired[Annotated[bool | None, doc("With a clear comparison; null where one of both leaves it open.")]]


class CostEntry(TypedDict):
    """One item of the cost comparison."""

    side: Annotated[Side, doc("The side that it counts on.")]
    name: Annotated[Word, doc("What it is.")]
    usd: Annotated[Number, doc("US dollars over the horizon.")]
    formula: Annotated[str, doc("How it is computed.")]
    source: Annotated[str, doc("On whose word.")]


class CoursePoint(TypedDict):
    """What was spent by a month."""

    months: Annotated[Number, doc("Months from the start.")]
    rent_usd: Annotated[Number, doc("On renting.")]
    own_usd: Annotated[Number, doc("On owning.")]


class Comparison(TypedDict):
    """Renting against owning over the horizon."""

    horizon_years: Annotated[Number, doc("The time that is looked at.")]
    horizon_assumed: NotRequired[Annotated[bool, doc("Nobody stated it.")]]
    rent_usd: Annotated[Number | None, doc("What renting costs.")]
    own_usd: Annotated[Number | None, doc("What owning costs.")]
    hybrid_usd: Annotated[Number | None, doc("What owning the base load and renting the rest costs.")]
    rent_band_usd: NotRequired[Annotated[Band | None, doc("The band of renting.")]]
    own_band_usd: NotRequired[Annotated[Band | None, doc("The band of owning.")]]
    ratio: Annotated[Number | None, doc("Owning by renting.")]
    clear_ratio: NotRequired[Annotated[Number, doc("How far from one that must be to be clear.")]]
    clear: Annotated[bool, doc("Whether it is clear.")]
    says: Annotated[ComparisonSays, doc("What costs less.")]
    rent_is_stated_bill: NotRequired[Annotated[bool, doc("Renting costs what the stated bill says.")]]
    rent_usd_per_hour: NotRequired[Annotated[Number | None, doc("Renting for an hour.")]]
    own_usd_per_hour: NotRequired[Annotated[Number | None, doc("Owning for an hour of use.")]]
    already_owned: NotRequired[Annotated[bool, doc("The hardware is there already.")]]
    sold: NotRequired[Annotated[bool, doc("Such hardware can be bought.")]]
    owned_as: NotRequired[Annotated[Word | None, doc("The GPU that stands in where the plan's own is not sold.")]]
    bought_count: NotRequired[Annotated[int | None, doc("How many GPUs would be bought.")]]
    lacking: NotRequired[Annotated[list[Word], doc("Facts that the comparison lacks.")]]
    crossing_months: NotRequired[Annotated[Number | None, doc("After how many months owning has cost less.")]]
    course: NotRequired[Annotated[list[CoursePoint], doc("How the costs run over time.")]]
    entries: Annotated[list[CostEntry], doc("What both sums are made of.")]


class Flip(TypedDict):
    """The nearest value of one input at which the comparison turns."""

    fact: Annotated[Word, doc("The input.")]
    now: Annotated[Number, doc("Its value.")]
    needed: Annotated[Number, doc("The value at which it turns.")]
    verdict: Annotated[Side, doc("What costs less beyond it.")]


class Procurement(TypedDict):
    """Rent or buy."""

    verdict: Annotated[Literal["rent", "buy", "hybrid", "undecided"], doc("The verdict.")]
    because: Annotated[str, doc("Why, in words.")]
    rules: NotRequired[Annotated[list[Word], doc("The rules that set it.")]]
    sources: NotRequired[Annotated[list[Word], doc("On whose word.")]]
    thresholds: Annotated[list[Threshold], doc("Rules of thumb of the guides.")]
    comparison: NotRequired[Annotated[Comparison | None, doc("The sums; null where there is no plan.")]]
    flip: NotRequired[Annotated[Flip | None, doc("What would turn them.")]]


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
    may_change: Annotated[list[Word], doc("What another value could change: recommendation, procurement, ...")]


class OpenQuestion(TypedDict):
    """A fact that is worth stating."""

    fact: Annotated[Word, doc("The fact.")]
    question: Annotated[str, doc("The question to ask.")]
    may_change: Annotated[list[Word], doc("What it could change: recommendation, procurement, ...")]
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
    origin: Annotated[Literal["asked", "stated", "file"], doc("How it was learned.")]


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
    unknown: Annotated[list[UnknownFact], doc("What nobody knew.")]
    unasked: Annotated[list[UnaskedFact], doc("What was not asked.")]


Trace = Annotated[list[TraceEntry], doc("Everything that happened, in order.")]
Verdicts = Annotated[list[RuleVerdict], doc("What became of every rule.")]
Rejections = Annotated[list[Rejection], doc("Plans that are out of the question.")]
AllOutranked = Annotated[list[Outranked], doc("Plans that no rule rejects and that are not shown whole.")]


class Head(TypedDict):
    """What an answer was decided with."""

    fired_by: Annotated[FiredBy, doc("The engine that fired the rules.")]
    engine_version: Annotated[Word, doc("The version of the program.")]
    decided_at: Annotated[Day, doc("The time of the decision, in ISO 8601.")]
    rulebook: Annotated[RulebookInfo, doc("The rules that were used.")]
    knowledge: Annotated[KnowledgeInfo, doc("The knowledge that was used.")]


class _Answer(Head):
    """What every answer has, with its trace or without."""

    format: Annotated[Literal["whichgpu.decision/1"], doc("The format.")]
    objective: Annotated[Word, OneOf(shipped_objectives), doc("What cost and speed were weighed by.")]
    objective_stated: NotRequired[Annotated[bool, doc("Someone stated the objective.")]]
    facts: Annotated[dict[str, Fact], doc("The facts of the workload, by name.")]
    recommendation: Annotated[Recommendation | None, doc("The answer; null where there is none.")]
    no_answer: Annotated[NoAnswer | None, doc("Why there is none; null where there is one.")]
    alternatives: Annotated[list[Alternative], Field(max_length=60), doc("Other plans, the best first.")]
    candidates: Annotated[list[Candidate], doc("The GPUs that were named.")]
    phases: Annotated[list[Phase], doc("Where a job trains and serves: the answer for each.")]
    sizing: Annotated[dict[str, Number | None], doc("Memory of the job itself, in decimal GB, by the fact's name.")]
    figures: Annotated[dict[str, Figure], doc("Figures that are worth showing, by name.")]
    procurement: Annotated[Procurement, doc("Rent or buy.")]
    advice: Annotated[list[Remark], doc("Advice, the most important first.")]
    warnings: Annotated[list[Remark], doc("Warnings, the most important first.")]
    monitoring: Annotated[list[Target], doc("Figures to watch.")]
    disagreements: Annotated[list[Disagreement], doc("Where sources contradict each other.")]
    assumptions: Annotated[list[Assumption], doc("What was taken for granted.")]
    open_questions: Annotated[list[OpenQuestion], doc("What is worth stating, the most important first.")]
    trade_offs: NotRequired[Annotated[list[TradeOff], doc("What would be cheaper or faster.")]]
    refused: NotRequired[Annotated[list[RefusedPlan], doc("Plans whose figures cannot be true; left out if none.")]]


class Decision(_Answer):
    """What ``whichgpu recommend FILE --format json`` prints. Decimal GB, US dollars."""

    outranked: AllOutranked
    rejected: Rejections
    trace: Trace
    rules: Verdicts
    interview: NotRequired[Annotated[Interview, doc("How an interview led to the facts.")]]


class DecisionLine(_Answer):
    """One line of what ``whichgpu recommend --jsonl`` prints."""

    id: NotRequired[Annotated[object, doc("The id that the workload's line had.")]]
    outranked: NotRequired[AllOutranked]
    rejected: NotRequired[Rejections]
    trace: NotRequired[Trace]
    rules: NotRequired[Verdicts]


class Record(TypedDict):
    """A decision as it was saved, with a digest that says whether it is intact."""

    format: Annotated[Literal["whichgpu.record/1"], doc("The format.")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$"), doc("Over the canonical JSON without fired_by.")]
    decision: Annotated[Decision, doc("The decision.")]


class Term(TypedDict):
    """A part of the memory of one GPU."""

    name: Annotated[Word, doc("What it holds.")]
    gb: Annotated[Number, doc("How much, in decimal GB.")]
    formula: Annotated[str, doc("How it is computed.")]
    inputs: Annotated[FactValues, doc("What of, by name.")]
    source: Annotated[str, doc("On whose word.")]


class FitChange(TypedDict):
    """A change that saves memory, as it was sized."""

    change: Annotated[Word, doc("Its name.")]
    says: Annotated[str, doc("What would be changed, in words.")]
    facts: Annotated[FactValues, doc("The facts to state.")]
    per_gpu_gb: Annotated[Amount, doc("Memory of one GPU then.")]
    fits: Annotated[bool, doc("Whether the job fits then.")]
    speed_ratio: Annotated[Number | None, doc("The speed by that without the change.")]
    costs: Annotated[str, doc("What the change costs, in words.")]
    source: Annotated[str, doc("On whose word.")]


class Relief(TypedDict):
    """What would make the job fit a GPU that it does not fit, or the next smaller one."""

    gpu: Annotated[Word, doc("The GPU.")]
    available_per_gpu_gb: Annotated[Amount | None, doc("What a job can have on it.")]
    changes: Annotated[list[FitChange], doc("Single changes, the mildest first.")]
    together: Annotated[list[FitChange], doc("Changes that fit when made together; none where one suffices.")]


class SizeAnswer(Memory):
    """What ``whichgpu size`` answers: whether a job fits stated GPUs, with how much of what, and how fast."""

    id: Annotated[object, doc("The id that the workload had.")]
    gpu: Annotated[Word, doc("The GPU.")]
    count: Annotated[Count, doc("How many of them.")]
    fits: Annotated[bool | None, doc("The best estimate is within what the job may take.")]
    granted_per_gpu_gb: NotRequired[Annotated[Amount | None, doc("What the job may take of one GPU.")]]
    tight: Annotated[bool | None, doc("It fits, but not with the margin that a recommendation keeps.")]
    speed: Annotated[Speed, doc("Figures over all GPUs, each with its band.")]
    link: NotRequired[Annotated[Word | None, doc("What joins the GPUs of one machine.")]]
    parallelism: NotRequired[Annotated[Parallelism, doc("How the job is split.")]]
    terms: NotRequired[Annotated[list[Term], doc("What the memory is made of.")]]
    relief: NotRequired[Annotated[Relief | None, doc("What would make it fit.")]]


class FurtherProblem(TypedDict):
    """Another problem of a refused line."""

    code: Annotated[Word, doc("The kind of problem.")]
    message: Annotated[Word, doc("What is wrong.")]
    fact: Annotated[str | None, doc("The fact that it is about.")]


class RefusedError(FurtherProblem):
    """Why a line is refused."""

    nearest: Annotated[list[str], doc("What was probably meant.")]
    line: NotRequired[Annotated[int, doc("The number of the line.")]]
    further: NotRequired[Annotated[list[FurtherProblem], doc("What else is wrong.")]]


class RefusedLine(TypedDict):
    """What stands in place of an answer to a line that is wrong."""

    id: Annotated[object, doc("The id that the line had.")]
    error: Annotated[RefusedError, doc("Why it is refused.")]


#: By name, as ``whichgpu schema NAME`` prints them.
SHAPES = {
    "decision": Decision,
    "decision_line": DecisionLine,
    "record": Record,
    "size_answer": SizeAnswer,
    "refused_line": RefusedLine,
}
