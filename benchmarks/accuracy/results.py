"""All answers and their scores, computed once for report and test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anchors import OTHERS_BEST, reserve_lines, tpot_line, training_line, workload_lines
from asking import sizes
from mapping import line_of
from reference import GIB, published_runs, table
from scores import FitScore, MemoryScore, SpeedScore, fit_score, memory_score, speed_score


@dataclass(frozen=True)
class Anchor:
    """A training anchor: measured and estimated, in decimal GB."""

    id: str
    what: str
    covered: bool  # by the best other tool, out of sample
    measured_gb: float
    estimated_gb: float
    allocated_gb: float
    low_gb: float
    high_gb: float

    @property
    def error(self) -> float:
        """Of the device figure."""
        return self.estimated_gb / self.measured_gb - 1


@dataclass(frozen=True)
class Reserve:
    """What vLLM keeps beside weights and cache, GiB per GPU: measured, and the estimate with its band."""

    run: str
    version: str
    measured_gib: float
    estimated_gib: float
    low_gib: float
    high_gib: float
    peers: dict[str, float]


@dataclass(frozen=True)
class Tpot:
    """Milliseconds per output token: measured, and the estimate with its band."""

    gpu: str
    measured_ms: float
    estimated_ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True)
class Results:
    """Everything that the report shows."""

    lines: list[dict[str, Any]]
    refused: list[tuple[str, str]]
    memory: list[MemoryScore]
    fits: list[FitScore]
    speeds: list[SpeedScore]
    anchors: list[Anchor]
    reserves: list[Reserve]
    tpots: list[Tpot]
    workloads: list[tuple[dict[str, Any], dict[str, Any]]]


def compute() -> Results:
    """Ask everything and score it."""
    rows = published_runs()
    lines = [line_of(row) for row in rows]
    answers = sizes(lines)
    answered = [(row, answer) for row, answer in zip(rows, answers, strict=True) if "error" not in answer]
    refused = [(answer["id"], answer["error"]["message"]) for answer in answers if "error" in answer]
    suites = {
        name: [(row, answer) for row, answer in answered if name in row.get("suites", ())]
        for name in ("memory_error", "feasibility", "throughput")
    }
    speeds = [speed_score(row, answer) for row, answer in suites["throughput"]]
    return Results(
        lines=lines,
        refused=refused,
        memory=[memory_score(row, answer) for row, answer in suites["memory_error"]],
        fits=[fit_score(row, answer) for row, answer in suites["feasibility"]],
        speeds=[score for score in speeds if score is not None],
        anchors=_anchors(),
        reserves=_reserves(),
        tpots=_tpots(),
        workloads=_workloads(),
    )


def _anchors() -> list[Anchor]:
    rows = table("train_anchors")["rows"]
    found = []
    for row, answer in zip(rows, sizes(training_line(row) for row in rows), strict=True):
        measured = row["measured"] * (GIB if row["unit"] == "GiB" else 1.0)
        what = f"{row['arch']} {row['method']}, {row['batch']} x {row['seq']}"
        covered = row["id"] in OTHERS_BEST
        figures = (answer[key] for key in ("per_gpu_gb", "allocated_gb", "low_gb", "high_gb"))
        found.append(Anchor(row["id"], what, covered, measured, *figures))
    return found


def _reserves() -> list[Reserve]:
    rows = table("accuracy_infer")["rows"]
    found = []
    for row, answer in zip(rows, sizes(reserve_lines(rows)), strict=True):
        # Graphs are captured once the rest of the engine's share is the cache.
        kept = ("weights_gb", "kv_cache_gb", "graphs_gb")
        fixed = sum(answer["breakdown"].get(name, 0.0) for name in kept)
        count = answer["count"]
        found.append(
            Reserve(
                run=row["run"],
                version=row["vllm"],
                measured_gib=row["measured_reserve"],
                estimated_gib=(answer["per_gpu_gb"] - fixed) / GIB,
                low_gib=(answer["low_gb"] / count - fixed) / GIB,
                high_gib=(answer["high_gb"] / count - fixed) / GIB,
                peers={key: value for key, value in row.items() if key not in {"run", "vllm", "measured_reserve"}},
            )
        )
    return found


def _tpots() -> list[Tpot]:
    measured = {row["gpu"]: row["measured"] for row in table("accuracy_tpot")}
    answers = sizes(tpot_line(gpu) for gpu in measured)
    return [
        Tpot(gpu, ms, answer["speed"]["tpot_ms"], answer["speed"]["tpot_ms_low"], answer["speed"]["tpot_ms_high"])
        for (gpu, ms), answer in zip(measured.items(), answers, strict=True)
    ]


def _workloads() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    pairs = [(work, line) for work in table("workloads")["workloads"] for line in workload_lines(work)]
    answers = sizes(line for _, line in pairs)
    return [(work, answer) for (work, _), answer in zip(pairs, answers, strict=True)]
