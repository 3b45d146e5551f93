"""The constants of the rent-or-own computation, read once from ``knowledge/economics.yaml``."""

import math
from pathlib import Path
from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import force_setattr

from whichgpu.engine.core import Banded, FrozenModel, kept_in_use, read_constants, remembered, traceable


class Constant(Banded):
    """A number that no formula gives, with the band it was seen in and where."""

    low: float = math.nan  # where no band was seen: the value
    high: float = math.nan

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            if math.isnan(getattr(self, end)):
                force_setattr(self, end, self.value)
        super().__post_init__()


@remembered
def stated(name: str, value: float) -> Constant:
    """What the user said in place of a constant: no band."""
    return Constant(value=value, low=value, high=value, source=f"stated: {name}")


class ClassTiers(FrozenModel):
    """Provider classes, the preferred ones first; those of one tier compete on price."""

    tiers: tuple[tuple[str, ...], ...]
    because: str


class PriceChoice(FrozenModel):
    """Which of several prices for the same GPUs stands for what the market asks."""

    lowest_providers: Annotated[int, Meta(ge=1)]  # the median is taken of so many, one price each
    idle_share_below: Annotated[
        float, Meta(gt=0, le=1)
    ]  # where a larger share of a machine stands idle, it is another shape
    source: str
    because: str


class ListPrices(FrozenModel):
    """What is priced per GPU rather than in fixed shapes."""

    classes: frozenset[str]  # whose price is scaled up, and called assumed, where no machine is large enough
    instances: frozenset[str] = frozenset()  # rented in any number, whatever their class
    because: str


class Clusters(FrozenModel):
    """Who rents several nodes joined by a network made for training, of at least so many GPUs each."""

    providers: frozenset[str]
    least_gpus: int
    because: str


class LesserShapes(FrozenModel):
    """Shapes of one GPU that rank as another class than their provider's."""

    instances: dict[str, str]
    because: str


class ModuleBoards(FrozenModel):
    """How many modules the smallest board holds, by series; others come by the node."""

    smallest: dict[str, int] = field(default_factory=dict)
    because: str = ""


class Scope(FrozenModel):
    """What a guide's line was drawn for. What is left out is not limited; what is unknown does not limit."""

    segments: frozenset[str] = frozenset()  # of the plan's GPU
    vram_gb: tuple[float, float] | None = None  # of one GPU
    gpus: tuple[int, int] | None = None  # in the plan
    years_from: float = 0.0
    org_types: frozenset[str] = frozenset()
    own_side_only: bool = False  # the line's "rent" was drawn for anything


class ThresholdRule(FrozenModel):
    """A guide's single-figure rule: rent below one value, own from another."""

    fact: str
    rent_below: float | None = None
    own_from: float | None = None
    own_years: float = 0.0
    unit: str
    source: str
    scope: str
    applies: Scope = Scope()


class EconomicsConstants(FrozenModel):
    """Everything in ``knowledge/economics.yaml``."""

    class_tiers: dict[str, ClassTiers]  # "firm", "interruptible"
    price_choice: PriceChoice
    per_gpu_list_price: ListPrices
    clusters: Clusters
    lesser_shapes: LesserShapes
    module_boards: ModuleBoards = ModuleBoards()
    areas: dict[str, tuple[str, ...]]
    providers_also_called: dict[str, str]
    constants: dict[str, Constant]
    thresholds: dict[str, ThresholdRule]

    def __getitem__(self, name: str) -> Constant:
        return self.constants[name]


@traceable("economics")
@kept_in_use
def load_economics(folder: Path | None = None) -> EconomicsConstants:
    """The constants of a knowledge folder, or of the one that comes with the program. Raises KnowledgeError."""
    return read_constants(EconomicsConstants, "economics.yaml", folder)
