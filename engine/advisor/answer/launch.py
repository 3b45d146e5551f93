"""The command that starts the chosen plan: the serving engine with its split, or torchrun with its processes."""

from __future__ import annotations

import math
import shlex
from functools import cache
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.catalogue import ModelSpec, profile_of
from whichgpu.engine.core import Facts, FrozenModel, read_constants
from whichgpu.engine.plans import Plan
from whichgpu.engine.sizing import reserve_of


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import plan_types


class Program(FrozenModel):
    """A program that runs plans, and the options that its documentation of one version names."""

    version: str
    options: tuple[str, ...]
    source: str


class LaunchFile(FrozenModel):
    """Everything in ``knowledge/launch.yaml``."""

    programs: dict[str, Program]


@cache
def launch_file() -> LaunchFile:
    """The programs. Raises KnowledgeError."""
    return read_constants(LaunchFile, "launch.yaml")


#: The options that engines get where weights in 16 bits, as published, are to be served.
_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
#: Some of a card is the driver's.
_MOST_OF_A_CARD = 0.98
_SERVED = frozenset({"llm", "multimodal"})
_MODEL = "MODEL"  # stands for weights that the catalogue cannot name


def launch_of(outcome: Outcome) -> plan_types.Launch | None:
    """How to start the chosen plan; None where no program is described that would run it."""
    if outcome.chosen is None:
        return None
    plan, facts = outcome.chosen.ranked.plan, outcome.final.facts
    if profile_of(str(facts["task"])).trains:
        started_by_torch = facts.get("framework", "pytorch") == "pytorch" and plan.gpu.sw_stack != "xla"
        return _training(plan) if started_by_torch else None
    if outcome.model is None or outcome.model.kind not in _SERVED or plan.gpu.sw_stack not in {"cuda", "rocm", "metal"}:
        return None
    return _serving(plan, facts, outcome.model)


def _serving(plan: Plan, facts: Facts, model: ModelSpec) -> plan_types.Launch | None:
    precision = plan.precision or ""
    engine = str(facts.get("serving_engine", ""))
    if not engine:
        engine = "llama.cpp" if plan.gpu.sw_stack == "metal" or precision.startswith(("q", "iq")) else "vllm"
    make = {"vllm": _vllm, "sglang": _sglang, "llama.cpp": _llama_cpp}.get(engine)
    if make is None:
        return None
    weights, missing = _weights(model, precision, engine)
    command = make(plan, facts, weights, precision)
    says = [missing] if missing else []
    if plan.layout.data > 1:
        each = plan.layout.tensor * plan.layout.pipeline
        gpus = "each GPU" if each == 1 else f"each group of {each} GPUs"
        says.append(f"start one on {gpus}, {plan.layout.data} in all, behind a load balancer")
    if plan.partition is not None:
        says.append(f"start one in each slice {plan.partition.profile}")
    return _launch(engine, command, says)


def _training(plan: Plan) -> plan_types.Launch:
    per_node = math.ceil(plan.count / plan.nodes)
    options = ["--standalone"]
    if plan.nodes > 1:
        options = ["--nnodes", str(plan.nodes), "--rdzv_id", "JOB", "--rdzv_backend", "c10d"]
        options += ["--rdzv_endpoint", "FIRST_NODE:29400"]
    layout = plan.layout
    degrees = [
        f"{name} {degree}"
        for name, degree in (("tensor", layout.tensor), ("pipeline", layout.pipeline), ("data", layout.data))
        if degree > 1
    ]
    says = [f"train.py stands for your program, which must split the job as the plan does: {', '.join(degrees)}"]
    if not degrees:
        says = ["train.py stands for your program"]
    elif layout.sharding != "none":
        says[0] += f", with {layout.sharding.upper().replace('ZERO', 'ZeRO-')} over the data ranks"
    if plan.nodes > 1:
        says.append("run it on every node")
    return _launch("torchrun", ["torchrun", *options, "--nproc_per_node", str(per_node), "train.py"], says)


def _vllm(plan: Plan, facts: Facts, weights: str, precision: str) -> list[str]:
    command = ["vllm", "serve", weights, *_common(facts, precision)]
    command += _degree("--tensor-parallel-size", plan.layout.tensor)
    command += _degree("--pipeline-parallel-size", plan.layout.pipeline)
    command += _number("--max-model-len", facts.get("context_tokens"))
    return [*command, *_share_of_the_card(plan, facts), *_number("--max-num-seqs", _each_holds(plan, facts))]


def _share_of_the_card(plan: Plan, facts: Facts) -> list[str]:
    """The share of each GPU that vLLM is to take, where it needs more than it takes by default."""
    needed, usable = plan.facts.get("plan.per_gpu_gb"), plan.facts.get("plan.available_per_gpu_gb")
    if not isinstance(needed, int | float) or not isinstance(usable, int | float):
        return []
    version = facts.get("serving_engine_version")
    default = reserve_of("vllm", version if isinstance(version, str) else None).card_share
    share = min(math.ceil(100 * needed / usable) / 100, _MOST_OF_A_CARD)
    return ["--gpu-memory-utilization", f"{share:.2f}"] if share > default else []


def _sglang(plan: Plan, facts: Facts, weights: str, precision: str) -> list[str]:
    command = ["python", "-m", "sglang.launch_server", "--model-path", weights, *_common(facts, precision)]
    command += _degree("--tp", plan.layout.tensor) + _degree("--pp-size", plan.layout.pipeline)
    command += _number("--context-length", facts.get("context_tokens"))
    return command + _number("--max-running-requests", _each_holds(plan, facts))


def _llama_cpp(plan: Plan, facts: Facts, weights: str, _precision: str) -> list[str]:
    command = ["llama-server", "--model", f"{weights}.gguf", "--gpu-layers", "all"]
    slots = _each_holds(plan, facts) or 1
    context = facts.get("context_tokens")
    if isinstance(context, int):
        command += ["--ctx-size", str(context * slots)]  # It is divided among the slots.
    cache = str(facts.get("kv_cache_precision", ""))
    if cache in {"q8_0", "int8"}:
        command += ["--cache-type-k", "q8_0", "--cache-type-v", "q8_0"]
    return command + _degree("--parallel", slots)


def _common(facts: Facts, precision: str) -> list[str]:
    """What vLLM and SGLang call alike."""
    options = ["--dtype", _DTYPES[precision]] if precision in _DTYPES else []
    if precision == "fp8":
        options += ["--quantization", "fp8"]
    return options + (["--kv-cache-dtype", "fp8"] if facts.get("kv_cache_precision") == "fp8" else [])


def _weights(model: ModelSpec, precision: str, engine: str) -> tuple[str, str | None]:
    """The repository of the weights; a word that stands for one, and its meaning, where none holds this format."""
    published = next((name for name in model.aliases if "/" in name and ":" not in name), None)
    as_published = precision in {*_DTYPES, "fp8", model.native_precision} and engine != "llama.cpp"
    if published is not None and as_published:
        return published, None
    return _MODEL, f"{_MODEL} stands for weights of {model.name} in {precision}"


def _each_holds(plan: Plan, facts: Facts) -> int | None:
    """Requests that a replica is to hold at a time, where that was stated."""
    concurrency = facts.get("concurrency")
    return math.ceil(concurrency / plan.layout.data) if isinstance(concurrency, int) else None


def _degree(option: str, value: int) -> list[str]:
    return [option, str(value)] if value > 1 else []


def _number(option: str, value: object) -> list[str]:
    return [option, str(value)] if isinstance(value, int) else []


def _launch(program: str, command: list[str], says: list[str]) -> plan_types.Launch:
    return {
        "program": program,
        "version": launch_file().programs[program].version,
        "command": shlex.join(command),
        "says": says,
    }
