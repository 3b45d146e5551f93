"""The catalogue: accelerators, models, prices, costs and the sources of all of them.

``whichgpu.engine.catalogue.configs.model_from_config`` reads a model that is not in it.
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
