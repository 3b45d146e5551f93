"""What the catalogue says of accelerators: memory as jobs see it, facts as rules read them, traps kept out."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import gpu_facts, load_knowledge
from whichgpu.engine.catalogue.loading import usable_assumed, usable_from_reading
from whichgpu.engine.catalogue.model import Gpu, MemoryReserve


KNOWLEDGE = load_knowledge()
GPUS = KNOWLEDGE.gpus
FACTS = KNOWLEDGE.gpu_facts


def test_the_catalogue_is_complete() -> None:
    assert len(GPUS) >= 95
    assert len(KNOWLEDGE.plannable) >= 85
    assert list(GPUS) == sorted(GPUS)


@pytest.mark.parametrize(
    ("key", "usable_gb"),
    [
        ("nvidia-h100-80gb-sxm", 79.19 * 1.073741824),  # what CUDA shows, in GiB
        ("nvidia-a100-40gb-sxm", 39.49 * 1.073741824),
        ("nvidia-b200", 178.35 * 1.073741824),
        ("nvidia-l4", 23.72),  # 23,034 MiB less the driver's share
        ("nvidia-rtx-4090", 25.33),
        ("amd-mi300x", 205.84),
        ("nvidia-a100-80gb-sxm", 85.35),
    ],
)
def test_usable_memory_is_what_a_job_can_have(key: str, usable_gb: float) -> None:
    assert GPUS[key].usable_gb == pytest.approx(usable_gb, rel=1e-3)
    assert not GPUS[key].usable_assumed


def test_usable_memory_stays_near_what_is_marketed() -> None:
    for gpu in KNOWLEDGE.plannable:
        assert gpu.vram_gb is not None
        assert gpu.usable_gb is not None
        # A Mac keeps a quarter of its memory for itself, and a processor shares it with the system.
        least = 0.9 if gpu.sw_stack == "cpu" else 0.79 if gpu.form_factor == "system" else 0.94
        assert least < gpu.usable_gb / gpu.vram_gb < 1.08, gpu.id
        if gpu.device_mib is not None:
            assert gpu.usable_gb <= gpu.device_mib * 1.048576e-3 + 1e-3


def test_without_a_reading_the_assumption_is_marked() -> None:
    gpu = GPUS["google-tpu-v5p"]
    assert gpu.usable_assumed
    assert gpu.usable_gb == pytest.approx(95 * 1.0737 * 0.985, rel=1e-4)
    assert usable_assumed(80) == pytest.approx(84.6, rel=1e-3)


def test_the_drivers_reserve_is_deducted_unless_cuda_was_asked() -> None:
    reserves = {"maker": MemoryReserve(vendor="maker", base_mib=400, share=0.01, sources=("x",))}
    assert usable_from_reading(10_000, None, "maker", reserves) == pytest.approx((10_000 - 500) * 1.048576e-3)
    assert usable_from_reading(10_000, 9_900, "maker", reserves) == pytest.approx(9_900 * 1.048576e-3)
    assert usable_from_reading(10_000, None, "other", reserves) == pytest.approx(10_000 * 1.048576e-3)
    assert usable_from_reading(None, None, "maker", reserves) is None


def test_the_reserve_foretells_what_cuda_was_seen_to_offer() -> None:
    """The line of memory_reserve.yaml against every card that has both readings, within 160 MiB."""
    seen = [gpu for gpu in GPUS.values() if gpu.cuda_mib and gpu.device_mib and gpu.cuda_mib != gpu.device_mib]
    assert len(seen) >= 13
    for gpu in seen:
        foretold = gpu.device_mib - (362 + 0.0020 * gpu.device_mib)
        assert abs(foretold - gpu.cuda_mib) < 160, gpu.id


def test_known_errors_of_the_sources_stayed_out() -> None:
    assert GPUS["amd-mi300x"].mem_bw_tbs == 5.3
    assert GPUS["amd-mi325x"].vram_gb == 256
    assert GPUS["nvidia-b200"].mem_bw_tbs == 7.7
    assert GPUS["nvidia-l40s"].tdp_w == 350
    assert GPUS["nvidia-h200-sxm"].tflops["bf16"] == 989
    assert GPUS["nvidia-rtx-4090"].tflops["bf16"] == 165.2
    assert GPUS["nvidia-b300"].tflops["int8"] == 153.5


def test_figures_are_dense_and_ordered() -> None:
    for gpu in GPUS.values():
        rates = gpu.tflops
        if "fp8" in rates and "bf16" in rates:
            most = 4 if gpu.id == "aws-trainium3" else 2.2  # Its own data sheet: 2,517 and 671.
            assert rates["fp8"] <= most * rates["bf16"], gpu.id
        if "bf16" in rates and "fp16" in rates:
            assert rates["bf16"] >= rates["fp16"], gpu.id  # A Gaudi 3 runs FP16 at a quarter of BF16.
        for share in gpu.achieved.values():
            assert 0.4 < share < 2, gpu.id


def test_nodes_and_links() -> None:
    assert (GPUS["nvidia-h100-80gb-sxm"].link, GPUS["nvidia-h100-80gb-sxm"].link_gbs) == ("nvlink", 900)
    assert (GPUS["nvidia-gb200"].node_gpus, GPUS["nvidia-gb200"].link_domain) == (4, 72)
    assert GPUS["nvidia-l40s"].link == "pcie"
    assert GPUS["nvidia-rtx-4060-ti-16gb"].link_gbs == 32
    assert GPUS["nvidia-rtx-3090"].link_domain == 2
    for gpu in KNOWLEDGE.plannable:
        assert gpu.node_gpus >= 1
        if gpu.link == "nvlink-bridge":
            assert gpu.link_domain in {2, 4}, gpu.id


def test_mig_slices_fit_their_card() -> None:
    for gpu in GPUS.values():
        assert bool(gpu.mig_profiles) <= (gpu.mig_max > 0), gpu.id
        for profile in gpu.mig_profiles:
            assert float(profile.split(".")[1].removesuffix("gb")) <= (gpu.vram_gb or 0) + 1, gpu.id
    assert GPUS["nvidia-a30"].mig_max == 4
    assert GPUS["nvidia-a100-40gb-sxm"].mig_profiles[0] == "1g.5gb"


def test_prices_to_buy_are_ordered_and_dated() -> None:
    for gpu in GPUS.values():
        if gpu.buy_usd is None:
            continue
        assert gpu.buy_basis is not None, gpu.id
        assert gpu.buy_as_of, gpu.id
        assert (gpu.buy_low_usd or gpu.buy_usd) <= gpu.buy_usd <= (gpu.buy_high_usd or gpu.buy_usd), gpu.id
    assert GPUS["nvidia-h100-80gb-sxm"].buy_usd == 30000


@pytest.mark.parametrize(
    ("key", "fact", "value"),
    [
        ("nvidia-t4", "gpu.supports_bf16", False),
        ("nvidia-t4", "gpu.supports_int8_fast", True),
        ("nvidia-v100-16gb", "gpu.supports_int8_fast", False),
        ("nvidia-a100-80gb-sxm", "gpu.supports_fp8", False),
        ("nvidia-h100-80gb-sxm", "gpu.supports_fp8", True),
        ("nvidia-rtx-4090", "gpu.supports_fp8", True),
        ("nvidia-rtx-4090", "gpu.ecc", False),
        ("nvidia-rtx-4090", "gpu.nvlink", False),
        ("nvidia-rtx-3090", "gpu.nvlink", True),
        ("nvidia-rtx-a6000", "gpu.ecc", True),
        ("nvidia-gtx-1080-ti", "gpu.supports_fp16_fast", False),
        ("nvidia-gtx-1080", "gpu.supports_fp16_fast", False),
        ("nvidia-p100", "gpu.supports_fp16_fast", True),
        ("nvidia-gtx-1660", "gpu.tensor_cores", False),
        ("nvidia-b300", "gpu.supports_int8_fast", False),
        ("amd-mi250x", "gpu.supports_fp8", False),
        ("amd-mi300x", "gpu.sw_stack", "rocm"),
        ("google-tpu-v5e", "gpu.sw_stack", "xla"),
        ("nvidia-b200", "gpu.generation_lag", 0),
        ("nvidia-h100-80gb-sxm", "gpu.generation_lag", 1),
        ("nvidia-a100-80gb-sxm", "gpu.generation_lag", 2),
        ("nvidia-t4", "gpu.generation_lag", 3),
        ("nvidia-a100-80gb-sxm", "gpu.mig", True),
        ("nvidia-rtx-4090", "gpu.mig", False),
        ("nvidia-h100-80gb-sxm", "gpu.launch_year", 2022),
        ("nvidia-h100-80gb-sxm", "gpu.retail_available", False),
        ("nvidia-rtx-4090", "gpu.retail_available", True),
        ("nvidia-b100", "gpu.plannable", False),
    ],
)
def test_facts_as_rules_read_them(key: str, fact: str, value: object) -> None:
    assert FACTS[key][fact] == value


def test_what_is_not_known_is_absent() -> None:
    assert "gpu.vram_gb" not in FACTS["nvidia-b100"]
    assert "gpu.ecc" not in FACTS["amd-mi355x"]
    assert "gpu.supports_fp8" not in FACTS["google-tpu-v4"]
    bare = gpu_facts(Gpu(id="x", family="x", series="x", name="X", vendor="maker"))
    assert {"gpu.supports_fp16_fast", "gpu.supports_bf16", "gpu.supports_int8_fast", "gpu.launch_year"}.isdisjoint(bare)
    assert None not in bare.values()


def test_precision_support_follows_compute_capability_where_no_rate_is_stated() -> None:
    def facts(**fields: object) -> dict[str, object]:
        return dict(gpu_facts(Gpu(id="x", family="x", series="x", name="X", vendor="nvidia", **fields)))

    ada = facts(compute_capability=8.9, matrix_units=True)
    assert (ada["gpu.supports_bf16"], ada["gpu.supports_fp8"], ada["gpu.supports_int8_fast"]) == (True, True, True)
    volta = facts(compute_capability=7.0, matrix_units=True)
    assert (volta["gpu.supports_fp16_fast"], volta["gpu.supports_int8_fast"]) == (True, False)
    maxwell = facts(compute_capability=5.2, matrix_units=False)
    assert (maxwell["gpu.supports_fp16_fast"], maxwell["gpu.supports_int8_fast"]) == (False, False)


def test_every_vendor_and_stack_is_named() -> None:
    assert {gpu.vendor for gpu in GPUS.values()} == {
        *("nvidia", "amd", "intel", "google", "aws", "apple", "graphcore", "huawei", "other"),
    }
    for gpu in GPUS.values():
        assert gpu.sw_stack, gpu.id
        assert gpu.segment in {"consumer", "professional", "datacenter", "edge"}, gpu.id
