"""Exploration: a closed-form model of serving under load with named constants, the candidate of PROPOSAL.md.

One replica with ``B`` requests in flight. Time per token is the engine's step and its share of the prompts that are
let in meanwhile; time to first token is the prompt's own prefill, a step, the queue of prompts before it and, beyond
what memory holds, the wait for a place. Everything in seconds, as columns over points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from load.features import Features


Floats = NDArray[np.float64]

#: Constants by name: today's value (1 where today's formula has no such thing, next to nothing where it adds a time),
#: how far a fit may be pulled away (one standard deviation, in log units), and a value set by hand *after* looking at
#: all points, which therefore proves nothing.
CONSTANTS: dict[str, tuple[float, float, float]] = {
    "bandwidth": (1.0, 0.15, 1.0),  # on the engine's share of the peak
    "expert_bandwidth": (1.0, 0.5, 0.7),  # of that, that routed experts' weights are read with
    "layer_us": (20.0, 0.7, 35.0),
    "layer:unversioned": (2.0, 0.5, 2.0),
    "layer:sglang": (1.75, 0.5, 1.0),
    "layer:tensorrt-llm": (1.0, 0.5, 0.7),
    "layer:other": (3.0, 0.7, 2.0),
    "layer:ampere": (1.0, 0.5, 1.0),
    "layer:ada": (1.0, 0.5, 1.0),
    "layer:blackwell": (1.0, 0.5, 1.0),
    "layer:cdna_3": (1.0, 0.5, 1.5),
    "layer:tpu": (0.5, 0.7, 0.5),  # a compiled program; the host starts no kernels
    "moe_layer_us": (40.0, 0.7, 40.0),
    "step_us": (126.0, 0.7, 300.0),
    "sequence_us": (3.0, 1.5, 20.0),
    "exchange": (1.0, 0.7, 1.0),  # on the time of an all-reduce
    "exchange_pcie": (1.0, 0.7, 1.5),
    "decode_share": (0.4, 0.5, 0.4),
    "eager_us": (250.0, 0.7, 150.0),  # a layer of a prompt's pass, which replays no captured graph
    "eager_moe_us": (500.0, 1.0, 1500.0),
    "eager:sglang": (1.0, 0.7, 2.0),
    "eager:tensorrt-llm": (1.0, 0.7, 0.7),
    "prefill_share": (0.5, 0.4, 0.5),
    "prefill_moe": (1.0, 0.7, 0.6),
    "prefill:sglang": (1.0, 0.4, 1.0),
    "prefill:tensorrt-llm": (1.0, 0.4, 1.0),
    "prefill:int4": (1.0, 0.4, 0.8),
    "interference": (1.0, 0.3, 1.0),
    "first_ms": (15.0, 0.7, 15.0),
    "first:sglang": (1.0, 0.7, 2.0),
    "first:tensorrt-llm": (1.0, 0.7, 2.0),
    "first_batch_ms": (0.1, 1.5, 1.0),  # a request in flight
    "clumping": (0.1, 1.0, 0.2),  # of the requests in flight, that arrive together
    "tail": (0.5, 1.0, 1.2),
}
NAMES = tuple(CONSTANTS)
TODAY, SPREAD, HAND_SET = (np.array(column) for column in zip(*CONSTANTS.values(), strict=True))
START, SEEN = np.log(TODAY), np.log(HAND_SET)
#: Sequences that a replica takes at a time, where memory allows; InferenceX and recent engines take more than 256.
MOST = 1024.0


def columns_of(features: Sequence[Features], arrivals: Mapping[str, float] | None = None) -> dict[str, Any]:
    """What the formulas read, one entry a point.

    Args:
        features: of the points.
        arrivals: for each family the share of the requests in flight that a request arrives together with; where it is
            not given the constant ``clumping`` stands for it.
    """

    def number(read: Any) -> Floats:
        return np.array([float(np.asarray(read(f)).reshape(-1)[0]) for f in features])

    def flag(read: Any) -> Floats:
        return np.array([bool(read(f)) for f in features], np.float64)

    def engine(f: Features) -> str:
        if f.job.engine == "vllm":
            return "vllm" if f.job.engine_version else "unversioned"
        return f.job.engine if f.job.engine in {"sglang", "tensorrt-llm"} else "other"

    wire = {"link_gbs": lambda f: min(1e6, float(np.asarray(f.link.gbs).reshape(-1)[0]))}
    return {
        "shared": number(lambda f: f.load.shared_bytes),
        "experts": number(lambda f: f.load.expert_bytes),
        "expert_share": number(lambda f: f.load.expert_share),
        "cache": number(lambda f: f.load.cache_bytes),
        "token_flops": number(lambda f: f.load.token_flops),
        "prefill_flops": number(lambda f: f.load.prefill_flops),
        "payload": number(lambda f: f.load.exchange_bytes),
        "layers": number(lambda f: f.load.layers),
        "bandwidth": number(lambda f: f.rates.bandwidth),
        "flops": number(lambda f: f.peak_flops * f.matmul_share),
        "tensor": number(lambda f: f.layout.tensor),
        "data": number(lambda f: f.layout.data),
        "link_gbs": number(wire["link_gbs"]),
        "latency": number(lambda f: f.link.latency_s),
        "batch": number(lambda f: f.batch),
        "room": number(lambda f: f.room if f.room >= 1 else MOST),
        "input": number(lambda f: f.job.input_tokens),
        "output": number(lambda f: f.job.output_tokens),
        "together": np.array([np.nan if arrivals is None else arrivals[f.point.family] for f in features]),
        "pcie": flag(lambda f: f.point.row["gpu_family"] in {"RTX 3090", "L40S"}),
        "moe": flag(lambda f: f.load.expert_bytes > 0),
        "int4": flag(lambda f: "int4" in (f.point.precision or "")),
        **{f"engine:{name}": flag(lambda f, name=name: engine(f) == name) for name in ENGINES},
        **{f"arch:{name}": flag(lambda f, name=name: f.architecture.startswith(name)) for name in ARCHITECTURES},
    }


ENGINES = ("unversioned", "sglang", "tensorrt-llm", "other")
ARCHITECTURES = ("ampere", "ada", "blackwell", "cdna_3", "tpu")


def predict(logs: Floats, c: Mapping[str, Any]) -> dict[str, Floats]:
    """The figures under constants given as logarithms in the order of ``NAMES``."""
    k = dict(zip(NAMES, np.exp(logs), strict=True))

    def by(prefix: str, kind: str, names: tuple[str, ...]) -> Any:
        return np.prod(
            [np.where(c[f"{kind}:{name}"] > 0, k.get(f"{prefix}:{name}", 1.0), 1.0) for name in names], axis=0
        )

    # Sequences are half-way through their answers on average, so more are held than would fit if all were complete.
    room = c["room"] * (c["input"] + c["output"]) / (c["input"] + c["output"] / 2.0)
    held = np.minimum(c["batch"], np.minimum(room, MOST))
    per_layer = k["layer_us"] * by("layer", "engine", ENGINES) * by("layer", "arch", ARCHITECTURES) * 1e-6
    step = _step(k, c, held, per_layer)
    eager = np.where(c["moe"] > 0, k["eager_moe_us"], k["eager_us"]) * by("eager", "engine", ENGINES) * 1e-6
    fill = _fill(k, c, by("prefill", "engine", ENGINES))
    alone = (fill**4 + (c["layers"] * eager) ** 4) ** 0.25
    token = step + k["interference"] * np.maximum(0.0, held - 1.0) * fill / c["output"]
    # The share of time that prefill takes, and the prompts that a new one finds before it: those of a steady stream of
    # even pieces (half of an M/D/1 wait of the closed loop), and those that came together with it.
    busy = held * fill / (fill + c["output"] * step + (held - 1.0) * fill)
    steady = np.minimum((held - 1.0) / 2.0, busy / (2.0 * (1.0 - np.minimum(busy, 0.98))))
    clump = np.where(np.isnan(c["together"]), k["clumping"] * busy, c["together"]) * (held - 1.0)
    own = k["first_ms"] * by("first", "engine", ENGINES) * 1e-3 + k["first_batch_ms"] * 1e-3 * held
    first = own + step + alone + fill * (steady + clump)
    service = first + (c["output"] - 1.0) * token
    over = np.maximum(0.0, c["batch"] - held) / held * service
    tail = k["tail"] * (held - 1.0) * busy * fill
    return {
        "tokens_per_s": c["data"] * held * c["output"] / service,
        "ttft_ms": 1e3 * (first + over),
        "tpot_ms": 1e3 * token,
        "ttft_p95_ms": 1e3 * (first + over + tail),
    }


def _step(k: Mapping[str, Any], c: Mapping[str, Any], held: Floats, per_layer: Any) -> Floats:
    hit = 1.0 - (1.0 - c["expert_share"]) ** held
    bandwidth = c["bandwidth"] * k["bandwidth"]
    memory = (c["shared"] + c["cache"] * held + c["experts"] * hit / k["expert_bandwidth"]) / bandwidth
    arithmetic = c["token_flops"] * held / (c["flops"] * k["decode_share"])
    busy = (memory**4 + arithmetic**4) ** 0.25
    layers = c["layers"] * (per_layer + c["moe"] * k["moe_layer_us"] * 1e-6)
    found: Floats = busy + layers + (k["step_us"] + k["sequence_us"] * held) * 1e-6 + _exchange(k, c, held)
    return found


def _exchange(k: Mapping[str, Any], c: Mapping[str, Any], tokens: Any) -> Any:
    ring = 2.0 * (c["tensor"] - 1.0) / c["tensor"] * c["payload"] * tokens / (c["link_gbs"] * 1e9)
    scale = k["exchange"] * np.where(c["pcie"] > 0, k["exchange_pcie"], 1.0)
    return np.where(c["tensor"] > 1, 2.0 * c["layers"] * (c["latency"] + ring) * scale, 0.0)


def _fill(k: Mapping[str, Any], c: Mapping[str, Any], engines: Any) -> Any:
    share = k["prefill_share"] * engines * np.where(c["moe"] > 0, k["prefill_moe"], 1.0)
    share = share * np.where(c["int4"] > 0, k["prefill:int4"], 1.0)
    arithmetic = c["prefill_flops"] / (c["flops"] * share)
    memory = (c["shared"] + c["experts"]) / (c["bandwidth"] * k["bandwidth"])
    return (arithmetic**4 + memory**4) ** 0.25 + _exchange(k, c, c["input"])
