"""Parameters and bytes from the headers of weights, beside a configuration or a part of a pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from whichgpu.engine.catalogue import model_from_config
from whichgpu.engine.catalogue.weights import weights_in


_BYTES = {"F32": 4, "BF16": 2, "F8_E4M3": 1, "U8": 1, "I64": 8}
UNKNOWN: dict[str, Any] = {
    "model_type": "brand-new",
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 1000,
}


def write(path: Path, tensors: dict[str, tuple[str, list[int]]], *, cut: int = 0) -> None:
    """A file of weights of these types and shapes, all zero; short of its last bytes with ``cut``."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        size = _BYTES[dtype]
        for edge in shape:
            size *= edge
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    raw = json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + bytes(end - cut))


def test_parameters_and_bytes_of_one_file(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"a": ("BF16", [100, 50]), "b": ("F32", [7]), "scalar": ("F32", [])})
    found = weights_in(tmp_path)
    assert found is not None
    assert (found.parameters, found.size_bytes) == (5008, 10_032)


def test_positions_are_no_parameters_and_packed_numbers_hide_them(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"a": ("BF16", [1000, 500]), "position_ids": ("I64", [1, 77])})
    found = weights_in(tmp_path)
    assert found is not None
    assert found.parameters == 500_000
    write(tmp_path / "model.safetensors", {"a": ("U8", [1000, 500]), "norm": ("BF16", [1000])})
    found = weights_in(tmp_path)
    assert found is not None
    assert (found.parameters, found.size_bytes) == (None, 502_000)


def test_one_copy_is_counted_where_a_folder_has_several(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"a": ("F32", [10])})
    write(tmp_path / "model.fp16.safetensors", {"a": ("BF16", [10])})
    found = weights_in(tmp_path)
    assert found is not None
    assert (found.parameters, found.size_bytes) == (10, 40)
    (tmp_path / "model.safetensors").unlink()
    write(tmp_path / "other.safetensors", {"a": ("F32", [10])})
    assert weights_in(tmp_path) is None  # Nothing says which of the two is meant.


def test_parts_that_an_index_lists(tmp_path: Path) -> None:
    parts = {f"model-0000{number}-of-00002.safetensors": {f"layer{number}": ("BF16", [1, number])} for number in (1, 2)}
    for name, tensors in parts.items():
        write(tmp_path / name, tensors)
    write(tmp_path / "consolidated.safetensors", {"all": ("BF16", [1, 3])})
    index = {"weight_map": {tensor: name for name, tensors in parts.items() for tensor in tensors}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    found = weights_in(tmp_path)
    assert found is not None
    assert found.parameters == 3
    (tmp_path / "model-00002-of-00002.safetensors").unlink()  # A download that is not done.
    assert weights_in(tmp_path) is None


@pytest.mark.parametrize("raw", [b"", b"\x10", b"\xff" * 8, (3).to_bytes(8, "little") + b"[1]", bytes(20)])
def test_what_is_no_file_of_weights_says_nothing(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(raw)
    found = weights_in(tmp_path)
    assert found is None or found.parameters is None


def test_a_file_that_ends_early_says_nothing(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"a": ("F32", [10])}, cut=1)
    assert weights_in(tmp_path) is None


def test_a_kind_that_is_not_known_has_the_size_of_its_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(UNKNOWN), encoding="utf-8")
    guessed = model_from_config(tmp_path)
    write(tmp_path / "model.safetensors", {"a": ("BF16", [1000, 1234])})
    weighed = model_from_config(tmp_path / "config.json")
    assert weighed.params_b == 0.001234
    assert weighed.params_b != guessed.params_b
    assert weighed.notes[-1] == "0.001234 B parameters are counted in its weights"
    assert weighed.published_file_gib == pytest.approx(2_468_000 / 2**30, abs=1e-3)


def test_a_kind_that_is_known_keeps_the_count_from_its_dimensions(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**UNKNOWN, "model_type": "llama"}), encoding="utf-8")
    counted = model_from_config(tmp_path)
    write(tmp_path / "model.safetensors", {"a": ("BF16", [1000, 1234])})
    assert model_from_config(tmp_path).params_b == counted.params_b


def test_a_network_of_pictures_that_is_not_read_has_the_size_of_its_weights(tmp_path: Path) -> None:
    config = {"model_type": "efficientnet", "image_size": 600, "num_channels": 3}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write(tmp_path / "model.safetensors", {"a": ("F32", [1000, 66_000])})
    spec = model_from_config(tmp_path)
    assert (spec.kind, spec.params_b, spec.resolution_px) == ("vision", 0.066, 600)
    assert "efficientnet" in spec.notes[0]


def test_the_parts_of_a_pipeline(tmp_path: Path) -> None:
    parts = {
        "transformer": {"_class_name": "NobodyKnowsTransformer2DModel"},
        "text_encoder": {"model_type": "brand-new"},
        "vae": {"_class_name": "AutoencoderOfSomebody", "latent_channels": 16, "block_out_channels": [8, 16]},
    }
    index: dict[str, Any] = {"_class_name": "NobodyKnowsPipeline"}
    for number, (part, config) in enumerate(parts.items(), start=1):
        (tmp_path / part).mkdir()
        (tmp_path / part / "config.json").write_text(json.dumps(config), encoding="utf-8")
        write(tmp_path / part / "diffusion_pytorch_model.safetensors", {"a": ("BF16", [number, 1_000_000])})
        index[part] = ["diffusers", "Anything"]
    (tmp_path / "model_index.json").write_text(json.dumps(index), encoding="utf-8")
    spec = model_from_config(tmp_path)
    assert spec.components_b == {"transformer": 0.001, "text_encoder": 0.002, "vae": 0.003}
    assert (spec.params_b, spec.notes) == (0.001, ())
