"""The workloads on which two rulebooks are compared: examples, the tests inside rules, and a seeded sample."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from whichgpu.engine.advisor import shipped_objectives
from whichgpu.engine.authoring.testing.scenarios import FOLDER as SCENARIOS
from whichgpu.engine.catalogue import TaskProfile, profile_of, task_profiles
from whichgpu.engine.core import InputError, WhichgpuError, plain, read_yaml
from whichgpu.engine.rules import Rule, Vocabulary, drawn


#: Models in common use, by family, as people write them; most of the catalogue's others differ in size only.
_MODELS = {
    "llm": ("llama-3.1-8b", "llama-3.1-70b", "mistral-7b", "qwen2.5-7b", "qwen2.5-14b", "qwen2.5-32b", "gemma-2-27b"),
    "diffusion_image": ("sdxl", "flux.1-dev"),
}
#: Usual sizes in billions of parameters, by family.
_SIZES = {
    "llm": (0.5, 1.5, 3, 7, 8, 13, 14, 32, 34, 70, 120, 180),
    "vision": (0.03, 0.1, 0.3, 1),
    "diffusion_image": (0.9, 2.6, 12),
    "diffusion_video": (1.7, 14),
    "multimodal": (7, 11, 34, 72),
}
#: Share of utilisation, in per cent, that a rhythm of runs usually comes to.
_BUSY = {"one_off": (1, 5), "sporadic": (2, 15), "weekly": (5, 30), "daily": (20, 70), "continuous": (60, 98)}

#: How often a person can state a fact that concerns the job, and how often one turns up that rarely matters.
_KNOWN = 0.8
_SELDOM = {"always": 0.05, "if_it_matters": 0.03, "on_request": 0.008, "never": 0.0}
#: GPUs that people name when they ask.
_NAMED_GPUS = ("nvidia-h100", "nvidia-a100-80gb", "nvidia-l40s", "nvidia-rtx-4090", "nvidia-l4", "amd-mi300x")

#: What the name of a model gives.
_OF_THE_MODEL = frozenset({"param_count_b", "active_param_count_b"})

Facts = dict[str, Any]

#: How often each task is drawn, in percent; one that is not listed, as often as the rarest.
_TASK_SHARES = {"inference": 45, "peft_finetuning": 25, "full_finetuning": 10, "pretraining": 8, "experimentation": 12}
_TASK_SHARE = 8
_OBJECTIVE_SHARES = {"balanced": 6, "cheapest": 3, "fastest": 1}


def sample_workloads(vocabulary: Vocabulary, amount: int, *, seed: int = 1) -> list[Facts]:
    """Workloads, each with a name under ``id``.

    What concerns the kind of job is known in four of five cases; every other fact that a person can state turns up now
    and then, with a value from its whole domain, so that facts of a layer are drawn too.

    Args:
        vocabulary: what facts there are; a layer's among them.
        amount: how many.
        seed: the same seed draws the same workloads from the same vocabulary.
    """
    return [{"id": f"sample-{seed}-{number}", **_draw(vocabulary, seed, number)} for number in range(1, amount + 1)]


def _draw(vocabulary: Vocabulary, seed: int, number: int) -> Facts:
    chance = random.Random(f"{seed}/{number}")  # noqa: S311  # Each workload its own, so that more add to the same ones.
    shares = {**_TASK_SHARES, **{task: _TASK_SHARE for task in task_profiles() if task not in _TASK_SHARES}}
    task = chance.choices(tuple(shares), tuple(shares.values()))[0]
    profile = profile_of(task)
    families = ("llm", "vision", "diffusion_image", "diffusion_video", "multimodal")
    family = chance.choices(families, (68, 13, 12, 2, 5))[0]
    facts: Facts = {}
    _size(facts, family, chance)
    if profile.serves:
        _serving(facts, family, chance)
    else:
        _learning(facts, family, profile, chance)
    _project(facts, profile, chance)
    typical = {name: value for name, value in sorted(facts.items()) if name in vocabulary.facts}
    facts = {"task": task, **{name: value for name, value in typical.items() if chance.random() < _KNOWN}}
    if not facts.keys() & {"model_name", "param_count_b"} and chance.random() < 0.9:
        facts["param_count_b"] = chance.choice(_SIZES[family])
    for fact in vocabulary.facts.values():
        rolled, value = chance.random(), drawn(fact, chance)
        if "model_name" in facts and fact.name in _OF_THE_MODEL:
            continue  # Another size than the model's own is an error, and no workload.
        freely_stated = fact.scope == "workload" and fact.role == "input" and fact.name not in _LEFT_ALONE
        if value is not None and freely_stated and fact.name not in typical and rolled < _SELDOM[fact.askable]:
            facts[fact.name] = value
    return facts


#: Facts whose odd values make a job that does not exist: drawn never, or stated by the profiles alone.
_LEFT_ALONE = frozenset({"qps_per_gpu", "samples_per_s", "tokens_per_s", "price_ratio", "speed_ratio", "buy_quote_usd"})


def _size(facts: Facts, family: str, chance: random.Random) -> None:
    if family in _MODELS and chance.random() < 0.66:
        facts["model_name"] = chance.choice(_MODELS[family])
    else:
        facts["model_family"] = family
        facts["param_count_b"] = chance.choice(_SIZES[family])
    if family == "vision":
        facts["vision_task"] = chance.choice(("classification", "detection", "segmentation"))
        facts["input_is_video"] = chance.random() < 0.2
    if family != "llm":
        facts["image_px"] = chance.choice((224, 512, 640, 768, 1024, 2048))


def _serving(facts: Facts, family: str, chance: random.Random) -> None:
    facts["weight_precision"] = chance.choice(("bf16", "fp16", "fp8", "int8", "int4"))
    if family in ("llm", "multimodal"):
        facts["context_tokens"] = chance.choice((2048, 4096, 8192, 16384, 32768))
    facts["concurrency"] = chance.choice((1, 2, 4, 8, 16, 32, 64))
    facts["serving_mode"] = chance.choice(("realtime", "interactive", "interactive", "batch"))
    if chance.random() < 0.6:
        facts["peak_qps"] = chance.choice((0.2, 0.5, 1, 2, 5, 10, 50))
    else:
        facts["traffic_level"] = chance.choices(("low", "moderate", "high", "massive"), (4, 4, 2, 1))[0]
    facts["traffic_pattern"] = chance.choice(("steady", "variable", "bursty", "unpredictable"))
    facts["always_on"] = chance.random() < 0.6


def _learning(facts: Facts, family: str, profile: TaskProfile, chance: random.Random) -> None:
    if family in ("llm", "multimodal"):
        facts["seq_len_tokens"] = chance.choice((512, 1024, 2048, 4096, 8192))
        tokens: Sequence[float] = (10, 100, 300) if profile.sized_as == "from_scratch" else (0.01, 0.1, 1, 10)
        facts["train_tokens_b"] = chance.choice(tokens)
    facts["batch_size_per_gpu"] = chance.choice((16, 32, 64) if family == "vision" else (1, 2, 4, 8))
    facts["compute_precision"] = chance.choices(("mixed", "bf16", "fp16", "fp32"), (6, 3, 1, 1))[0]
    if profile.sized_as == "adapters":
        facts["peft_method"] = chance.choice(("lora", "qlora"))
    facts["run_hours"] = chance.choice((2, 8, 24, 72))
    facts["interruptible"] = chance.random() < 0.4
    facts["dataset_scale"] = chance.choice(("small", "medium", "large"))


def _project(facts: Facts, profile: TaskProfile, chance: random.Random) -> None:
    cadence = chance.choices(tuple(_BUSY), (1, 3, 2, 3, 3))[0]
    facts["runs_cadence"] = cadence
    facts["utilization_pct"] = chance.randint(*_BUSY[cadence])
    facts["project_months"] = chance.choice((3, 6, 12, 24, 36))
    facts["gpu_hours_total"] = round(8760 * facts["utilization_pct"] / 100 * facts["project_months"] / 12)
    facts["horizon_years"] = chance.choice((1, 2, 3, 5))
    facts["demand_predictable"] = chance.random() < 0.5
    facts["burst_or_datacenter_need"] = chance.random() < 0.3
    facts["deployment_site"] = chance.choices(("cloud", "workstation", "datacenter", "edge"), (12, 6, 4, 1))[0]
    facts["org_type"] = chance.choice(("student", "individual", "startup", "small_team", "enterprise"))
    facts["lifecycle_stage"] = chance.choice(("prototype", "development", "training", "production"))
    facts["monthly_cloud_spend_usd"] = chance.choice((0, 200, 800, 3000))
    shares = {name: _OBJECTIVE_SHARES.get(name, 1) for name in shipped_objectives()}
    facts["objective"] = chance.choices(tuple(shares), tuple(shares.values()))[0]
    facts["cloud_tested"] = chance.random() < 0.5
    if not profile.serves:
        facts["trains_and_serves"] = chance.random() < 0.1
    if chance.random() < 0.1:
        facts["gpu_candidates"] = sorted(chance.sample(_NAMED_GPUS, 2))
    if chance.random() < 0.05:
        facts["current_gpu"] = chance.choice(_NAMED_GPUS)


class Named(Struct, frozen=True):
    """A workload, what it is called, and where it comes from."""

    name: str
    origin: str  # example, scenario, test, sample
    facts: dict[str, Any]


def example_workloads(folder: Path) -> Iterator[Named]:
    """The workload files of a folder, by name. Files that are none are passed over."""
    for path, facts in _readable(folder):
        if isinstance(facts, dict) and "task" in facts:
            yield Named(path.stem, "example", facts)


def scenario_workloads(folders: Iterable[Path]) -> Iterator[Named]:
    """The scenarios beside the rules of each folder, by id. Files that are none are passed over."""
    for folder in folders:
        for path, entries in _readable(folder / SCENARIOS):
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get("given"), dict) and "task" in entry["given"]:
                    yield Named(str(entry.get("id", path.stem)), "scenario", entry["given"])


def _readable(folder: Path) -> Iterator[tuple[Path, Any]]:
    """The YAML files of a folder that can be read, with what they hold."""
    for path in sorted(folder.glob("*.yaml")):
        with suppress(WhichgpuError):
            yield path, plain(read_yaml(path, error=InputError))


def workloads_in_tests(rules: Iterable[Rule]) -> Iterator[Named]:
    """What the tests inside rules are given, where it says what the job is; equal ones once."""
    seen: set[str] = set()
    for rule in rules:
        for number, test in enumerate(rule.tests, 1):
            facts = {name: value for name, value in test.given.items() if value != "unknown"}
            key = repr(sorted(facts.items()))
            if "task" in facts and key not in seen:
                seen.add(key)
                yield Named(f"{rule.id}, test {number}", "test", facts)
