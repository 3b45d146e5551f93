"""The answers themselves: a decision, its line, its record, the answer to ``size``, and a line that is refused.

The keys are stable: none is renamed, removed or given another type within a format number. Keys may be added, so a
reader must ignore those that it does not know. What is not always there is ``NotRequired``, as are keys that records
of the same format from before may lack.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from whichgpu.engine.advisor.answer.compact_types import CompactAnswer
from whichgpu.engine.advisor.answer.keys import Amount, Count, Day, FactValues, Number, OneOf, Word, doc
from whichgpu.engine.advisor.answer.part_types import (
    Assumption,
    Candidate,
    Disagreement,
    Fact,
    Figure,
    Interview,
    KnowledgeInfo,
    NoAnswer,
    OpenQuestion,
    OwnedUse,
    Phase,
    RefusedPlan,
    Rejection,
    Remark,
    RulebookInfo,
    Target,
    TradeOff,
)
from whichgpu.engine.advisor.answer.plan_types import (
    Alternative,
    FigureSupport,
    Memory,
    Outranked,
    Parallelism,
    Recommendation,
    Speed,
    SupportReason,
)
from whichgpu.engine.advisor.answer.procurement_types import Procurement
from whichgpu.engine.advisor.answer.trace_types import RuleVerdict, TraceEntry
from whichgpu.engine.advisor.objectives import shipped_objectives


#: ``reference`` stands in answers from before the generated evaluator.
FiredBy = Literal["durable-rules", "generated", "reference"]


Trace = Annotated[list[TraceEntry], doc("Everything that happened, in order.")]
Verdicts = Annotated[list[RuleVerdict], doc("What became of every rule.")]
Rejections = Annotated[list[Rejection], doc("Plans that are out of the question.")]
AllOutranked = Annotated[list[Outranked], doc("Plans that no rule rejects and that are not shown whole.")]


class Head(TypedDict):
    """What an answer was decided with."""

    fired_by: Annotated[FiredBy, doc("The engine that fired the rules; durable-rules where it confirmed them.")]
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
    support_reasons: NotRequired[
        Annotated[dict[str, SupportReason], doc("Why figures of the alternatives are no better founded, by key.")]
    ]
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
    owned: NotRequired[
        Annotated[OwnedUse, doc("What hardware that is owned could do; left out where it is the answer.")]
    ]
    trade_offs: NotRequired[
        Annotated[
            list[TradeOff],
            doc("What would be cheaper or faster, or without an answer possible, if one thing were allowed."),
        ]
    ]
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


class FitSuggestions(TypedDict):
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
    support: NotRequired[
        Annotated[dict[str, FigureSupport], doc("How well memory and each figure of speed are founded, by name.")]
    ]
    link: NotRequired[Annotated[Word | None, doc("What joins the GPUs of one machine.")]]
    parallelism: NotRequired[Annotated[Parallelism, doc("How the job is split.")]]
    terms: NotRequired[Annotated[list[Term], doc("What the memory is made of.")]]
    fit_suggestions: NotRequired[Annotated[FitSuggestions | None, doc("What would make it fit.")]]


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
    "compact_line": CompactAnswer,
    "record": Record,
    "size_answer": SizeAnswer,
    "refused_line": RefusedLine,
}
