"""The controlled vocabulary: which facts there are, and how a raw value becomes one."""

from whichgpu.engine.rules.facts.coercion import Reading, coerce, gpu_and_count, read_value, yes_or_no
from whichgpu.engine.rules.facts.loading import load_vocabulary
from whichgpu.engine.rules.facts.model import READABLE, RESERVED, Assume, Code, FactDef, Vocabulary, fold


__all__ = [
    "READABLE",
    "RESERVED",
    "Assume",
    "Code",
    "FactDef",
    "Reading",
    "Vocabulary",
    "coerce",
    "fold",
    "gpu_and_count",
    "load_vocabulary",
    "read_value",
    "yes_or_no",
]
