"""The measured points: reading them, telling their kinds apart, and turning each into the facts of a workload.

What a row states is passed on, what it leaves open is left open, so that the tool's own assumptions are tested too.
``data/README.md`` describes the fields. A card whose form is not stated is taken as the one that servers of that
software and count have: H100 as SXM.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any


DATA = Path(__file__).parent / "data" / "load_sweeps.jsonl"
#: Marks of rows whose figures contradict one another or whose load is not the stated one.
_UNSOUND = frozenset({"little_low", "little_high", "few_prompts", "below_cap_by_design", "e2e_vs_ttft_plus_tpot"})
_MOST_CONCURRENCY = 512
_GPUS = {
    "A100": "nvidia-a100-80gb-sxm",
    "H100": "nvidia-h100-80gb-sxm",
    "H100 PCIe": "nvidia-h100-80gb-pcie",
    "H200": "nvidia-h200-sxm",
    "B200": "nvidia-b200",
    "B300": "nvidia-b300",
    "GB200": "nvidia-gb200",
    "GH200": "nvidia-gh200",
    "L40S": "nvidia-l40s",
    "RTX 3090": "nvidia-rtx-3090",
    "MI300X": "amd-mi300x",
    "Jetson Thor": "nvidia-jetson-thor-t5000",
    "TPU v6e": "google-tpu-v6e",
}
_PRECISIONS = {"bnb-int4": "nf4"}
_PCIE = frozenset({"L40S", "RTX 3090"})
_INT4 = frozenset({"int4", "awq-int4", "gptq-int4", "bnb-int4"})
#: The measured throughput of this source is sound, its time per token is half of what its other figures say.
_NO_TIME_PER_TOKEN = frozenset({"kubernetes-sigs/inference-perf"})


@dataclass(frozen=True)
class Point:
    """One measured point; ``row`` is the record as published."""

    row: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def family(self) -> str:
        """Who measured: the unit of every split."""
        return str(self.row["source_family"])

    @property
    def engine(self) -> str:
        return str(self.row["engine"])

    @property
    def gpu(self) -> str:
        return _GPUS.get(self.row["gpu_family"], str(self.row["gpu"]))

    @property
    def precision(self) -> str | None:
        norm: str | None = self.row["weight_precision"]["norm"]
        return norm

    @property
    def gpu_class(self) -> str:
        """What the issue tells apart: cards with a fast link of their own, and those that tools know less of."""
        family = self.row["gpu_family"]
        if family == "MI300X":
            return "AMD"
        if family in {"GB200", "GH200"}:
            return "Grace superchip"
        if family in {"Jetson Thor", "TPU v6e"}:
            return family
        if self.precision in _INT4:
            return "int4 weights"
        return "PCIe card" if family in _PCIE else "SXM"

    @cached_property
    def in_flight(self) -> float | None:
        """Requests in flight: the cap of a sound closed loop, else what Little's law makes of rate and latency."""
        load, checks = self.row["load"], self.row["checks"]
        if load["kind"] == "closed" and not _UNSOUND & set(checks["flags"] or ()):
            return float(load["concurrency"])
        found = checks.get("in_flight_by_little") or load.get("measured_concurrency") or load.get("concurrency")
        return float(found) if found else None

    @property
    def replicas(self) -> int:
        """Replicas of the model, by what the row says of its layout."""
        count, tensor = self.row["gpu_count"] or 1, self.row["tp"] or 1
        return max(1, int(count) // (int(tensor) * int(self.row["pp"] or 1)))

    @property
    def level(self) -> str:
        """The load level: requests in flight for each replica."""
        if self.in_flight is None:
            return "unknown"
        each = self.in_flight / self.replicas
        return next((f"{low} to {high - 1}" for low, high in ((1, 4), (4, 16), (16, 64)) if each < high), "64 and more")

    @property
    def core(self) -> bool:
        """The sane core: a closed loop with everything stated, nothing that the tool cannot be given."""
        row, load = self.row, self.row["load"]
        known = self.precision and row["gpu_count"] and row["input_tokens"] and row["output_tokens"]
        sane = load["kind"] == "closed" and load["concurrency"] and load["concurrency"] <= _MOST_CONCURRENCY
        special = row["disaggregated"] or row["flags"].get("speculative")
        return bool(known and sane and not special and not _UNSOUND & set(row["checks"]["flags"] or ()))

    def measured(self, what: str) -> float | None:
        """``tokens_per_s``, ``ttft_ms``, ``ttft_p95_ms`` or ``tpot_ms``; None where the source does not give it.

        Times are medians; where a source does not say which statistic it gives, that; else the mean, but never the mean
        of a skewed time to first token. The gap between tokens (``itl_ms``) is another quantity and stands for nothing:
        a prompt that is let in lengthens one gap much and the median gap not at all. The p95 is the p99 where only
        that is given.
        """
        found = self.row["measured"]
        if what == "tokens_per_s":
            return _positive(found["output_tokens_per_s"])
        ttft, skewed = found["ttft_ms"] or {}, "ttft_skewed" in (self.row["checks"]["flags"] or ())
        if what == "ttft_ms":
            return _positive(
                ttft.get("p50") or ttft.get("unstated_statistic") or (None if skewed else ttft.get("mean"))
            )
        if what == "ttft_p95_ms":
            return _positive(ttft.get("p95") or ttft.get("p99"))
        if self.family in _NO_TIME_PER_TOKEN:
            return None
        own = found["tpot_ms"] or {}
        return _positive(own.get("p50") or own.get("unstated_statistic") or own.get("mean"))


def _positive(value: float | None) -> float | None:
    return float(value) if value and value > 0 else None


def points(path: Path = DATA) -> list[Point]:
    """Every point, in the order of the file."""
    return [Point(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def facts_of(point: Point) -> dict[str, Any]:
    """The facts of the point's workload, with the GPU and the count: what ``whichgpu size`` is asked."""
    row = point.row
    facts: dict[str, Any] = {
        "id": point.id,
        "task": "inference",
        "gpu": point.gpu,
        "count": int(row["gpu_count"] or 1),
        "model_name": row["model_key"] if row["model_in_whichgpu"] else row["model"],
        "serving_engine": point.engine,
    }
    if point.precision:
        facts["weight_precision"] = _PRECISIONS.get(point.precision, point.precision)
    if row["kv_precision"] and row["kv_precision"] != "auto":
        facts["kv_cache_precision"] = "fp8" if "fp8" in row["kv_precision"] else "fp16"
    version = re.search(r"^v?(\d+\.\d+(?:\.\d+)?)", str(row["engine_version"] or ""))
    if version:
        facts["serving_engine_version"] = version.group(1)
    for name, fact in (("input_tokens", "input_tokens"), ("output_tokens", "output_tokens")):
        if row[name]:
            facts[fact] = max(1, round(row[name]))
    for name, fact in (("tp", "tensor_parallel"), ("pp", "pipeline_parallel"), ("ep", "expert_parallel")):
        if row[name]:
            facts[fact] = int(row[name])
    load = row["load"]
    if load["kind"] == "open" and load["request_rate"]:
        facts["peak_qps"] = float(load["request_rate"])
    elif point.in_flight:
        facts["concurrency"] = max(1, round(point.in_flight))
        if load["kind"] == "burst" or "launched together" in (row["note"] or ""):
            facts["requests_come"] = "together"
    return facts
