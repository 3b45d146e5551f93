"""What so many of a GPU cost to buy with the machine around them: the amount of one plan or of many, and its words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import TURNED, Facts, Pick, Value, number
from whichgpu.engine.plans.costs.constants import EconomicsConstants
from whichgpu.engine.plans.costs.hardware import (
    NO_HARDWARE,
    Hardware,
    board_of,
    choose,
    hardware_of,
    in_superchip,
    on_board,
)
from whichgpu.engine.sizing import ceiling


class SourcedAmount(Struct, frozen=True):
    """One amount: what it is worth, how it was computed and who says so."""

    value: float
    formula: str
    source: str
    inputs: dict[str, Value]


def purchase_usd(
    hardware: Hardware,
    count: Any,
    facts: Facts,
    constants: EconomicsConstants,
    *,
    desk: Any,
    quoted: Any,
    pick: Pick = "value",
) -> Any:
    """US dollars for the GPUs of a plan, or of many plans; NaN without a price.

    Args:
        hardware: the GPU of each plan.
        count: how many are used; whole boards are bought.
        facts: what the user stated.
        constants: of ``economics.yaml``.
        desk: whether they stand at a desk: then the workstation is bought, else a share of servers.
        quoted: whether the user's own price to buy, if there is one, is about this GPU.
        pick: the end of every band to take.
    """
    price, bought = hardware.price(pick), on_boards(hardware, count)
    share, slot = _share_of_system(constants, pick), _slot_usd(hardware, constants, pick)
    racked = choose(_covers_slot(price, share, slot), price * bought / share, (price + slot) * bought)
    street = choose(desk, price * bought + _host_usd(hardware, bought, facts, constants, pick), racked)
    quote = number(facts, "buy_quote_usd")
    return choose(quoted, quote * bought, street) if quote else street


def gpus_usd(hardware: Hardware, count: Any, facts: Facts, *, quoted: Any) -> Any:
    """US dollars for the GPUs of a plan, or of many plans, with no machine around them; NaN without a price.

    Args:
        hardware: the GPU of each plan.
        count: how many are used; whole boards are bought.
        facts: what the user stated.
        quoted: whether the user's own price to buy, if there is one, is about this GPU.
    """
    quote = number(facts, "buy_quote_usd")
    price = choose(quoted, quote, hardware.price("value")) if quote else hardware.price("value")
    return price * on_boards(hardware, count)


def on_boards(hardware: Hardware, count: Any) -> Any:
    """How many are bought to use so many: modules come on boards of four or eight, cards singly."""
    return ceiling(count, hardware.board) * hardware.board


def _share_of_system(constants: EconomicsConstants, pick: Pick) -> float:
    return constants["gpu_share_of_system"].at(TURNED[pick])


def _slot_usd(hardware: Hardware, constants: EconomicsConstants, pick: Pick) -> Any:
    """A card's part of the price of a server."""
    return choose(hardware.in_system, 0.0, constants["server_usd_per_card"].at(pick))


def _covers_slot(price: Any, share: float, slot: Any) -> Any:
    """Whether the GPU's share of a system's price leaves enough for the server."""
    return price / share - price >= slot


def _host_usd(hardware: Hardware, bought: Any, facts: Facts, constants: EconomicsConstants, pick: Pick) -> Any:
    """The workstation around cards, where none is there yet; what each board in the field has around it."""
    workstation = 0.0 if "current_gpu" in facts else constants["workstation_host_usd"].at(pick)
    around = choose(hardware.bare, constants["field_host_usd"].at(pick) * bought, 0.0)
    return choose(hardware.alone, around, workstation)


def purchase_of(
    gpu: Gpu | None, count: int, facts: Facts, constants: EconomicsConstants, *, desk: bool, pick: Pick
) -> SourcedAmount | None:
    """``purchase_usd`` of one plan with how it came about; None without a price."""
    hardware = hardware_of(gpu, constants) if gpu else NO_HARDWARE
    quote = number(facts, "buy_quote_usd") if quoted_for(gpu, facts) else None
    value = purchase_usd(hardware, count, facts, constants, desk=desk, quoted=bool(quote), pick=pick)
    if math.isnan(value):
        return None
    inputs: dict[str, Value] = {"plan.count": count}
    words, board = "x GPUs", ""
    bought = bought_count(gpu, count, constants) if gpu else count
    if bought != count:
        inputs["bought_count"] = bought
        words, board = "x GPUs on whole boards", f"; boards: {constants.module_boards.because}"
    if quote:
        inputs["buy_quote_usd"] = quote
        return SourcedAmount(value, f"the user's own quote per GPU {words}", f"stated: buy_quote_usd{board}", inputs)
    if gpu is None:
        return None
    price = hardware.price(pick)
    seen = f"price seen {gpu.buy_as_of or 'undated'}" + (f" ({gpu.buy_basis})" if gpu.buy_basis else "")
    inputs["gpu.buy_usd"] = price
    words = f"price per GPU {words}"
    if desk:
        host = "field_host_usd" if hardware.bare else "workstation_host_usd"
        source = f"{seen}; host: {constants[host].source}"
        inputs["host_usd"] = _host_usd(hardware, bought, facts, constants, pick)
        return SourcedAmount(value, f"{words} + host", source, inputs)
    share, slot = _share_of_system(constants, pick), _slot_usd(hardware, constants, pick)
    if _covers_slot(price, share, slot):
        inputs["gpu_share_of_system"] = share
        source = f"{seen}; {constants['gpu_share_of_system'].source}{board}"
        return SourcedAmount(value, f"{words} / GPU share of a system's price", source, inputs)
    inputs["server_usd_per_card"] = slot
    source = f"{seen}; server: {constants['server_usd_per_card'].source}"
    return SourcedAmount(value, f"{words} + share of a server for each", source, inputs)


def quoted_for(gpu: Gpu | None, facts: Facts) -> bool:
    """Whether the user's quotes are about this GPU: it is among those named, or none was named at all."""
    named = facts.get("gpu_candidates") or facts.get("current_gpu") or ()
    names = {str(name) for name in (named if isinstance(named, tuple) else (named,))}
    return gpu is None or not names or bool(names & {gpu.id, gpu.family, gpu.series})


def bought_count(gpu: Gpu, count: int, constants: EconomicsConstants) -> int:
    """How many have to be bought to use ``count``: modules come on boards of four or eight, cards singly."""
    board = board_of(gpu, constants)
    return -(-count // board) * board


def owned_form(gpu: Gpu, count: int, gpus: Iterable[Gpu], constants: EconomicsConstants) -> Gpu:
    """What one would buy in place of rented GPUs: for less than a board of modules the card of the same family.

    A card that is much slower than the module does not do its work; then the board is bought.
    """
    if bought_count(gpu, count, constants) == count:
        return gpu
    as_fast = constants["card_for_module_speed_share"].value * (gpu.mem_bw_tbs or 0)
    cards = [
        other
        for other in gpus
        if other.family == gpu.family
        and other.buy_usd is not None
        and not on_board(other)
        and not in_superchip(other)
        and (other.vram_gb or 0) >= (gpu.vram_gb or 0)
        and (other.mem_bw_tbs or 0) >= as_fast
    ]
    return min(cards, key=lambda card: (card.buy_usd or 0, card.id)) if cards else gpu
