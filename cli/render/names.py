"""What a reader calls GPUs, links, sources and providers. Without knowledge at hand, the id in fair form."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


_UPPER = {
    "gpu",
    "rtx",
    "gtx",
    "gh200",
    "sxm",
    "pcie",
    "nvl",
    "oam",
    "hgx",
    "dgx",
    "tpu",
    "ipu",
    "cpu",
    "amd",
    "aws",
    "rx",
}
_VENDORS = {"nvidia": "NVIDIA", "amd": "AMD", "google": "Google", "intel": "Intel", "aws": "AWS", "apple": "Apple"}

LINKS = {
    "none": "no link needed",
    "pcie": "PCIe",
    "nvlink-bridge": "an NVLink bridge",
    "nvlink": "NVLink",
    "xgmi-bridge": "an Infinity Fabric bridge",
    "xgmi": "Infinity Fabric",
    "ici": "the TPU interconnect (ICI)",
    "neuronlink": "NeuronLink",
    "roce": "RoCE",
    "ethernet": "Ethernet",
    "infiniband": "InfiniBand",
}

PROVIDER_CLASSES = {
    "hyperscaler": "a hyperscaler",
    "neocloud": "a GPU cloud",
    "marketplace": "a marketplace",
    "serverless": "a serverless provider",
    "managed": "a managed provider",
}

SHARDING = {
    "zero1": "optimizer state split across the GPUs (ZeRO-1)",
    "zero2": "optimizer state and gradients split across the GPUs (ZeRO-2)",
    "zero3": "weights, gradients and optimizer state split across the GPUs (ZeRO-3)",
    "fsdp": "weights, gradients and optimizer state split across the GPUs (FSDP)",
}


class Names(Struct, frozen=True):
    """Display names of GPUs, sources and facts by id, the priority of each code, each source as a full citation.

    ``sections`` are cited passages with their headings, by ``source/section``; ``codes`` and ``rules`` what warnings
    and rules say, by code and id. Empty mappings are fine: ids then stand for themselves.
    """

    gpus: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    citations: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    def gpu(self, gpu_id: str) -> str:
        """``nvidia-a100-80gb-sxm`` as NVIDIA A100 80 GB SXM."""
        return self.gpus.get(gpu_id) or fair_form(gpu_id)

    def fact(self, name: str, value: str | None = None) -> str:
        """``ttft_slo_ms`` as ``time to first token target (ttft_slo_ms)``, with its value where one is given."""
        label = self.facts.get(name)
        stated = name if value is None else f"{name}: {value}"
        return f"{label} ({stated})" if label and label != name else stated

    def priority(self, code: str) -> int:
        """Where a warning or an advice stands: 1 comes first, one without a rank comes last."""
        return self.priorities.get(code, 9)

    def source(self, source: str) -> str:
        """``fpt/3.4`` as the title of ``fpt``, with the section and its heading; several, divided by ``;``, each so."""
        if "; " in source:
            return "; ".join(self.source(part) for part in source.split("; "))
        name, _, section = source.partition("/")
        title = self.sources.get(source) or self.sources.get(name)
        if title is None:
            return source
        return title if not section or source in self.sources else f"{title}, {self.sections.get(source, section)}"


def fair_form(gpu_id: str) -> str:
    """A GPU id as words, where the catalogue has no name for it."""
    words = []
    for position, part in enumerate(gpu_id.split("-")):
        if position == 0 and part in _VENDORS:
            words.append(_VENDORS[part])
        elif part in _UPPER or any(character.isdigit() for character in part):
            words.append(part.upper())
        else:
            words.append(part.capitalize())
    return " ".join(words)


def link(name: str | None) -> str:
    """A link in words."""
    return "an unknown link" if name is None else LINKS.get(name, name)


def provider_class(name: str | None) -> str:
    """A class of provider in words."""
    return "a provider" if name is None else PROVIDER_CLASSES.get(name, f"a provider of class {name}")
