"""Parameters of text encoders where they differ from BERT's layers, tables and pooler.

Every formula is the shapes of the matrices as the classes of transformers, or a model's own code, make them; biases and
norms of less than a thousandth of a layer are left out.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.catalogue.parameters import ParameterCount


#: Their classes give the last layer as it is, without a pooler.
_WITHOUT_POOLER = frozenset(
    (
        *(
            "bert-generation",
            "clip_text_model",
            "convbert",
            "esmc",
            "eurobert",
            "flaubert",
            "funnel",
            "gte",
            "modernbert",
            "new",
        ),
        *("nomic_bert", "xlm", "xlnet"),
    )
)


class _Encoder(Struct, frozen=True):
    """An encoder as BERT would have it; parameters of one layer."""

    reader: ConfigReader
    hidden: int
    inner: int
    layers: int
    heads: int
    vocab: int
    positions: int
    attention: int
    layer: int


def encoder_change(reader: ConfigReader, spec: ModelSpec, count: ParameterCount) -> int:
    """By how much an encoder differs from ``count``, which has BERT's layers, one table of words and a pooler."""
    if spec.kind != "encoder" or not spec.layers or not spec.hidden:
        return 0
    kind = reader.word("model_type")
    encoder = _Encoder(
        reader=reader,
        hidden=spec.hidden,
        inner=spec.intermediate or 0,
        layers=spec.layers,
        heads=spec.heads or 1,
        vocab=spec.vocab or 0,
        positions=spec.learned_positions or 0,
        attention=count.attention // spec.layers,
        layer=(count.attention + count.mlp) // spec.layers,
    )
    change = -spec.hidden * spec.hidden if kind in _WITHOUT_POOLER else 0
    own = _OWN.get(kind)
    return change + (own(encoder) if own else 0) + _task_adapters(encoder)


def _canine(encoder: _Encoder) -> int:
    """A layer over characters before the others, one behind, and convolutions between. Source: Clark et al. 2022."""
    rate = encoder.reader.maybe("downsampling_rate") or 4
    kernel = encoder.reader.maybe("upsampling_kernel_size") or 4
    return 2 * encoder.layer + (rate + 2 * kernel) * encoder.hidden * encoder.hidden


def _convbert(encoder: _Encoder) -> int:
    """Half of the heads are convolutions whose kernels come from the text. Source: Jiang et al. 2020."""
    hidden, ratio = encoder.hidden, encoder.reader.maybe("head_ratio") or 2
    groups, kernel = encoder.reader.maybe("num_groups") or 1, encoder.reader.maybe("conv_kernel_size") or 9
    narrow, heads = hidden // ratio, max(1, encoder.heads // ratio)
    attention = 5 * hidden * narrow + hidden * hidden + narrow * heads * kernel + hidden * kernel
    grouped = 2 * hidden * encoder.inner * (groups - 1) // groups
    return encoder.layers * (attention - 4 * hidden * hidden - grouped)


def _fnet(encoder: _Encoder) -> int:
    """Fourier transforms in the place of attention; a projection of the tables. Source: Lee-Thorp et al. 2022."""
    return encoder.hidden * encoder.hidden - encoder.layers * encoder.attention


def _funnel(encoder: _Encoder) -> int:
    """Two more layers that give every token back, and distances as in XLNet. Source: Dai et al. 2020."""
    behind = encoder.reader.maybe("num_decoder_layers") or 2
    return _distances(encoder) + behind * (encoder.layer + encoder.hidden * encoder.hidden)


def _layoutlm(encoder: _Encoder) -> int:
    """Tables of the edges and sides of a word's box; version 3: patches too. Source: Xu et al. 2020 and 2022."""
    hidden, reader = encoder.hidden, encoder.reader
    rows, patch = reader.maybe("max_2d_position_embeddings") or 1024, reader.maybe("patch_size")
    edge, side = reader.maybe("coordinate_size") or hidden, reader.maybe("shape_size") or hidden
    patches = (3 * patch * patch + ((reader.maybe("input_size") or 224) // patch) ** 2) * hidden if patch else 0
    return 2 * rows * (edge + side) + patches


def _lilt(encoder: _Encoder) -> int:
    """A second, narrower stream for the layout in every layer. Source: Wang et al. 2022."""
    shrink = encoder.reader.maybe("channel_shrink_ratio") or 4
    narrow, rows = encoder.hidden // shrink, encoder.reader.maybe("max_2d_position_embeddings") or 1024
    stream = 4 * narrow * narrow + 2 * narrow * (encoder.inner // shrink)
    return encoder.layers * stream + 4 * rows * (encoder.hidden // 6) + narrow * (encoder.hidden + encoder.positions)


def _longformer(encoder: _Encoder) -> int:
    """Queries, keys and values of their own for tokens that see the whole text. Source: Beltagy et al. 2020."""
    return 3 * encoder.layers * encoder.hidden * encoder.hidden


def _luke(encoder: _Encoder) -> int:
    """A table of entities, and queries for each pairing of words and entities. Source: Yamada et al. 2020."""
    reader, width = encoder.reader, encoder.reader.maybe("entity_emb_size") or 256
    entities = (reader.maybe("entity_vocab_size") or 500_000) * width + (width + encoder.positions) * encoder.hidden
    return entities + (_longformer(encoder) if reader.flag("use_entity_aware_attention", default=True) else 0)


def _markuplm(encoder: _Encoder) -> int:
    """Tables of tags and their places at each depth of a page's tree. Source: Li et al. 2022."""
    reader, hidden = encoder.reader, encoder.hidden
    path = (reader.maybe("max_depth") or 50) * (reader.maybe("xpath_unit_hidden_size") or 32)
    tags = reader.maybe("max_xpath_tag_unit_embeddings") or 256
    places = reader.maybe("max_xpath_subs_unit_embeddings") or 1024
    return path * (tags + places) + 5 * path * hidden + 4 * hidden * hidden


def _mobilebert(encoder: _Encoder) -> int:
    """Layers that work in a narrow space, with several feed-forward parts each. Source: Sun et al. 2020."""
    reader, hidden, inner = encoder.reader, encoder.hidden, encoder.inner
    narrow, words = reader.maybe("intra_bottleneck_size") or 128, reader.maybe("embedding_size") or 128
    parts = reader.maybe("num_feedforward_networks") or 4
    layer = 3 * narrow * narrow + 4 * hidden * narrow + parts * 2 * narrow * inner
    wider = encoder.positions * (hidden - words) + 2 * words * hidden  # three words beside each other
    narrowed = layer - encoder.layer if reader.flag("use_bottleneck", default=True) else 0
    return encoder.layers * narrowed + wider


def _roc_bert(encoder: _Encoder) -> int:
    """Tables of how a character sounds and looks, joined with its own. Source: Su et al. 2022."""
    reader, total, joined = encoder.reader, 0, encoder.hidden
    for name, rows, width in (("pronunciation", 910, 768), ("shape", 24858, 512)):
        if reader.flag(f"enable_{name}", default=True):
            wide = reader.maybe(f"{name}_embed_dim") or width
            total += (reader.maybe(f"{name}_vocab_size") or rows) * wide
            joined += wide
    return total + (joined * encoder.hidden if reader.flag("concat_input", default=True) else 0)


def _squeezebert(encoder: _Encoder) -> int:
    """Linear layers in groups of channels. Source: Iandola et al. 2020."""
    hidden, groups = encoder.hidden, encoder.reader.maybe
    square, wide = hidden * hidden, hidden * encoder.inner
    left = sum(square // (groups(key) or 1) for key in ("q_groups", "k_groups", "v_groups", "post_attention_groups"))
    left += sum(wide // (groups(key) or 1) for key in ("intermediate_groups", "output_groups"))
    return encoder.layers * (left - 4 * square - 2 * wide)


def _tapas(encoder: _Encoder) -> int:
    """Tables of rows, columns and ranks of a cell. Source: Herzig et al. 2020."""
    return sum(encoder.reader.numbers("type_vocab_sizes")) * encoder.hidden


def _distances(encoder: _Encoder) -> int:
    """A projection of distances in every layer, of Transformer-XL's attention. Source: Yang et al. 2019."""
    return encoder.layers * encoder.hidden * encoder.hidden


def _xmod(encoder: _Encoder) -> int:
    """Adapters for each language in every layer. Source: Pfeiffer et al. 2022."""
    narrow = encoder.hidden // (encoder.reader.maybe("adapter_reduction_factor") or 2)
    return encoder.layers * len(encoder.reader.words("languages")) * 2 * encoder.hidden * narrow


_OWN: dict[str, Callable[[_Encoder], int]] = {
    "canine": _canine,
    "convbert": _convbert,
    "fnet": _fnet,
    "funnel": _funnel,
    "layoutlm": _layoutlm,
    "layoutlmv3": _layoutlm,
    "lilt": _lilt,
    "longformer": _longformer,
    "luke": _luke,
    "markuplm": _markuplm,
    "mluke": _luke,
    "mobilebert": _mobilebert,
    "roc_bert": _roc_bert,
    "squeezebert": _squeezebert,
    "tapas": _tapas,
    "xlnet": _distances,
    "xmod": _xmod,
}


def _task_adapters(encoder: _Encoder) -> int:
    """Low-rank matrices for each task beside every linear layer and the table of words, as Jina's embeddings have."""
    tasks, rank = len(encoder.reader.words("lora_adaptations")), encoder.reader.maybe("lora_rank") or 4
    hidden = encoder.hidden
    layer = 8 * hidden + 2 * encoder.inner
    return tasks * rank * (encoder.layers * layer + encoder.vocab + 3 * hidden)
