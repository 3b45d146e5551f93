"""Constants of serving under load from measured points: ``python benchmarks/load/fit.py``.

What is fitted is the engine itself: the inputs of its speed formulas are taken as ``whichgpu size`` passes them, points
of a kind stacked as columns, and its own functions asked again with other constants. Damped least squares on log
ratios, every constant pulled towards where it starts, a family weighs as the root of its points. Printed are the
constants fitted on all families, scores in sample and of families that had no part in the fit.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from load.asking import predictions
from load.points import Point, points
from load.scores import FIGURES, Prediction, Predictor, Score, held_out, scores_of, summary
from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.core import Banded
from whichgpu.engine.sizing import demand, queueing, serving_load, speed_links, speed_rates, speed_serving
from whichgpu.engine.sizing.demand import Demand
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Floats
from whichgpu.engine.sizing.speed import JobSpeed
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split


#: Constants by their place in ``knowledge/speed.yaml``: how far a fit may pull each away (one standard deviation, in
#: log units), and where it starts.
FITTED: dict[str, tuple[float, float]] = {
    "serving.prefill_share": (0.15, 0.5),  # measured elsewhere
    "serving.prefill_share_moe": (0.5, 0.34),
    "serving.eager_layer_us": (0.7, 250.0),
    "serving.eager_moe_layer_us": (0.7, 1800.0),
    "serving.moe_per_layer_us": (0.3, 40.0),
    "serving.per_sequence_us": (1.0, 3.0),
    "serving.exchange": (0.5, 2.0),
    "serving.exchange_bytes": (0.5, 1.0),
    "serving.request_overhead_ms": (0.3, 15.0),
    # The next two trade off, and families disagree on them: held near what keeps most of them within twice.
    "serving.clump": (0.1, 0.5),
    "serving.token_attended_us": (0.1, 0.35),
    "serving.tail": (0.5, 0.9),
    "engines.sglang.0.prompt_floor": (0.7, 1.5),
}
#: A log residual counts in full up to about this size and ever less beyond (Cauchy): asked for are 1.3 and 2, and
#: what misses by ten misses for another reason than a constant.
EDGE = 0.35
WEIGHT = {"tokens_per_s": 1.0, "ttft_ms": 1.0, "tpot_ms": 1.0, "ttft_p95_ms": 0.5}
#: How much the pull towards the starting constants weighs.
PULL = 0.35
ROUNDS = 12
#: Modules of the engine whose formulas read constants.
_READERS = (demand, queueing, speed_links, speed_rates, speed_serving)


def learnable(point: Point) -> bool:
    """Points whose figures the model means to explain: neither speculation, nor prefill apart, nor prefix hits."""
    row = point.row
    special = row["disaggregated"] or row["flags"].get("speculative") or row["flags"].get("prefix_caching")
    # Eight H100 of this rig are slower than two, and a single one reads at the pace of the PCIe board.
    special = special or (point.family.startswith("aurotripathy") and row["gpu_family"] == "H100")
    return not special and not point.family.startswith("DO-Solutions") and row["load"]["kind"] != "burst"


class Inputs(NamedTuple):
    """What the speed formulas were given for a point."""

    job: Job
    demand: Demand
    table: GpuTable
    which: Any
    split: Split
    max_batch: Floats


def inputs_of(asked: Sequence[Point], advisor: Advisor) -> dict[str, Inputs]:
    """The inputs of the speed formulas for each point that ``whichgpu size`` answers, by its id."""
    found: dict[str, Inputs] = {}
    calls: list[tuple[Inputs, dict[str, Any]]] = []
    formulas = JobSpeed.columns

    def columns(self: Any, table: Any, which: Any, split: Any, max_batch: Any = None, pick: Any = "value") -> Any:
        values = formulas(self, table, which, split, max_batch, pick)
        if max_batch is not None and len(which) == 1:
            calls.append((Inputs(self._job, self._demand, table, which, split, max_batch), values))
        return values

    with patch.object(JobSpeed, "columns", columns):
        for point in asked:
            calls.clear()
            answer = predictions([point], advisor)[point.id]
            # Other plans are computed beside the one that was asked for.
            for inputs, values in calls:
                if not isinstance(answer, str) and all(_same(values, answer, figure) for figure in FIGURES):
                    found[point.id] = inputs
    return found


def _same(values: Any, answer: Any, figure: str) -> bool:
    return bool(np.isclose(float(values[figure][0]), answer.get(figure, np.nan), rtol=1e-2))


@contextmanager
def constants_set(values: dict[str, float]) -> Iterator[None]:
    """The engine's constants with some of them replaced, by their places."""
    replaced = speed_constants()
    for place, value in values.items():
        replaced = _replaced(replaced, place.split("."), value)
    caches = (speed_rates._engine_steps, speed_links._link_speed, speed_links._network)
    patches = [patch.object(module, "speed_constants", lambda: replaced) for module in _READERS]
    for one in caches:
        one.cache_clear()
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()
        for one in caches:
            one.cache_clear()


def _replaced(entry: Any, path: Sequence[str], value: float) -> Any:
    """The record with the number at that place; a band is widened to hold it."""
    if isinstance(entry, Banded):
        return replace(entry, value=value, low=min(entry.low, value), high=max(entry.high, value))
    if not path:
        return value
    name, rest = path[0], path[1:]
    if isinstance(entry, dict):
        return entry | {name: _replaced(entry[name], rest, value)}
    if isinstance(entry, tuple):
        place = int(name)
        return (*entry[:place], _replaced(entry[place], rest, value), *entry[place + 1 :])
    return replace(entry, **{name: _replaced(getattr(entry, name), rest, value)})


class Stack:
    """Points as columns of the engine's formulas, those together that take the same way through them."""

    def __init__(self, inputs: Sequence[Inputs]) -> None:
        self._inputs = inputs
        kinds: dict[Any, list[int]] = defaultdict(list)
        for place, one in enumerate(inputs):
            loaded = one.demand
            sparse = bool(one.job.shape and one.job.shape.moe)
            kinds[sparse, loaded.rate is None, loaded.at_hand, loaded.together, loaded.burst].append(place)
        self._groups = [(np.array(found), self._group([inputs[place] for place in found])) for found in kinds.values()]

    @staticmethod
    def _group(members: list[Inputs]) -> Any:
        loads = [speed_serving.load_of(one.job, one.job.shape, one.split.rows) for one in members]
        job: Any = SimpleNamespace(
            **{
                name: np.array([getattr(one.job, name) for one in members], float)
                for name in ("input_tokens", "output_tokens", "context_tokens")
            },
            engine=members[0].job.engine,
        )
        load = members[0].demand
        if load.rate is not None:
            load = load._replace(rate=np.array([one.demand.rate for one in members]), tokens_per_s=None)
        max_batch = np.concatenate([one.max_batch for one in members])
        return members, job, stacked(loads), stacked([one.split for one in members]), max_batch, load

    def figures(self, values: dict[str, float], pick: Any = "value") -> dict[str, Floats]:
        """The figures of all points, in their order, with these constants."""
        found = {figure: np.full(len(self._inputs), np.nan) for figure in FIGURES}
        with constants_set(values):
            for places, (members, job, load, split, max_batch, asked) in self._groups:
                rates = stacked([speed_rates.rates_of(one.job, one.table, pick).take(one.which) for one in members])
                steps = speed_serving.steps_of(load, rates, split)
                answer = serving_load.load_values(job, steps, split.rows, max_batch=max_batch, demand=asked)
                for figure in FIGURES:
                    found[figure][places] = answer[figure]
        return found


def stacked(entries: list[Any]) -> Any:
    """Columns of one row each, or numbers, or tuples of them, one below the other."""
    if isinstance(entries[0], tuple):
        return type(entries[0])(*(stacked(list(column)) for column in zip(*entries, strict=True)))
    return np.concatenate([np.broadcast_to(np.asarray(entry), 1) for entry in entries])


NAMES = tuple(FITTED)
SPREAD, START = (np.array(column) for column in zip(*FITTED.values(), strict=True))


def values_of(logs: NDArray[np.float64]) -> dict[str, float]:
    """Constants by their places."""
    return dict(zip(NAMES, np.exp(logs).tolist(), strict=True))


def fit(lessons: list[Point], inputs: dict[str, Inputs]) -> NDArray[np.float64]:
    """Logarithms of the constants, in the order of ``NAMES``."""
    known = [point for point in lessons if point.id in inputs]
    stack = Stack([inputs[point.id] for point in known])
    measured = {figure: np.array([point.measured(figure) or np.nan for point in known]) for figure in FIGURES}
    families = Counter(point.family for point in known)
    weight = np.array([families[point.family] ** -0.25 for point in known])
    start = np.log(START)

    def residuals(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        found, parts = stack.figures(values_of(logs)), []
        for figure in FIGURES:
            off = np.nan_to_num(np.log(found[figure] / measured[figure]))
            parts.append(weight * WEIGHT[figure] * np.sign(off) * EDGE * np.sqrt(np.log1p((off / EDGE) ** 2)))
        return np.concatenate([*parts, (logs - start) / SPREAD * PULL])

    logs, damping = start.copy(), 1.0
    now = residuals(logs)
    slopes = None
    for _ in range(ROUNDS):
        if slopes is None:
            slopes = np.stack([(residuals(logs + 1e-3 * unit) - now) / 1e-3 for unit in np.eye(len(logs))], axis=1)
        step = np.linalg.solve(slopes.T @ slopes + damping * np.eye(len(logs)), -slopes.T @ now)
        then = residuals(logs + step)
        if then @ then < now @ now:
            done = now @ now - then @ then < 1e-3 * (now @ now)
            logs, now, damping, slopes = logs + step, then, damping / 3.0, None
            if done:
                break
        else:
            damping *= 4.0
    return logs


def predictor(asked: Sequence[Point], inputs: dict[str, Inputs], logs: NDArray[np.float64]) -> Predictor:
    """What the engine makes of these points with these constants."""
    known = [point for point in asked if point.id in inputs]
    found = Stack([inputs[point.id] for point in known]).figures(values_of(logs))
    answers = {point.id: {f: float(found[f][place]) for f in FIGURES} for place, point in enumerate(known)}

    def of(point: Point) -> Prediction:
        return answers.get(point.id, "too little is known")

    return of


def scores_apart(every: list[Point], inputs: dict[str, Inputs]) -> list[Score]:
    """Scores of the core points, of each family by constants that had no part of it."""
    core, lessons = [point for point in every if point.core], [point for point in every if learnable(point)]
    return held_out(core, lambda others: predictor(core, inputs, fit(others, inputs)), lessons)


def show(title: str, scores: Any) -> None:
    """One line: shares within 1.3 and 2 and the median ratio of each figure."""
    cells = []
    for figure in FIGURES:
        found = summary(score for score in scores if score.figure == figure)
        if found:
            cells.append(f"{figure} {found.within_1_3:.0%}/{found.within_2:.0%} {found.median_ratio:.2f}")
    print(f"{title:34} {' | '.join(cells)}", flush=True)


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="in sample only")
    options = parser.parse_args()
    every = points()
    core, lessons = [point for point in every if point.core], [point for point in every if learnable(point)]
    inputs = inputs_of([p for p in every if p.core or learnable(p)], load_advisor(tests=False))
    show("as it starts", scores_of(core, predictor(core, inputs, np.log(START))))
    fitted = fit(lessons, inputs)
    inside = scores_of(core, predictor(core, inputs, fitted))
    show("fitted, in sample", inside)
    for family in sorted({score.point.family for score in inside}):
        show(f"  {family[:28]}", [score for score in inside if score.point.family == family])
    for name, start, found in zip(NAMES, START, np.exp(fitted), strict=True):
        print(f"  {name:38} {start:8.3g} -> {found:8.3g}")
    if not options.quick:
        apart = scores_apart(every, inputs)
        show("fitted, family held out", apart)
        for family in sorted({score.point.family for score in apart}):
            show(f"  {family[:28]}", [score for score in apart if score.point.family == family])


if __name__ == "__main__":
    main()
