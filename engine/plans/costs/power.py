"""What plans draw in power, and what that costs: for one plan, or for many as columns."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.catalogue import profile_of
from whichgpu.engine.core import Facts, number
from whichgpu.engine.plans.costs.constants import Constant, EconomicsConstants, stated
from whichgpu.engine.plans.costs.hardware import Hardware, choose
from whichgpu.engine.sizing import ceiling


#: More cards than this do not go under a desk.
DESK_CARDS = 4
#: Whose own services run on a workstation.
_SMALL_CIRCLES = {"student", "individual", "small_team"}


def at_desk(hardware: Hardware, count: Any, facts: Facts, *, owned: bool = False) -> Any:
    """Whether so many stand in a workstation rather than a rack: as stated, else by segment and count.

    Cards that are owned stand where they stand, however many of them a plan takes: that tells no other place.
    """
    site = facts.get("deployment_site")
    if site in {"workstation", "edge"}:
        return True
    if site == "datacenter" or (_serves_others(facts) and not owned):
        return False
    return hardware.for_desk & (owned | (count <= DESK_CARDS))


def _serves_others(facts: Facts) -> bool:
    """Whether others than a small circle ask it at any hour, so that it stands where power and network never fail."""
    task = facts.get("task")
    serves = isinstance(task, str) and profile_of(task).serves and facts.get("serving_mode") != "batch"
    return serves and facts.get("org_type") not in _SMALL_CIRCLES


def plan_power_w(hardware: Hardware, count: Any, constants: EconomicsConstants) -> Any:
    """Rated draw in watts: TDP x count plus the servers around them; NaN where the TDP is unknown.

    Systems of SXM and OAM modules draw about 1.8 x the TDP of their GPUs; a card's server adds a base share per node.
    """
    servers = constants["base_server_w"].value * ceiling(count, hardware.node_gpus)
    return _with_machines(hardware, count, servers, constants)


def paid_power_w(hardware: Hardware, count: Any, *, desk: Any, constants: EconomicsConstants) -> Any:
    """Rated draw in watts that an owner pays for: cards share a server with others, a workstation is their own.

    Unlike ``plan_power_w`` it is proportional: one card of a server of eight pays for an eighth of the server.
    """
    server = constants["base_server_w"].value * count / hardware.node_gpus
    return _with_machines(hardware, count, choose(desk, constants["base_workstation_w"].value, server), constants)


def _with_machines(hardware: Hardware, count: Any, around_cards_w: Any, constants: EconomicsConstants) -> Any:
    chips = hardware.tdp_w * count
    in_systems = chips * constants["system_power_factor"].value
    others = choose(hardware.in_system, in_systems, chips + around_cards_w)
    return choose(hardware.device, chips, others)


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
