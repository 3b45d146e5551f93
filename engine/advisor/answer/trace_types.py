"""The trace of an answer and the verdict on every rule."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from whichgpu.engine.advisor.answer.keys import Count, FactValues, MaybeValue, Number, Word, doc
from whichgpu.engine.advisor.answer.part_types import Responsible
from whichgpu.engine.rules import Origin


class Matched(TypedDict):
    """A fact that an entry of the trace was made from."""

    condition: NotRequired[Annotated[str | None, doc("The condition of the rule that read it, in words.")]]
    fact: Annotated[str | None, doc("Its name.")]
    value: Annotated[MaybeValue, doc("Its value.")]
    seq: Annotated[int | None, doc("The entry of the trace that the value came from.")]


class Overruled(TypedDict):
    """A weaker candidate for the same fact, with another value."""

    origin: Annotated[Origin, doc("Where it came from.")]
    by: Annotated[str, doc("What put it forward.")]
    value: Annotated[MaybeValue, doc("What it says.")]


class _Entry(TypedDict):
    """What every entry of the trace has."""

    seq: Annotated[int, Field(ge=0), doc("The number of the entry; others refer to it.")]
    scope: Annotated[Word, doc("What it is about: workload, a plan, or a GPU that was named.")]
    rule: NotRequired[Annotated[Word | None, doc("The rule that made it.")]]
    calculator: NotRequired[Annotated[Word | None, doc("What computed it or looked it up.")]]
    matched: Annotated[list[Matched], doc("The facts that it was made from.")]
    because: NotRequired[Annotated[str | None, doc("The ground, in words.")]]
    sources: Annotated[list[Word], doc("On whose word.")]
    responsible: NotRequired[Annotated[Responsible, doc("Who answers for the rule.")]]


class ResolvedEntry(_Entry):
    """Facts that were resolved."""

    kind: Annotated[Origin, doc("Where they came from.")]
    effects: Annotated[FactValues, doc("The facts and their values.")]
    overruled: NotRequired[Annotated[list[Overruled], doc("Weaker candidates, with other values.")]]


class RejectedCounts(TypedDict):
    """Plans of one GPU that a rule rejects."""

    gpu: Annotated[Word, doc("The GPU.")]
    counts: Annotated[list[Count], doc("The counts of it.")]


class RejectedEntry(_Entry):
    """A rule that rejects plans of a GPU."""

    kind: Annotated[Literal["rejected"], doc("A rejection.")]
    effects: Annotated[RejectedCounts, doc("Which plans.")]


class AwardedPoints(TypedDict):
    """Points that a plan was given."""

    points: Annotated[Number, doc("How many.")]
    reason: Annotated[Word, doc("What for.")]
    counted: NotRequired[Annotated[bool, doc("Whether they count.")]]


class ScoredEntry(_Entry):
    """Points for a plan or against it."""

    kind: Annotated[Literal["scored"], doc("Points of evidence.")]
    effects: Annotated[AwardedPoints, doc("How many, what for.")]


class AdvisedEffects(TypedDict):
    """What a rule of the last stage did, by the word that the rule uses."""

    set: NotRequired[Annotated[dict[str, MaybeValue], doc("Facts that it set.")]]
    advise: NotRequired[Annotated[list[Word], doc("Codes of advice.")]]
    warn: NotRequired[Annotated[list[Word], doc("Codes of warnings.")]]
    ask: NotRequired[Annotated[list[Word], doc("Facts that it asks for.")]]
    monitor: NotRequired[Annotated[dict[str, list[Number | None]], doc("Figures to watch, each with its range.")]]
    disagree: NotRequired[Annotated[list[Word], doc("Disagreements between sources that it mentions.")]]
    figure: NotRequired[Annotated[list[Word], doc("Figures that it shows.")]]


class Beaten(TypedDict):
    """A fact that a rule set and that has another value."""

    fact: Annotated[Word, doc("The fact.")]
    value: Annotated[MaybeValue, doc("The value that it has.")]
    by: Annotated[str, doc("Whose word that is: a rule, a calculator, or the input.")]


class AdvisedEntry(_Entry):
    """A rule that advised, warned, asked or set something once the plans were ranked."""

    kind: Annotated[Literal["advised"], doc("Advice.")]
    effects: Annotated[AdvisedEffects, doc("What it did.")]
    beaten: NotRequired[Annotated[list[Beaten], doc("What it set in vain, and what stands instead.")]]
    text: NotRequired[Annotated[str, doc("What the rule says of this case.")]]


TraceEntry = Annotated[ResolvedEntry | RejectedEntry | ScoredEntry | AdvisedEntry, Field(discriminator="kind")]


class RuleVerdict(TypedDict):
    """What became of a rule."""

    id: Annotated[Word, doc("The rule.")]
    verdict: Annotated[Literal["fired", "overridden", "undecided", "not_fired"], doc("What became of it.")]
    scope: NotRequired[Annotated[str | None, doc("On what it was judged.")]]
    by: NotRequired[Annotated[Word | None, doc("Overridden: the rule that prevailed.")]]
    missing: NotRequired[Annotated[list[Word], doc("Undecided: the facts that it lacks.")]]
    failed: NotRequired[Annotated[str | None, doc("Not fired: the first condition that was false, as written.")]]
    value: NotRequired[Annotated[MaybeValue, doc("Not fired: the value that made it false.")]]
