"""Prices that the user brought: checked, merged over the snapshot, kept in the user's data folder."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import asdict, replace

from whichgpu.cli import output
from whichgpu.engine.catalogue import (
    COLUMNS,
    Knowledge,
    Offer,
    merged,
    offer_order,
    parse_prices,
    price_feeds,
    with_offers,
)
from whichgpu.engine.core import InputError, Problem


def own_prices_file() -> Path:
    """Where imported prices are kept: ``$XDG_DATA_HOME/whichgpu/prices.csv``, by default below ``~/.local/share``."""
    base = os.environ.get("XDG_DATA_HOME") or ""
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    return folder / "whichgpu" / "prices.csv"


def read_offers(text: str, name: str, knowledge: Knowledge) -> tuple[Offer, ...]:
    """The offers of a price list. Raises InputError with every problem, each at its line and column."""

    def resolve(gpu: str) -> tuple[str | None, tuple[str, ...]]:
        match = knowledge.find_gpu(gpu)
        if len(match.ids) == 1:
            return match.ids[0], ()
        return (knowledge.gpus[match.ids[0]].family if match.kind == "family" else None), match.nearest or match.ids

    return parse_prices(text, name, resolve=resolve, error=InputError)


def with_own_prices(knowledge: Knowledge) -> Knowledge:
    """The knowledge with the user's prices over the snapshot; itself where there are none."""
    file = own_prices_file()
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return knowledge
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem("unreadable", f"cannot read the imported prices in {file}: {error}")) from error
    own = [replace(offer, own=True) for offer in read_offers(text, str(file), knowledge)]
    return with_offers(knowledge, merged(knowledge.all_offers, own))


def own_offers(knowledge: Knowledge) -> tuple[Offer, ...]:
    """The offers that the user brought."""
    return tuple(offer for offer in knowledge.all_offers if offer.own)


def refuse_unfit(offers: Iterable[Offer], knowledge: Knowledge, *, partial: bool, older: bool) -> None:
    """Hold new offers against what is known of the same providers.

    Args:
        offers: the new ones.
        knowledge: what is known.
        partial: a list that holds few of the GPUs of a provider is taken.
        older: prices before those that are known are taken.

    Raises:
        InputError: with every provider whose offers are older, or a part alone.
    """
    new, before = _by_provider(offers), _by_provider(knowledge.all_offers)
    least = price_feeds().least_share_of_known
    problems = []
    for provider in sorted(new.keys() & before.keys()):
        days = [max(offer.as_of for offer in each[provider]) for each in (new, before)]
        if days[0] < days[1] and not older:
            message = f"{provider}: its prices are of {days[0]}, and those that are known of {days[1]}"
            problems.append(Problem("older-prices", message, fix="take them nevertheless with --older"))
        gpus = [
            {knowledge.gpus[offer.gpu].family if offer.gpu in knowledge.gpus else offer.gpu for offer in each[provider]}
            for each in (new, before)
        ]
        lost = sorted(gpus[1] - gpus[0])
        if len(gpus[1] & gpus[0]) < least * len(gpus[1]) and not partial:
            message = (
                f"{provider}: {len(lost)} of its {len(gpus[1])} GPUs are missing, {', '.join(lost[:3])} among them"
            )
            problems.append(Problem("partial-prices", message, fix="take the part with --partial"))
    if problems:
        raise InputError(problems)


def _by_provider(offers: Iterable[Offer]) -> dict[str, list[Offer]]:
    found: dict[str, list[Offer]] = {}
    for offer in offers:
        found.setdefault(offer.provider, []).append(offer)
    return found


def keep(offers: Iterable[Offer], file: Path) -> None:
    """Write the offers to ``file``. Raises InputError where that cannot be done."""
    text = io.StringIO()
    import csv  # noqa: PLC0415 - only an import of prices writes any.

    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for offer in sorted(offers, key=offer_order):
        row = asdict(offer) | ({"usd_per_hour": None} if offer.spot_only else {})
        writer.writerow(["" if row[column] is None else row[column] for column in COLUMNS])
    with output.writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        output.save_private(file, text.getvalue())
