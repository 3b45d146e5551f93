"""What an answer says of renting and buying."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from whichgpu.engine.advisor.answer.keys import Number, Word, doc
from whichgpu.engine.plans import ComparisonSays, Side, ThresholdSays


Band = Annotated[list[Number], Field(min_length=2, max_length=2)]


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
    horizon_assumed: NotRequired[Annotated[bool, doc("It was not stated.")]]
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
    own_usd_per_hour: NotRequired[
        Annotated[
            Number | None,
            doc("Owning for an hour of the horizon, busy or idle; of hardware that is there, for a busy hour."),
        ]
    ]
    busy_share: NotRequired[Annotated[Number | None, doc("The share of those hours that it is busy.")]]
    own_usd_per_busy_hour: NotRequired[
        Annotated[Number | None, doc("Owning for an hour of work, which pays for the idle ones: beside renting.")]
    ]
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
    now: Annotated[Number | None, doc("Its value; null where it is not known.")]
    needed: Annotated[Number, doc("The value at which it turns.")]
    verdict: Annotated[Side, doc("What costs less beyond it.")]


class PriceOfWish(TypedDict):
    """What the way that was asked for costs beside a way that clearly costs less; plans keep to what was asked for."""

    asked: Annotated[Literal["rent", "buy", "hybrid"], doc("The way that was asked for.")]
    usd: Annotated[Number, doc("What it costs over the horizon.")]
    least: Annotated[Literal["rent", "buy", "hybrid"], doc("The way that costs least.")]
    least_usd: Annotated[Number, doc("What that costs.")]
    usd_more: Annotated[Number, doc("What the wish costs more.")]
    cost_ratio: Annotated[Number | None, doc("The wish by the least; null where the least costs nothing.")]


class Procurement(TypedDict):
    """Rent or buy."""

    verdict: Annotated[Literal["rent", "buy", "hybrid", "undecided"], doc("The verdict.")]
    because: Annotated[str, doc("Why, in words.")]
    rules: NotRequired[Annotated[list[Word], doc("The rules that set it.")]]
    sources: NotRequired[Annotated[list[Word], doc("On whose word.")]]
    thresholds: Annotated[list[Threshold], doc("Rules of thumb of the guides.")]
    comparison: NotRequired[Annotated[Comparison | None, doc("The sums; null where there is no plan.")]]
    price_of_wish: NotRequired[Annotated[PriceOfWish | None, doc("What the wish costs more; null if not clearly.")]]
    flip: NotRequired[Annotated[Flip | None, doc("What would turn them.")]]
