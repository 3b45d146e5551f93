"""What an answer says of a plan: its memory, speed and cost, its points, and how it stands beside the answer."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from whichgpu.engine.advisor.answer.keys import Amount, Count, Day, Number, Word, doc
from whichgpu.engine.advisor.losses import LossKind
from whichgpu.engine.rules import Quantity


Speed = dict[str, Number | bool | None]
ChosenOverReason = LossKind | Literal["evidence"]


#: How well a figure is founded.
SupportLevel = Literal["none", "rule_of_thumb", "computed", "measured"]


class FigureSupport(TypedDict):
    """How well one figure is founded; at ``none`` it is withheld."""

    level: Annotated[SupportLevel, doc("measured, computed, rule_of_thumb, or none: the figure is withheld.")]
    reason: NotRequired[Annotated[Word, doc("Why it is no better founded.")]]
    measure: NotRequired[Annotated[Word, doc("What to measure to know it.")]]
    why: NotRequired[
        Annotated[Word, doc("In place of both, of figures that alternatives give: a key of support_reasons.")]
    ]


class SupportReason(TypedDict):
    """Why figures are no better founded."""

    reason: Annotated[Word, doc("Why they are not.")]
    measure: Annotated[Word, doc("What to measure to know them.")]


CountRange = Annotated[list[Count], Field(min_length=2, max_length=2)]


class Parallelism(TypedDict):
    """How the job is split over the GPUs."""

    tensor: Annotated[Count, doc("GPUs that share each layer.")]
    pipeline: Annotated[Count, doc("Stages of layers, one after the other.")]
    data: Annotated[Count, doc("Replicas of the model.")]
    sharding: Annotated[Word | None, doc("What the replicas share: none, zero1, zero2, zero3, ...")]


class Partition(TypedDict):
    """Cards cut into slices (MIG)."""

    profile: Annotated[Word, doc("The profile of a slice, such as 1g.10gb.")]
    slices: Annotated[Count, doc("Slices that do the work.")]
    slices_per_gpu: Annotated[Count, doc("Slices that one card holds.")]


class Memory(TypedDict):
    """Memory at the peak, in decimal GB."""

    needed_gb: Annotated[Amount, doc("What the job needs over all GPUs, by the best estimate.")]
    per_gpu_gb: Annotated[Amount, doc("The same on the fullest GPU.")]
    allocated_gb: Annotated[Amount, doc("Over all GPUs, without what the framework and the driver hold back.")]
    available_per_gpu_gb: Annotated[Amount | None, doc("What a job can have on one GPU.")]
    headroom_pct: Annotated[Number | None, doc("The share of that which stays free, in percent.")]
    fit_probability: NotRequired[
        Annotated[Number | None, doc("How likely the job's memory is no more than that, 0 to 1, by published runs.")]
    ]
    breakdown: Annotated[dict[str, Number], doc("What the memory of one GPU holds: weights_gb, kv_cache_gb, ...")]
    low_gb: Annotated[Amount, doc("The least that the job may need over all GPUs.")]
    high_gb: Annotated[Amount, doc("The most that it may need.")]
    band_reason: NotRequired[Annotated[str, doc("Where the band comes from.")]]
    method: NotRequired[Annotated[str, doc("How the memory is computed.")]]


class Offer(TypedDict):
    """One machine in a price list."""

    provider_class: Annotated[str | None, doc("The kind of provider: hyperscaler, neocloud, marketplace, ...")]
    provider: Annotated[str | None, doc("Who rents it out.")]
    instance: Annotated[str | None, doc("The name of the machine in the list.")]
    gpus_per_instance: NotRequired[Annotated[Count, doc("GPUs in one machine of this offer.")]]
    usd_per_instance_hour: NotRequired[Annotated[Amount, doc("What one machine of this offer costs on demand.")]]
    instances: NotRequired[Annotated[Count | None, doc("How many of these machines hold the plan.")]]
    region: NotRequired[Annotated[str | None, doc("Where it stands; null where the price holds anywhere.")]]
    as_of: Annotated[Day | None, doc("The day of the price.")]
    source: NotRequired[Annotated[str, doc("The source of the price.")]]
    quota_gpus: NotRequired[Annotated[Count, doc("The most GPUs that the provider lets one customer have at once.")]]
    lead_time_days: NotRequired[Annotated[Amount, doc("Days from the order until it runs, where the list says so.")]]


class ComparedPrice(TypedDict):
    """The price of one provider for the plan."""

    provider: Annotated[str, doc("The provider.")]
    usd_per_hour: Annotated[Amount, doc("Its price for the whole plan.")]


class Commitment(TypedDict):
    """The lowest price for the plan by someone who pays for every hour of a term."""

    term_months: Annotated[Count, doc("The length of the term.")]
    usd_per_hour: Annotated[Amount, doc("The price for the whole plan.")]
    provider: Annotated[str, doc("The provider.")]
    instance: Annotated[str | None, doc("The name of the machine.")]
    gpus_per_instance: NotRequired[Annotated[Count, doc("GPUs in one machine.")]]
    instances: Annotated[Count, doc("Machines.")]
    region: Annotated[str | None, doc("Where they stand.")]
    source: Annotated[str, doc("The source of the price.")]


class Cost(TypedDict):
    """What the plan costs in US dollars, and what is known of renting it, whether or not that is its price."""

    usd_per_hour: Annotated[Amount | None, doc("The whole plan for an hour; null where no price is known.")]
    usd_per_month: Annotated[Amount | None, doc("The same over the hours that it runs in a month.")]
    usd_per_1m_tokens: Annotated[Amount | None, doc("For a million tokens.")]
    usd_per_1k_samples: NotRequired[
        Annotated[Amount | None, doc("For a thousand images, clips or texts, while serving.")]
    ]
    usd_per_run: Annotated[
        Amount | None, doc("For the stated run, with its setting up where rented; where bought, up to the next run.")
    ]
    origin: NotRequired[Annotated[str, doc("What the price is: offer, quote, owned, purchase or none.")]]
    gpus_bought: NotRequired[
        Annotated[
            Count | None, doc("Where bought: how many have to be bought, since modules are sold on whole boards.")
        ]
    ]
    rented_usd_per_hour: NotRequired[Annotated[Amount | None, doc("Where owned or bought: the price to rent it.")]]
    rented_from: NotRequired[Annotated[Offer | None, doc("Where owned or bought: the offer of that price.")]]
    lowest_usd_per_hour: NotRequired[Annotated[Amount | None, doc("The lowest price of a provider that covers it.")]]
    lowest_offer: NotRequired[Annotated[Offer | None, doc("The offer of that price.")]]
    quotes: NotRequired[Annotated[Amount, doc("Providers whose offers cover the plan.")]]
    compared: NotRequired[Annotated[list[ComparedPrice], doc("The lowest prices, whose median is the price to rent.")]]
    assumed: NotRequired[Annotated[bool, doc("No machine on the list is large enough: scaled up from smaller ones.")]]
    nearest_offer: NotRequired[Annotated[Offer | None, doc("Where assumed: the largest machine that is offered.")]]
    instances: NotRequired[Annotated[Count | None, doc("Machines that are rented, or would be.")]]
    spot_usd_per_hour: NotRequired[Annotated[Amount | None, doc("The same where it may be taken away at any time.")]]
    committed: NotRequired[Annotated[list[Commitment], doc("The lowest price for each term of commitment.")]]


class Points(TypedDict):
    """Points of evidence that a rule, or the cost or speed of the plan, gives it."""

    rule: Annotated[Word | None, doc("The rule; null for the terms of cost and speed.")]
    reason: Annotated[Word, doc("What the points are for: fit, speed, cost, maturity, ...")]
    points: Annotated[Number, doc("Above zero for the plan, below zero against it.")]
    counted: NotRequired[Annotated[bool, doc("False where a stronger rule or a computed figure stands in for it.")]]
    checked: NotRequired[Annotated[bool, doc("A claim whose figures are computed: it counts through them alone.")]]
    because: Annotated[str, doc("The reason in words.")]
    sources: NotRequired[Annotated[list[Word], doc("On whose word.")]]


class UnverifiedLimit(TypedDict):
    """A stated limit that the plan cannot be held against."""

    limit: Annotated[Word, doc("The fact that states it, such as latency_slo_ms.")]
    figure: Annotated[Word, doc("The figure that is not known.")]
    text: Annotated[Word, doc("The same in words.")]


class Loss(TypedDict, total=False):
    """Where a plan that no rule rejects lost to the answer."""

    dominated_by: Annotated[
        Word | None, doc("A plan that is both cheaper and faster, or (below_for: outweighed) stands in for it.")
    ]
    below_for: Annotated[LossKind | None, doc("The first step of the choice at which it lost.")]
    cost_ratio: Annotated[Number | None, doc("Its cost by the answer's, as choosing compares.")]
    speed_ratio: Annotated[Number | None, doc("Its speed by the answer's.")]
    shown_rank: Annotated[
        Count,
        doc("Its place on a page: what a buyer could prefer first, then what would replace the answer best."),
    ]


class BesideAnswer(TypedDict):
    """A plan beside the answer."""

    id: Annotated[Word, doc("The plan.")]
    gpu: Annotated[Word, doc("Its GPU.")]
    count: Annotated[Count, doc("How many of them.")]
    usd_per_hour: Annotated[Number | None, doc("What it costs.")]
    cost_ratio: Annotated[Number | None, doc("Its cost by the answer's, as choosing compares.")]
    speed_ratio: Annotated[Number | None, doc("Its speed by the answer's.")]
    price_usd_per_hour: Annotated[Number | None, doc("What the answer costs more for an hour.")]


class ChosenOver(BesideAnswer):
    """A plan that would have been cheaper and faster, or better by the objective, and what stands against it."""

    reason: Annotated[ChosenOverReason, doc("The first step of the choice at which it lost.")]
    rule: Annotated[Word | None, doc("The rule behind that.")]
    because: Annotated[str, doc("The reason in words.")]
    facts: Annotated[list[Word], doc("The stated facts that the reason rests on, or those that are missing.")]
    waits_for: NotRequired[Annotated[list[Word], doc("Facts that the rule reads and that are unknown.")]]
    sources: Annotated[list[Word], doc("On whose word.")]


class StandsInFor(BesideAnswer):
    """The plan that the evidence puts first, and in whose place the answer is taken."""

    as_soon_as_asked: Annotated[bool, doc("The answer is as soon as is asked, and is taken for costing clearly less.")]
    score: Annotated[Number, doc("Its points of evidence.")]
    rules: Annotated[list[Word], doc("The rules by which guides name its card or its count.")]


class PreferenceCost(BesideAnswer):
    """The best plan of the same standing by the objective, which preferences passed over."""

    share: Annotated[Number | None, doc("By which share it would be better.")]
    rules_for: NotRequired[Annotated[list[Word], doc("The rules that speak for the answer alone.")]]
    rules_against: NotRequired[Annotated[list[Word], doc("The rules that speak against that plan alone.")]]


class ComparedWith(TypedDict):
    """A plan that a claim is checked on."""

    gpu: Annotated[Word, doc("Its GPU.")]
    count: Annotated[Count, doc("How many of them.")]


class GuideClaim(TypedDict):
    """What a guide says of the answer's card, beside what is computed of it."""

    rule: Annotated[Word, doc("The rule that encodes the claim.")]
    quantity: Annotated[Quantity, doc("What it is about.")]
    claimed_ratio: Annotated[Number | None, doc("The ratio that the guide states; null where it states none.")]
    over: Annotated[Word | None, doc("The card, family or series that the guide compares with.")]
    compared_with: Annotated[ComparedWith, doc("The plan that it is compared with here.")]
    per_gpu: Annotated[bool, doc("The counts differ, so figures for each GPU are compared.")]
    computed_ratio: Annotated[Number, doc("The ratio that is computed.")]
    agrees: Annotated[bool, doc("Whether guide and computation say the same.")]
    text: Annotated[str, doc("Both in words.")]


class Plan(TypedDict):
    """So many of one GPU, split and joined in one way."""

    id: NotRequired[Annotated[Word, doc("The name of the plan within the answer, such as nvidia-l4x2.")]]
    gpu: Annotated[Word, doc("The id of the GPU (whichgpu gpus lists them).")]
    family: Annotated[Word, doc("The family of the GPU.")]
    count: Annotated[Count, doc("How many GPUs.")]
    count_range: NotRequired[
        Annotated[CountRange, doc("Where the count rests on a rule of thumb: the fewest and most it may come to.")]
    ]
    nodes: Annotated[Count, doc("In how many machines.")]
    link: Annotated[Word | None, doc("What joins the GPUs of one machine: none, pcie, nvlink, ...")]
    node_link: Annotated[Word | None, doc("What joins the machines.")]
    parallelism: Annotated[Parallelism, doc("How the job is split.")]
    partition: NotRequired[Annotated[Partition | None, doc("Cards that are cut into slices; null for whole cards.")]]
    precision: Annotated[Word | None, doc("The number format of the weights.")]
    why_count: NotRequired[Annotated[str, doc("Why this count was planned.")]]
    offer: Annotated[Offer | None, doc("The offer that its price comes from; null where it is owned or quoted.")]
    memory: Annotated[Memory | None, doc("Null where the size of the job is not known.")]
    speed: Annotated[Speed, doc("Figures over all GPUs, each with its band: tokens_per_s, tokens_per_s_low, ...")]
    support: NotRequired[
        Annotated[dict[str, FigureSupport], doc("How well memory and each figure of speed are founded, by name.")]
    ]
    cost: Annotated[Cost, doc("What it costs.")]
    power_w: Annotated[Amount | None, doc("Power of all GPUs in watts.")]
    proven: Annotated[bool, doc("Every hard limit could be checked.")]
    score: Annotated[Number | None, doc("Points of evidence; null where the plan was not ranked.")]
    points: Annotated[list[Points], doc("What the score is made of.")]
    unverified: NotRequired[Annotated[list[UnverifiedLimit], doc("Stated limits that cannot be checked.")]]


class Launch(TypedDict):
    """The command that starts the plan. It promises nothing beyond the plan's split and limits."""

    program: Annotated[Word, doc("The program: vllm, sglang, llama.cpp or torchrun.")]
    version: Annotated[Word, doc("The version whose documentation names all options of the command.")]
    command: Annotated[Word, doc("What to type. Words in capitals stand for what is yours.")]
    says: Annotated[list[str], doc("What to know beside it.")]


class Recommendation(Plan):
    """The answer's plan."""

    chosen_over: NotRequired[Annotated[list[ChosenOver], doc("Plans that look better and why they are not.")]]
    stands_in_for: NotRequired[Annotated[StandsInFor | None, doc("The plan that evidence puts first.")]]
    preference_cost: NotRequired[Annotated[PreferenceCost | None, doc("What preferences cost.")]]
    claims: NotRequired[Annotated[list[GuideClaim], doc("What guides say of the card, checked.")]]
    launch: NotRequired[Annotated[Launch | None, doc("How to start it; null where no program is described.")]]


class Alternative(Plan, Loss):
    """Another plan that no rule rejects."""


class Outranked(Loss):
    """A plan that no rule rejects and that is not shown whole."""

    id: Annotated[Word, doc("The plan.")]
    gpu: Annotated[Word, doc("Its GPU.")]
    count: Annotated[Count, doc("How many of them.")]
    usd_per_hour: NotRequired[Annotated[Amount | None, doc("What it costs.")]]
    tokens_per_s: NotRequired[Annotated[Number | None, doc("Its speed, for models of tokens.")]]
    samples_per_s: NotRequired[Annotated[Number | None, doc("Its speed, for other models.")]]
    latency_ms: NotRequired[Annotated[Number | None, doc("The time of an answer, while serving.")]]
    score: Annotated[Number, doc("Its points of evidence.")]
    proven: Annotated[bool, doc("Every hard limit could be checked.")]
