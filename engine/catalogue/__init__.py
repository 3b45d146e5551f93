"""The catalogue: accelerators, models, prices, costs and the sources of all of them.

``engine.catalogue.configs.model_from_config`` reads a model that is not in it.
"""

from engine.catalogue.bundle import Knowledge
from engine.catalogue.gpu_facts import gpu_facts
from engine.catalogue.gpu_names import GpuMatch
from engine.catalogue.gpu_names import GpuNames
from engine.catalogue.loading import load_knowledge
from engine.catalogue.loading import with_offers
from engine.catalogue.model_names import ModelMatch
from engine.catalogue.model_names import ModelNames
from engine.catalogue.parameters import ParameterCount
from engine.catalogue.parameters import parameter_count
from engine.catalogue.prices import parse_prices


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
