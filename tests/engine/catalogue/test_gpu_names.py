"""Names of accelerators: those that the guides use, those that people and drivers write, and what cannot be meant."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.catalogue import GpuNames, load_knowledge
from whichgpu.engine.catalogue.model import Gpu


KNOWLEDGE = load_knowledge()

#: Every accelerator id that the five guides, their cases and heuristics name.
NAMED_BY_THE_GUIDES = (
    "nvidia-rtx-4090",
    "nvidia-a100-80gb",
    "nvidia-h100-80gb",
    "nvidia-t4",
    "nvidia-h200-141gb",
    "nvidia-a100-40gb",
    "nvidia-l40s",
    "nvidia-h100-sxm-80gb",
    "nvidia-rtx-3090",
    "amd-mi300x",
    "nvidia-b200",
    "nvidia-rtx-4060-ti-16gb",
    "nvidia-rtx-4080-super",
    "nvidia-rtx-5090",
    "nvidia-l4",
    "nvidia-rtx-4070-super",
    "nvidia-h100-pcie-80gb",
    "nvidia-rtx-a6000",
    "nvidia-rtx-3060",
    "nvidia-rtx-3080",
    "amd-rx-7900-xtx",
    "nvidia-rtx-4080",
    "google-tpu",
    "nvidia-v100",
    "nvidia-jetson",
    "nvidia-hgx-b300",
    "nvidia-gb200-nvl72",
    "amd-mi355x",
    "nvidia-h100-80gb-sxm",
    "nvidia-gtx-1080",
    "nvidia-b100",
    "graphcore-ipu",
    "nvidia-rtx-4070-ti-super",
    "nvidia-rtx-4070",
    "nvidia-a100-80gb-sxm",
    "nvidia-a10",
    "nvidia-rtx-4070-ti",
    "nvidia-l40",
    "nvidia-h200-sxm",
    "nvidia-gtx-1660",
    "nvidia-gb200",
    "nvidia-dgx",
    "nvidia-a100-40gb-sxm",
    "nvidia-a100",
    "cpu",
    "nvidia-h100",
)

NOT_PLANNABLE = ("nvidia-b100", "nvidia-k80", "graphcore-ipu", "nvidia-dgx")


@pytest.mark.parametrize("name", NAMED_BY_THE_GUIDES)
def test_every_name_of_the_guides_resolves(name: str) -> None:
    match = KNOWLEDGE.find_gpu(name)
    assert match.found
    assert all(key in KNOWLEDGE.gpus for key in match.ids)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("4090", "nvidia-rtx-4090"),
        ("rtx4090", "nvidia-rtx-4090"),
        ("RTX 4090", "nvidia-rtx-4090"),
        ("NVIDIA GeForce RTX 4090", "nvidia-rtx-4090"),
        # As drivers report them.
        ("NVIDIA GH200 480GB", "nvidia-gh200"),
        ("NVIDIA B300 SXM6 AC", "nvidia-b300"),
        ("NVIDIA H20-3e", "nvidia-h20-141gb"),
        ("AMD Instinct MI300X OAM", "amd-mi300x"),
        ("Intel(R) Arc(TM) A770 Graphics", "intel-arc-a770"),
        ("AMD Ryzen AI Max+ 395", "amd-ryzen-ai-max-395"),
        ("HL-225", "intel-gaudi2"),
        ("RTX 4090 24GB", "nvidia-rtx-4090"),
        ("4070tisuper", "nvidia-rtx-4070-ti-super"),
        ("A100", "nvidia-a100-80gb-sxm"),
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100-80gb-sxm"),
        ("NVIDIA A100-PCIE-40GB", "nvidia-a100-40gb-pcie"),
        ("a100-80g", "nvidia-a100-80gb-sxm"),
        ("H100 SXM5", "nvidia-h100-80gb-sxm"),
        ("NVIDIA H100 80GB HBM3", "nvidia-h100-80gb-sxm"),
        ("NVIDIA H100 PCIe", "nvidia-h100-80gb-pcie"),
        ("h100nvl", "nvidia-h100-94gb-nvl"),
        ("8x H100", "nvidia-h100-80gb-sxm"),
        ("HGX B300", "nvidia-b300"),
        ("GB200 NVL72", "nvidia-gb200"),
        ("Tesla V100-SXM2-32GB", "nvidia-v100-32gb"),
        ("V100 16GB", "nvidia-v100-16gb"),
        ("3080 12gb", "nvidia-rtx-3080-12gb"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "nvidia-rtx-pro-6000-server"),
        ("RTX Pro 6000 SE PCIe 96GB", "nvidia-rtx-pro-6000-server"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "nvidia-rtx-pro-6000-workstation"),
        ("RTX PRO 6000 WK", "nvidia-rtx-pro-6000-workstation"),
        ("NVIDIA RTX PRO 4500 Blackwell Server Edition", "nvidia-rtx-pro-4500"),
        ("Instinct MI300X", "amd-mi300x"),
        ("Radeon RX 7900 XTX", "amd-rx-7900-xtx"),
        ("Gaudi 3", "intel-gaudi3"),
        ("Trainium 2", "aws-trainium2"),
        ("tpu v5e", "google-tpu-v5e"),
        ("IPU", "graphcore-ipu"),
        ("nvidia-h200-141gb", "nvidia-h200-sxm"),
    ],
)
def test_usual_spellings_mean_one_product(name: str, expected: str) -> None:
    match = KNOWLEDGE.find_gpu(name)
    assert (match.kind, match.ids) == ("id", (expected,))


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("nvidia-h100-80gb", "family", 2),
        ("nvidia-a100-40gb", "family", 2),
        ("nvidia-h100", "series", 3),
        ("nvidia-a100", "series", 4),
        ("nvidia-v100", "series", 4),
        ("A100 PCIe", "series", 2),
    ],
)
def test_families_and_series_list_their_products(name: str, kind: str, count: int) -> None:
    match = KNOWLEDGE.find_gpu(name)
    assert (match.kind, len(match.ids)) == (kind, count)
    assert list(match.ids) == sorted(match.ids)


@pytest.mark.parametrize("name", ["", "   ", "gpu", "H100 40GB", "rtx 6090", "2090 ti", "p41", "nvidia", "rtx 6000"])
def test_a_name_that_means_nothing_here_is_not_guessed(name: str) -> None:
    match = KNOWLEDGE.find_gpu(name)
    assert not match.found
    assert match.ids == ()


@pytest.mark.parametrize(
    ("name", "first"),
    [("rtx 6090", "nvidia-rtx-5090"), ("nvidia-a10000", "nvidia-a100-80gb-sxm"), ("mi300y", "amd-mi300x")],
)
def test_near_misses_are_suggested(name: str, first: str) -> None:
    near = KNOWLEDGE.find_gpu(name).nearest
    assert first in near or near[0].startswith(first[:10])


@pytest.mark.parametrize("name", NOT_PLANNABLE)
def test_hardware_that_cannot_be_planned_with_says_why(name: str) -> None:
    gpu = KNOWLEDGE.gpus[name]
    assert not gpu.plannable
    assert len(gpu.not_plannable_because or "") > 20
    assert gpu not in KNOWLEDGE.plannable


@given(st.sampled_from(sorted(KNOWLEDGE.gpus)), st.sampled_from("- _"), st.booleans())
def test_an_id_in_any_case_and_separator_is_itself(key: str, separator: str, upper: bool) -> None:
    spelt = key.replace("-", separator)
    assert KNOWLEDGE.find_gpu(spelt.upper() if upper else spelt).ids == (key,)


@given(st.text(max_size=40))
def test_any_text_gets_an_answer(text: str) -> None:
    match = KNOWLEDGE.find_gpu(text)
    assert match.found == bool(match.ids)


def test_the_order_of_the_catalogue_does_not_matter() -> None:
    backwards = GpuNames(reversed(list(KNOWLEDGE.gpus.values())))
    for name in NAMED_BY_THE_GUIDES:
        assert backwards.find(name) == KNOWLEDGE.find_gpu(name)


def test_no_two_products_share_a_name() -> None:
    seen: dict[str, str] = {}
    for gpu in KNOWLEDGE.gpus.values():
        for alias in (gpu.id, *gpu.aliases):
            owner = seen.setdefault(alias.casefold(), gpu.id)
            assert owner == gpu.id, f"{alias} belongs to {owner} and {gpu.id}"


def test_a_memory_size_narrows_a_series_and_refuses_a_wrong_one() -> None:
    def card(key: str, size: float) -> Gpu:
        return Gpu(id=key, family=key, series="maker-x9", name=key, vendor="maker", vram_gb=size)

    names = GpuNames([card("maker-x9-16gb", 16), card("maker-x9-32gb", 32)])
    assert names.find("maker-x9").ids == ("maker-x9-16gb", "maker-x9-32gb")
    assert names.find("X9 32 GB maker").ids == ("maker-x9-32gb",)
    assert not names.find("X9 64GB").found


@pytest.mark.parametrize("plain", ["RTX 3080", "H100", "V100", "A100", "H200"])
def test_one_card_is_meant_with_and_without_the_vendors_name(plain: str) -> None:
    alone, whole = KNOWLEDGE.find_gpu(plain), KNOWLEDGE.find_gpu(f"NVIDIA {plain}")
    assert alone.kind == "id"
    assert whole.usual == alone.usual == alone.ids[0]
    assert alone.usual in whole.ids
