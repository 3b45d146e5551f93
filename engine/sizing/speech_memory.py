"""Memory of speech recognisers beside their weights: the cache of served requests, and what training keeps."""

from __future__ import annotations

import numpy as np

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import PartColumn, TermKind
from whichgpu.engine.sizing.recognisers import FASTER_WHISPER, WHISPER, Recogniser, beams_of, recogniser_of
from whichgpu.engine.sizing.rows import Ints


_CACHE = TermKind(
    "activations",
    "requests x (positions, repeated for each beam under PyTorch, + words x beams) x keys and values of 2 bytes x width"
    " x layers, and a layer of the encoder (under CTranslate2 the larger of both, and of a batch the words that are"
    " spoken); while openai/whisper loads its checkpoint, no less than that",
    ("requests", "beams", "positions", "words", "width", "layers"),
    "Whisper paper; openai/whisper whisper/__init__.py; transformers expands what the encoder gives to all beams,"
    " CTranslate2 does not",
)
_ACTIVATIONS = TermKind(
    "activations",
    "clips x (positions x layers of the encoder + words x layers of the decoder) x 34 bytes x width, of which"
    " checkpoints keep 2 and one layer; scores where attention is not fused, 6 bytes each; and the logits of the words"
    " at 14 bytes",
    ("clips", "positions", "words", "width", "encoder_layers", "decoder_layers", "gradient_checkpointing"),
    "Whisper paper: 1,500 positions, 448 words, width 40 times the layers in the larger ones; Korthikanti et al.",
)


def loads_in_32_bits(job: Job) -> bool:
    """Whether speech is recognised by openai/whisper, which keeps 32 bits."""
    return job.family == "speech" and job.engine_stated and job.engine == WHISPER


def speech_cache(job: Job, params_b: float, requests: Ints) -> PartColumn:
    """Keys and values of a window of sound and of its words, for each beam, and a layer of the encoder at work.

    Programs over PyTorch repeat what the encoder gave for each beam; CTranslate2 and servers of language models hold it
    once (replicate_state in src/layers/transformer.cc), has given back what the encoder worked with when the decoder
    begins (its allocator keeps no block above 16 MiB), and lets its cache grow with the text. In a batch no window
    carries the text before it along.
    """
    known = sizing_constants().other
    found = recogniser_of(job, params_b)
    width, layers = found.width, found.decoder_layers
    repeats = job.engine_stated and job.engine in {"transformers", WHISPER}
    beams = beams_of(job)
    positions = known.speech_positions.value
    by_turns = job.engine_stated and job.engine == FASTER_WHISPER
    words = np.where(by_turns & (requests > 1), known.speech_spoken.value, known.speech_words.value)
    places = positions * (beams if repeats else 1.0) + words * beams
    # Of a layer of the encoder its feed-forward part and, unless fused, the scores of heads of 64 numbers.
    working = 2.0 * positions * (6.0 * width + positions * width / known.speech_head_dim.value)
    held = places * 2.0 * 2.0 * width * layers
    heard = 2.0 * positions * width
    cache = requests * (np.maximum(held + heard, working) if by_turns else held + working) / 1e9
    if loads_in_32_bits(job):
        cache = np.maximum(cache, known.speech_loading_bytes.value * params_b)
    settings = (requests, beams, positions, words, width, layers)
    return PartColumn(_CACHE, cache, settings)


def speech_activations(job: Job, params_b: float, clips: Ints) -> PartColumn:
    """Maps of a speech recogniser: an encoder over a window of sound, a decoder over its words."""
    known = sizing_constants().other
    found = recogniser_of(job, params_b)
    element = 2.0 if job.recipe == "fp32" else 1.0
    positions, words = known.speech_positions.value, known.speech_words.value
    # Places by the layers that each passes.
    passed = positions * found.encoder_layers + words * found.decoder_layers
    each_place = clips * element * found.width
    kept = each_place * passed * 34.0
    if job.checkpointing != "none":
        kept = each_place * (passed * 2.0 + (positions + words) * 34.0)
    kept = kept + clips * _scores_bytes(job, found, positions, words)
    logits = clips * words * known.speech_vocab.value
    each = sizing_constants().training.logits
    logits = logits * (each.loss + each.answer)
    settings = (clips, positions, words, found.width, found.encoder_layers, found.decoder_layers)
    return PartColumn(_ACTIVATIONS, (kept + logits) / 1e9, (*settings, job.checkpointing))


def _scores_bytes(job: Job, found: Recogniser, positions: float, words: float) -> float:
    """Scores that attention writes out for a clip where it is not fused: all layers', recomputed those of one."""
    if job.flash_attention:
        return 0.0
    known = sizing_constants()
    each = known.training.attention_score_bytes.value - (2.0 if job.recipe == "fp32" else 0.0)
    heard, written = positions**2, words * (words + positions)
    if job.checkpointing == "none":
        scores = found.encoder_layers * heard + found.decoder_layers * written
    else:
        scores = max(heard, written)
    return scores * found.width / known.other.speech_head_dim.value * each
