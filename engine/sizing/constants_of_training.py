"""The constants of training memory: recipes, optimisers, and what frameworks do by default."""

from typing import Literal

from whichgpu.engine.core import FrozenModel


class Constant(FrozenModel):
    """One number and where it comes from."""

    value: float
    source: str


class Recipe(FrozenModel):
    """Bytes per trained parameter, without the optimiser's moments."""

    weights: float
    gradients: float
    master: float
    source: str


class OptimizerState(FrozenModel):
    """Bytes of moments per trained parameter."""

    moments: float
    halves: bool
    source: str


class Rollout(FrozenModel):
    """How a framework answers prompts while it trains by reinforcement, and which models it keeps beside the actor."""

    here: bool  # on the GPUs that train
    sleeps: bool  # gives memory back while weights are updated
    shares_weights: bool = False  # answers with the trained weights themselves
    share: float | None = None  # of the card, that the engine takes
    reference: bool = True  # a frozen copy of the actor lies beside it, for every method
    source: str


class Framework(FrozenModel):
    """How a training framework departs from plain Hugging Face behaviour."""

    chunked_loss: bool = False
    chunked_loss_in_examples: bool = False  # chunked in its examples, not by default
    chunks_supervised_loss: bool = False  # chunked, but not in reinforcement
    scores_answers_alone: bool = False  # under GRPO logits are made of what the model wrote, not of the prompt
    fused_loss: bool = False
    sampled_logit_bytes: float | None = None  # of sampled answers, in a step; None: as of any other loss
    scored_logit_bytes: float | None = None  # of them, as they are scored before a step, with nothing kept
    releases_gradients: bool = False
    compiles_loss_since: str | None = None  # release from which compiling takes in the loss with its cast
    step: Literal["foreach", "fused", "trainer"] = "foreach"  # of AdamW; trainer: by release, as transformers' has it
    optimizer: str | None = None  # by default
    checkpointing: str | None = None
    checkpointing_lora: str | None = None  # of adapters over a base that is not quantised
    targets: str | None = None
    rank: int | None = None
    seq_len: int | None = None  # tokens of a sample
    recipe: str | None = None
    recipe_full: str | None = None  # of full fine-tuning only
    sequence_parallel: bool | None = None  # beside tensor parallelism
    frees_logits: bool = False  # logits in 16 bits are gone when the backward pass begins
    every_second_product: bool = False  # selective checkpointing keeps outputs of every second matrix product only
    offloads_checkpoints: bool = False  # what is recomputed from waits in host memory
    varying_lengths: bool = False  # batches differ: padded to their longest sample, or of pictures of one shape each
    gradient_bytes: float | None = None
    gradient_bytes_bf16: float | None = None  # in bf16: gradients add up in 32 bits beside those of the pass
    steps_by_zero: bool = False  # the optimiser is ZeRO's although models are split in the manner of Megatron
    steps_flat: bool = False  # an optimiser of its own steps over one flat tensor by PyTorch's AdamW, as ZeRO's does
    bucket_elements: float | None = None  # of gradients on their way, in the first two stages; None: as for ZeRO
    holds_scores: bool = False  # attention is not fused by default
    adapter_bytes: float | None = None
    batch: int | None = None  # its default micro-batch
    trains_around_frozen: bool = False  # frozen weights get gradients too where they are sharded with adapters
    loads_32bit: bool = False  # the base stays in 32 bits unless a precision is named
    autocasts: bool = False  # computes in 16 bits over such weights
    prepares: bool = False  # what bitsandbytes left in 16 bits is cast to 32: embeddings, head and norms
    pipeline_batch: int | None = None  # micro-batch inside a pipeline, whatever the batch of a step
    fills_last_stage: bool = False  # layers that do not divide evenly among stages go to the last ones
    keeps_stage_outputs: bool = False  # what a stage has sent on stays until its backward pass
    fuses_attention: bool = False  # whatever the model's own code does
    quantizes_experts: bool | None = None  # also where these are one table for each layer; None: not known
    rollout: str | None = None  # of the ways to answer prompts under ``rollouts``
    adapter_dropout: bool = False  # before each adapter, whose mask is kept, by default
    keeps_32bit_norms: bool = False  # what norms scale, in 32 bits
    query_elements: float | None = None  # that attention keeps for each number of the query, keys copied for all heads
    keeps_chunks: bool = False  # a chunked loss holds all chunks until the backward pass
    loss_chunk_tokens: int | None = None  # of a chunk of its loss, whatever the vocabulary
    loss_chunk_gb: float | None = None  # the most that a chunk of its loss takes
    loss_chunk_counts: dict[str, float] | None = None  # bytes a logit by which it is filled, since which release
    whole_loss_before: str | None = None  # releases that hold all logits until the loss
    selects_answers: bool = False  # the loss of pairs is taken of TRL's selective_log_softmax
    loss_in_place: bool = False  # such a loss writes its gradient over the logits
    kernels_in_place: bool = False  # adapted matrices of a layer and its gate write gradients over what they kept
    keeps_gathered: bool = False  # sequence parallelism keeps inputs gathered, not each rank's share
    keeps_quantized_inputs: bool = False  # of every 4-bit matrix, as bitsandbytes did up to 0.42
    exchanges_heads: bool = False  # context parallelism has each rank attend for its heads over all tokens (Ulysses)
    recomputes_attention: bool = False  # selective checkpointing makes the scores of attention anew, nothing else
    unties_head: bool = False  # a head that is tied to the embedding is a matrix of its own
    third_stage: str = "auto"  # of ZeRO, as one of the configurations under ``zero`` has it
    offload_keeps_inputs: bool = False  # matrices that fetch their weights keep their inputs, trained or frozen
    casts_fp8: bool = False  # weights in fp8 are cast for each product, which keeps what is cast for its gradients
    fp8_scales: float = 0.0  # bytes a parameter that scales of such weights take
    shards_weights: bool = True  # weights may be spread over data ranks (ZeRO-3, FSDP), or wait in host memory
    source: str


class ThirdStage(FrozenModel):
    """How the third stage is configured: how many gradients it sends at a time, and which weights it keeps gathered."""

    bucket_elements: float | None = None  # of gradients; None: the squared width
    prefetch_elements: float | None = None  # gathered ahead; None: nine tenths of the squared width
    reuse_elements: float  # weights that are used again within so many others stay gathered
    source: str


class Zero(FrozenModel):
    """How DeepSpeed's ZeRO is configured in the files that stand for runs."""

    bucket_elements: float  # of gradients that are reduced at a time, in the first two stages
    group_parameters: float  # whose step is made at a time, in the third
    third_stage: dict[str, ThirdStage]  # by the configuration that a framework stands for
    source: str


class StepByRelease(FrozenModel):
    """What a step does by default: PyTorch's own way, and that of the Trainer of transformers."""

    at_once_since: str  # of PyTorch
    fused_since: str  # of PyTorch, under the Trainer
    own_before: str  # of transformers, whose AdamW went over one parameter after the other
    sets_to_none_since: str  # of PyTorch, whose gradients were zeros between steps before
    source: str


class Logits(FrozenModel):
    """Bytes of one logit (one token, one entry of the vocabulary) while its loss is passed backward."""

    loss: float  # softmax, the gradient, and what comes of it, in 32 bits
    answer: float  # as the model gives it, in 16 bits
    wide_answer: float  # in 32 bits
    wide_before: str  # of transformers: models give logits in 32 bits
    copied: float  # with a copy of what is shifted, at the end of the forward pass
    copied_before: str  # of transformers
    in_place: float  # of a kernel that writes the gradient over the logits, with the copy that the trainer holds
    plain_before: str  # of transformers: classes that do not cast their logits before the loss were removed
    selected: float  # of pairs whose tokens' probabilities are taken row by row, in 16 bits
    selected_wide: float  # under autocast, whose logits are handed on in 32 bits
    selected_source: str
    source: str


class Training(FrozenModel):
    """Constants of training memory."""

    recipes: dict[str, Recipe]
    optimizers: dict[str, OptimizerState]
    foreach_workspace: Constant
    norm_bytes: Constant
    step_by_release: StepByRelease
    logits: Logits
    logit_bytes_compiled: Constant
    logit_bytes_compiled_cast: Constant
    logit_bytes_16bit: Constant
    chunked_loss_chunks: Constant
    attention_score_bytes: Constant
    fetched_layer_bytes: Constant
    zero: Zero
    adapter_bytes: Constant
    fragmentation: Constant
    fragmentation_most: Constant
    frameworks: dict[str, Framework]
    rollouts: dict[str, Rollout]
    rollout_weights_gb: Constant
