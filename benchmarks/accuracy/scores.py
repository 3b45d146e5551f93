"""How far answers are from measurements: errors, bands, verdicts on fit, factors of speed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import Any

from reference import GIB
from row_cards import memory_beyond


Row = dict[str, Any]
Answer = dict[str, Any]

#: Words by which a source says that it counted what the allocator handed out, without the driver's context.
_ALLOCATED = ("max_memory_allocated", "memory active", "max gpu ram", "footprint")
#: Pages that state what stays allocated between calls, which is the weights: their script empties the cache and reads
#: ``torch.cuda.memory_allocated()`` after the run, divided by 1024 ** 3; batches of one and of
#: four therefore state the same.
_STANDING = (("huggingface/blog", "quanto-diffusers.md"),)
#: Tables whose figures are in GiB although they do not say so: the weights alone are as many decimal GB (72.3 billion
#: in 16 bits, 144.6 of 144.69), so that nothing would be left for the cache, or more (8.29 billion, 16.58 of 16.07).
_GIB = (("QwenLM/Qwen", "qwen1-infer"), ("QwenLM/Qwen2-VL", "qwen2vl"))
_GROUPS = {
    "inference": "LLM inference",
    "asr_inference": "speech",
    "audio_generation": "speech",
    "image_generation": "diffusion, inference",
    "video_generation": "diffusion, inference",
    "train_diffusion": "diffusion, training",
    "train_vision": "vision, training",
    "vision_inference": "vision, inference",
    "lora": "LoRA",
    "qlora": "QLoRA",
    "full_finetune": "full training",
    "pretrain": "full training",
    "rl": "full training",
}
_FEW_SAMPLES = 1000
_OF_TEXT = frozenset({"pretrain", "full_finetune", "lora", "qlora", "rl"})
#: How a source was used, the word of the report.
FITTED, SEEN, APART = "fitted", "seen", "kept apart"
USES = (FITTED, SEEN, APART)
#: Sources whose memory figures were looked at while constants were chosen.
_FITTED = (
    ("Lightning-AI/litgpt", ""),
    ("pytorch/torchtune", ""),
    ("QwenLM/Qwen", "qwen1-ft"),
    ("QwenLM/Qwen3", "qwen2.5-hf"),
    ("QwenLM/Qwen3", "qwen3-hf"),
    ("modelscope/ms-swift", ""),
    ("huggingface/blog", "flux"),
    ("facebookresearch/detectron2", ""),
    ("open-mmlab/mmdetection", ""),
    ("open-mmlab/mmsegmentation", ""),
    ("openai/whisper", ""),
)
#: Sources that were kept apart: named before the misses of the others were read one by one, and nothing was changed for
#: them. All further sources are seen: no constant has its value from them, but what they showed led to mended formulas.
_APART = (
    ("nvidia-cosmos/cosmos-predict2", ""),
    ("https://github.com/XLabs-AI/x-flux/issues/12", ""),
    ("https://huggingface.co/datasets/odyn-network/benchmark-finetune-lora-v1", ""),
    ("QwenLM/Qwen3", "qwen2-hf"),
)


@dataclass(frozen=True)
class MemoryScore:
    """One measured memory figure beside the estimate of the same thing, in decimal GB."""

    id: str
    source: str
    group: str
    trust: str
    use: str  # how its source was used
    measured_gb: float
    estimated_gb: float  # as the device counts
    allocated_gb: float  # as the allocator counts
    context_gb: float  # the driver's, of all GPUs that are counted
    low_gb: float
    high_gb: float
    metric: str

    @property
    def error(self) -> float:
        """Of the device figure, as a share of what was measured."""
        return self.estimated_gb / self.measured_gb - 1

    @property
    def like_gb(self) -> float:
        """The figure that counts what the source counted."""
        metric = self.metric.lower()
        if any(word in metric for word in _ALLOCATED):
            return self.allocated_gb
        # What the allocator reserved has its own surplus, but not the driver's context.
        return self.estimated_gb - (self.context_gb if "reserved" in metric else 0.0)

    @property
    def like_error(self) -> float:
        """Of that figure."""
        return self.like_gb / self.measured_gb - 1

    @property
    def inside(self) -> bool:
        """The measurement lies in the band around the figure that counts what the source counted."""
        like = self.like_gb / self.estimated_gb
        return self.low_gb * like <= self.measured_gb <= self.high_gb * like

    @property
    def width(self) -> float:
        """The band's, as a share of the estimate."""
        return (self.high_gb - self.low_gb) / self.estimated_gb


def source_of(row: Row) -> str:
    """The repository, or the page where there is none."""
    source = row["source"]
    return str(source.get("repo") or source.get("url") or "unnamed")


def group_of(row: Row) -> str:
    """The kind of job, as the bars tell them apart."""
    return _GROUPS[row["facts"]["task"]]


def use_of(row: Row) -> str:
    """How the row's source was used when constants were chosen and formulas mended."""
    return FITTED if _listed(row, _FITTED) else APART if _listed(row, _APART) else SEEN


def _listed(row: Row, sources: tuple[tuple[str, str], ...]) -> bool:
    return any(source_of(row) == repo and row["id"].startswith(prefix) for repo, prefix in sources)


def memory_score(row: Row, answer: Answer) -> MemoryScore:
    """Published figures in GiB are converted; a total is compared with the total, a figure per GPU with that."""
    measured = row["measured"]
    standing = (source_of(row), row["source"].get("path")) in _STANDING
    gib = standing or row["derived"].get("memory_unit") == "GiB" or _listed(row, _GIB)
    per_gpu = str(measured.get("memory_scope", "")).startswith("per_gpu")
    over = 1 if per_gpu else answer["count"]
    share = over / answer["count"]
    if standing:  # As far as weights go, the band reaches as far as that of the whole.
        weights = answer["breakdown"]["weights_gb"]
        part = weights / answer["per_gpu_gb"]
        answer = answer | {"per_gpu_gb": weights, "allocated_gb": weights * answer["count"]}
        answer |= {end: answer[end] * part for end in ("low_gb", "high_gb")}
    return MemoryScore(
        id=row["id"],
        source=source_of(row),
        group=group_of(row),
        trust=row["trust"],
        use=use_of(row),
        measured_gb=measured["memory_gb"] * (GIB if gib else 1.0),
        estimated_gb=answer["per_gpu_gb"] * over,
        allocated_gb=answer["allocated_gb"] * share,
        context_gb=0.0 if standing else answer["breakdown"].get("context_gb", 0.0) * over,
        low_gb=answer["low_gb"] * share,
        high_gb=answer["high_gb"] * share,
        metric=str(measured.get("memory_metric") or ""),
    )


@dataclass(frozen=True)
class FitScore:
    """Whether a run that ran is judged to fit, and one that ran out of memory not to."""

    id: str
    source: str
    group: str
    kind: str  # fits, memory, minimum, recommended, oom
    judged: bool
    needed_gb: float
    available_gb: float

    @property
    def right(self) -> bool:
        """The verdict is that of the card."""
        return self.judged is (self.kind != "oom")


def fit_score(row: Row, answer: Answer) -> FitScore:
    """The verdict on a row of the feasibility suite, by the memory of its own card where another stands for it."""
    available = (answer["available_per_gpu_gb"] or 0.0) * memory_beyond(row)
    fits = bool(answer["fits"]) if memory_beyond(row) == 1.0 else answer["per_gpu_gb"] <= available
    return FitScore(
        row["id"],
        source_of(row),
        group_of(row),
        row["kind"],
        fits,
        answer["per_gpu_gb"],
        available,
    )


@dataclass(frozen=True)
class SpeedScore:
    """One measured rate beside the estimate."""

    id: str
    source: str
    group: str
    trust: str
    what: str
    measured: float
    estimated: float

    @property
    def ratio(self) -> float:
        """How fast it is said to be beside how fast it was: above 1 too fast, for times as for rates."""
        ratio = self.estimated / self.measured
        return 1.0 / ratio if self.what.startswith("s a ") else ratio

    @property
    def factor(self) -> float:
        """How many times too fast or too slow; at least 1."""
        return max(self.ratio, 1.0 / self.ratio)


def speed_score(row: Row, answer: Answer) -> SpeedScore | None:
    """The first rate that both sides give; None where they have none in common."""
    measured, speed = row["measured"], answer["speed"]
    other = measured.get("other", {})
    count = answer["count"]
    pairs = (
        ("tokens/s", measured.get("tokens_per_s"), speed.get("tokens_per_s")),
        ("tokens/s", _times(measured.get("tokens_per_s_per_gpu"), count), speed.get("tokens_per_s")),
        ("samples/s", measured.get("samples_per_s"), speed.get("samples_per_s") or speed.get("images_per_s")),
        ("samples/s", other.get("samples_per_s"), speed.get("samples_per_s")),
        ("samples/s of a whole run", _run_rate(row), speed.get("samples_per_s")),
        ("s a step", measured.get("s_per_iter") or _stated_step(measured), speed.get("step_s")),
        ("s a picture or clip", measured.get("latency_s"), _times(speed.get("latency_ms"), 1e-3)),
    )
    for what, seen, said in pairs:
        if seen and said:
            return SpeedScore(row["id"], source_of(row), group_of(row), row["trust"], what, float(seen), float(said))
    return None


def _run_rate(row: Row) -> float | None:
    """Samples over the time of a run with its evaluations, where a source counts both; epochs are small numbers.

    A sample of text is as long as the source says; none where it does not.
    """
    other, facts = row["measured"].get("other", {}), row["facts"]
    if facts["task"] in _OF_TEXT and not facts.get("seq_len"):
        return None
    samples, minutes = other.get("run_stop_samples_or_epochs"), other.get("time_to_train_minutes_median")
    return samples / minutes / 60 if samples and minutes and samples >= _FEW_SAMPLES else None


def _stated_step(measured: dict[str, Any]) -> float | None:
    """Seconds of a step from "41 min / 700 steps"."""
    found = re.search(r"([\d.]+) min / (\d+) steps", str(measured.get("wall_time")))
    return 60 * float(found.group(1)) / int(found.group(2)) if found else None


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def share(flags: list[bool]) -> float:
    """Of how many it is true, in percent; 0 of none."""
    return 100.0 * sum(flags) / len(flags) if flags else 0.0


def median_error(scores: list[MemoryScore]) -> float:
    """Median absolute error of the device figure, in percent; 0 of none."""
    return 100.0 * median(abs(score.error) for score in scores) if scores else 0.0


def median_like_error(scores: list[MemoryScore]) -> float:
    """Median absolute error of the figure that counts what the source counted, in percent; 0 of none."""
    return 100.0 * median(abs(score.like_error) for score in scores) if scores else 0.0


def median_width(scores: list[MemoryScore]) -> float:
    """Median width of the bands, in percent of the estimate; 0 of none."""
    return 100.0 * median(score.width for score in scores) if scores else 0.0
