"""Distance of a GPU from being the answer, as a number that guides the search for the nearest change."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whichgpu.engine.advisor import Judged, Outcome, Probed, loss_of
from whichgpu.engine.explain.influencing_facts import judged_of


#: The gap of a GPU that no rule lets through: beyond any other.
REJECTED = 1000.0
#: What each lower place of a tier adds, being beaten in cost and speed, and lying outside the share of the best merit:
#: each more than all that come after it, and points, add up to.
_PLACES = (480.0, 240.0, 120.0, 60.0)
_BEATEN = 30.0
_OUTSIDE = 15.0

#: What says which plans there are, and which is chosen.
Judgement = Outcome | Probed


def gap(outcome: Judgement | None, gpus: frozenset[str]) -> float:
    """How far a GPU is from being the answer, by its nearest plan; beyond all where no plan of it survives.

    What counts first weighs most: a limit that cannot be checked, then being a last choice, then the cards and counts
    of guides, then a plan that beats it in cost and speed, then the objective, then points.
    """
    if outcome is None or outcome.round is None:
        return 2 * REJECTED
    own = list(judged_of(outcome.round, gpus))
    if not own or outcome.chosen is None:
        places = (place for place, gpu in enumerate(outcome.round.rejected.gpus) if gpu.id in gpus)
        rules = [len(outcome.round.rejected_by[place]) for place in places]
        return REJECTED + min(rules, default=REJECTED)
    if outcome.chosen in own:
        return 0.0
    return min(_behind(entry, outcome.chosen, outcome.round.judged) for entry in own)


def _behind(entry: Judged, chosen: Judged, judged: Sequence[Judged]) -> float:
    """How far a plan that no rule rejects is behind the answer."""
    loss = loss_of(entry, chosen, judged)
    if loss is None:
        return 0.0
    behind = max(0.0, loss.behind)
    places = zip(_PLACES, entry.standing.tier, chosen.standing.tier, strict=True)
    behind += sum(weight for weight, mine, its in places if mine and not its)
    if loss.kind == "fallback":
        behind += len(loss.rules)  # Each may wait for another fact.
    elif loss.kind in {"dominated", "outweighed"}:
        behind += _BEATEN + _doublings(loss.cost_ratio) + _doublings(loss.time_ratio)
    elif loss.kind in {"larger", "room", "sooner"}:
        behind += _OUTSIDE
    elif loss.kind in {"late", "merit"}:
        behind += _OUTSIDE + _doublings(loss.merit_ratio)
    return behind


def _doublings(ratio: float | None) -> float:
    return math.log2(ratio) if ratio and ratio > 0 else 0.0
