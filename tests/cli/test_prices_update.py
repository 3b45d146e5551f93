from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


Whichgpu = Callable[..., Any]

HEADER = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone"
MACHINES = [
    ("p4d.24xlarge", "A100", 8, 40960, "21.95", "9.1", "a"),
    ("p4d.24xlarge", "A100", 8, 40960, "21.95", "8.4", "b"),
    ("p5.48xlarge", "H100", 8, 81920, "54.9", "20", "a"),
    ("g6.xlarge", "L4", 1, 22888, "0.79", "0.3", "a"),
    ("g4dn.xlarge", "T4", 1, 16384, "0.52", "0.2", "a"),
    ("g3.4xlarge", "K520", 1, 8192, "1.14", "", "a"),
]


def _line(instance: str, gpu: str, count: int, mib: int, price: str, spot: str, zone: str) -> str:
    info = f"{{'Gpus': [{{'Name': '{gpu}', 'Count': {count}.0, 'MemoryInfo': {{'SizeInMiB': {mib}}}}}]}}"
    return f'{instance},{gpu},{count}.0,4,16,"{info}",{price},{spot},us-east-1,us-east-1{zone}'


AWS = "\n".join(
    [HEADER, *(_line(*machine) for machine in MACHINES), "m5.large,,,2,8,,0.096,0.03,us-east-1,us-east-1a\n"]
)
TODAY = "2026-11-20"


@pytest.fixture
def skypilot(tmp_path: Path) -> Path:
    folder = tmp_path / "v7" / "aws"
    folder.mkdir(parents=True)
    (folder / "vms.csv").write_text(AWS, "utf-8")
    return folder.parent


def _offers(whichgpu: Whichgpu, *arguments: str) -> list[dict[str, Any]]:
    offers: list[dict[str, Any]] = json.loads(whichgpu("prices", *arguments, "--format", "json").out)
    return offers


def test_a_skypilot_catalogue_is_taken(whichgpu: Whichgpu, skypilot: Path) -> None:
    ran = whichgpu("prices", "update", str(skypilot), "--as-of", TODAY, "--partial")
    assert ran.code == 0, ran.err
    assert "4 offers of 1 provider brought, as of 2026-11-20: aws." in ran.out
    assert "1 row (K520)" in ran.out
    own = [offer for offer in _offers(whichgpu, "--provider", "aws") if offer["own"]]
    by_instance = {offer["instance"]: offer for offer in own}
    a100 = by_instance["p4d.24xlarge"]
    assert (a100["count"], a100["usd_per_hour"], a100["spot_usd_per_hour"]) == (8, 21.95, 8.4)
    assert "40gb" in a100["gpu"]
    assert (by_instance["g6.xlarge"]["gpu"], by_instance["g6.xlarge"]["as_of"]) == ("nvidia-l4", TODAY)


def test_an_update_leaves_what_was_imported_before(whichgpu: Whichgpu, skypilot: Path) -> None:
    columns = "provider,provider_class,gpu,count,usd_per_hour,as_of,source"
    whichgpu("prices", "import", "-", stdin=f"{columns}\nacme,neocloud,nvidia-l4,1,0.2,2026-10-01,catalogue\n")
    whichgpu("prices", "update", str(skypilot), "--as-of", TODAY, "--partial")
    assert any(offer["provider"] == "acme" for offer in _offers(whichgpu, "nvidia-l4"))


def test_a_file_of_gpuhunt_is_taken(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "tensordock.csv"
    file.write_text(
        "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor\n"
        "h,us,2.25,16,128,1,H100,80,False,100,nvidia\nh,us,1.1,16,128,1,H100,80,True,100,nvidia\n"
        "r,us,0.35,8,32,1,RTX4090,24,False,100,nvidia\n",
        "utf-8",
    )
    ran = whichgpu("prices", "update", str(file), "--as-of", TODAY, "--partial")
    assert ran.code == 0, ran.err
    own = {offer["instance"]: offer for offer in _offers(whichgpu, "--provider", "tensordock") if offer["own"]}
    assert (own["h"]["usd_per_hour"], own["h"]["spot_usd_per_hour"]) == (2.25, 1.1)
    assert own["r"]["gpu"] == "nvidia-rtx-4090"


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda text: text, ("--as-of", TODAY), "GPUs are missing"),
        (lambda text: text, ("--as-of", "2020-01-01", "--partial"), "its prices are of 2020-01-01"),
        (lambda text: text.replace(",Price,", ",Cost,"), ("--as-of", TODAY), "lacks the columns Price"),
        (lambda text: text[:-60], ("--as-of", TODAY, "--partial"), "the file was cut or changed"),
        (lambda text: text.replace("21.95", "-3"), ("--as-of", TODAY, "--partial"), "not a number"),
        (lambda text: text.replace("21.95", "cheap"), ("--as-of", TODAY, "--partial"), "not a number"),
        (lambda text: text.splitlines()[0], ("--as-of", TODAY), "has no price of a GPU that is known"),
        (lambda text: text, ("--as-of", "last week", "--partial"), "not a date"),
    ],
)
def test_a_feed_that_is_unfit_changes_nothing(
    change: Callable[[str], str],
    options: tuple[str, ...],
    said: str,
    whichgpu: Whichgpu,
    skypilot: Path,
    own_data: Path,
) -> None:
    (skypilot / "aws" / "vms.csv").write_text(change(AWS), "utf-8")
    ran = whichgpu("prices", "update", str(skypilot), *options)
    assert ran.code == 2
    assert said in ran.err
    assert not (own_data / "whichgpu" / "prices.csv").exists()


def test_without_gpuhunt_a_feed_must_be_named(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    ran = whichgpu("prices", "update")
    assert ran.code == 2
    assert "whichgpu[prices]" in ran.err


def test_what_gpuhunt_collects_is_taken(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    item = SimpleNamespace(
        provider="hotaisle",
        instance_name="mi300x.8",
        location="us",
        price=15.92,
        gpu_count=8,
        gpu_name="MI300X",
        gpu_memory=192.0,
        spot=False,
    )
    feed = ModuleType("gpuhunt")
    feed.query = lambda: [item]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gpuhunt", feed)
    assert whichgpu("prices", "update").code == 0
    assert [offer["gpu"] for offer in _offers(whichgpu, "--provider", "hotaisle")] == ["amd-mi300x"]
    feed.query = lambda: 1 / 0  # type: ignore[attr-defined]
    ran = whichgpu("prices", "update")
    assert (ran.code, "gpuhunt could not collect prices" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        (("h100", "--count", "8"), lambda offer: "h100" in offer["gpu"] and offer["count"] == "8"),
        (
            ("--region", "EU", "--max-price", "1"),
            lambda offer: "us" not in offer["region"],
        ),
        (("8xa100", "--region", "asia"), lambda offer: offer["count"] == "8" and "us" not in offer["region"]),
        (("l4", "--region", "west1"), lambda offer: "west1" in offer["region"]),
        (("l4", "--spot"), lambda offer: float(offer["spot_usd_per_hour"]) > 0),
    ],
)
def test_a_list_is_narrowed(
    arguments: tuple[str, ...], holds: Callable[[dict[str, str]], bool], whichgpu: Whichgpu
) -> None:
    rows = list(csv.DictReader(io.StringIO(whichgpu("prices", *arguments, "--format", "csv").out)))
    assert rows
    assert all(holds(row) for row in rows)


def test_a_list_fits_a_screen(whichgpu: Whichgpu) -> None:
    lines = whichgpu("prices", "h100").out.splitlines()
    assert max(map(len, lines)) <= 100
    assert not any(line.startswith("  Count:") for line in lines)
    assert len(whichgpu("prices", "--all").out.splitlines()) > len(whichgpu("prices").out.splitlines()) > 40
