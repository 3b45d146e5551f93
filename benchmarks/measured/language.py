"""Runs of models of language and speech, as their users write them: transformers, its Trainer, PEFT, TRL."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import datasets
import peft
import torch
import transformers
import trl
from cells import NEW_TOKENS
from clock import DEVICE, Clock, mean_seconds
from models import model_of, quantised
from tokenizers import Tokenizer
from tokenizers.models import WordLevel


How = dict[str, Any]

_OPTIMIZERS = {
    "adamw": "adamw_torch",
    "8bit": "adamw_bnb_8bit",
    "paged": "paged_adamw_8bit",
    "adafactor": "adafactor",
    "sgd": "sgd",
}
_TARGETS = {"qv": ["q_proj", "v_proj"], "qkv": ["query_key_value"], "all-linear": "all-linear"}
_ALPHA = 16
#: Steps of a training, of which the first is not timed.
_STEPS = 4
#: The stage of ZeRO that shares out weights.
_WEIGHTS_TOO = 3
#: A head of classes.
_CLASSES = 2


class _Rows(torch.utils.data.Dataset):
    """As many rows of a length as are asked for; of tokens for a model of language, with a class for a classifier."""

    def __init__(self, seq: int, rows: int, vocab: int, labels: str, target: int = 0) -> None:
        made = torch.Generator().manual_seed(7)
        self.tokens = torch.randint(5, vocab, (rows, seq), generator=made)
        self.labels, self.target = labels, target

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, at: int) -> dict[str, Any]:
        tokens = self.tokens[at]
        row = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
        if self.labels == "class":
            return row | {"labels": torch.tensor(at % _CLASSES)}
        return row | {"labels": tokens[: self.target] if self.target else tokens.clone()}


def generate(model: str, how: How, layers: int | None) -> Callable[[], dict[str, float]]:
    """Answers of a fixed length to random prompts."""
    weights = how.get("weights", "bf16")
    made = model_of(model, "causal", layers=layers).eval()
    made = quantised(made, weights) if weights != "bf16" else made
    prompts = torch.randint(5, made.config.vocab_size, (how["batch"], how["prompt"]), device=DEVICE)
    settings = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "do_sample": False, "pad_token_id": 0}

    def run() -> dict[str, float]:
        asked = torch.ones_like(prompts)
        seconds = mean_seconds(lambda: made.generate(prompts, attention_mask=asked, **settings), 1)
        return {"s_per_call": seconds}

    return run


def embed(model: str, how: How, layers: int | None) -> Callable[[], dict[str, float]]:
    """One pass over a batch of texts, in 16 bits."""
    made = model_of(model, "plain", layers=layers).eval()
    texts = torch.randint(5, made.config.vocab_size, (how["batch"], how["seq"]), device=DEVICE)

    @torch.no_grad()
    def run() -> dict[str, float]:
        return {"s_per_call": mean_seconds(lambda: made(texts, attention_mask=torch.ones_like(texts)), 3)}

    return run


def transcribe(model: str, how: How, layers: int | None) -> Callable[[], dict[str, float]]:
    """Clips of thirty seconds to 200 tokens each, in 16 bits."""
    made = model_of(model, "speech", layers=layers).eval()
    sounds = torch.randn(how["batch"], 128, 3000, device=DEVICE, dtype=torch.bfloat16)
    settings = {"max_new_tokens": 200, "min_new_tokens": 200, "decoder_start_token_id": 50258}

    def run() -> dict[str, float]:
        begun = torch.full((how["batch"], 1), 50258, device=DEVICE)
        call = lambda: transformers.GenerationMixin.generate(  # noqa: E731
            made, input_features=sounds, decoder_input_ids=begun, **settings
        )
        return {"s_per_call": mean_seconds(call, 1)}

    return run


def train(model: str, how: How, layers: int | None) -> Callable[[], dict[str, float]]:
    """A causal language model: whole, with adapters, or with adapters over four bits."""
    method = how["method"]
    made = model_of(model, "causal", how.get("weights", "bf16"), layers)
    vocab = made.config.vocab_size
    if method == "qlora":
        made = quantised(made, "nf4")
        made = peft.prepare_model_for_kbit_training(made, use_gradient_checkpointing=how["checkpointing"])
    if method != "full":
        targets = _TARGETS[how["targets"]]
        config = peft.LoraConfig(r=how["rank"], lora_alpha=_ALPHA, target_modules=targets, task_type="CAUSAL_LM")
        made = peft.get_peft_model(made, config)
        if how["checkpointing"]:
            made.enable_input_require_grads()
    rows = _Rows(how["seq"], how["batch"] * (_STEPS + 1), vocab, "tokens")
    return _trained(made, how, rows)


def classify(model: str, how: How, layers: int | None) -> Callable[[], dict[str, float]]:
    """An encoder that learns two classes, whole."""
    made = model_of(model, "classifier", how["weights"], layers)
    rows = _Rows(how["seq"], how["batch"] * (_STEPS + 1), made.config.vocab_size, "class")
    return _trained(made, {"checkpointing": False, **how}, rows)


def translate(model: str, how: How, layers: int | None) -> Callable[[], dict[str, float]]:
    """An encoder and decoder, whole, in 16 bits."""
    made = model_of(model, "translator", layers=layers)
    rows = _Rows(how["seq"], how["batch"] * (_STEPS + 1), made.config.vocab_size, "tokens", how["target"])
    return _trained(made, how, rows)


def _trained(made: Any, how: How, rows: _Rows) -> Callable[[], dict[str, float]]:
    clock = Clock()
    settings = {
        "output_dir": tempfile.mkdtemp(),
        "max_steps": _STEPS,
        "per_device_train_batch_size": how["batch"],
        "bf16": how.get("autocast", True),
        "optim": _OPTIMIZERS[how.get("optimizer", "adamw")],
        "gradient_checkpointing": how["checkpointing"],
        "use_cpu": DEVICE == "cpu",
        "report_to": [],
        "save_strategy": "no",
        "logging_steps": _STEPS,
        "disable_tqdm": True,
    }
    if how.get("zero"):
        settings["deepspeed"] = _offloaded(how["zero"], how.get("buckets", "auto"))
    if how.get("trainer") == "trl":
        trainer = _trl(made, settings, rows, how["seq"])
    else:
        trainer = transformers.Trainer(model=made, args=transformers.TrainingArguments(**settings), train_dataset=rows)
    trainer.add_callback(clock)

    def run() -> dict[str, float]:
        trainer.train()
        return {"s_per_step": clock.seconds()}

    return run


def _offloaded(stage: int, sizes: str) -> dict[str, Any]:
    """A configuration of DeepSpeed: states, of stage 3 weights too, on the host.

    Sizes of its buckets are "auto", which the documentation of transformers has, or are left to DeepSpeed.
    """
    zero: dict[str, Any] = {"stage": stage, "offload_optimizer": {"device": "cpu", "pin_memory": True}}
    if stage == _WEIGHTS_TOO:
        zero |= {"offload_param": {"device": "cpu", "pin_memory": True}}
    if sizes == "auto":
        zero |= {"overlap_comm": True, "contiguous_gradients": True, "reduce_bucket_size": "auto"}
        if stage == _WEIGHTS_TOO:
            zero |= {f"stage3_{name}": "auto" for name in ("prefetch_bucket_size", "param_persistence_threshold")}
            zero |= {"stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "sub_group_size": 1e9}
    batches = ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "train_batch_size")
    # The optimiser of PyTorch on the host: DeepSpeed's own would have to be compiled, and takes as much of the card.
    config = {"zero_optimization": zero, "bf16": {"enabled": "auto"}, "zero_force_ds_cpu_optimizer": False}
    return config | dict.fromkeys(batches, "auto")


def _trl(made: Any, settings: dict[str, Any], rows: _Rows, seq: int) -> Any:
    words = Tokenizer(WordLevel({"<unk>": 0, "<pad>": 1, "<s>": 2}, unk_token="<unk>"))
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "eos_token": "<s>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, **special)
    data = datasets.Dataset.from_dict({"input_ids": rows.tokens.tolist()})
    return trl.SFTTrainer(
        model=made, args=trl.SFTConfig(**settings, max_length=seq), train_dataset=data, processing_class=tokenizer
    )
