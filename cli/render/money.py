"""Amounts of a page in another currency. All figures are kept, compared and saved in US dollars."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from whichgpu.cli.render.blocks import Block, Paragraph, Verbatim
from whichgpu.cli.render.figures import usd
from whichgpu.engine.catalogue import currencies, per_usd


_AMOUNT = re.compile(r"\$(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)")


def in_currency(blocks: Iterable[Block], currency: str) -> list[Block]:
    """The page with every amount converted, and the rate at its end.

    Args:
        blocks: of the page, amounts as ``$1,234.5``.
        currency: a code of three letters.

    Raises:
        InputError: there is no rate for it.
    """
    rate, file, code = per_usd(currency), currencies(), currency.upper()
    symbol = file.symbols.get(code, f"{code} ")

    def convert(match: re.Match[str]) -> str:
        return usd(float(match[1].replace(",", "")) * rate).replace("$", symbol)

    def converted(value: Any) -> Any:
        if isinstance(value, str):
            return _AMOUNT.sub(convert, value)
        if isinstance(value, tuple):
            return tuple(converted(item) for item in value)
        if isinstance(value, Struct) and not isinstance(value, Verbatim):  # What is to be typed stays as it is.
            return replace(value, **{name: converted(item) for name, item in asdict(value).items()})
        return value

    said = f"Amounts in {code}, at {rate:.4g} for a US dollar (European Central Bank, {file.as_of})."
    return [
        *(converted(block) for block in blocks),
        Paragraph(f"{said} Files, options and JSON are in US dollars.", "faint"),
    ]
