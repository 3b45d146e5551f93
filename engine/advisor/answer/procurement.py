"""Rent or own, in words: the verdict, the guides' thresholds beside it, and what would turn it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import asdict

from whichgpu.engine.advisor.answer.wording import spoken
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.advisor.procurement import Procurement
from whichgpu.engine.plans import YES_NO, comparison_entries
from whichgpu.engine.rules import Vocabulary
from whichgpu.engine.sizing import Figure


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import part_types, procurement_types


#: The ways to procure, and the sum of each in the comparison.
_WAYS = {"rent": "rent_usd", "buy": "own_usd", "hybrid": "hybrid_usd"}


def procurement_dict(outcome: Outcome, vocabulary: Vocabulary) -> procurement_types.Procurement:
    """The verdict with the rules behind it. Without any rule that set it, it is undecided."""
    verdict: Any = outcome.final.facts.get("procurement", "undecided")
    behind = [item for item in outcome.fired if "procurement" in item.rule.writes]
    reasons = [spoken(item.rule, item.facts, vocabulary) for item in behind]
    return {
        "verdict": verdict,
        "because": "; ".join(dict.fromkeys(reasons)) or "no rule decides between renting and buying on what is known",
        "rules": [item.rule.id for item in behind],
        "sources": list(dict.fromkeys(source for item in behind for source in item.rule.sources)),
        "thresholds": [cast("procurement_types.Threshold", asdict(line)) for line in outcome.procurement.thresholds],
        "comparison": _comparison_dict(outcome.procurement),
        "price_of_wish": _price_of_wish(outcome),
        "flip": cast("procurement_types.Flip", asdict(flip)) if (flip := outcome.procurement.flip) else None,
    }


def _price_of_wish(outcome: Outcome) -> procurement_types.PriceOfWish | None:
    """What the way that was asked for costs more by the sums; None where none was, or where it is not clearly more."""
    asked: Any = outcome.intake.facts.get("procurement_wish")
    found = outcome.procurement.comparison
    if asked not in _WAYS or found is None:
        return None
    sums = {way: usd for way, of in _WAYS.items() if (usd := getattr(found, of)) is not None}
    if asked not in sums:
        return None
    least: Any = min(sums, key=sums.__getitem__)
    mine, its = sums[asked], sums[least]
    if mine < found.clear_ratio * its or mine <= its:
        return None
    ratio = mine / its if its > 0 else None
    return {"asked": asked, "usd": mine, "least": least, "least_usd": its, "usd_more": mine - its, "cost_ratio": ratio}


def _comparison_dict(procurement: Procurement) -> procurement_types.Comparison | None:
    """The sums that the verdict stands on, what each is made of, and how they run over time."""
    found = procurement.comparison
    if found is None:
        return None
    purchase = found.owning.purchase
    bought = purchase.inputs.get("bought_count", found.count) if purchase and not found.owned else None
    return {
        "horizon_years": found.years,
        "horizon_assumed": not found.years_stated,
        "rent_usd": found.rent_usd,
        "own_usd": found.own_usd,
        "hybrid_usd": found.hybrid_usd,
        "rent_band_usd": _band(procurement.figures.get("lifetime_rent_usd")),
        "own_band_usd": _band(procurement.figures.get("lifetime_cost_usd")),
        "ratio": found.ratio,
        "clear_ratio": found.clear_ratio,
        "clear": found.clear,
        "says": found.says,
        "rent_is_stated_bill": found.bill_month is not None,
        "rent_usd_per_hour": found.rent.value * found.count if found.rent else None,
        "own_usd_per_hour": found.own_usd_per_hour,
        "busy_share": found.busy_share,
        "own_usd_per_busy_hour": found.own_usd_per_busy_hour,
        "already_owned": found.owned,
        "sold": found.sold,
        "owned_as": procurement.owned_as,
        "bought_count": bought if isinstance(bought, int) else None,
        "lacking": list(found.lacking),
        "crossing_months": found.crossing_months() if found.own_usd is not None else None,
        "course": [{"months": months, "rent_usd": rent, "own_usd": own} for months, rent, own in found.course()],
        "entries": [
            {
                "side": side,
                "name": str(entry.inputs["entry"]),
                "usd": entry.value,
                "formula": entry.formula,
                "source": entry.source,
            }
            for side, entry in comparison_entries(found)
        ],
    }


def _band(figure: Figure | None) -> list[float] | None:
    return [figure.low, figure.high] if figure else None


def procurement_figures_dict(procurement: Procurement) -> dict[str, part_types.Figure]:
    """Every figure of the computation with its band and source."""
    return {
        name: {
            "value": bool(figure.value) if figure.unit == YES_NO else figure.value,
            "low": figure.low,
            "high": figure.high,
            "unit": figure.unit,
            "formula": figure.formula,
            "sources": [figure.source],
        }
        for name, figure in sorted(procurement.figures.items())
    }
