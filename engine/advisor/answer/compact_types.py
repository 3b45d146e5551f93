"""What ``--jsonl --compact`` writes for each workload, in under a kilobyte."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from whichgpu.engine.advisor.answer.keys import Amount, Count, Number, Word, doc
from whichgpu.engine.advisor.answer.plan_types import CountRange, SupportLevel


class CompactParallelism(TypedDict, total=False):
    """How the job is split over the GPUs; what is 1 or none is left out."""

    tensor: Annotated[Count, doc("GPUs that share each layer.")]
    pipeline: Annotated[Count, doc("Stages of layers, one after the other.")]
    data: Annotated[Count, doc("Replicas of the model.")]
    sharding: Annotated[Word, doc("What the replicas share: zero1, zero2, zero3, ...")]


class CompactPlan(TypedDict):
    """What is recommended: so many of one GPU, split and joined in one way."""

    id: Annotated[Word, doc("The name of the plan, such as nvidia-l4x2.")]
    gpu: Annotated[Word, doc("The id of the GPU (whichgpu gpus lists them).")]
    count: Annotated[Count, doc("How many GPUs.")]
    count_range: NotRequired[
        Annotated[CountRange, doc("Where the count rests on a rule of thumb and may differ: the fewest and most.")]
    ]
    nodes: Annotated[Count, doc("In how many machines.")]
    link: Annotated[Word | None, doc("What joins the GPUs of one machine: none, pcie, nvlink, ...")]
    node_link: NotRequired[Annotated[Word | None, doc("What joins the machines, where there are several.")]]
    precision: Annotated[Word | None, doc("The number format of the weights.")]
    parallelism: Annotated[CompactParallelism, doc("How the job is split; empty where it is not.")]
    mig_profile: NotRequired[Annotated[Word, doc("The profile of a slice, where cards are cut into slices (MIG).")]]
    mig_slices: NotRequired[Annotated[Count, doc("Slices that do the work.")]]


class CompactPrice(TypedDict):
    """What the whole plan costs in US dollars; null where that is not known."""

    usd_per_hour: Annotated[Amount | None, doc("For an hour.")]
    usd_per_month: Annotated[Amount | None, doc("Over the hours that it runs in a month.")]
    usd_per_run: Annotated[
        Amount | None, doc("For the stated run, with its setting up where rented; where bought, up to the next run.")
    ]
    origin: Annotated[Word, doc("What the price is: offer, quote, owned, purchase or none.")]
    provider: Annotated[str | None, doc("Whose offer the price is; null where it is owned, bought or quoted.")]
    assumed: Annotated[bool, doc("No machine on the list is large enough: scaled up from smaller ones.")]


class CompactMemory(TypedDict):
    """Memory at the peak of the fullest GPU, or of a slice of one, in decimal GB."""

    value: Annotated[Amount, doc("What the job needs, by the best estimate.")]
    low: Annotated[Amount, doc("The least that it may need.")]
    high: Annotated[Amount, doc("The most that it may need.")]
    usable: Annotated[Amount | None, doc("What a job can have.")]


class CompactNoAnswer(TypedDict):
    """Why nothing is recommended; ``rules`` of the line names the rules behind it."""

    kind: Annotated[Literal["nothing_fits", "facts_missing", "contradictory"], doc("The kind of reason.")]
    facts: Annotated[list[Word], doc("The facts that are missing, or that contradict each other.")]


class CompactOwned(TypedDict):
    """A plan that holds the job as it is on hardware that is owned, where it is not the answer."""

    id: Annotated[Word, doc("The plan.")]
    usd_per_hour: Annotated[Amount | None, doc("What it costs an hour: electricity and upkeep.")]
    speed_ratio: NotRequired[
        Annotated[Number | None, doc("Its speed by the answer's; absent where a rule rejects it.")]
    ]


Band = Annotated[list[Number], Field(min_length=3, max_length=3)]


class CompactAnswer(TypedDict):
    """One line of what ``whichgpu recommend --jsonl --compact`` prints: the answer without its reasons.

    Its rules are fired by one evaluator alone: it is no record. What helps where nothing fits is not searched for.
    """

    id: NotRequired[Annotated[object, doc("The id that the workload's line had.")]]
    plan: Annotated[CompactPlan | None, doc("What is recommended; null where nothing is.")]
    price: Annotated[CompactPrice | None, doc("What it costs.")]
    memory_per_gpu_gb: Annotated[
        CompactMemory | None, doc("What it needs; null where the size of the job is not known.")
    ]
    speed: Annotated[
        dict[str, Band] | None,
        doc("Figures over all GPUs, each as value, low and high: tokens_per_s, samples_per_s, ttft_ms, hours, ..."),
    ]
    support: NotRequired[
        Annotated[SupportLevel | None, doc("The weakest level of its figures; none: some are withheld.")]
    ]
    no_answer: Annotated[CompactNoAnswer | None, doc("Why nothing is recommended; null where something is.")]
    procurement: Annotated[Literal["rent", "buy", "hybrid", "undecided"], doc("The verdict on renting and buying.")]
    objective: Annotated[Word, doc("What cost and speed were weighed by.")]
    proven: Annotated[bool | None, doc("Every hard limit could be checked.")]
    unverified: Annotated[list[Word], doc("The facts that state a limit which cannot be checked.")]
    warnings: Annotated[list[Word], doc("The codes of the warnings, the most important first.")]
    rules: Annotated[
        list[Word],
        Field(max_length=6),
        doc("The rules that decided: what rejected every plan, the verdict, what counted for the plan."),
    ]
    owned: NotRequired[
        Annotated[
            CompactOwned,
            doc("What hardware that is owned could do as it is; absent where that is the answer, or it cannot."),
        ]
    ]
    phases: NotRequired[Annotated[dict[str, Word | None], doc("Where a job trains and serves: the plan for each.")]]
