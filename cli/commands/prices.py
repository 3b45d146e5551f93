"""``whichgpu prices``: look at the offers, bring newer ones, or forget them again."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

import click
from msgspec.structs import asdict

from whichgpu.cli import completing, output
from whichgpu.cli.inputs import read_text
from whichgpu.cli.layers import load_catalogue
from whichgpu.cli.options import Amount, all_option, currency_option, layers_option, output_format
from whichgpu.cli.pricefeeds import FoundPrices, from_folder, from_gpuhunt, from_gpuhunt_file
from whichgpu.cli.prices import keep, own_offers, own_prices_file, read_offers, refuse_unfit
from whichgpu.cli.render.figures import count_of
from whichgpu.cli.render.prices import offer_list, updated_blocks
from whichgpu.engine.advisor import unknown_gpu
from whichgpu.engine.catalogue import COLUMNS, Knowledge, Offer, merged
from whichgpu.engine.core import InputError, Problem, nearest_words, unreadable
from whichgpu.engine.plans import load_economics, region_allowed


#: Machines that a list shows unless all are asked for.
MOST_LINES = 40
#: So many of a GPU: ``8xh100``, ``8 x h100``.
_COUNTED = re.compile(r"([1-9]\d{0,4})\s*[xX]\s*(\D.*)")


class ShowOrDo(click.Group):
    """A group that shows when no subcommand is named: ``prices nvidia-l4`` is ``prices show nvidia-l4``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put ``show`` before anything that is neither a subcommand nor a plea for help."""
        if not args or args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=ShowOrDo)
def prices() -> None:
    """Look at the offers (whichgpu prices [GPU]), import newer ones, or forget them again."""


@prices.command()
@click.argument("gpu", required=False, shell_complete=completing.gpu_names)
@click.option("--provider", metavar="NAME", help="Only offers of this provider.")
@click.option("--count", metavar="N", type=click.IntRange(1), help="Only machines with this many GPUs.")
@click.option("--region", metavar="PART", help="Only an area or regions whose names hold this: eu, asia, us-east, ...")
@click.option("--max-price", metavar="USD", type=Amount(), help="Only offers of at most this much per GPU and hour.")
@click.option("--spot", is_flag=True, help="Only interruptible (spot) offers, cheapest first.")
@currency_option
@all_option
@output_format("text", "json", "csv", "markdown")
@layers_option
def show(
    *,
    gpu: str | None,
    provider: str | None,
    count: int | None,
    region: str | None,
    max_price: float | None,
    spot: bool,
    currency: str,
    everything: bool,
    form: str,
    rules: tuple[str, ...],
) -> int:
    """List the offers, cheapest per GPU first; only those of the GPUs that GPU means, if it is named.

    8xh100 is h100 --count 8. Exits with 1 where no offer is left.
    """
    knowledge = load_catalogue(rules)
    offers = list(knowledge.all_offers)
    if gpu:
        if (counted := _COUNTED.fullmatch(gpu)) and count is None:
            count, gpu = int(counted[1]), counted[2]
        match = knowledge.find_gpu(gpu)
        if not match.found:
            raise InputError(unknown_gpu(match))
        wanted = {*match.ids, *(knowledge.gpus[gpu_id].family for gpu_id in match.ids)}
        offers = [offer for offer in offers if offer.gpu in wanted]
    _known(provider, {offer.provider for offer in offers}, "provider")

    def price(offer: Offer) -> float:
        asked = offer.spot_usd_per_hour if spot else offer.usd_per_hour
        return float("inf") if asked is None else asked / offer.count

    offers = [
        offer
        for offer in offers
        if provider in (None, offer.provider)
        and count in (None, offer.count)
        and (region is None or _lies_in(offer, region))
        and price(offer) <= (float("inf") if max_price is None else max_price)
        and (not spot or offer.spot_usd_per_hour is not None)
    ]
    offers.sort(key=lambda offer: (price(offer), offer.provider, offer.region or "", offer.gpu))
    if form == "json":
        output.emit_json([asdict(offer) for offer in offers])
    elif form == "csv":
        values = ([asdict(offer)[column] for column in COLUMNS] for offer in offers)
        output.emit_csv(COLUMNS, (["" if value is None else value for value in row] for row in values))
    else:
        output.emit_blocks(offer_list(offers, None if everything else MOST_LINES), form, currency)
    return 0 if offers else 1


def _lies_in(offer: Offer, region: str) -> bool:
    """Whether an offer's region is named so, or lies in the area of that name, as prices of plans understand it."""
    held = region.casefold() not in load_economics().areas and region.casefold() in (offer.region or "").casefold()
    return held or region_allowed(offer.region, (region,), load_economics())


def _known(name: str | None, names: set[str], what: str) -> None:
    if name is not None and name not in names:
        nearest = nearest_words(name, sorted(names))
        fix = f"name one of {', '.join(sorted(names))}"
        raise InputError(Problem(f"unknown-{what}", f"no offer is of the {what} {name!r}", nearest=nearest, fix=fix))


@prices.command(name="import")
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@layers_option
def import_prices(*, file: str, rules: tuple[str, ...]) -> int:
    """Check the price list in FILE (CSV) and use it over the snapshot from now on.

    The first line names the columns: provider, provider_class, instance, gpu, count, usd_per_hour, spot_usd_per_hour,
    region, as_of, source. An offer for the same shape (provider, instance, GPU, count, region) replaces the snapshot's.
    """
    knowledge = load_catalogue(rules, own_prices=False)
    text, name = read_text(file)
    offers = read_offers(text, name, knowledge)
    keep(offers, own_prices_file())
    output.emit(f"{count_of(len(offers), 'offer')} imported to {own_prices_file()}.\n")
    return 0


@prices.command()
@click.argument("feed", required=False, type=click.Path(path_type=Path))
@click.option("--as-of", metavar="DAY", help="The day of the prices, as 2026-11-20; else that of the file, or today.")
@click.option("--partial", is_flag=True, help="Accept a list with few of a provider's GPUs.")
@click.option("--older", is_flag=True, help="Accept prices that are older than the known ones.")
@layers_option
def update(*, feed: Path | None, as_of: str | None, partial: bool, older: bool, rules: tuple[str, ...]) -> int:
    """Fetch newer prices: from gpuhunt (the extra `prices`), or from FEED.

    FEED is the folder of a SkyPilot catalogue, a file of gpuhunt's catalogue named after its provider, or a price list
    as `import` takes it. All is checked first: a list that is broken, older than what is known, or only a part of it
    changes nothing. Prices that were brought before stay where the feed has none for their shape.
    """
    known = load_catalogue(rules)
    with output.working("collecting prices"):
        found = _from_feed(feed, known, as_of)
    offers = read_offers(found.text, str(feed or "gpuhunt"), known)
    if not offers:
        raise InputError(Problem("empty-price-feed", f"{feed or 'gpuhunt'} has no price of a GPU that is known"))
    refuse_unfit(offers, known, partial=partial, older=older)
    keep(merged(own_offers(known), offers), own_prices_file())
    output.emit_blocks(updated_blocks(offers, found), "text")
    return 0


@prices.command()
def forget() -> int:
    """Drop the imported prices and go back to the snapshot."""
    file = own_prices_file()
    there = file.exists()
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(Problem("unwritable", f"cannot remove {file}: {error.strerror or error}")) from error
    output.emit("Imported prices dropped.\n" if there else "There were no imported prices.\n")
    return 0


def _from_feed(feed: Path | None, knowledge: Knowledge, as_of: str | None) -> FoundPrices:
    day = as_of or (datetime.now(UTC).date() if feed is None else _day_of(feed)).isoformat()
    if feed is None:
        return from_gpuhunt(knowledge, day)
    if feed.is_dir():
        return from_folder(feed, knowledge, day)
    return from_gpuhunt_file(feed, knowledge, day) or FoundPrices(read_text(str(feed))[0], {}, frozenset())


def _day_of(feed: Path) -> date:
    """When the newest file of a feed was written."""
    files = [file for file in feed.rglob("*.csv") if file.is_file()] if feed.is_dir() else [feed]
    try:
        newest = max((file.stat().st_mtime for file in files), default=0.0)
    except OSError as error:
        raise InputError(unreadable(feed, error)) from error
    return datetime.fromtimestamp(newest, UTC).date()
