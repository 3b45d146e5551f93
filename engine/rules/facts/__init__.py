"""The controlled vocabulary: which facts there are, and how a raw value becomes one."""

from engine.rules.facts.coercion import Reading
from engine.rules.facts.coercion import coerce
from engine.rules.facts.coercion import gpu_and_count
from engine.rules.facts.coercion import read_value
from engine.rules.facts.coercion import yes_or_no
from engine.rules.facts.loading import load_vocabulary
from engine.rules.facts.model import READABLE
from engine.rules.facts.model import RESERVED
from engine.rules.facts.model import Assume
from engine.rules.facts.model import Code
from engine.rules.facts.model import FactDef
from engine.rules.facts.model import Vocabulary
from engine.rules.facts.model import fold


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
