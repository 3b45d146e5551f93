"""Exploration, read by nothing: what explains today's misses, and how far the candidate model gets held out.

``python benchmarks/load/explore_fit.py`` prints residuals of today's formulas, then scores of ``candidate.py``: with
today's constants, with constants that the scored family had no part in, in sample, and with constants set by hand.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from load.asking import predictions
from load.candidate import NAMES, SEEN, SPREAD, START, Floats, columns_of, predict
from load.features import Features, features_of
from load.points import Point, points
from load.scores import FIGURES, Prediction, Predictor, Score, held_out, scores_of, summary
from whichgpu.engine.advisor.advisor import load_advisor


#: A log residual counts in full up to this size and by its size beyond (Huber): the bars ask for 1.3 and 2.
EDGE = 0.25
WEIGHT = {"tokens_per_s": 1.0, "ttft_ms": 1.0, "tpot_ms": 1.0, "ttft_p95_ms": 0.5}
ROUNDS = 25
#: How much the pull towards the starting constants weighs.
PULL = 0.7


#: How requests arrive, by what each source says of its client: launched all at once (a request finds half of the others
#: before it); means over ten waves of which the first comes at once; fixed lengths, so that some go on in step; Poisson
#: arrivals, random lengths or thousands of prompts: none.
ARRIVALS = defaultdict(
    float,
    {
        "LottoLottoLotto/4x3090-llm-benchmarks": 0.5,
        "SemiAnalysisAI/InferenceX": 0.05,
        "anyscale/ray-serve-llm-perf-examples": 0.1,
    },
)

STEADY: Mapping[str, float] = defaultdict(float)


def learnable(point: Point) -> bool:
    """Points whose figures the model means to explain: neither speculation, nor prefill apart, nor prefix hits."""
    row = point.row
    special = row["disaggregated"] or row["flags"].get("speculative") or row["flags"].get("prefix_caching")
    return not special and not point.family.startswith("DO-Solutions") and row["load"]["kind"] != "burst"


def fit(lessons: list[Point], features: dict[str, Features], arrivals: Mapping[str, float] | None = None) -> Floats:
    """Constants by damped least squares on log ratios, pulled towards where they start.

    A family weighs as the root of its points: two points of one machine shall not outweigh forty of another.
    """
    known = [point for point in lessons if point.id in features]
    columns = columns_of([features[point.id] for point in known], arrivals)
    measured = {figure: np.array([point.measured(figure) or np.nan for point in known]) for figure in FIGURES}
    families = Counter(point.family for point in known)
    weight = np.array([families[point.family] ** -0.25 for point in known]) * 1.2

    def residuals(logs: Floats) -> Floats:
        found = predict(logs, columns)
        parts = []
        for figure in FIGURES:
            off = np.nan_to_num(np.log(found[figure] / measured[figure]))
            huber = np.sign(off) * np.sqrt(np.where(np.abs(off) < EDGE, off**2, 2 * EDGE * np.abs(off) - EDGE**2))
            parts.append(weight * WEIGHT[figure] * huber)
        return np.concatenate([*parts, (logs - START) / SPREAD * PULL])

    logs, damping = START.copy(), 1.0
    now = residuals(logs)
    for _ in range(ROUNDS):
        slopes = np.stack([(residuals(logs + 1e-4 * unit) - now) / 1e-4 for unit in np.eye(len(logs))], axis=1)
        normal = slopes.T @ slopes
        step = np.linalg.solve(normal + damping * np.eye(len(logs)), -slopes.T @ now)
        then = residuals(logs + step)
        if then @ then < now @ now:
            logs, now, damping = logs + step, then, damping / 3.0
        else:
            damping *= 4.0
    return logs


def predictor(logs: Floats, features: dict[str, Features], arrivals: Mapping[str, float] | None = None) -> Predictor:
    """The candidate with these constants."""

    def of(point: Point) -> Prediction:
        if point.id not in features:
            return "too little is known"
        found = predict(logs, columns_of([features[point.id]], arrivals))
        return {name: float(values[0]) for name, values in found.items()}

    return of


def show(title: str, scores: list[Score]) -> None:
    """One line: shares within 1.3 and 2 and the median ratio of each figure."""
    cells = []
    for figure in FIGURES:
        found = summary(score for score in scores if score.figure == figure)
        if found:
            cells.append(f"{figure} {found.within_1_3:.0%}/{found.within_2:.0%} {found.median_ratio:.2f}")
    print(f"{title:34} {' | '.join(cells)}")


def as_pcie(point: Point) -> Point:
    """The point with its H100 taken as the PCIe card where eight of them are slower than two."""
    suspect = point.family.startswith("aurotripathy") and point.row["gpu_family"] == "H100"
    return Point(point.row | {"gpu_family": "H100 PCIe"}) if suspect else point


def level(batch: float) -> str:
    return next((name for most, name in ((3, "1-3"), (15, "4-15"), (63, "16-63")) if batch <= most), "64+")


def residuals_of_steps(known: list[Point], features: dict[str, Features]) -> None:
    """Measured time per token / today's step, and the same once prompts let in meanwhile are added to the step."""
    found: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for point in known:
        f, measured = features[point.id], point.measured("tpot_ms")
        if measured and f.room >= 1:
            held = min(f.batch, f.room)
            step, fill = 1e3 * f.step_today(held), 1e3 * f.fill_today()
            mixed = step + max(0.0, held - 1.0) * fill / f.job.output_tokens
            kind = "MoE" if f.load.expert_bytes else "dense"
            found[point.engine, f.architecture, kind, level(f.batch)].append((measured / step, measured / mixed))
    print(
        "\ntime per token: engine, generation, model, in flight: points, measured / step, measured / (step + prompts)"
    )
    for group, pairs in sorted(found.items()):
        step, mixed = (median(pair[place] for pair in pairs) for place in (0, 1))
        print(f"  {' '.join(group):42} {len(pairs):3} {step:5.2f} {mixed:5.2f}")


def residuals_of_first_tokens(known: list[Point], features: dict[str, Features]) -> None:
    """Time to first token less one step, in multiples of today's prefill: by prompt at low load, then by load."""
    by_prompt: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    by_load: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for point in known:
        f, measured = features[point.id], point.measured("ttft_ms")
        if not measured or f.room < 1:
            continue
        left, fill = measured - 1e3 * f.step_today(min(f.batch, f.room)), 1e3 * f.fill_today()
        kind, asked = "MoE" if f.load.expert_bytes else "dense", f.job.input_tokens
        length = "to 600" if asked <= 600 else "to 2,100" if asked <= 2100 else "longer"
        if f.batch <= 8:
            by_prompt[point.engine, kind, length].append((left / fill, left - fill))
        by_load[point.family[:16], level(f.batch)].append((left / fill, left - fill))
    print("\ntime to first token: points, (measured - step) / prefill, measured - step - prefill in ms (medians)")
    for group, pairs in [*sorted(by_prompt.items()), *sorted(by_load.items())]:
        times, more = (median(pair[place] for pair in pairs) for place in (0, 1))
        print(f"  {' '.join(group):42} {len(pairs):3} {times:7.2f} {more:8.0f}")


def main() -> None:
    """Print everything."""
    advisor = load_advisor(tests=False)
    every = points()
    core, lessons = [point for point in every if point.core], [point for point in every if learnable(point)]
    features = {point.id: found for point in every if (found := features_of(point, advisor))}
    known = [point for point in core if point.id in features]
    residuals_of_steps(known, features)
    residuals_of_first_tokens(known, features)
    print("\nwithin 1.3 / within 2, median ratio; core points, averaged over families")
    answers = predictions(core, advisor)
    show("today", scores_of(core, lambda point: answers[point.id]))
    show("new structure, today's constants", scores_of(core, predictor(START, features)))
    apart = held_out(core, lambda others: predictor(fit(others, features), features), lessons)
    show("fitted, family held out", apart)
    for family in sorted({score.point.family for score in apart}):
        show(f"  {family[:28]}", [score for score in apart if score.point.family == family])
    told = held_out(core, lambda others: predictor(fit(others, features, ARRIVALS), features, ARRIVALS), lessons)
    show("same, told how requests arrive", told)
    for family in sorted({score.point.family for score in told}):
        show(f"  {family[:28]}", [score for score in told if score.point.family == family])
    steady = held_out(core, lambda others: predictor(fit(others, features, ARRIVALS), features, STEADY), lessons)
    show("fit told, steady stream asked", steady)
    fitted = fit(lessons, features)
    show("fitted, in sample", scores_of(core, predictor(fitted, features)))
    show("set by hand, all points seen", scores_of(core, predictor(SEEN, features)))
    other = [as_pcie(point) for point in core]
    cards = features | {p.id: f for point in every if (f := features_of(p := as_pcie(point), advisor))}
    answers |= predictions([point for point in other if point.row["gpu_family"] == "H100 PCIe"], advisor)
    print("\nthe same with the H100 of aurotripathy taken as PCIe cards")
    show("today", scores_of(other, lambda point: answers[point.id]))
    apart = held_out(other, lambda others: predictor(fit(others, cards), cards), [as_pcie(p) for p in lessons])
    show("fitted, family held out", apart)
    show("set by hand, all points seen", scores_of(other, predictor(SEEN, cards)))
    print("\nconstants: today, fitted on all families")
    for name, start, found in zip(NAMES, START, fitted, strict=True):
        print(f"  {name:20} {np.exp(start):8.3g} -> {np.exp(found):8.3g}")


if __name__ == "__main__":
    main()
