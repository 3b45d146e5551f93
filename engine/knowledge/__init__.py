"""The catalogue: accelerators, models, prices, costs and the sources of all of them.

``engine.knowledge.configs.model_from_config`` reads a model that is not in it.
"""

from engine.knowledge.bundle import Knowledge
from engine.knowledge.gpu_facts import gpu_facts
from engine.knowledge.gpu_names import GpuMatch
from engine.knowledge.gpu_names import GpuNames
from engine.knowledge.loading import load_knowledge
from engine.knowledge.loading import with_offers
from engine.knowledge.model_names import ModelMatch
from engine.knowledge.model_names import ModelNames
from engine.knowledge.parameters import ParameterCount
from engine.knowledge.parameters import parameter_count
from engine.knowledge.prices import parse_prices


__all__ = [
    "GpuMatch",
    "GpuNames",
    "Knowledge",
    "ModelMatch",
    "ModelNames",
    "ParameterCount",
    "gpu_facts",
    "load_knowledge",
    "parameter_count",
    "parse_prices",
    "with_offers",
]
