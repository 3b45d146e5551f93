"""The controlled vocabulary: which facts there are, and how a raw value becomes one."""

from engine.vocabulary.coercion import Reading
from engine.vocabulary.coercion import coerce
from engine.vocabulary.coercion import gpu_and_count
from engine.vocabulary.coercion import read_value
from engine.vocabulary.coercion import yes_or_no
from engine.vocabulary.loading import load_vocabulary
from engine.vocabulary.model import READABLE
from engine.vocabulary.model import RESERVED
from engine.vocabulary.model import Assume
from engine.vocabulary.model import Code
from engine.vocabulary.model import FactDef
from engine.vocabulary.model import Vocabulary
from engine.vocabulary.model import fold


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
