"""What power and purchase read of GPUs: plain numbers for one, columns for many, so that one formula serves both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Pick
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.sizing import GpuTable, Ints


#: Forms that are sold inside a system built around them, whose fans, CPUs and switches draw nearly as much again.
_SYSTEM_FORMS = frozenset({"sxm", "oam", "system", "superchip", "module"})
#: Forms that are sold soldered to a board of several, never singly.
_BOARD_FORMS = frozenset({"sxm", "oam"})
#: Segments where the stated power is that of the whole device.
_WHOLE_DEVICES = frozenset({"edge", "laptop", "soc"})
#: Segments of cards that people put under a desk.
CARD_SEGMENTS = ("consumer", "professional", "workstation")
#: The same, and devices that stand there by themselves.
_DESK_SEGMENTS = frozenset({*CARD_SEGMENTS, *_WHOLE_DEVICES})


class Hardware(NamedTuple):
    """Properties of the GPU of a plan, or of each of many plans. NaN where one is not known."""

    tdp_w: Any
    node_gpus: Any  # that fit one server, at least 1
    board: Any  # how many the smallest board holds, 1 where they are sold singly
    device: Any  # the stated power is that of the whole device
    alone: Any  # a whole computer, which needs none around it
    bare: Any  # a board for the field, which wants a case, a supply and storage
    in_system: Any  # comes only inside a server made for it
    for_desk: Any  # may stand under a desk
    buy_usd: Any  # one, at the middle, low and high end of its price
    buy_low_usd: Any
    buy_high_usd: Any

    def price(self, pick: Pick) -> Any:
        """US dollars for one, at this end of its band."""
        return {"value": self.buy_usd, "low": self.buy_low_usd, "high": self.buy_high_usd}[pick]


#: Where no GPU is chosen yet: nothing is known of it.
NO_HARDWARE = Hardware(np.nan, 1, 1, False, False, False, False, True, np.nan, np.nan, np.nan)


def hardware_of(gpu: Gpu, constants: EconomicsConstants) -> Hardware:
    """What is read of one GPU, as plain numbers."""
    values = {name: np.nan if (value := read(gpu)) is None else value for name, read in _READ.items()}
    return Hardware(**values, board=board_of(gpu, constants))


def hardware_rows(table: GpuTable, which: Ints, constants: EconomicsConstants) -> Hardware:
    """What is read of the GPUs of many plans, by their positions in the table."""
    columns: dict[str, Any] = {name: table.column(("costs", name), read)[which] for name, read in _READ.items()}
    columns.update({name: columns[name] > 0 for name in _FLAGS})
    boards = ("board", *constants.module_boards.smallest.items())
    return Hardware(**columns, board=table.column(boards, lambda gpu: board_of(gpu, constants))[which])


def choose(condition: Any, one: Any, other: Any) -> Any:
    """The first where the condition holds, elsewhere the other: of plain numbers, or of columns row by row."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, one, other)
    return one if condition else other


def board_of(gpu: Gpu, constants: EconomicsConstants) -> int:
    """How many are sold together at least: modules come on boards of four or eight, cards singly."""
    return constants.module_boards.smallest.get(gpu.series, gpu.node_gpus) if on_board(gpu) else 1


def on_board(gpu: Gpu) -> bool:
    """Whether it is sold only on a board of several."""
    return (gpu.form_factor or "").casefold() in _BOARD_FORMS


def in_superchip(gpu: Gpu) -> bool:
    """Whether a CPU is soldered to it."""
    return (gpu.form_factor or "").casefold() == "superchip"


def _is_device(gpu: Gpu) -> bool:
    return (gpu.segment or "") in _WHOLE_DEVICES or gpu.vendor == "apple"


def _in_system(gpu: Gpu) -> bool:
    form = (gpu.form_factor or "").casefold()
    return any(word in form for word in _SYSTEM_FORMS) or gpu.link in {"nvlink", "xgmi"}


_FLAGS = ("device", "alone", "bare", "in_system", "for_desk")
_READ: dict[str, Callable[[Gpu], float | None]] = {
    "tdp_w": lambda gpu: gpu.tdp_w,
    "node_gpus": lambda gpu: max(1, gpu.node_gpus),
    "device": _is_device,
    "alone": lambda gpu: _is_device(gpu) or gpu.form_factor == "system",
    "bare": lambda gpu: gpu.segment == "edge",
    "in_system": _in_system,
    "for_desk": lambda gpu: (gpu.segment or "") in _DESK_SEGMENTS and not _in_system(gpu),
    "buy_usd": lambda gpu: gpu.buy_usd,
    "buy_low_usd": lambda gpu: gpu.buy_usd if gpu.buy_low_usd is None else gpu.buy_low_usd,
    "buy_high_usd": lambda gpu: gpu.buy_usd if gpu.buy_high_usd is None else gpu.buy_high_usd,
}
