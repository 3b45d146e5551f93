"""Lists of prices that others keep, as rows of a price list: gpuhunt's, and a SkyPilot catalogue."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from whichgpu.engine.catalogue import COLUMNS, Knowledge, price_feeds
from whichgpu.engine.core import InputError, Problem, unreadable


_VMS = "vms.csv"
#: Lists state what is sold or what a driver shows, which is a tenth less on some cards.
_SAME_MEMORY = 0.1
_SKYPILOT_COLUMNS = frozenset({"InstanceType", "AcceleratorName", "AcceleratorCount", "Region", "Price"})
_GPUHUNT_COLUMNS = frozenset({"instance_name", "location", "price", "gpu_count", "gpu_name", "spot"})


class FoundPrices(Struct, frozen=True):
    """What a feed comes to.

    Attributes:
        text: a price list as ``whichgpu prices import`` reads it.
        unknown: names of accelerators that the catalogue has not, with the rows that have them.
        others: providers whose class was assumed.
    """

    text: str
    unknown: dict[str, int]
    others: frozenset[str]


def from_folder(folder: Path, knowledge: Knowledge, as_of: str) -> FoundPrices:
    """The prices of a SkyPilot catalogue: a folder for each cloud with its ``vms.csv``. Raises InputError."""
    files = sorted(folder.glob(f"*/{_VMS}")) or sorted(folder.glob(f"*/*/{_VMS}"))
    if not files:
        message = f"{folder} has no */{_VMS}, so it is no SkyPilot catalogue"
        raise InputError(Problem("no-price-feed", message, fix="name the folder of one version, such as catalogs/v7"))
    rows = (row for file in files for row in _skypilot(_table(file, _SKYPILOT_COLUMNS), file.parent.name))
    return _found(rows, knowledge, as_of, "skypilot-catalog")


def from_gpuhunt_file(file: Path, knowledge: Knowledge, as_of: str) -> FoundPrices | None:
    """The prices of one provider in a file of gpuhunt's catalogue, named after it; None for a file of another form."""
    header = _header(file)
    if not header >= _GPUHUNT_COLUMNS:
        return None
    return _found(_gpuhunt(_table(file, _GPUHUNT_COLUMNS), file.stem), knowledge, as_of, "gpuhunt")


def from_gpuhunt(knowledge: Knowledge, as_of: str) -> FoundPrices:
    """The prices of the catalogue that gpuhunt downloads. Raises InputError where it is not here or gives none."""
    try:
        import gpuhunt  # noqa: PLC0415 - of the extra `prices`.
    except ImportError as error:
        message = "gpuhunt, which collects prices, is not installed"
        fix = "pip install 'whichgpu[prices]', or name a SkyPilot catalogue or a CSV file"
        raise InputError(Problem("no-gpuhunt", message, fix=fix)) from error
    try:
        items = gpuhunt.query()
    except Exception as error:  # Whatever its network and its providers raise.
        message = f"gpuhunt could not collect prices: {error}"
        raise InputError(Problem("no-price-feed", message, fix="try again where there is a network")) from error
    rows = [
        {name: getattr(item, name, None) for name in (*_GPUHUNT_COLUMNS, "gpu_memory", "provider")} for item in items
    ]
    return _found(_gpuhunt(rows, None), knowledge, as_of, "gpuhunt")


def _header(file: Path) -> set[str]:
    with _opened(file) as stream:
        return set(next(csv.reader(stream), []))


def _opened(file: Path) -> Any:
    try:
        return file.open(encoding="utf-8-sig", newline="", errors="strict")
    except OSError as error:
        raise InputError(unreadable(file, error)) from error


def _table(file: Path, needed: frozenset[str]) -> list[dict[str, str]]:
    try:
        with _opened(file) as stream:
            reader = csv.DictReader(stream)
            missing = sorted(needed - set(reader.fieldnames or ()))
            if missing:
                raise InputError(Problem("broken-price-feed", f"{file} lacks the columns {', '.join(missing)}"))
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(Problem("broken-price-feed", f"{file} is not a CSV text: {error}")) from error
    cut = next((at for at, row in enumerate(rows, 2) if None in row or None in row.values()), None)
    if cut is not None:
        message = f"{file}: line {cut} has other fields than the first line names; the file was cut or changed"
        raise InputError(Problem("broken-price-feed", message))
    return rows


def _skypilot(rows: Iterable[Mapping[str, str]], cloud: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        count = row["AcceleratorCount"]
        if not row["AcceleratorName"] or not count or float(count) < 1 or float(count) % 1:
            continue
        yield {
            "provider": cloud,
            "instance": row["InstanceType"],
            "gpu": (row["AcceleratorName"].replace("-", " "), _memory_gb(row.get("GpuInfo") or "")),
            "count": int(float(count)),
            "usd_per_hour": row["Price"],
            "spot_usd_per_hour": row.get("SpotPrice", ""),
            "region": row["Region"],
        }


def _gpuhunt(rows: Iterable[Mapping[str, Any]], provider: str | None) -> Iterator[dict[str, Any]]:
    for row in rows:
        if not row["gpu_name"] or not row["gpu_count"] or int(row["gpu_count"]) < 1:
            continue
        memory = round(float(row["gpu_memory"])) if row.get("gpu_memory") else None
        spot = str(row["spot"]).casefold() == "true"
        yield {
            "provider": provider or row["provider"],
            "instance": row["instance_name"],
            "gpu": (row["gpu_name"], memory),
            "count": int(row["gpu_count"]),
            "usd_per_hour": "" if spot else row["price"],
            "spot_usd_per_hour": row["price"] if spot else "",
            "region": row["location"],
        }


def _found(rows: Iterable[dict[str, Any]], knowledge: Knowledge, as_of: str, source: str) -> FoundPrices:
    """Rows under the columns of a price list: the cheapest of each shape, firm and interruptible together."""
    file, unknown, others = price_feeds(), dict[str, int](), set[str]()
    meant = cache(_meaning(knowledge))
    shapes: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        gpu = meant(row["gpu"])
        if gpu is None:
            unknown[row["gpu"][0]] = unknown.get(row["gpu"][0], 0) + 1
            continue
        known = file.providers.get(str(row["provider"]).casefold())
        name = known.name if known is not None else str(row["provider"])
        if known is None:
            others.add(name)
        shape = (name, row["instance"], gpu, row["count"], row["region"])
        kept = shapes.setdefault(
            shape,
            row
            | {
                "provider": name,
                "provider_class": known.provider_class if known is not None else file.class_of_others,
                "gpu": gpu,
                "as_of": as_of,
                "source": source,
            },
        )
        for column in ("usd_per_hour", "spot_usd_per_hour"):
            kept[column] = _least(kept[column], row[column])
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in shapes.values() if row["usd_per_hour"] or row["spot_usd_per_hour"])
    return FoundPrices(text.getvalue(), unknown, frozenset(others))


def _least(one: Any, other: Any) -> Any:
    prices = [price for price in (one, other) if price not in ("", None)]
    return min(prices, key=_price) if prices else ""


def _price(text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        return float("inf")  # The reader of the list says what is wrong with it.


def _meaning(knowledge: Knowledge) -> Callable[[tuple[str, int | None]], str | None]:
    """An id, or the family where a name leaves the form open; of the memory that the list states."""

    def meant(named: tuple[str, int | None]) -> str | None:
        name, memory_gb = named
        for spelling in (f"{name} {memory_gb}GB", name) if memory_gb else (name,):
            ids = knowledge.find_gpu(spelling).ids
            sizes = [knowledge.gpus[gpu_id].vram_gb or 0.0 for gpu_id in ids]
            if memory_gb and not all(abs(memory_gb - size) <= _SAME_MEMORY * size for size in sizes):
                continue
            families = {knowledge.gpus[gpu_id].family for gpu_id in ids}
            if len(families) == 1:
                return ids[0] if len(ids) == 1 else families.pop()
        return None

    return meant


def _memory_gb(info: str) -> int | None:
    """The memory of one GPU in what SkyPilot says of it."""
    size = re.search(r"SizeInMiB'?\"?:\s*(\d+)", info)
    return round(int(size[1]) / 1024) if size else None
