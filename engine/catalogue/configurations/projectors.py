"""Parameters of what leads from an image encoder into a language model: projectors, resamplers, generators.

Every formula is the shapes of the matrices as the classes of transformers, or a model's own code, make them; biases and
norms of less than a thousandth of a layer are left out.
"""

from __future__ import annotations

from whichgpu.engine.catalogue.configurations.diffusion import autoencoder_parameters
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.configurations.sound import query_former


_WITH_QUERY_FORMER = frozenset(("blip-2", "instructblip", "instructblipvideo"))


def lead_parameters(outer: ConfigReader, tower: ConfigReader, width: int, hidden: int) -> int:
    """From an encoder of this width into a language model of that one."""
    lead = _to_few_queries(outer, tower, width, hidden)
    if lead is None:
        lead = _joined_places(outer, tower, width, hidden)
    if lead is None:
        lead = _projector(outer, tower, width, hidden)
    return lead


def _to_few_queries(outer: ConfigReader, tower: ConfigReader, width: int, hidden: int) -> int | None:
    """What turns places into few queries by attention; None where nothing does.

    BLIP-2 and InstructBLIP have a Q-Former. Kosmos-2 attends once, as do Qwen-VL and MiniCPM-V (a key-value projection,
    attention, a last projection), Idefics2 in a perceiver of several layers behind a gated part.
    """
    former, perceiver = outer.nested("qformer_config"), outer.nested("perceiver_config")
    if former.content or outer.word("model_type") in _WITH_QUERY_FORMER:
        return query_former(former) + (former.maybe("hidden_size") or 768) * hidden
    if outer.maybe("latent_query_num"):
        return width * hidden + 4 * hidden * hidden
    if outer.maybe("query_num") or (tower.maybe("output_dim") and tower.maybe("layers")):
        out = tower.maybe("output_dim") or hidden
        return width * out + 5 * out * out
    if not perceiver.content:
        return None
    wide = outer.nested("text_config").maybe("intermediate_size") or 4 * hidden
    heads, dim = perceiver.maybe("resampler_n_heads") or 16, perceiver.maybe("resampler_head_dim") or 96
    shared = perceiver.maybe("num_key_value_heads") or heads
    layer = 2 * hidden * dim * (heads + shared) + 3 * 4 * hidden * hidden
    return width * 2 * wide + wide * hidden + (perceiver.maybe("resampler_depth") or 3) * layer


def _joined_places(outer: ConfigReader, tower: ConfigReader, width: int, hidden: int) -> int | None:
    """Places joined by convolutions, or made from tokens as well as read; None for plain projectors.

    CogVLM and GLM-4V join four places, then pass a gated part. GOT-OCR has the neck of SAM and two more halvings. Janus
    has an image autoencoder with a head and an aligner of its own.
    """
    if outer.nested("vq_config").content:
        return _projector(outer, tower, tower.maybe("projection_dim") or width, hidden) + _generator(outer, hidden)
    if tower.numbers("global_attn_indexes"):
        neck = tower.maybe("output_channels") or 256
        return neck * width + 9 * neck * neck + 9 * (2 + 8) * neck * neck + 4 * neck * hidden
    if tower.maybe("num_positions") and not tower.word("model_type"):
        gated = outer.maybe("ffn_hidden_size", "intermediate_size") or 4 * hidden
        return 4 * width * hidden + hidden * hidden + 3 * hidden * gated
    return None


def _projector(outer: ConfigReader, tower: ConfigReader, width: int, hidden: int) -> int:
    """From the encoder's width to the language model's."""
    kind = outer.word("model_type")
    merge = tower.maybe("spatial_merge_size", "merge_size") or outer.maybe("spatial_merge_size") or 1
    merged = width * merge * merge
    if kind in {"mistral3", "ministral3"}:
        return merged * width + hidden * (width + hidden)
    joined = 1 if kind.startswith("gemma") else outer.maybe("scale_factor", "pixel_shuffle_factor")
    if joined:  # So many places a side become one (Idefics 3, SmolVLM).
        return width * joined * joined * hidden
    if kind.startswith("step3"):  # Two convolutions of three places, each to half the side and twice the width.
        return 9 * (2 + 8) * width * width + 4 * width * hidden
    if kind in {"mllama", "internvl", "internvl_chat"}:
        twice = kind != "mllama"
        return (tower.maybe("vision_output_dim") or (4 if twice else 1) * width) * hidden + twice * hidden * hidden
    if merge > 1:
        deep = tower.content.get("deepstack_visual_indexes")
        times = 1 + (len(deep) if isinstance(deep, list) else 0)
        return times * (merged * merged + merged * (tower.maybe("out_hidden_size") or hidden))
    return width * hidden + hidden * hidden


def _generator(outer: ConfigReader, hidden: int) -> int:
    """Janus: what turns picture tokens into pictures, and their aligner and head beside the language model's.

    Source: the classes JanusVQVAE, JanusVQVAEAlignerMLP and JanusVQVAEHead.
    """
    reader = outer.nested("vq_config")
    base, layers = reader.maybe("base_channels") or 128, reader.maybe("num_res_blocks") or 2
    widths = [base * times for times in reader.numbers("channel_multiplier") or [1, 1, 2, 2, 4]]
    wide, tokens = reader.maybe("projection_dim") or hidden, reader.maybe("num_embeddings") or 16384
    attended = (2 * layers + 1) * 4 * widths[-1] ** 2
    pictures = autoencoder_parameters(widths, layers, reader.maybe("latent_channels") or 256, 3) + attended
    aligner = (reader.maybe("embed_dim") or 8) * wide + wide * wide
    return pictures + aligner + (reader.maybe("image_token_embed_dim") or wide) * wide + wide * tokens
