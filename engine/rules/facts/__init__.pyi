from .coercion import (
    Reading as Reading,
    coerce as coerce,
    gpu_and_count as gpu_and_count,
    read_value as read_value,
    yes_or_no as yes_or_no,
)
from .loading import load_vocabulary as load_vocabulary
from .model import (
    READABLE as READABLE,
    RESERVED as RESERVED,
    Assume as Assume,
    Code as Code,
    FactDef as FactDef,
    Vocabulary as Vocabulary,
    fold as fold,
)
