"""Vision networks from their configuration.

Parameters and multiplications are the shapes of the layers as the classes of transformers make them. What training
keeps of a layer is counted likewise, in widths of the layer for each place: the inputs of its norms and linear layers,
queries, keys, values, the activation and the sums. Traces of such networks (knowledge/models) come within 3 % of it.
"""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.catalogue.configurations.network import Network, edge_of
from whichgpu.engine.catalogue.configurations.pairs import PAIRS, pair_spec
from whichgpu.engine.catalogue.configurations.patches import TRANSFORMERS, vision_transformer
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.configurations.stages import all_layer_decoder, convnext, mix_transformer, resnet, swin
from whichgpu.engine.catalogue.model import ModelSpec


_READERS: dict[str, Callable[[ConfigReader, int], Network]] = {
    "swin": swin,
    "swinv2": swin,
    "donut-swin": swin,
    "convnext": convnext,
    "convnextv2": convnext,
    "dinov3_convnext": convnext,
    "resnet": resnet,
    "segformer": mix_transformer,
}
VISION = frozenset(TRANSFORMERS | PAIRS.keys() | _READERS.keys())


def vision_spec(reader: ConfigReader, identity: str) -> ModelSpec:
    """The network of a configuration.

    Raises:
        InputError: it lacks a dimension.
    """
    kind = reader.word("model_type")
    if kind in PAIRS:
        return pair_spec(reader, identity)
    edge = edge_of(reader)
    network = _READERS.get(kind, vision_transformer)(reader, edge)
    reader.finish()
    pixels, frames = edge * edge, reader.maybe("num_frames")
    return ModelSpec(
        id=identity,
        name=identity,
        kind="vision",
        params_b=round((network.params + _last_layers(reader, kind, _width(reader))) / 1e9, 9),
        gmacs_per_image=round(network.macs / 1e9, 3),
        macts_per_image=round(network.activations / 1e6, 2) if network.activations else None,
        kept_per_pixel=round(network.kept / pixels, 1) if network.kept else None,
        kept_per_pixel_mixed=round(network.kept_mixed / pixels, 1) if network.kept_mixed else None,
        resolution_px=edge,
        embedding_dim=_width(reader),
        sources=("config.json",),
        notes=(f"a clip of {frames} pictures counts as one image",) if frames else (),
    )


def network_of_size(reader: ConfigReader, identity: str, parameters: int) -> ModelSpec:
    """A vision network whose layers are not read, with as many parameters as its weights have."""
    return ModelSpec(
        id=identity,
        name=identity,
        kind="vision",
        params_b=round(parameters / 1e9, 9),
        resolution_px=edge_of(reader),
        sources=("config.json",),
        notes=(f"the layers of a {reader.word('model_type')!r} are not read: its parameters are those of its weights",),
    )


def _width(reader: ConfigReader) -> int:
    """Of what comes out."""
    widths = reader.numbers("hidden_sizes")
    if widths:
        return widths[-1]
    depths = reader.numbers("depths")
    if depths:
        return (reader.maybe("embed_dim") or 0) << (len(depths) - 1)
    return reader.maybe("hidden_size") or 0


def _last_layers(reader: ConfigReader, kind: str, width: int) -> int:
    """What names classes, where some are listed; DINOv2's layer reads the first place and the mean."""
    labels = len(reader.nested("id2label").content)
    if kind == "segformer" and any("Segmentation" in name for name in reader.words("architectures")):
        return all_layer_decoder(reader) + labels * ((reader.maybe("decoder_hidden_size") or 256) + 1)
    return labels * ((2 if kind.startswith("dinov2") else 1) * width + 1)
