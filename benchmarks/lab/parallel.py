"""Layers whose tokens are shared between ranks: sequence parallelism beside a tensor split, and context parallelism.

One rank's piece is traced. Collectives answer with tensors of the right shape, as PyTorch's ``fake`` process group
does.

* ``dtensor``: the module as PyTorch's own parallel plan splits it (torchtitan, torchtune): norms and residuals on a
  share of the tokens; the input of a split matrix is gathered, and kept so.
* ``megatron``: the same shapes, but a split matrix keeps its share of the input and gathers it again in the backward
  pass (Megatron-LM, core/tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication).
* ``ring``: keys and values travel from rank to rank while each keeps its own (Megatron-LM's p2p, ring-flash-attention).
* ``gather``: keys and values of all ranks are gathered for each layer, again in the backward pass (Llama 3).
* ``ulysses``: heads are exchanged for tokens around attention (DeepSpeed Ulysses, Megatron-LM's a2a).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.testing._internal.distributed.fake_pg import FakeStore
from transformers import modeling_utils


_FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_FLASH_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


@contextmanager
def ranks(count: int) -> Iterator[Any]:
    """A mesh of so many ranks that only pretend to be there."""
    dist.init_process_group("fake", rank=0, world_size=count, store=FakeStore())
    try:
        yield init_device_mesh("cpu", (count,))
    finally:
        dist.destroy_process_group()


def split_as_dtensors(body: Any, mesh: Any) -> None:
    """Split the layers of a Llama as torchtitan does, with sequence parallelism."""
    gathered = PrepareModuleInput(
        input_kwarg_layouts={"hidden_states": Shard(1)}, desired_input_kwarg_layouts={"hidden_states": Replicate()}
    )
    plan = {
        "input_layernorm": SequenceParallel(),
        "post_attention_layernorm": SequenceParallel(),
        "self_attn": gathered,
        "mlp": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        **{f"self_attn.{name}": ColwiseParallel() for name in ("q_proj", "k_proj", "v_proj")},
        **{f"mlp.{name}": ColwiseParallel() for name in ("gate_proj", "up_proj")},
        "self_attn.o_proj": RowwiseParallel(output_layouts=Shard(1)),
        "mlp.down_proj": RowwiseParallel(output_layouts=Shard(1)),
    }
    for layer in body.layers:
        parallelize_module(layer, mesh, plan)
    parallelize_module(body, mesh, {"norm": SequenceParallel(use_local_output=True)})


def _shape(tensor: torch.Tensor, tokens: int) -> torch.Tensor:
    """What a collective answers: the same with another number of tokens."""
    return tensor.new_empty(tensor.shape[0], tokens, *tensor.shape[2:])


class _Gather(torch.autograd.Function):
    """Tokens of all ranks; backward, a sum of gradients of which each rank keeps its share."""

    @staticmethod
    def forward(ctx: Any, share: torch.Tensor, over: int) -> torch.Tensor:
        ctx.over = over
        return _shape(share, share.shape[1] * over)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _shape(grad, grad.shape[1] // ctx.over), None


class _Scatter(torch.autograd.Function):
    """A sum of which each rank keeps its share of the tokens; backward, the gradients of all."""

    @staticmethod
    def forward(ctx: Any, whole: torch.Tensor, over: int) -> torch.Tensor:
        ctx.over = over
        return _shape(whole, whole.shape[1] // over)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _shape(grad, grad.shape[1] * ctx.over), None


class _Regathering(torch.autograd.Function):
    """A matrix over gathered tokens that keeps this rank's share of them only."""

    @staticmethod
    def forward(ctx: Any, whole: torch.Tensor, share: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(share, weight)
        ctx.tokens = whole.shape[1]
        return whole @ weight.t()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, torch.Tensor]:
        share, weight = ctx.saved_tensors
        whole = _shape(share, ctx.tokens)
        flat = grad.reshape(-1, grad.shape[-1])
        return grad @ weight, None, flat.t() @ whole.reshape(-1, whole.shape[-1])


def split_as_megatron(body: Any, over: int) -> None:
    """Give the layers of a Llama that has one rank's shapes the sequence parallelism of Megatron-LM."""
    for layer in body.layers:
        _between_ranks(layer.self_attn, ("q_proj", "k_proj", "v_proj"), over)
        _between_ranks(layer.mlp, ("gate_proj", "up_proj"), over)


def _between_ranks(part: Any, matrices: tuple[str, ...], over: int) -> None:
    """Gather what enters ``part``, keep shares in its first matrices, and scatter what leaves it."""
    inside = part.forward
    named = part.__class__.__name__.endswith("Attention")

    held: list[torch.Tensor] = []  # this rank's share while ``part`` runs: nothing of it may outlive the call

    def product(weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda whole: _Regathering.apply(whole, held[0], weight)

    for name in matrices:
        linear = getattr(part, name)
        linear.forward = product(linear.weight)

    def forward(*given: Any, **named_inputs: Any) -> Any:
        share = named_inputs.pop("hidden_states") if named else given[0]
        whole = _Gather.apply(share, over)
        held[:] = [share.detach()]
        left = inside(hidden_states=whole, **named_inputs) if named else inside(whole)
        held.clear()
        del share, whole
        if named:
            return _Scatter.apply(left[0], over), left[1]
        return _Scatter.apply(left, over)

    part.forward = forward


class _Ring(torch.autograd.Function):
    """Attention over keys and values that come from rank to rank, its parts joined in 32 bits."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, over: int) -> torch.Tensor:
        joined = weight = None
        held = (key, value)
        for step in range(over):
            coming = tuple(torch.empty_like(part) for part in held) if step + 1 < over else held
            part, score = _FLASH(query, *held, 0.0, step == 0)
            if joined is None:
                joined, weight = part.float(), score
            else:
                share = torch.sigmoid(score - weight).unsqueeze(-1)
                joined = joined - share * (joined - part)
                weight = weight - torch.nn.functional.logsigmoid(weight - score)
            held = coming
        out = joined.to(query.dtype)
        ctx.save_for_backward(query, key, value, out, weight)
        ctx.over = over
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        query, key, value, out, weight = ctx.saved_tensors
        held, sums = (key, value), None
        for step in range(ctx.over):
            coming = tuple(torch.empty_like(part) for part in held) if step + 1 < ctx.over else held
            parts = _FLASH_BACKWARD(grad, query, *held, out, weight, 0.0, step == 0)
            if sums is None:
                sums = [part.float() for part in parts]
            else:
                sums[0] = sums[0] + parts[0]
                sums[1:] = [torch.empty_like(total) + part for total, part in zip(sums[1:], parts[1:], strict=True)]
            held = coming
        return (*(total.to(query.dtype) for total in sums), None)


class _Gathered(torch.autograd.Function):
    """Attention over the keys and values of all ranks, gathered for the forward and again for the backward pass."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, over: int) -> torch.Tensor:
        whole = [part.repeat_interleave(over, 2) for part in (key, value)]
        out, weight = _FLASH(query, *whole, 0.0, False)
        ctx.save_for_backward(query, key, value, out, weight)
        ctx.over = over
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        query, key, value, out, weight = ctx.saved_tensors
        whole = [part.repeat_interleave(ctx.over, 2) for part in (key, value)]
        parts = _FLASH_BACKWARD(grad, query, *whole, out, weight, 0.0, False)
        return parts[0], torch.empty_like(key), torch.empty_like(value), None


class _Exchange(torch.autograd.Function):
    """Heads for tokens: each rank gets all tokens of its heads (``over`` above 1), or gives them back (below)."""

    @staticmethod
    def forward(ctx: Any, part: torch.Tensor, more: int, less: int) -> torch.Tensor:
        ctx.more, ctx.less = more, less
        return part.new_empty(part.shape[0], part.shape[1] * less // more, part.shape[2] * more // less, part.shape[3])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        shape = (grad.shape[0], grad.shape[1] * ctx.more // ctx.less, grad.shape[2] * ctx.less // ctx.more)
        return grad.new_empty(*shape, grad.shape[3]), None, None


def _ulysses(query: Any, key: Any, value: Any, over: int) -> torch.Tensor:
    """Attention over all tokens for a share of the heads; keys and values too few to share are copied."""
    copies = max(1, over // key.shape[1])
    if copies > 1:
        key, value = (part.repeat_interleave(copies, 1) for part in (key, value))
    parts = [_Exchange.apply(part, over, 1) for part in (query, key, value)]
    out = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True, enable_gqa=True)
    return _Exchange.apply(out, 1, over)


_ATTENTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "ring": _Ring.apply,
    "gather": _Gathered.apply,
    "ulysses": _ulysses,
}


def attention_over(way: str, over: int) -> str:
    """Make known to transformers attention whose tokens are shared between so many ranks; its name there."""
    apply = _ATTENTIONS[way]

    def attend(_: Any, query: Any, key: Any, value: Any, *__: Any, **___: Any) -> tuple[torch.Tensor, None]:
        return apply(query, key, value, over).transpose(1, 2).contiguous(), None

    name = f"{way}-{over}"
    modeling_utils.ALL_ATTENTION_FUNCTIONS.register(name, attend)
    return name
