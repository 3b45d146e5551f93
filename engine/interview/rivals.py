"""Whether another plan can still overtake the front-runner: the largest lead that any completion could give it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from engine.decide.model import Judged
from engine.interview.atlas import Atlas
from engine.interview.atlas import Line
from engine.interview.atlas import RuleView
from engine.interview.truths import MOST_COMBINATIONS
from engine.interview.truths import Fog
from engine.interview.truths import combinations
from engine.interview.truths import laid_over
from engine.interview.truths import overlays
from engine.interview.truths import truths_of
from engine.values import Facts


#: Scores are compared to six digits; a lead below this is none.
CLOSE = 1e-5

#: Whether a rule applies to a plan: no, yes, or it depends on plan facts that still move.
NO, YES, MAYBE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Threat:
    """A plan that could overtake the front-runner, by how much, and the askable facts that could bring it about."""

    plan: str
    lead: float
    causes: Mapping[str, float]  # askable fact -> points that it could move


@dataclass(frozen=True, slots=True)
class Rivalry:
    """What stands between the front-runner and a settled choice."""

    threats: tuple[Threat, ...] = ()
    narrowest: float | None = None  # the least by which the front-runner stays ahead of any rival
    moves: Mapping[str, float] = field(default_factory=dict)  # points that each askable fact could move for any rival


@dataclass(frozen=True, slots=True)
class Bundle:
    """Rules that give points for one reason and wait for open facts: the sets of them that can hold together."""

    reason: str
    rules: tuple[RuleView, ...]
    firings: tuple[frozenset[str], ...]
    loose: frozenset[str]  # rules whose holding was not worked out jointly: each may hold or not
    causes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Entrant:
    """A plan as the rules see it: its points that stand, and which waiting rules apply to it."""

    id: str
    facts: Facts
    terms: float  # what cost and speed give
    best_terms: float
    worst_terms: float
    standing: Mapping[str, tuple[float, ...]]  # reason -> points of rules that hold whatever the answers
    applies: Mapping[str, int]  # waiting rule -> NO, YES or MAYBE


def bundles_of(atlas: Atlas, facts: Facts, fog: Fog) -> tuple[Bundle, ...]:
    """The rules that wait for open facts, by reason."""
    by_reason: dict[str, list[RuleView]] = {}
    for view in waiting_rules(atlas, fog):
        for reason in sorted({reason for _, reason in view.awards}):
            by_reason.setdefault(reason, []).append(view)
    return tuple(_bundle(reason, views, facts, fog) for reason, views in sorted(by_reason.items()))


def _hidden(views: Sequence[RuleView], fog: Fog) -> list[str]:
    """The open facts whose joint values tell which of these rules can hold together."""
    joint = [view for view in views if not _is_loose(view, fog)]
    return sorted({name for view in joint for line in view.shared for name in line.reads if name in fog.values})


def waiting_rules(atlas: Atlas, fog: Fog) -> list[RuleView]:
    """Prefer rules that read something open, and the rows beside them where only the first of a table counts."""
    waiting = {view.rule.id: view for view in atlas.preferring if fog.hides(view.reads)}
    tables = {view.rule.table for view in waiting.values() if view.rule.table and view.rule.hit == "first"}
    beside = {view.rule.id: view for view in atlas.preferring if view.rule.table in tables}
    return [view for _, view in sorted({**waiting, **beside}.items())]


def _bundle(reason: str, views: Sequence[RuleView], facts: Facts, fog: Fog) -> Bundle:
    causes = fog.behind(name for view in views for name in view.reads)
    joint = [view for view in views if not _is_loose(view, fog)]
    loose = {view.rule.id for view in views if _is_loose(view, fog)}
    names = _hidden(views, fog)
    if combinations(names, fog) > MOST_COMBINATIONS:
        loose |= {view.rule.id for view in joint if True in truths_of(view.shared, facts, fog)}
        return Bundle(reason, tuple(views), (frozenset(),), frozenset(loose), causes)
    reads = {name for view in joint for line in view.shared for name in line.reads}
    firings = set()
    for overlay in overlays(names, fog):
        seen = laid_over(facts, reads, overlay)
        firings.add(frozenset(v.rule.id for v in joint if all(line.test(seen) is True for line in v.shared)))
    loose = {view.rule.id for view in views if view.rule.id in loose and _may_hold(view, facts, fog)}
    return Bundle(reason, tuple(views), tuple(sorted(firings, key=sorted)), frozenset(loose), causes)


def _is_loose(view: RuleView, fog: Fog) -> bool:
    if view.rule.table and view.rule.hit == "first":
        return True
    return any(
        name in fog.values and (fog.values[name] is None or name in line.blind)
        for line in view.shared
        for name in line.reads
    )


def _may_hold(view: RuleView, facts: Facts, fog: Fog) -> bool:
    return True in truths_of(view.shared, facts, fog)


def applies_to(view: RuleView, shared: Facts, plan_facts: Facts, fog: Fog) -> int:
    """Whether the lines of a rule that read the plan hold for it."""
    found = YES
    seen: Facts | None = None
    for line in view.local:
        if fog.hides(line.reads):
            seen = seen or {**shared, **plan_facts}
            truths = truths_of((line,), seen, fog)
            if True not in truths:
                return NO
            if len(truths) > 1:
                found = MAYBE
        elif line.test(_joined(line, shared, plan_facts)) is not True:
            return NO
    return found


def _joined(line: Line, shared: Facts, plan_facts: Facts) -> Facts:
    if all("." in name for name in line.reads):
        return plan_facts
    return {name: (plan_facts if "." in name else shared).get(name) for name in line.reads}  # type: ignore[misc]


def entrant_of(judged: Judged, shared: Facts, bundles: Sequence[Bundle], fog: Fog) -> Entrant:
    """A judged plan as an entrant: the points of rules that wait for nothing stand."""
    waiting = {view.rule.id: view for bundle in bundles for view in bundle.rules}
    terms, standing = 0.0, dict[str, list[float]]()
    for award in judged.ranked.awards:
        if award.rule is None:
            terms += award.points
        elif award.rule not in waiting:
            standing.setdefault(award.reason, []).append(award.points)
    applies = {name: applies_to(view, shared, judged.facts, fog) for name, view in waiting.items()}
    fixed = {reason: tuple(points) for reason, points in standing.items()}
    return Entrant(judged.ranked.plan.id, judged.facts, terms, terms, terms, fixed, applies)


def rivalry_of(
    bundles: Sequence[Bundle],
    leader: Entrant,
    others: Sequence[Entrant],
    may_come: Mapping[str, frozenset[str]],
) -> Rivalry:
    """Which plans could overtake the leader, over all completions.

    Args:
        bundles: the waiting rules, reason by reason.
        leader: the front-runner.
        others: its rivals.
        may_come: plans that are only made for some answers, with the facts on which that hangs.
    """
    threats = []
    narrowest: float | None = None
    moves: dict[str, float] = {}
    reasons = {bundle.reason for bundle in bundles}
    for other in others:
        lead = other.best_terms - leader.worst_terms
        for reason in (other.standing.keys() | leader.standing.keys()) - reasons:
            lead += _counted(other.standing.get(reason, ())) - _counted(leader.standing.get(reason, ()))
        gains = []
        for bundle in bundles:
            least, most = _difference(bundle, leader, other)
            lead += most
            if most - least > CLOSE:
                gains.append((most - least, bundle.causes))
        for gain, behind in gains:
            for cause in behind:
                moves[cause] = max(moves.get(cause, 0.0), gain)
        if lead >= -CLOSE:
            causes: dict[str, float] = {}
            for gain, behind in gains:
                for cause in behind:
                    causes[cause] = causes.get(cause, 0.0) + gain
            for cause in may_come.get(other.id, ()):
                causes[cause] = causes.get(cause, 0.0) + max(lead, 1.0)
            threats.append(Threat(other.id, lead, causes))
        narrowest = -lead if narrowest is None else min(narrowest, -lead)
    return Rivalry(tuple(sorted(threats, key=lambda t: (-t.lead, t.plan))), narrowest, moves)


def _difference(bundle: Bundle, leader: Entrant, other: Entrant) -> tuple[float, float]:
    """The least and the most that the rules of a bundle can give the other plan over the leader."""
    found = []
    for firing in bundle.firings:
        best, worst = _bounds(bundle, other, firing), _bounds(bundle, leader, firing)
        found.append((best[0] - worst[1], best[1] - worst[0]))
    return min(low for low, _ in found), max(high for _, high in found)


def _bounds(bundle: Bundle, entrant: Entrant, firing: frozenset[str]) -> tuple[float, float]:
    """The least and the most points that a plan gets for the bundle's reason where these rules hold."""
    sure = list(entrant.standing.get(bundle.reason, ()))
    perhaps: list[float] = []
    for view in bundle.rules:
        name = view.rule.id
        applies = entrant.applies[name]
        if applies == NO or (name not in firing and name not in bundle.loose):
            continue
        into = sure if applies == YES and name not in bundle.loose else perhaps
        into.extend(points for points, reason in view.awards if reason == bundle.reason)
    gained, lost = max((p for p in sure if p > 0), default=0.0), min((p for p in sure if p <= 0), default=0.0)
    most = max([gained, *(p for p in perhaps if p > 0)]) + lost
    return gained + min([lost, *(p for p in perhaps if p <= 0)]), most


def _counted(points: Sequence[float]) -> float:
    return max((p for p in points if p > 0), default=0.0) + min((p for p in points if p <= 0), default=0.0)


def rejected_by(atlas: Atlas, shared: Facts, plan_facts: Facts, fog: Fog) -> tuple[bool, frozenset[str]]:
    """Whether some waiting reject rule may put a plan out, and the askable facts behind it."""
    causes: frozenset[str] = frozenset()
    for view in atlas.rejecting:
        if not fog.hides(view.reads):
            continue
        truths = truths_of(view.lines, {**shared, **plan_facts}, fog)
        if len(truths) > 1 and True in truths:
            causes |= fog.behind(view.reads)
    return bool(causes), causes
