"""Trace modules and compare with, or write, the tables in ``knowledge/activation_traces.yaml``.

Usage: python benchmarks/lab/run.py [--sample | --shipped | --full] [--write]

Needs ``benchmarks/lab/requirements.txt`` in an environment of its own; neither the tool nor its tests do.
Without --write it prints by how much new traces differ from the tables, and ends with 1 beyond half a percent, or a
tenth where another release of PyTorch made the table.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

import diffusers
import peft
import torch
import transformers
from clips import clip_row
from coders import DECODERS, TEXT_ENCODERS, decoder_row, text_encoder_row
from denoisers import DENOISERS, denoiser_row
from fitting import layer
from grid import SAMPLE, SAMPLE_STEPS, SHIPPED, STEPS, every_cell
from prompts import PROMPTS, prompt_row
from sharded import SHARDED, sharded_row
from tracer import Step
from transformers_traced import step


try:
    import torchvision
    from pictures import NETWORKS, SAMPLE_NETWORKS, Network, network_row
except ImportError:  # There is none for every build of PyTorch: image networks stay as they are written.
    torchvision, NETWORKS, SAMPLE_NETWORKS = None, (), ()


FILE = HERE.parents[1] / "knowledge" / "activation_traces.yaml"
_HEAD = """# Bytes that real modules keep and take in a training step, traced without a GPU by
# `benchmarks/lab/run.py --full --write` (docs/lab.md). No row of a published run had a part in them; tests hold the
# formulas of the engine against them.
# layers: bytes per token that one more layer keeps until the backward pass (kept), by the dimension they grow with, and
#   what one layer works with during it (working); off_pct: how far the sum is from a trace of dimensions that it was
#   not solved on.
# steps: whole steps of a model, GB. networks: bytes per picture.
# prompts: of serving without gradients: bytes a score, bytes a token over those of three widths, and the share of the
#   cache that a step holds twice.
# denoisers: bytes that a token keeps over all layers (of a UNet a pixel; under checkpointing what it takes at most),
#   and how many tokens' worth is kept whatever the picture: words, and under autocast the weights as they were cast.
# decoders: of autoencoders, FLOPs a pixel of a frame (attended: and a pixel that it attends to), and bytes that
#   operators between the products read and write for it; text_encoders: FLOPs a token, and the table of words apart.
# clips: bytes for each pixel of a frame that such a decoder holds at its peak, by latent frames, decoding a clip whole.
# sharded: what FSDP holds beyond its shards at the peak: how often the root (embedding, head) and one unit of
#   layers, by wrapping plan (units: layers wrapped together; reshards: after the forward pass); 16 bits.
"""
#: New traces may differ from the tables by this share; from those of another release of PyTorch by the second.
_SAME, _OTHER_RELEASE = 0.005, 0.1


def main() -> int:
    """Trace, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("sample", "shipped", "full", "write"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    cells = list(every_cell()) if options.full else SHIPPED if options.shipped else SAMPLE
    steps, networks = (SAMPLE_STEPS, SAMPLE_NETWORKS) if cells is SAMPLE else (STEPS, NETWORKS)
    begun = time.process_time()
    # A run that was cut short goes on from what is written.
    found: dict[str, Any] = {part: [] for part in _TRACED_BY}
    if options.write and FILE.exists():
        found |= {part: rows for part, rows in yaml.safe_load(FILE.read_text(encoding="utf-8")).items() if rows}
    found["made_with"] = found.get("made_with") or _versions()
    for network in networks:
        _keep(
            found, "networks", {"network": network.name, **_trained(network)}, options, lambda n=network: network_row(n)
        )
    for denoiser in DENOISERS if options.full else ():
        _keep(found, "denoisers", asdict(denoiser), options, lambda d=denoiser: denoiser_row(d))
    for decoder in DECODERS:
        _keep(found, "decoders", {"decoder": decoder.decoder}, options, lambda d=decoder: decoder_row(d))
    for decoder in (one for one in DECODERS if one.frames > 1):
        _keep(found, "clips", {"decoder": decoder.decoder}, options, lambda d=decoder: clip_row(d))
    for encoder in TEXT_ENCODERS:
        _keep(found, "text_encoders", {"encoder": encoder.encoder}, options, lambda e=encoder: text_encoder_row(e))
    for prompt in PROMPTS:
        _keep(found, "prompts", asdict(prompt), options, lambda p=prompt: prompt_row(p))
    for stack in SHARDED:
        _keep(found, "sharded", asdict(stack), options, lambda s=stack: sharded_row(s))
    for architecture, technique in cells:
        known = {"module": architecture, "technique": technique.named()}
        _keep(found, "layers", known, options, lambda a=architecture, t=technique: asdict(layer(a, t)))
    _trace_steps(found, steps, options)
    print(f"{time.process_time() - begun:.0f} s of CPU")
    return 0 if options.write else _compared(found)


def _trace_steps(found: dict[str, Any], steps: Any, options: argparse.Namespace) -> None:
    for name, architecture, dims, technique in steps:
        known = {"model": name, "seq": dims.seq, "batch": dims.batch, "technique": technique.named()}
        _keep(
            found,
            "steps",
            known,
            options,
            lambda a=architecture, d=dims, t=technique: _gigabytes(step(a, d, d.layers, t)),
        )


def _trained(network: Network) -> dict[str, Any]:
    learns = "nothing" if network.infers else network.learns
    return {"side": network.side, "precision": network.precision, "learns": learns}


def _gigabytes(whole: Step) -> dict[str, float]:
    parts = {"weights_gb": whole.weights, "kept_gb": whole.kept, "peak_gb": whole.peak}
    return {name: round(value / 1e9, 4) for name, value in parts.items()}


def _keep(
    found: dict[str, Any],
    part: str,
    known: dict[str, Any],
    options: argparse.Namespace,
    made: Callable[[], dict[str, Any]],
) -> None:
    """Trace a row that is not there yet, and write it at once."""
    if any(all(row.get(name) == value for name, value in known.items()) for row in found[part]):
        return
    try:
        row = {**known, **made(), "trace": _TRACED_BY[part], **_other_versions(found)}
    except (
        RuntimeError,
        ImportError,
    ) as error:  # What cannot be traced is named, and the others go on.
        print(f"not traced: {known}: {str(error).splitlines()[0][:120]}", flush=True)
        return
    found[part].append(row)
    print(row, flush=True)
    if options.write:
        FILE.write_text(_HEAD + _dumped(found), encoding="utf-8")


#: The module that makes the rows of a part.
_TRACED_BY = {
    "layers": "benchmarks/lab/fitting.py",
    "steps": "benchmarks/lab/transformers_traced.py",
    "networks": "benchmarks/lab/pictures.py",
    "denoisers": "benchmarks/lab/denoisers.py",
    "clips": "benchmarks/lab/clips.py",
    "decoders": "benchmarks/lab/coders.py",
    "text_encoders": "benchmarks/lab/coders.py",
    "sharded": "benchmarks/lab/sharded.py",
    "prompts": "benchmarks/lab/prompts.py",
}


def _versions() -> dict[str, str]:
    modules = (torch, transformers, peft, diffusers, torchvision)
    return {module.__name__: str(module.__version__) for module in modules if module is not None}


def _other_versions(found: dict[str, Any]) -> dict[str, Any]:
    """What a row was made with, where it is not what the table says of all rows."""
    mine = _versions()
    apart = {name: version for name, version in mine.items() if found["made_with"].get(name) != version}
    return {"made_with": apart} if apart else {}


def _dumped(found: dict[str, Any]) -> str:
    lines = [yaml.safe_dump({"made_with": found["made_with"]}, sort_keys=False)]
    for name in _TRACED_BY:
        rows = "".join(
            f"  - {yaml.safe_dump(row, default_flow_style=True, sort_keys=False, width=10**6)}" for row in found[name]
        )
        lines.append(f"{name}:\n{rows}")
    return "\n".join(lines)


def _compared(found: dict[str, Any]) -> int:
    held = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    worst, failed = 0.0, False
    for part, key in (
        ("layers", "kept"),
        ("steps", "peak_gb"),
        ("networks", "kept"),
        ("denoisers", "kept"),
        ("decoders", "flops"),
        ("text_encoders", "flops"),
        ("sharded", "layer"),
        ("prompts", "score"),
    ):
        for row in found[part]:
            mine = [old for old in held.get(part) or () if all(old.get(k) == row.get(k) for k in _NAMES if k in row)]
            apart = _apart(mine[0][key], row[key]) if mine else 0.0
            if apart > _SAME:
                made = _release(mine[0].get("made_with", {}).get("torch") or held["made_with"]["torch"])
                print(f"{100 * apart:.1f} % from the table, made with PyTorch {made}: {mine[0][key]}, now {row}")
                failed |= apart > (_SAME if made == _release(torch.__version__) else _OTHER_RELEASE)
            worst = max(worst, apart)
    print(f"differ from {FILE.name} by at most {100 * worst:.2f} %")
    return int(failed)


def _release(version: str) -> str:
    return ".".join(str(version).split(".")[:2])


#: What a row is known by.
_NAMES = (
    *("module", "technique", "model", "seq", "batch", "network", "precision", "learns", "hidden", "layers", "ranks"),
    *("architecture", "attention", "units", "reshards", "denoiser", "checkpointing"),
    *("decoder", "encoder"),
)


def _apart(old: Any, new: Any) -> float:
    if isinstance(old, dict):
        total = sum(abs(value) for value in old.values()) or 1.0
        return sum(abs(old.get(name, 0.0) - new.get(name, 0.0)) for name in {*old, *new}) / total
    return abs(new / old - 1) if old else abs(new)


if __name__ == "__main__":
    sys.exit(main())
