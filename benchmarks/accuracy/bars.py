"""The bars that the figures are held to, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, median

from results import Results
from scores import median_error, median_width, share


@dataclass(frozen=True)
class Bar:
    """One demand, what was found, and whether it is met."""

    name: str
    what: str
    asked: str
    value: float
    reached: bool

    @property
    def found(self) -> str:
        """The figure as printed."""
        return f"{self.value:.1f}"


#: Groups of trust A rows and the median error in percent that each may have.
_ALLOWED = (
    ("inference", ("LLM inference",), 5.0),
    ("lora", ("LoRA", "QLoRA"), 12.0),
    ("full", ("full training",), 15.0),
    ("pictures", ("diffusion, inference", "diffusion, training", "vision, inference", "vision, training"), 15.0),
)


def bars_of(results: Results) -> list[Bar]:
    """Every bar, in the order of the report."""
    return [*_anchor_bars(results), *_serving_bars(results), *_memory_bars(results), *_verdict_bars(results)]


def _most(name: str, what: str, value: float, limit: float, unit: str = "%") -> Bar:
    return Bar(name, what, f"at most {limit:g} {unit}", value, value <= limit)


def _least(name: str, what: str, value: float, limit: float, unit: str = "%") -> Bar:
    return Bar(name, what, f"at least {limit:g} {unit}", value, value >= limit)


def _anchor_bars(results: Results) -> list[Bar]:
    errors = [100 * anchor.error for anchor in results.anchors]
    covered = [100 * abs(anchor.error) for anchor in results.anchors if anchor.covered]
    return [
        _most("anchors", "18 training anchors, mean error", mean(abs(error) for error in errors), 10),
        _most("anchors_covered", "the 8 that the best other tool covers, mean error", mean(covered), 8),
        _least("anchors_lowest", "lowest of the 18", min(errors), -10),
    ]


def _serving_bars(results: Results) -> list[Bar]:
    held = [r.low_gib <= r.measured_gib <= r.high_gib for r in results.reserves]
    newest = [abs(r.estimated_gib - r.measured_gib) for r in results.reserves if r.version == "0.19"]
    inside = [t.low_ms <= t.measured_ms <= t.high_ms for t in results.tpots]
    off = [100 * abs(t.estimated_ms / t.measured_ms - 1) for t in results.tpots]
    return [
        _least("reserves_inside", "vLLM reserves inside the band", share(held), 100),
        _most("reserves", "vLLM 0.19 reserve, median error", median(newest), 1, "GiB"),
        _least("tpot_inside", "times per token inside the band", share(inside), 100),
        _most("tpot", "times per token, median error", median(off), 10),
    ]


def _memory_bars(results: Results) -> list[Bar]:
    trusted = [score for score in results.memory if score.trust == "A"]
    bars = []
    for name, groups, limit in _ALLOWED:
        found = [score for score in trusted if score.group in groups]
        bars.append(_most(name, f"{', '.join(groups)}, trust A, median error", median_error(found), limit))
    inside = share([score.inside for score in trusted])
    bars.append(Bar("inside", "measured values inside the band, trust A", "85 to 95 %", inside, 85 <= inside <= 95))
    bars.append(_most("width", "median width of the bands, trust A", median_width(trusted), 35))
    return bars


def _verdict_bars(results: Results) -> list[Bar]:
    ran = [score.right for score in results.fits if score.kind in {"fits", "memory"}]
    failed = [score.right for score in results.fits if score.kind == "oom"]
    factors = [score.factor for score in results.speeds]
    return [
        _least("ran", "runs that ran, judged to fit", share(ran), 97),
        _least("oom", "runs out of memory, judged not to fit", share(failed), 90),
        _least("speed_near", "speeds within a factor of 1.3", share([f <= 1.3 for f in factors]), 50),
        _least("speed_far", "speeds within a factor of 2", share([f <= 2.0 for f in factors]), 90),
    ]
