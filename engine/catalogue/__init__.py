"""The catalogue: accelerators, models, prices, costs and the sources of all of them.

In go the files of ``knowledge/`` and of layers, out comes a ``Knowledge``, in which GPUs and models are found under any
usual spelling. ``configs.model_from_config`` reads a model that is not in it.
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
