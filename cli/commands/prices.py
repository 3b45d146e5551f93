"""``whichgpu prices``: look at the offers, bring newer ones, or forget them again."""

from __future__ import annotations

import click
from msgspec.structs import asdict

from whichgpu.cli import completing, output
from whichgpu.cli.inputs import read_text
from whichgpu.cli.layers import load_catalogue
from whichgpu.cli.options import layers_option, output_format
from whichgpu.cli.prices import keep, own_prices_file, read_offers
from whichgpu.cli.render.figures import count_of
from whichgpu.cli.render.prices import offer_list
from whichgpu.engine.core import InputError, Problem


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
@output_format("text", "json", "markdown")
@layers_option
def show(*, gpu: str | None, provider: str | None, form: str, rules: tuple[str, ...]) -> int:
    """List the offers, cheapest per GPU first; only those of one GPU if it is named."""
    knowledge = load_catalogue(rules)
    offers = [*knowledge.offers, *knowledge.spot_offers]
    if gpu:
        match = knowledge.find_gpu(gpu)
        if not match.found:
            raise InputError(Problem("unknown-gpu", f"no GPU is called {gpu!r}", nearest=match.nearest))
        wanted = {*match.ids, *(knowledge.gpus[gpu_id].family for gpu_id in match.ids)}
        offers = [offer for offer in offers if offer.gpu in wanted]
    offers = [offer for offer in offers if provider in (None, offer.provider)]
    offers.sort(key=lambda offer: (offer.usd_per_hour / offer.count, offer.provider, offer.region or "", offer.gpu))
    if form == "json":
        output.emit_json([asdict(offer) for offer in offers])
    else:
        output.emit_blocks(offer_list(offers), form)
    return 0


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
