"""What a plan draws from the wall, and what that costs."""

from __future__ import annotations

import math
from functools import cache

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, number
from whichgpu.engine.plans.costs.constants import Constant, EconomicsConstants, stated


#: Forms that are sold inside a system built around them, whose fans, CPUs and switches draw nearly as much again.
SYSTEM_FORMS = frozenset({"sxm", "oam", "system", "superchip", "module"})
#: Segments where the stated power is that of the whole device.
WHOLE_DEVICES = frozenset({"edge", "laptop", "soc"})
#: Segments of cards that people put under a desk.
CARD_SEGMENTS = ("consumer", "professional", "workstation")
#: The same, and devices that stand there by themselves.
DESK_SEGMENTS = frozenset({*CARD_SEGMENTS, *WHOLE_DEVICES})
#: More cards than this do not go under a desk.
DESK_CARDS = 4


def in_system(gpu: Gpu) -> bool:
    """Whether the GPU comes only inside a server made for it."""
    return _is_system(gpu.form_factor or "", gpu.link)


def stands_alone(gpu: Gpu) -> bool:
    """Whether it is a whole computer, which needs none around it."""
    return (gpu.segment or "") in WHOLE_DEVICES or gpu.vendor == "apple" or (gpu.form_factor or "") == "system"


@cache
def _is_system(form_factor: str, link: str) -> bool:
    form = form_factor.casefold()
    return any(word in form for word in SYSTEM_FORMS) or link in {"nvlink", "xgmi"}


def at_desk(gpu: Gpu, count: int, facts: Facts) -> bool:
    """Whether owning the plan means a workstation rather than a rack: as stated, else by segment and count."""
    site = facts.get("deployment_site")
    if site in {"workstation", "edge"}:
        return True
    if site == "datacenter" or in_system(gpu):
        return False
    return (gpu.segment or "") in DESK_SEGMENTS and count <= DESK_CARDS


def plan_power_w(gpu: Gpu, count: int, constants: EconomicsConstants) -> float | None:
    """Rated draw in watts: TDP x count plus the servers around them; None where the TDP is unknown.

    Systems of SXM and OAM modules draw about 1.8 x the TDP of their GPUs; a card's server adds a base share per node.
    """
    if gpu.tdp_w is None:
        return None
    chips = gpu.tdp_w * count
    if (gpu.segment or "") in WHOLE_DEVICES or gpu.vendor == "apple":
        return chips
    if in_system(gpu):
        return chips * constants["system_power_factor"].value
    return chips + constants["base_server_w"].value * math.ceil(count / max(1, gpu.node_gpus))


def paid_power_w(gpu: Gpu, count: int, *, desk: bool, constants: EconomicsConstants) -> float | None:
    """Rated draw in watts that an owner pays for: cards share a server with others, a workstation is their own.

    Unlike ``plan_power_w`` it is proportional: one card of a server of eight pays for an eighth of the server.
    """
    if gpu.tdp_w is None:
        return None
    chips = gpu.tdp_w * count
    if (gpu.segment or "") in WHOLE_DEVICES or gpu.vendor == "apple":
        return chips
    if in_system(gpu):
        return chips * constants["system_power_factor"].value
    if desk:
        return chips + constants["base_workstation_w"].value
    return chips + constants["base_server_w"].value * count / max(1, gpu.node_gpus)


def kwh_price(facts: Facts, *, desk: bool, constants: EconomicsConstants) -> Constant:
    """US dollars per kWh: what the user pays, else the average of the site's tariff."""
    own_price = number(facts, "electricity_usd_kwh")
    if own_price is not None:
        return stated("electricity_usd_kwh", own_price)
    return constants["kwh_usd_workstation" if desk else "kwh_usd_datacenter"]


def pue(facts: Facts, *, desk: bool, constants: EconomicsConstants) -> Constant:
    """Power usage effectiveness: stated, else by cooling, else the survey's average (1 at a desk)."""
    own_pue = number(facts, "pue")
    if own_pue is not None:
        return stated("pue", own_pue)
    if desk:
        return constants["pue_workstation"]
    cooling = facts.get("cooling")
    return constants[f"pue_{cooling}"] if cooling in {"air", "liquid"} else constants["pue_datacenter"]
