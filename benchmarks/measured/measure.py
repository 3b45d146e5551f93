"""Run the grid on the GPU of this machine and write what each cell took, one JSON object a line.

Usage: python benchmarks/measured/measure.py OUT.jsonl [--seconds N] [--only TEXT] [--skip OTHER.jsonl] [--layers N]
           [--needs bitsandbytes | deepspeed]

Needs requirements.txt in an environment of its own; the tool and its tests do not. Each cell runs in a process of its
own, made before anything of CUDA is touched, so that no run leaves memory to the next; where bitsandbytes is installed
that cannot be (it touches CUDA when it is imported), and cells run one after the other in one process. ``--layers 1``
tries the cells with small models, without a GPU too.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import platform
import signal
import sys
import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any


sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # Asking whether there is a GPU must not begin to use it.
# One rank, as torchrun starts it: DeepSpeed asks for it. Trainers then wrap a model for several ranks.
_RANK = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29577"}

import diffusers
import generators
import language
import peft
import pictures
import torch
import transformers
import trl
from cells import Cell, every_cell


for late in ("timm", "torchvision"):  # Once, before the processes part.
    try:
        importlib.import_module(late)
    except Exception as error:  # noqa: BLE001  (the cells that need it say so)
        print(f"{late}: {error!r:.200}")
# Modules that come when they are asked for come before the processes part.
_ = transformers.Trainer, trl.SFTTrainer, diffusers.FluxPipeline, diffusers.StableDiffusionXLPipeline
_KINDS = {
    "generate": language.generate,
    "train": language.train,
    "classify": language.classify,
    "translate": language.translate,
    "transcribe": language.transcribe,
    "embed": language.embed,
    "network": pictures.network,
    "detect": pictures.detect,
    "generator": generators.generator,
    "adapter": generators.adapter,
    "component": generators.component,
}
#: A cell that takes longer is stopped.
_PATIENCE_S = 60
_GB = 1e9


def main() -> int:
    """Run what is asked for, in order, until the time is over."""
    asked = _arguments()
    begun = time.monotonic()
    done = _done(asked.skip) | _done(asked.out)
    meant = [cell for cell in every_cell() if cell.needs == asked.needs and asked.only in cell.id]
    cells = [cell for cell in meant if cell.id not in done]
    taken = _here if torch.cuda.is_initialized() else _apart
    for at, cell in enumerate(cells):
        left = asked.seconds - (time.monotonic() - begun)
        if left <= 0:
            print(f"{len(cells) - at} cells were not run: the time is over")
            return 1
        before = time.monotonic()
        how = cell.how if asked.layers is None else _small(cell.how)
        tried = replace(cell, how=how)
        found = taken(tried, asked.layers, min(_PATIENCE_S, left))
        line = {"id": cell.id, "kind": cell.kind, "model": cell.model, "how": how, **found}
        with asked.out.open("a") as out:
            print(json.dumps(line), file=out)
        kept = {name: value for name, value in found.items() if name not in {"machine", "error"}}
        print(f"{time.monotonic() - before:5.1f} s  {cell.id}  {kept} {str(found.get('error', ''))[-300:]}", flush=True)
    return 0


def _small(how: dict[str, Any]) -> dict[str, Any]:
    """The same run of as little as goes, to see that it runs."""
    least = {"batch": 2, "seq": 64, "prompt": 64, "target": 16, "px": 64, "short_px": 64, "frames": 5, "steps": 4}
    return {name: min(value, least[name]) if name in least else value for name, value in how.items()}


def _arguments() -> argparse.Namespace:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("out", type=Path)
    asked.add_argument("--seconds", type=float, default=7200)
    asked.add_argument("--only", default="")
    asked.add_argument("--skip", type=Path, default=None)
    asked.add_argument("--layers", type=int, default=None)
    asked.add_argument("--needs", default="", choices=["", "bitsandbytes", "deepspeed"], help="cells that need it")
    return asked.parse_args()


def _done(path: Path | None) -> set[str]:
    if path is None or not path.exists():
        return set()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["id"] for line in lines if "error" not in line}


def _apart(cell: Cell, layers: int | None, seconds: float) -> dict[str, Any]:
    """What a cell took, from a process of its own that parts from this one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        signal.alarm(int(seconds) + 1)
        with os.fdopen(writing, "w") as out:
            json.dump(_measured(cell, layers), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as written:
        text = written.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"error": f"stopped, or no answer within {seconds:.0f} s"}


def _here(cell: Cell, layers: int | None, seconds: float) -> dict[str, Any]:
    """What a cell took in this process, where a library has begun to use the GPU and processes cannot part any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    left = _peak("memory_allocated")
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(int(seconds) + 1)
    try:
        return {"left_gb": left, **_measured(cell, layers)}
    finally:
        signal.alarm(0)


def _late(*_: Any) -> None:
    raise TimeoutError("no answer in time")


def _measured(cell: Cell, layers: int | None) -> dict[str, Any]:
    on_gpu = torch.cuda.is_available()
    try:
        torch.manual_seed(7)
        if cell.needs == "deepspeed":
            os.environ.update(_RANK)
        run = _KINDS[cell.kind](cell.model, cell.how, layers)
        if on_gpu:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        found: dict[str, Any] = {"built_gb": _peak("memory_allocated"), **run()}
    except torch.OutOfMemoryError as error:
        return {"out_of_memory": True, "says": str(error)[:300], **_figures(), "machine": _machine()}
    except Exception:  # noqa: BLE001  (whatever it is stands in the answer)
        return {"error": traceback.format_exc()[-1500:]}
    return found | _figures() | {"machine": _machine()}


def _figures() -> dict[str, float]:
    """Peaks of the allocator, and what the device has handed out to everybody, in GB."""
    if not torch.cuda.is_available():
        return {}
    free, total = torch.cuda.mem_get_info()
    peaks = {"allocated_gb": "max_memory_allocated", "reserved_gb": "max_memory_reserved"}
    found = {name: _peak(of) for name, of in peaks.items()}
    # Between the context and the peak of what was reserved lies what was given back; the driver keeps the rest.
    outside = (total - free) / _GB - _peak("memory_reserved")
    return found | {"outside_gb": round(outside, 4)}


def _peak(name: str) -> float:
    return round(getattr(torch.cuda, name)() / _GB, 4) if torch.cuda.is_available() else 0.0


def _machine() -> dict[str, str]:
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    modules = {"torch": torch, "transformers": transformers, "peft": peft, "diffusers": diffusers}
    versions = {called: module.__version__ for called, module in modules.items()}
    return {"gpu": name, "python": platform.python_version(), **versions}


if __name__ == "__main__":
    sys.exit(main())
