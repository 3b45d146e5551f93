"""How far predictions are from measured points: ratios, shares averaged over families, errors of held-out families."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from load.points import Point


#: Figures by the name that the tool gives them. ``ttft_p95_ms`` is compared with the measured p95 or p99.
FIGURES = ("tokens_per_s", "ttft_ms", "tpot_ms", "ttft_p95_ms")

#: What is predicted for a point: figures by name; in words why there are none.
Prediction = Mapping[str, float] | str
Predictor = Callable[[Point], Prediction]
#: Given the points that it may learn from, what it then makes of any other.
Procedure = Callable[[list[Point]], Predictor]


@dataclass(frozen=True)
class Score:
    """One predicted figure beside the measured one."""

    point: Point
    figure: str
    measured: float
    predicted: float

    @property
    def ratio(self) -> float:
        """Predicted / measured."""
        return self.predicted / self.measured

    @property
    def factor(self) -> float:
        """How many times too much or too little, 1 or more."""
        return max(self.ratio, 1.0 / self.ratio)


@dataclass(frozen=True)
class Summary:
    """Scores of one group. Shares are taken in each family and then averaged: a family is a sweep of one machine."""

    points: int
    families: int
    within_1_3: float
    within_2: float
    median_ratio: float


def scores_of(asked: Iterable[Point], predict: Predictor) -> list[Score]:
    """A score for each figure that is both measured and predicted."""
    found = []
    for point in asked:
        prediction = predict(point)
        if isinstance(prediction, str):
            continue
        for figure in FIGURES:
            measured, predicted = point.measured(figure), prediction.get(figure)
            if measured and predicted and predicted > 0:
                found.append(Score(point, figure, measured, predicted))
    return found


def summary(scores: Iterable[Score]) -> Summary | None:
    """The figures of a group of scores of one figure; None of none."""
    families: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        families[score.point.family].append(score)
    if not families:
        return None
    every = [score for group in families.values() for score in group]
    return Summary(
        points=len(every),
        families=len(families),
        within_1_3=_share(families, 1.3),
        within_2=_share(families, 2.0),
        median_ratio=median(score.ratio for score in every),
    )


def _share(families: Mapping[str, list[Score]], factor: float) -> float:
    return mean(mean(score.factor <= factor for score in group) for group in families.values())


def held_out(asked: list[Point], procedure: Procedure, learnt_from: list[Point] | None = None) -> list[Score]:
    """Scores of each family by a predictor that saw no point of it.

    Args:
        asked: the points to score.
        procedure: fits on the points that it is given; one that fits nothing gives today's errors in the same frame.
        learnt_from: the points to learn from, less the family's own; by default those asked.
    """
    lessons = asked if learnt_from is None else learnt_from
    found = []
    for family in sorted({point.family for point in asked}):
        predict = procedure([point for point in lessons if point.family != family])
        found += scores_of((point for point in asked if point.family == family), predict)
    return found


def grouped(scores: Iterable[Score], by: Callable[[Point], Any]) -> dict[str, list[Score]]:
    """The scores by what ``by`` says of their points, in the order of the names."""
    groups: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        groups[str(by(score.point))].append(score)
    return dict(sorted(groups.items()))
