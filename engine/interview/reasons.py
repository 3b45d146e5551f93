"""Why a fact was not asked, in words: what would have read it, and why that cannot matter."""

from __future__ import annotations

from collections.abc import Sequence

from whichgpu.engine.interview.certificate import Unasked
from whichgpu.engine.interview.plan_contest import Contest
from whichgpu.engine.interview.possible_outcomes import Fog
from whichgpu.engine.interview.rule_index import Atlas
from whichgpu.engine.interview.shapes import Shapes
from whichgpu.engine.interview.verdict import Verdicts


_RULES = "three-valued rules over its whole domain"
_DRAFTS = "plans made again over its choices, ends and thresholds"
_BOUNDS = "bounds on the tier, cost, speed and score of every plan over all joint answers"
_VERDICTS = "every verdict that joint answers could bring"


def unasked_of(
    atlas: Atlas, open_facts: Sequence[str], fog: Fog, shapes: Shapes, contest: Contest, verdicts: Verdicts
) -> tuple[Unasked, ...]:
    """The certificate of a state in which nothing is left to ask."""
    verdict_reads = fog.behind({name for view in atlas.advising for name in view.reads})
    return tuple(_unasked(name, shapes, contest, verdicts, verdict_reads) for name in open_facts)


def _unasked(name: str, shapes: Shapes, contest: Contest, verdicts: Verdicts, verdict_reads: frozenset[str]) -> Unasked:
    why, checked = [], []
    moved = sorted(fact for fact, causes in shapes.moved.items() if name in causes)
    if name in shapes.silent:
        what = f"it moves {', '.join(moved)} alone" if moved else "no plan changes with it"
        why.append(f"{what}, and which plans there are stays the same")
        checked.append(_DRAFTS)
    points = contest.rivalry.moves.get(name)
    if points:
        ahead = contest.rivalry.narrowest
        why.append(
            f"the rules that read it could move a rival by at most {points:.1f} points, "
            f"and {contest.leader} stays the answer even if all that is open goes against it"
            if ahead is None or ahead < 0
            else f"the rules that read it could move a rival by at most {points:.1f} points, "
            f"and {contest.leader} stays ahead by {ahead:.1f} even if all that is open goes against it"
        )
        checked.append(_BOUNDS)
    elif name in contest.rivalry.read:
        why.append(f"the rules of preference that read it bear only on plans that stay behind {contest.leader}")
        checked.append(_BOUNDS)
    if any(name in causes for causes in contest.rejecting.values()):
        why.append("it could put out only plans that are behind")
        checked.append(_RULES)
    if name in verdict_reads and verdicts.settled:
        why.append(f"the verdict is {next(iter(verdicts.possible))} whatever it is")
        checked.append(_VERDICTS)
    if not why:
        return Unasked(name, "no rule that can still hold, and no figure of a plan, depends on it", _RULES)
    return Unasked(name, "; ".join(why), "; ".join(checked))
