"""Live bytes of a training step without a GPU: storages of fake tensors, rounded as a caching allocator does.

Fake tensors have shapes and types but no content, so that a module of any size runs in a second. They lie on the CPU;
``AsOnGpu`` gives modules the operators that they would get on a GPU where the two differ.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.tensor import DTensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


#: Bytes to which PyTorch's allocator rounds a block.
BLOCK = 512
#: What CUDA's autocast computes in 32 bits and the CPU's does not (PyTorch, "Automatic Mixed Precision", op reference).
_IN_32_BITS = {
    functional.layer_norm,
    functional.group_norm,
    functional.softmax,
    functional.log_softmax,
    functional.cross_entropy,
    functional.nll_loss,
    torch.softmax,
    torch.log_softmax,
    torch.Tensor.softmax,
    torch.Tensor.pow,
    torch.pow,
    torch.rsqrt,
    torch.exp,
    torch.Tensor.exp,
}


@dataclass(frozen=True)
class Step:
    """Bytes of one step. ``weights`` are all parameters and buffers; the rest lies beside them."""

    weights: int
    kept: int  # activations at the start of the backward pass
    peak: int  # over the whole step, weights, gradients and optimiser state included
    peak_forward: int
    peak_backward: int
    states: int  # gradients and optimiser state at the end of the step

    @property
    def beside(self) -> int:
        """What forward and backward pass take at their peak beside weights, without states kept from earlier steps."""
        return max(self.peak_forward, self.peak_backward) - self.weights


class LiveStorages(TorchDispatchMode):
    """Bytes of the storages that live, each counted once, until its last tensor goes."""

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[int, int] = {}
        self.now = self.peak = 0

    def see(self, tensor: torch.Tensor) -> None:
        """Count the storage of a tensor if it is new: of one that is split over ranks, this rank's piece."""
        piece = tensor._local_tensor if isinstance(tensor, DTensor) else tensor
        storage = piece.untyped_storage()
        key = storage._cdata
        if key in self.live:
            return
        size = -(-storage.nbytes() // BLOCK) * BLOCK
        self.live[key] = size
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self.now -= self.live.pop(key, 0)

    def restart(self) -> None:
        """Let the next peak begin at what lives now."""
        self.peak = self.now

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator and see what it returns."""
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # It comes again, in operators over this rank's pieces.
        found = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor):
                self.see(leaf)
        return found


class AsOnGpu(TorchFunctionMode):
    """Operators as on a GPU: dropout keeps a mask of bytes, and autocast runs what it lists in 32 bits there."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a function of PyTorch with its inputs as CUDA's autocast would give them."""
        given = kwargs or {}
        if func is functional.dropout:
            rate = given.get("p", args[1] if len(args) > 1 else 0.5)
            learns = given.get("training", args[2] if len(args) > 2 else True)
            return torch.ops.aten.native_dropout(args[0], rate, learns)[0] if learns and rate else args[0]
        if func in _IN_32_BITS and torch.is_autocast_enabled("cpu"):
            args = tuple(_wide(value) for value in args)
            given = {name: _wide(value) for name, value in given.items()}
        return func(*args, **given)


def _wide(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype is torch.bfloat16 else value


@contextmanager
def fake_device() -> Iterator[None]:
    """Tensors made inside have no content, and operators are a GPU's."""
    with FakeTensorMode(allow_non_fake_inputs=True), AsOnGpu():
        yield


def faked(module: torch.nn.Module) -> None:
    """Replace parameters and buffers, made on the device ``meta``, by fake tensors. Shared ones stay shared."""
    made: dict[int, torch.Tensor] = {}
    for part in module.modules():
        for name, held in part._parameters.items():
            if held is not None:
                if id(held) not in made:
                    made[id(held)] = torch.nn.Parameter(torch.empty(held.shape, dtype=held.dtype), held.requires_grad)
                part._parameters[name] = made[id(held)]  # type: ignore[assignment]
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype)


def trace_over_pictures(
    module: torch.nn.Module, pictures: int, side: int, loss: Callable[[torch.Tensor], torch.Tensor]
) -> Step:
    """Bytes of a step of a module, made on the device ``meta``, over so many square pictures."""
    with fake_device():
        faked(module)
        module.train()
        shown = torch.empty(pictures, 3, side, side)
        return trace(module, lambda: loss(shown))


def trace(
    module: torch.nn.Module,
    loss: Callable[[], torch.Tensor],
    make_optimizer: Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer] | None = None,
    extra: Iterable[torch.nn.Module] = (),
) -> Step:
    """Bytes of a step of ``loss`` over the parameters of ``module`` that learn.

    With an optimiser two steps are taken, so that its state is there from the start of the second; without one
    gradients are dropped with the step.
    """
    trained = [p for p in module.parameters() if p.requires_grad]
    optimizer = make_optimizer(trained) if make_optimizer else None
    live = LiveStorages()
    for part in (module, *extra):
        for tensor in (*part.parameters(), *part.buffers()):
            live.see(tensor)
    weights = live.now
    kept = forward = backward = peak = 0
    with live:
        for _ in range(2 if optimizer else 1):
            before = live.now
            live.restart()
            value = loss()
            kept, forward = live.now - before, live.peak
            live.restart()
            if value.requires_grad:
                value.backward()
            backward = live.peak
            del value
            live.restart()
            if optimizer:
                optimizer.step()
            peak = max(forward, backward, live.peak)
            states = live.now - weights
            if optimizer:
                optimizer.zero_grad(set_to_none=True)
    return Step(weights, kept, peak, forward, backward, states)
