"""Why not: what stands against a GPU, side by side with what is recommended, and what would have to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from whichgpu.engine.advisor import (
    Advisor,
    Judged,
    Loss,
    LossKind,
    Outcome,
    first_by_evidence,
    loss_of,
    loss_text,
    named,
)
from whichgpu.engine.core import InputError, Problem, collection_paused
from whichgpu.engine.explain.derivation import Phrases, Step, StepBuilder
from whichgpu.engine.explain.evidence import gather
from whichgpu.engine.explain.influencing_facts import best_of, influencing_facts
from whichgpu.engine.explain.nearest import WHY_NOT_DECISIONS, Search, nearest_changes
from whichgpu.engine.explain.what_if import WhatIfSearch
from whichgpu.engine.plans import NOT_AVAILABLE
from whichgpu.engine.records import decide_again, recorded_moment, unstated_objective


Standing = Literal["recommended", "outranked", "unproven", "rejected", "not planned", "undecided"]


class Row(Struct, frozen=True):
    """One reason of the waterfall: what counts for it on either plan."""

    reason: str
    recommended: float
    other: float
    recommended_rules: tuple[str, ...]
    other_rules: tuple[str, ...]

    @property
    def lost(self) -> float:
        """Points that the other plan is behind for this reason."""
        return self.recommended - self.other


class WhyNot(Struct, frozen=True):
    """The answer. ``behind`` are points; ``waterfall`` adds up to it, the costliest reason first.

    ``lost_at`` says whether the points decided at all: they do only between plans of one tier that no other plan beats
    in cost and speed and that, where an objective is stated, lie within its share of the best.
    """

    gpus: tuple[str, ...]
    standing: Standing
    says: str
    lost_at: LossKind | None
    recommendation: str | None
    compared_with: str | None  # the recommendation, or the plan that it stands in for
    plan: str | None
    behind: float | None
    waterfall: tuple[Row, ...]
    rejections: tuple[Step, ...]
    missing: tuple[str, ...]
    same_rulebook: bool  # whether the present rulebook and knowledge are the recorded ones
    search: Search | None


@collection_paused()
def why_not(
    decision: Mapping[str, Any],
    gpu: str,
    advisor: Advisor,
    *,
    limit: int = WHY_NOT_DECISIONS,
    phrases: Phrases,
    watch: Callable[[int], object] | None = None,
) -> WhyNot:
    """Why a GPU is not the answer, by the present rulebook.

    Args:
        decision: in the shape of the contract.
        gpu: a GPU, family or series in any spelling.
        advisor: decides again.
        limit: how many re-decisions the search for the nearest change may make.
        phrases: for the words of the derivation.
        watch: called with 1 at every re-decision.

    Raises:
        InputError: there is no such GPU, or the recorded facts are not taken any more.
    """
    match = advisor.knowledge.find_gpu(gpu)
    if not match.found:
        message = f"no GPU is called {gpu!r}"
        raise InputError(Problem("unknown-gpu", message, nearest=match.nearest, fix="see: whichgpu gpus"))
    gpus = frozenset(match.ids)
    again = decide_again(decision, advisor)
    outcome = again.outcome
    answer = again.to_dict()
    same = all(decision[part]["digest"] == answer[part]["digest"] for part in ("rulebook", "knowledge"))
    best = best_of(outcome, gpus)
    standing = _standing(outcome, gpus, best, advisor)
    search = None
    if standing not in ("recommended", "not planned"):
        objective = unstated_objective(decision, again.workload.given, advisor)
        what_if = WhatIfSearch(advisor, again.workload.given, objective, recorded_moment(decision), limit, watch)
        influencing = influencing_facts(advisor, outcome, gpus)
        search = nearest_changes(what_if, influencing, gpus, advisor.vocabulary.facts)
    chosen = outcome.chosen
    loss = loss_of(best, chosen, outcome.round.judged) if best and outcome.round else None
    first = first_by_evidence(chosen, outcome.round.judged) if chosen and outcome.round else None
    return WhyNot(
        gpus=tuple(sorted(gpus)),
        standing=standing,
        says=_says(standing, gpus, outcome, advisor, best, loss),
        lost_at=loss.kind if loss and standing in ("outranked", "unproven") else None,
        recommendation=chosen.ranked.plan.id if chosen else None,
        compared_with=first.ranked.plan.id if first else None,
        plan=best.ranked.plan.id if best else None,
        behind=first.ranked.score - best.ranked.score if first and best else None,
        waterfall=_waterfall(first, best) if first and best and best not in (first, chosen) else (),
        rejections=tuple(_rejections(gpus, StepBuilder(gather(answer), phrases))),
        missing=best.missing if best else (),
        same_rulebook=same,
        search=search,
    )


def _rejections(gpus: Iterable[str], builder: StepBuilder) -> Iterator[Step]:
    for gpu in sorted(gpus):
        for entry in builder.evidence.rejections(gpu):
            yield builder.entry(entry, f"{gpu} x {', '.join(map(str, entry['effects']['counts']))}: {entry['because']}")


def _standing(outcome: Outcome, gpus: frozenset[str], best: Judged | None, advisor: Advisor) -> Standing:
    if not any(advisor.knowledge.gpus[gpu].plannable for gpu in gpus):
        return "not planned"
    if outcome.round is None:
        return "undecided"
    if best is None:
        return "rejected" if any(entry.plan.gpu.id in gpus for entry in outcome.round.rejections) else "not planned"
    if outcome.chosen and outcome.chosen.ranked.plan.gpu.id in gpus:
        return "recommended"
    return "outranked" if best.ranked.proven else "unproven"


def _says(
    standing: Standing, gpus: frozenset[str], outcome: Outcome, advisor: Advisor, best: Judged | None, loss: Loss | None
) -> str:
    match standing:
        case "recommended":
            return "it is the recommendation"
        case "rejected":
            return "every count of it is rejected"
        case "undecided":
            return "nothing was planned, because the facts do not allow a recommendation"
        case "outranked" | "unproven":
            if best is None or loss is None:
                return "a stated limit cannot be checked for it"
            text = loss_text(loss, best, outcome.objective, advisor.rules, outcome.final.facts, advisor.vocabulary)
            return f"it does the job, but {named(best)} is not the answer: {text}"
    reasons = [advisor.knowledge.gpus[gpu].not_plannable_because for gpu in sorted(gpus)]
    if gpus.isdisjoint(advisor.knowledge.priced_ids) and "gpu_candidates" not in outcome.intake.facts:
        reasons.append(NOT_AVAILABLE)
    given = outcome.intake.facts.keys() & {"gpu_candidates", "gpu_excluded", "vendor_preference"}
    wish = f"what was stated leaves it out: {', '.join(sorted(given))}" if given else "no plan was made with it"
    return next((reason for reason in reasons if reason), None) or wish


def _waterfall(chosen: Judged, other: Judged) -> tuple[Row, ...]:
    """The counted points of both plans by reason."""
    counted = [[award for award in entry.ranked.awards if award.counted] for entry in (chosen, other)]
    rows = []
    for reason in sorted({award.reason for awards in counted for award in awards}):
        sides = [[award for award in awards if award.reason == reason] for awards in counted]
        points = [sum(award.points for award in side) for side in sides]
        rules = [tuple(award.rule for award in side if award.rule) for side in sides]
        if any(points) or rules[0] != rules[1]:
            rows.append(Row(reason, points[0], points[1], rules[0], rules[1]))
    return tuple(sorted(rows, key=lambda row: (-row.lost, row.reason)))
