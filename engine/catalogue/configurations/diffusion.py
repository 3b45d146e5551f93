"""Parameters of the parts of a diffusion pipeline from their configurations.

The formulas are the shapes of the layers as diffusers makes them. A transformer of a class that is not known is taken
for blocks of sixteen squares of its width (attention to itself and to the text, a feed-forward part of four widths).
"""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.catalogue.configurations.denoisers import DENOISERS
from whichgpu.engine.catalogue.configurations.dual_streams import width_of
from whichgpu.engine.catalogue.configurations.reader import ConfigReader


#: Numbers of a time step before it is embedded.
#: Parameters of Wan-Animate's encoder of motion, convolutions of one published size.
_MOTION_ENCODER = 22_736_436
_STEP_CHANNELS = 256


def denoiser_parameters(reader: ConfigReader) -> tuple[int, bool]:
    """Parameters of a UNet or a transformer, and whether its class is one whose layout is known."""
    name = reader.word("_class_name")
    if name.startswith("UNet2DCondition"):
        return _unet(reader), True
    known = _TRANSFORMERS.get(name) or DENOISERS.get(name)
    size = (known or _other)(reader)
    if size <= 0 and not reader.problems:  # Whatever its class is, it has no width.
        reader.required("num_attention_heads")
    return size, known is not None


def _linear(rows: int, columns: int) -> int:
    return rows * columns + columns


def _two_linear(rows: int, columns: int) -> int:
    return _linear(rows, columns) + _linear(columns, columns)


def _feed_forward(width: int, inner: int | None = None) -> int:
    inner = inner or 4 * width
    return _linear(width, inner) + _linear(inner, width)


def _two_streams(width: int) -> int:
    """A block of pictures and text side by side: modulation, attention and feed-forward part of each."""
    return 2 * (_linear(width, 6 * width) + 4 * _linear(width, width) + _feed_forward(width))


def _flux(reader: ConfigReader) -> int:
    width, dim = width_of(reader), reader.maybe("attention_head_dim") or 128
    channels, text = reader.maybe("in_channels") or 64, reader.maybe("joint_attention_dim") or 4096
    pooled = reader.maybe("pooled_projection_dim")
    times = 1 + reader.flag("guidance_embeds", default=False)
    inputs = _linear(channels, width) + _linear(text, width) + times * _two_linear(_STEP_CHANNELS, width)
    inputs += _two_linear(pooled, width) if pooled else 0
    doubles = (reader.maybe("num_layers") or 0) * (_two_streams(width) + 4 * dim)
    single = _linear(width, 3 * width) + _linear(width, 4 * width) + 3 * _linear(width, width)
    singles = (reader.maybe("num_single_layers") or 0) * (single + _linear(5 * width, width) + 2 * dim)
    return inputs + doubles + singles + _linear(width, 2 * width) + _linear(width, channels)


def _sd3(reader: ConfigReader) -> int:
    width, dim = width_of(reader), reader.maybe("attention_head_dim") or 64
    patch = reader.maybe("patch_size") or 2
    channels, layers = reader.maybe("in_channels") or 16, reader.count("num_layers") or 0
    out = reader.maybe("out_channels") or channels
    dual = len(reader.numbers("dual_attention_layers"))
    inputs = _linear(patch * patch * channels, width) + (reader.maybe("pos_embed_max_size") or 96) ** 2 * width
    inputs += _two_linear(_STEP_CHANNELS, width) + _two_linear(reader.maybe("pooled_projection_dim") or 2048, width)
    inputs += _linear(reader.maybe("joint_attention_dim") or 4096, width)
    norms = 4 * dim if reader.word("qk_norm") else 0
    blocks = layers * (_two_streams(width) + norms)
    # The text of the last block is not used any more: half a modulation less, no output, no feed-forward part.
    blocks -= _linear(width, 4 * width) + _linear(width, width) + _feed_forward(width)
    blocks += dual * (_linear(width, 3 * width) + 4 * _linear(width, width) + norms // 2)
    return inputs + blocks + _linear(width, 2 * width) + _linear(width, patch * patch * out)


def _qwen_image(reader: ConfigReader) -> int:
    width, dim = width_of(reader), reader.maybe("attention_head_dim") or 128
    channels, text = reader.maybe("in_channels") or 64, reader.maybe("joint_attention_dim") or 3584
    patch, out = reader.maybe("patch_size") or 2, reader.maybe("out_channels") or 16
    inputs = _linear(channels, width) + _linear(text, width) + text + _two_linear(_STEP_CHANNELS, width)
    blocks = (reader.count("num_layers") or 0) * (_two_streams(width) + 4 * dim)
    return inputs + blocks + _linear(width, 2 * width) + _linear(width, patch * patch * out)


def _wan(reader: ConfigReader) -> int:
    width, inner = width_of(reader), reader.count("ffn_dim") or 0
    channels, text = reader.maybe("in_channels") or 16, reader.maybe("text_dim") or 4096
    picture, added = reader.maybe("image_dim"), reader.maybe("added_kv_proj_dim")
    inputs = _linear(4 * channels, width) + _two_linear(text, width) + _two_linear(_STEP_CHANNELS, width)
    inputs += _linear(width, 6 * width)
    inputs += _linear(picture, picture) + _linear(picture, width) + 2 * (picture + width) if picture else 0
    block = 8 * _linear(width, width) + _feed_forward(width, inner) + 12 * width
    block += 2 * _linear(added, width) + width if added else 0
    out = 4 * (reader.maybe("out_channels") or 16)
    beside = len(reader.numbers("vace_layers"))  # VACE: some blocks again for what is given, each with a way out.
    inputs += beside * (block + _linear(width, width)) + (_linear(width, width) if beside else 0)
    return inputs + (reader.count("num_layers") or 0) * block + _linear(width, out) + 2 * width


def _wan_animate(reader: ConfigReader) -> int:
    """Wan with encoders of a face and of its motion, which one block in so many attends to."""
    width, narrow = width_of(reader), reader.maybe("face_encoder_hidden_dim") or 1024
    style, heads = reader.maybe("motion_style_dim") or 512, reader.maybe("face_encoder_num_heads") or 4
    adapters = (reader.count("num_layers") or 0) // (reader.maybe("inject_face_latents_blocks") or 5)
    face = 3 * style * heads * narrow + 6 * narrow * narrow + narrow * width
    return _wan(reader) + adapters * 4 * width * width + face + _MOTION_ENCODER


def _cogvideo(reader: ConfigReader) -> int:
    width, dim = width_of(reader), reader.maybe("attention_head_dim") or 64
    patch, channels = reader.maybe("patch_size") or 2, reader.maybe("in_channels") or 16
    frames = reader.maybe("patch_size_t") or 1
    step, text = reader.maybe("time_embed_dim") or 512, reader.maybe("text_embed_dim") or 4096
    inputs = _linear(patch * patch * frames * channels, width) + _linear(text, width)
    inputs += _linear(width, step) + _linear(step, step)
    block = 2 * (_linear(step, 6 * width) + 2 * width) + 4 * _linear(width, width) + 4 * dim + _feed_forward(width)
    out = patch * patch * frames * (reader.maybe("out_channels") or channels)
    tail = _linear(step, 2 * width) + 4 * width + _linear(width, out)
    return inputs + (reader.count("num_layers") or 0) * block + tail


def _pixart(reader: ConfigReader) -> int:
    width, patch = width_of(reader), reader.maybe("patch_size") or 2
    text, channels = reader.maybe("caption_channels") or 4096, reader.maybe("in_channels") or 4
    inputs = _linear(patch * patch * channels, width) + _two_linear(_STEP_CHANNELS, width)
    inputs += _linear(width, 6 * width) + _two_linear(text, width)
    block = 8 * _linear(width, width) + _feed_forward(width) + 6 * width
    out = _linear(width, patch * patch * (reader.maybe("out_channels") or 2 * channels))
    return inputs + (reader.count("num_layers") or 0) * block + out + 2 * width


def _other(reader: ConfigReader) -> int:
    layers = (reader.maybe("num_layers", "depth", "num_hidden_layers") or 0) + (reader.maybe("num_single_layers") or 0)
    if not layers:
        reader.required("num_layers")
    if not width_of(reader):
        reader.required("num_attention_heads")
    return 16 * layers * width_of(reader) ** 2


_TRANSFORMERS: dict[str, Callable[[ConfigReader], int]] = {
    "FluxTransformer2DModel": _flux,
    "SD3Transformer2DModel": _sd3,
    "QwenImageTransformer2DModel": _qwen_image,
    "SkyReelsV2Transformer3DModel": _wan,
    "WanTransformer3DModel": _wan,
    "WanVACETransformer3DModel": _wan,
    "WanAnimateTransformer3DModel": _wan_animate,
    "CogVideoXTransformer3DModel": _cogvideo,
    "ConsisIDTransformer3DModel": _cogvideo,
    "PixArtTransformer2DModel": _pixart,
    "Transformer2DModel": _pixart,
}


def _resnet(inside: int, out: int, step: int = 0) -> int:
    shortcut = _linear(inside, out) if inside != out else 0
    time = _linear(step, out) if step else 0
    return 2 * inside + 9 * inside * out + out + time + 2 * out + 9 * out * out + out + shortcut


def _cross_attention(width: int, blocks: int, text: int) -> int:
    block = 6 * width + 6 * width * width + 2 * text * width + 2 * width
    block += _linear(width, 8 * width) + _linear(4 * width, width)
    return 2 * width + 2 * _linear(width, width) + blocks * block


def _unet(reader: ConfigReader) -> int:
    widths = reader.numbers("block_out_channels")
    downs, ups = reader.words("down_block_types"), reader.words("up_block_types")
    if not widths or not len(widths) == len(downs) == len(ups):
        reader.required("block_out_channels" if not widths else "down_block_types")
        return 0
    count, step = len(widths), 4 * widths[0]
    layers = reader.maybe("layers_per_block") or 2
    text = reader.maybe("cross_attention_dim") or 768
    blocks = reader.numbers("transformer_layers_per_block")
    if len(blocks) != count:
        blocks = [reader.maybe("transformer_layers_per_block") or 1] * count
    channels, out = reader.maybe("in_channels") or 4, reader.maybe("out_channels") or 4
    added = reader.maybe("projection_class_embeddings_input_dim")
    total = 9 * channels * widths[0] + widths[0] + _linear(widths[0], step) + _linear(step, step)
    total += _linear(added, step) + _linear(step, step) if added else 0
    before = widths[0]
    for place, width in enumerate(widths):
        total += sum(_resnet(before if not layer else width, width, step) for layer in range(layers))
        total += layers * _cross_attention(width, blocks[place], text) if "CrossAttn" in downs[place] else 0
        total += 9 * width * width + width if place < count - 1 else 0
        before = width
    total += 2 * _resnet(before, before, step) + _cross_attention(before, blocks[-1], text)
    for place, width in enumerate(reversed(widths)):
        skip = widths[::-1][min(place + 1, count - 1)]
        for layer in range(layers + 1):
            inside = (before if not layer else width) + (skip if layer == layers else width)
            total += _resnet(inside, width, step)
        total += (layers + 1) * _cross_attention(width, blocks[::-1][place], text) if "CrossAttn" in ups[place] else 0
        total += 9 * width * width + width if place < count - 1 else 0
        before = width
    return total + 2 * widths[0] + 9 * widths[0] * out + out


def vae_parameters(reader: ConfigReader) -> int | None:
    """Parameters of an ``AutoencoderKL``; None of another class."""
    widths = reader.numbers("block_out_channels")
    if reader.word("_class_name") != "AutoencoderKL" or not widths:
        return None
    layers, latent = reader.maybe("layers_per_block") or 1, reader.maybe("latent_channels") or 4
    plain = reader.flag("use_quant_conv", default=True)
    quantised = _linear(2 * latent, 2 * latent) + _linear(latent, latent) if plain else 0
    return autoencoder_parameters(widths, layers, latent, reader.maybe("in_channels") or 3) + quantised


def autoencoder_parameters(widths: list[int], layers: int, latent: int, pixels: int) -> int:
    """Parameters of an encoder and a decoder of residual convolutions, with attention at the narrowest place.

    Args:
        widths: channels of each level.
        layers: residual blocks of each level of the encoder; the decoder has one more.
        latent: channels of what lies between them; the encoder gives a mean and a spread of each.
        pixels: channels of a picture.
    """
    last = widths[-1]
    middle = 2 * _resnet(last, last) + 2 * last + 4 * _linear(last, last)
    resized = sum(9 * width * width + width for width in widths[:-1])
    encoder = 9 * pixels * widths[0] + widths[0] + middle + resized + 2 * last + 18 * last * latent + 2 * latent
    before = widths[0]
    for width in widths:
        encoder += _resnet(before, width) + (layers - 1) * _resnet(width, width)
        before = width
    decoder = 9 * latent * last + last + middle + 2 * widths[0] + 9 * widths[0] * pixels + pixels
    before = last
    for place, width in enumerate(reversed(widths)):
        decoder += _resnet(before, width) + layers * _resnet(width, width)
        decoder += 9 * width * width + width if place < len(widths) - 1 else 0
        before = width
    return encoder + decoder


def clip_text_parameters(reader: ConfigReader) -> int:
    """Parameters of a CLIP text encoder, with its projection where the class has one."""
    width, inner = reader.count("hidden_size") or 0, reader.count("intermediate_size") or 0
    layer = 4 * _linear(width, width) + _linear(width, inner) + _linear(inner, width) + 4 * width
    tables = ((reader.count("vocab_size") or 0) + (reader.maybe("max_position_embeddings") or 77)) * width
    projected = "CLIPTextModelWithProjection" in reader.words("architectures")
    projection = width * (reader.maybe("projection_dim") or width) if projected else 0
    return tables + (reader.count("num_hidden_layers") or 0) * layer + 2 * width + projection
