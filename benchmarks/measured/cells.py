"""What is run on a GPU: cells of model x technique, each as people run it, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


#: Tokens that every answer of a language model has.
NEW_TOKENS = 32


@dataclass(frozen=True)
class Cell:
    """One run: a kind (a function of ``language.py`` or ``pictures.py``), a model and how it is run."""

    kind: str  # generate, train, classify, translate, transcribe, embed, network, detect, generator, adapter, component
    model: str  # id in the catalogue
    how: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """What tells the cell from all others."""
        how = "-".join(f"{name}={value}" for name, value in sorted(self.how.items()))
        return "-".join(part for part in ("own", self.kind, self.model, how) if part).replace("_", "")

    @property
    def needs(self) -> str:
        """A library that most cells do without."""
        if self.how.get("zero"):
            return "deepspeed"
        few = {self.how.get("method"), self.how.get("optimizer"), self.how.get("weights")}
        return "bitsandbytes" if few & {"qlora", "8bit", "paged", "nf4", "int8"} else ""


def train(model: str, method: str, seq: int, batch: int, **how: Any) -> Cell:
    """A causal language model under a trainer; weights are in 16 bits unless ``weights`` says otherwise."""
    return Cell("train", model, {"method": method, "seq": seq, "batch": batch, **how})


def generate(model: str, batch: int, prompt: int, **how: Any) -> Cell:
    """``model.generate`` of transformers in 16 bits."""
    return Cell("generate", model, {"batch": batch, "prompt": prompt, **how})


#: Parts of generators, each alone, and how many pictures, clips or prompts at once.
_PARTS = {
    "decoder-4": (1, 4),
    "decoder-16": (1, 4),
    "t5-xxl": (1, 4),
    "clip-bigg": (1,),
    "decoder-wan": (1,),
    "decoder-ltx": (1,),
    "decoder-cogvideox": (1,),
}


def every_cell() -> Iterator[Cell]:
    """In the order of running: kinds alternate, so that a run that is cut short has some of each."""
    columns = [list(cells) for cells in (_adapters(), _generation(), _full(), _pictures(), _others(), _components())]
    for place in range(max(map(len, columns))):
        yield from (column[place] for column in columns if place < len(column))


def _adapters() -> Iterator[Cell]:
    yield train("llama-3.1-8b", "lora", 2048, 2, checkpointing=True, rank=16, targets="all-linear")
    yield train("qwen2.5-7b", "qlora", 1024, 4, checkpointing=True, rank=16, targets="all-linear", optimizer="paged")
    yield train("qwen3-4b", "lora", 1024, 4, checkpointing=False, rank=8, targets="qv")
    yield train("qwen3-0.6b", "lora", 512, 16, checkpointing=False, rank=16, targets="all-linear", trainer="trl")
    yield train("phi-4", "qlora", 2048, 1, checkpointing=True, rank=64, targets="all-linear", optimizer="paged")
    yield train("mistral-7b-v0.3", "lora", 8192, 1, checkpointing=True, rank=32, targets="all-linear", trainer="trl")
    yield train("llama-3.2-1b", "lora", 4096, 2, checkpointing=False, rank=8, targets="all-linear")
    yield train("qwen3-14b", "lora", 1024, 2, checkpointing=True, rank=16, targets="all-linear")
    yield train("gemma-2-9b", "lora", 1024, 1, checkpointing=True, rank=16, targets="all-linear")
    yield train("qwen2.5-32b", "qlora", 512, 2, checkpointing=True, rank=16, targets="all-linear", optimizer="paged")
    yield train("falcon-7b", "qlora", 512, 4, checkpointing=True, rank=64, targets="qkv", optimizer="paged")
    yield train("llama-3.1-8b", "lora", 512, 1, checkpointing=False, rank=8, targets="qv")
    yield train("smollm2-1.7b", "qlora", 2048, 4, checkpointing=False, rank=16, targets="all-linear")
    yield train("qwen2.5-0.5b", "lora", 2048, 16, checkpointing=True, rank=16, targets="all-linear", trainer="trl")
    yield train("qwen2.5-14b", "lora", 4096, 8, checkpointing=False, rank=16, targets="all-linear")  # too much


def _generation() -> Iterator[Cell]:
    yield generate("llama-3.1-8b", 1, 2048)
    yield generate("qwen3-4b", 16, 1024)
    yield generate("phi-4", 4, 4096)
    yield generate("gemma-2-9b", 2, 2048)
    yield generate("qwen3-30b-a3b", 1, 1024)
    yield generate("qwen2.5-7b", 1, 30000)
    yield generate("mistral-7b-v0.3", 32, 512)
    yield generate("llama-3.2-1b", 64, 1024)
    yield generate("opt-2.7b", 8, 1024)
    yield generate("qwen2.5-7b", 4, 1024, weights="nf4")
    yield generate("gpt2-xl", 8, 512)
    yield generate("llama-2-13b", 4, 2048)
    yield generate("llama-3.1-8b", 4, 2048, weights="int8")
    yield generate("falcon-7b", 8, 1024)
    yield generate("qwen2.5-32b", 64, 8192)  # too much


def _full() -> Iterator[Cell]:
    yield train("llama-3.2-1b", "full", 2048, 4, checkpointing=True)
    yield train("qwen3-0.6b", "full", 1024, 8, checkpointing=False, weights="fp32")
    yield train("qwen2.5-1.5b", "full", 2048, 2, checkpointing=False)
    yield train("qwen3-4b", "full", 1024, 2, checkpointing=True, optimizer="8bit")
    yield train("llama-3.2-3b", "full", 1024, 2, checkpointing=True, weights="fp32")
    yield train("qwen2.5-0.5b", "full", 4096, 2, checkpointing=False, trainer="trl")
    yield train("gpt2-xl", "full", 1024, 4, checkpointing=False)
    yield train("qwen2.5-7b", "full", 1024, 1, checkpointing=True)
    yield train("smollm2-1.7b", "full", 8192, 1, checkpointing=True, optimizer="adafactor")
    yield train("llama-3.1-8b", "full", 2048, 1, checkpointing=True, weights="fp32")  # too much
    yield train("pythia-1.4b", "full", 2048, 2, checkpointing=False)
    yield train("qwen3-1.7b", "full", 512, 8, checkpointing=False, optimizer="sgd")
    yield train("llama-3.2-3b", "full", 8192, 4, checkpointing=False)  # too much


def _pictures() -> Iterator[Cell]:
    yield Cell("generator", "sdxl-base-1.0", {"px": 1024, "steps": 30, "batch": 1})
    yield Cell("network", "vit_large_patch16_224", {"batch": 64, "px": 224, "precision": "mixed"})
    yield Cell("generator", "flux.1-schnell", {"px": 1024, "steps": 4, "batch": 1})
    yield Cell("network", "resnet50", {"batch": 256, "px": 224, "precision": "mixed"})
    yield Cell("generator", "stable-diffusion-1.5", {"px": 512, "steps": 50, "batch": 4})
    yield Cell("adapter", "sdxl-base-1.0", {"px": 1024, "batch": 1, "checkpointing": True})
    yield Cell("network", "convnext_large", {"batch": 64, "px": 224, "precision": "mixed"})
    yield Cell("generator", "wan2.1-1.3b", {"px": 832, "short_px": 480, "frames": 81, "steps": 2, "batch": 1})
    yield Cell("detect", "fasterrcnn_resnet50_fpn", {"batch": 4, "px": 1333, "short_px": 800})
    yield Cell("generator", "sd3-medium", {"px": 1024, "steps": 28, "batch": 1})
    yield Cell("network", "swin_base_patch4_window7_224", {"batch": 128, "px": 224, "precision": "fp32"})
    yield Cell("generator", "sdxl-turbo", {"px": 512, "steps": 1, "batch": 1})
    yield Cell("adapter", "flux.1-dev", {"px": 512, "batch": 1, "checkpointing": True})
    yield Cell("network", "efficientnet_b4", {"batch": 64, "px": 380, "precision": "mixed"})


def _others() -> Iterator[Cell]:
    yield Cell("classify", "bert-large", {"batch": 32, "seq": 512, "weights": "fp32", "autocast": True})
    yield train("llama-3.2-3b", "full", 512, 2, checkpointing=True, zero=3)
    yield Cell("transcribe", "whisper-large", {"batch": 8})
    yield Cell("embed", "bge-large-en-v1.5", {"batch": 64, "seq": 512})
    yield Cell("translate", "flan-t5-xl", {"batch": 4, "seq": 512, "target": 128, "checkpointing": True})
    yield Cell("translate", "flan-t5-xl", {"batch": 2, "seq": 256, "target": 64, "checkpointing": False, "zero": 3})
    yield train("llama-3.2-3b", "full", 1560, 1, checkpointing=True, zero=3, buckets="default")
    yield train("llama-3.2-3b", "lora", 1560, 1, checkpointing=True, rank=8, targets="qv", zero=3, buckets="default")
    yield train("llama-3.2-1b", "full", 1024, 2, checkpointing=True, zero=2)
    yield Cell("classify", "roberta-base", {"batch": 32, "seq": 256, "weights": "fp32", "autocast": False})
    yield Cell("classify", "modernbert-base", {"batch": 32, "seq": 1024, "weights": "fp32", "autocast": True})
    yield Cell("embed", "qwen3-embedding-4b", {"batch": 16, "seq": 1024})


def _components() -> Iterator[Cell]:
    for part, batches in _PARTS.items():
        for batch in batches:
            yield Cell("component", part, {"batch": batch})
    yield Cell("component", "decoder-4", {"batch": 1, "weights": "fp32"})
