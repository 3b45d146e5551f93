"""The summands of training memory: how each is computed, from what, and by which source."""

from __future__ import annotations

from whichgpu.engine.sizing.model import TermKind


_ZERO = "ZeRO paper; DeepSpeed runtime/zero estimators 0.19"
_COUNT_INPUTS = ("parameters_b", "bytes_per_parameter", "shards")
WEIGHTS = TermKind("weights", "trained parameters on the rank x bytes / shards", _COUNT_INPUTS, _ZERO)
FROZEN = TermKind(
    "weights",
    "frozen parameters on the rank x bytes of their format / shards; scales of quantised ones whole on each rank",
    ("parameters_b", "weight_precision", "shards", "scale_bytes"),
    "QLoRA paper, bitsandbytes; embedding and head stay in 16 bits; scales are in a parameter's quant_state",
)
GRADIENTS = TermKind("gradients", "trained parameters on the rank x bytes / shards", _COUNT_INPUTS, _ZERO)
RELEASED = TermKind(
    "gradients",
    "trained parameters x bytes / shards, as far as they exceed the activations freed by then",
    _COUNT_INPUTS,
    "torchtune sets gradients to none between steps; its published ladder (26.7 GB with checkpointing)",
)
AROUND_FROZEN = TermKind(
    "gradients",
    "frozen parameters x bytes / shards + one block before it is sharded: a flat parameter that holds adapters gets"
    " gradients as a whole",
    ("parameters_b", "shards"),
    "PyTorch FSDP documentation, use_orig_params; torchtune lora_fsdp_wrap_policy",
)
OPTIMIZER = TermKind(
    "optimizer",
    "trained parameters on the rank x (moments + master copy) / shards",
    ("parameters_b", "optimizer", "bytes_per_parameter", "shards"),
    _ZERO,
)
ADAPTERS = TermKind(
    "adapters",
    "rank x (inputs + outputs) of the adapted matrices x bytes per adapter parameter",
    ("adapter_parameters_m", "lora_rank", "bytes_per_parameter"),
    "LoRA paper; PEFT keeps adapters and their states in 32 bits",
)
TRAINED_ENDS = TermKind(
    "adapters",
    "embedding and head that are trained whole x bytes",
    ("parameters_m", "bytes_per_parameter"),
    "PEFT modules_to_save keeps a trained copy of each in the type of the base (cast_adapter_dtype is of adapters)",
)
TRAINED_ENCODERS = TermKind(
    "adapters",
    "encoders that learn beside adapters x bytes of gradients and moments",
    ("parameters_m", "bytes_per_parameter"),
    "they learn in place, in the type of the base: MiniCPM-V finetune/finetune.py, tune_vision",
)
FROZEN_ENCODERS = TermKind(
    "weights",
    "encoders that are frozen x 2 bytes / shards",
    ("parameters_m", "shards"),
    "freeze_vit and its like; pictures pass through them without gradients",
)
RESIDENT = TermKind(
    "frozen_components",
    "further frozen models x 2 bytes / shards",
    ("parameters_b", "shards"),
    "reference and reward models of reinforcement learning in 16 bits (DeepSpeed-Chat, verl)",
)
CRITIC = TermKind(
    "critic",
    "parameters of the critic x (weights + gradients + optimiser state), each over its shards",
    ("parameters_b", "weight_shards", "gradient_shards", "state_shards"),
    "PPO trains a value model as it trains the policy (verl critic/critic.yaml, OpenRLHF train_ppo_ray.py)",
)
ROLLOUT = TermKind(
    "rollout_engine",
    "weights in 16 bits and cache of the engine that answers prompts, beside the step or, where it sleeps, beside what"
    " the step leaves; with a fixed share of the card, what the smallest card that holds both takes more",
    ("engine_gb", "rollout_tensor", "share", "sleeps"),
    "vLLM sleep mode: weights and cache are released, graphs and libraries stay; verl rollout.yaml",
)
LIVE_LAYER = TermKind(
    "gathered_layer",
    "under ZeRO-3 the parameters that stay gathered and the gradients of a layer x bytes; under FSDP two layers, the"
    " gradients of one as they are and as they are sent, without the experts of other ranks, and embedding and head",
    ("parameters_b", "bytes_per_parameter", "embedding_and_head_b"),
    "DeepSpeed runtime/zero/partitioned_param_coordinator.py; PyTorch FSDP documentation, BackwardPrefetch",
)
ACTIVATIONS = TermKind(
    "activations",
    "micro-batch x tokens x bytes kept per token and layer x layers (checkpoints only if recomputed) + one layer at"
    " work, as far as it exceeds the logits that have gone by then; under FSDP and ZeRO-3 whole, where the card has"
    " room for both",
    ("micro_batch", "seq_len_tokens", "gradient_checkpointing", "flash_attention", "tensor", "pipeline"),
    "operands that autograd saves, as traces of real modules find them (knowledge/activation_traces.yaml)",
)
LOGITS = TermKind(
    "logits",
    "micro-batch x tokens x vocabulary x 8 to 16 bytes, by the loss, who holds the answers and the release of"
    " transformers / tensor ranks; of a chunked loss one chunk, an eighth where the framework's chunks are not known",
    ("micro_batch", "seq_len_tokens", "vocab", "chunked_loss"),
    "traced without a GPU (knowledge/sizing.yaml, logits); litgpt, torchtune and Hugging Face runs",
)
FLAT_GRADIENTS = TermKind(
    "optimizer_step",
    "trained parameters / data ranks (of a group, in the third stage) x 6 bytes: the gradients of a step in one flat"
    " tensor, as they are and cast to 32 bits, as far as they exceed the activations freed by then",
    ("parameters_b", "data_ranks", "freed_gb"),
    "DeepSpeed 0.15.4 runtime/zero/stage_1_and_2.py, step; stage3.py, _prepare_fp32_grad_for_sub_group",
)
MASTER_COPY = TermKind(
    "optimizer_copy",
    "trained parameters / data ranks x 4 bytes: the partition that ZeRO steps is a clone of 32-bit weights too",
    ("parameters_b", "data_ranks"),
    "DeepSpeed 0.15.4 runtime/zero/stage_1_and_2.py, single_partition_of_fp32_groups; stage3.py",
)
BUCKETS = TermKind(
    "buckets",
    "two buckets of gradients on their way x 2 bytes; in the third stage one and what of it is sent",
    ("data_ranks",),
    "DeepSpeed 0.15.4 runtime/zero/stage_1_and_2.py, ipg_buffer; transformers integrations/deepspeed.py",
)
REPLICA_BUCKETS = TermKind(
    "buckets",
    "trained parameters x bytes of a gradient: each is copied into a bucket to be sent, and the buckets stay",
    ("parameters_b", "bytes_per_gradient"),
    "PyTorch DistributedDataParallel, gradient_as_bucket_view (false unless asked for), torch/csrc/distributed/c10d/"
    "reducer.cpp; pull request 41954 measured what views save: 8,250 to 7,183 MB with 1 GB of parameters",
)
CAST_WEIGHTS = TermKind(
    "weights",
    "trained parameters that are multiplied with x 2 bytes, as far as they exceed a layer at work under checkpointing:"
    " autocast keeps what it casts until the pass is over, beside gradients that wait for further micro-batches",
    ("parameters_b", "gradient_checkpointing"),
    "PyTorch aten/src/ATen/autocast_mode.cpp, cached_cast: leaves that learn are cached until the context is left",
)
STEP = TermKind(
    "optimizer_step",
    "the optimiser's workspace (a copy of the gradients), as far as it exceeds the activations freed by then",
    ("workspace_gb", "freed_gb"),
    "torch multi-tensor AdamW; Hugging Face runs of 32.2 GB (3B) and 25.2 GB (1B)",
)
DEQUANT = TermKind(
    "dequantised_layer",
    "largest matrix in 16 bits",
    ("parameters_m",),
    "bitsandbytes unpacks one matrix at a time",
)
UNPACKED = TermKind(
    "dequantised_layer",
    "matrices of a layer in 16 bits, of all layers where none is computed anew",
    ("parameters_m", "layers"),
    "AutoGPTQ (179776bd) nn_modules/qlinear/qlinear_cuda_old.py, forward: the unpacked weight is an operand of a plain"
    " product, which autograd keeps",
)
CAST = TermKind(
    "dequantised_layer",
    "frozen parameters of a layer x 2 bytes, of all layers where none is computed anew: products over weights that were"
    " cast from fp8 keep what they were cast to",
    ("parameters_m", "layers"),
    "kohya-ss/sd-scripts (0010c81a) train_network.py, fp8_base under autocast; kohya-ss/musubi-tuner (0c9905be)"
    " fp8_linear_forward_patch; autograd keeps the operands of a plain product",
)
ALLOCATOR = TermKind(
    "allocator",
    "share of the tensors that the caching allocator holds beyond them",
    ("share",),
    "agilerl-arena 1.29: 7 % on one GPU, 5.4 % data parallel, 6.9 % FSDP; SimuMax 1/0.94",
)
CONTEXT = TermKind(
    "context",
    "driver context",
    ("ranks",),
    "agilerl-arena 1.29 memory/specs.py",
)
COLLECTIVES = TermKind(
    "context",
    "NCCL's buffers: of each communicator, and of each GPU of the machine with which tokens for experts are exchanged",
    ("communicators", "exchanging_gpus"),
    "agilerl-arena 1.29 memory/specs.py; NVIDIA/nccl issues 964 and 1685",
)
