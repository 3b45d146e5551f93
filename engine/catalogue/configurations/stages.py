"""Vision networks in stages of fewer and wider places: Swin, ConvNeXt, ResNet, Mix Transformers."""

from __future__ import annotations

from whichgpu.engine.catalogue.configurations.network import Network
from whichgpu.engine.catalogue.configurations.patches import KEPT, KEPT_MIXED
from whichgpu.engine.catalogue.configurations.reader import ConfigReader


#: Widths of a layer that training keeps of each place of a ConvNeXt: a convolution, a norm, two linear layers and a
#: scale; with a norm over responses (V2); more under autocast.
_KEPT_CONV, _KEPT_CONV_V2, _KEPT_CONV_MIXED = 12.0, 19.0, 1.5


def _stages(reader: ConfigReader, edge: int) -> list[tuple[int, int, int]]:
    """Depth, width and places of each stage: half the side and twice the width of the one before."""
    depths = reader.numbers("depths")
    if not depths:
        reader.required("depths")
    base = reader.maybe("embed_dim") or 96
    widths = reader.numbers("hidden_sizes") or [base << place for place in range(len(depths))]
    patch = reader.maybe("patch_size") or 4
    return [
        (depth, width, max(1, edge // patch >> place) ** 2)
        for place, (depth, width) in enumerate(zip(depths, widths, strict=False))
    ]


def swin(reader: ConfigReader, edge: int) -> Network:
    """Attention within windows, four places joined between stages. Source: Liu et al. 2021; V2: Liu et al. 2022."""
    stages, heads = _stages(reader, edge), reader.numbers("num_heads")
    window, second = reader.maybe("window_size") or 7, reader.word("model_type") == "swinv2"
    patch, ratio = reader.maybe("patch_size") or 4, reader.maybe("mlp_ratio") or 4
    params, macs, kept, mixed = 3 * patch * patch * stages[0][1] + 3 * stages[0][1] if stages else 0, 0.0, 0.0, 0.0
    for place, (depth, width, places) in enumerate(stages):
        many = heads[place] if place < len(heads) else max(1, width // 32)
        distances = 512 * (2 + many) + 512 if second else many * (2 * window - 1) ** 2
        matrices = (4 + 2 * ratio) * width * width
        params += depth * (matrices + (9 + ratio) * width + distances)
        macs += depth * places * (matrices + 2 * window * window * width)
        scores = depth * places * many * window * window
        # V2 norms queries and keys, and once more what each part adds.
        kept += depth * places * width * (KEPT[0] + 2 * ratio + 3 * second) + scores * (1 + second)
        mixed += depth * places * width * (KEPT_MIXED[0] + 2 * ratio + 4 * second) + scores * (3 + second)
        if place + 1 < len(stages):
            params += 8 * width * width + (4 if second else 8) * width
            macs += 2 * places * width * width
        kept, mixed = kept + 2 * places * width, mixed + 2 * places * width
    macs += stages[0][2] * 3 * patch * patch * stages[0][1] if stages else 0
    return Network(params + (2 * stages[-1][1] if stages else 0), macs, kept, mixed)


def convnext(reader: ConfigReader, edge: int) -> Network:
    """Convolutions of seven places a channel, and two linear layers. Source: Liu et al. 2022; V2: Woo et al. 2023."""
    stages, second = _stages(reader, edge), reader.word("model_type") == "convnextv2"
    patch = reader.maybe("patch_size") or 4
    params = macs = activations = 0
    kept = 0.0
    before, size = 3, patch
    for depth, width, places in stages:
        params += depth * (8 * width * width + 49 * width + (17 if second else 10) * width)
        macs += depth * places * (8 * width * width + 49 * width)
        activations += depth * places * 6 * width + places * width
        kept += depth * places * width * (_KEPT_CONV_V2 if second else _KEPT_CONV) + 2 * places * width
        params += size * size * before * width + width + 2 * (width if before == 3 else before)  # colours
        macs += places * size * size * before * width
        before, size = width, 2
    mixed = kept + _KEPT_CONV_MIXED * sum(depth * width * places for depth, width, places in stages)
    return Network(params + 2 * before, macs, kept or None, mixed or None, activations)


def resnet(reader: ConfigReader, edge: int) -> Network:
    """Residual convolutions. Source: He et al. 2016; the class ResNetModel, which halves places in the second one."""
    depths, widths = reader.numbers("depths"), reader.numbers("hidden_sizes")
    if not depths or not widths:
        reader.required("depths")
    stem, narrow = reader.maybe("embedding_size") or 64, reader.word("layer_type") != "basic"
    side = edge // 2
    params, macs, given = 49 * 3 * stem + 2 * stem, side * side * 49 * 3 * stem, side * side * stem
    side, before = side // 2, stem
    for stage, (depth, width) in enumerate(zip(depths, widths, strict=False)):
        halves = stage > 0 or reader.flag("downsample_in_first_stage", default=False)
        for layer in range(depth):
            first = halves and layer == 0
            out = side // 2 if first else side
            inner = width // 4 if narrow else width
            convolutions = (
                [(before, inner, 1, side), (inner, inner, 3, out), (inner, width, 1, out)]
                if narrow
                else [(before, width, 3, out), (width, width, 3, out)]
            )
            if before != width or first:
                convolutions.append((before, width, 1, out))
            for channels, gives, size, edge_out in convolutions:
                params += size * size * channels * gives + 2 * gives
                macs += edge_out * edge_out * size * size * channels * gives
                given += edge_out * edge_out * gives
            before, side = width, out
    return Network(params, macs, activations=given)


def mix_transformer(reader: ConfigReader, edge: int) -> Network:
    """SegFormer's encoder: fewer keys, a convolution within the feed-forward part. Source: Xie et al. 2021."""
    depths, widths = reader.numbers("depths"), reader.numbers("hidden_sizes")
    if not depths or not widths:
        reader.required("depths")
    sizes, strides = reader.numbers("patch_sizes"), reader.numbers("strides")
    ratios, fewer = reader.numbers("mlp_ratios"), reader.numbers("sr_ratios")
    params = macs = given = 0
    before, side = 3, edge
    for place, (depth, width) in enumerate(zip(depths, widths, strict=False)):
        size, stride = (numbers[place] if place < len(numbers) else 1 for numbers in (sizes, strides))
        inner = (ratios[place] if place < len(ratios) else 4) * width
        reduced = fewer[place] if place < len(fewer) else 1
        side = max(1, side // max(1, stride))
        places = side * side
        narrowing = reduced * reduced * width * width if reduced > 1 else 0
        matrices = 4 * width * width + 2 * width * inner
        params += size * size * before * width + 3 * width + 2 * width
        params += depth * (matrices + narrowing + (3 * width if narrowing else 0) + 11 * inner + 9 * width)
        keys = places // (reduced * reduced)
        each = places * (2 * width * width + 2 * width * inner + 9 * inner) + keys * (2 * width * width + narrowing)
        macs += places * size * size * before * width + depth * (each + 2 * places * keys * width)
        given += places * width + depth * places * (2 * width + 2 * inner)
        before = width
    return Network(params, macs, activations=given)


def all_layer_decoder(reader: ConfigReader) -> int:
    """Parameters of SegFormer's decoder: every stage in one width, joined. Source: Xie et al. 2021."""
    widths, width = reader.numbers("hidden_sizes"), reader.maybe("decoder_hidden_size") or 256
    return sum(widths) * width + len(widths) * (width + width * width) + 2 * width
