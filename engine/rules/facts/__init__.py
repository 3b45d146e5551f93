"""The controlled vocabulary: which facts there are, and how a raw value becomes one."""

from whichgpu.engine.rules.facts.coercion import Reading
from whichgpu.engine.rules.facts.coercion import coerce
from whichgpu.engine.rules.facts.coercion import gpu_and_count
from whichgpu.engine.rules.facts.coercion import read_value
from whichgpu.engine.rules.facts.coercion import yes_or_no
from whichgpu.engine.rules.facts.loading import load_vocabulary
from whichgpu.engine.rules.facts.model import READABLE
from whichgpu.engine.rules.facts.model import RESERVED
from whichgpu.engine.rules.facts.model import Assume
from whichgpu.engine.rules.facts.model import Code
from whichgpu.engine.rules.facts.model import FactDef
from whichgpu.engine.rules.facts.model import Vocabulary
from whichgpu.engine.rules.facts.model import fold


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
