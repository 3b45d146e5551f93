"""The catalogue: accelerators, models, prices, costs and the sources of all of them.

``whichgpu.engine.catalogue.configs.model_from_config`` reads a model that is not in it.
"""

from whichgpu.engine.catalogue.bundle import Knowledge
from whichgpu.engine.catalogue.gpu_facts import gpu_facts
from whichgpu.engine.catalogue.gpu_names import GpuMatch
from whichgpu.engine.catalogue.gpu_names import GpuNames
from whichgpu.engine.catalogue.loading import load_knowledge
from whichgpu.engine.catalogue.loading import with_offers
from whichgpu.engine.catalogue.model_names import ModelMatch
from whichgpu.engine.catalogue.model_names import ModelNames
from whichgpu.engine.catalogue.parameters import ParameterCount
from whichgpu.engine.catalogue.parameters import parameter_count
from whichgpu.engine.catalogue.prices import parse_prices


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
