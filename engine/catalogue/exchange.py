"""Rates of exchange of one day (``knowledge/currencies.yaml``)."""

from __future__ import annotations

from functools import cache

from whichgpu.engine.core import FrozenModel, InputError, Problem, nearest_words, read_constants


class CurrenciesFile(FrozenModel):
    """Everything in ``knowledge/currencies.yaml``."""

    as_of: str  # ISO date
    per_euro: dict[str, float]
    symbols: dict[str, str]
    names: dict[str, str]  # a word for a currency, in small letters, and its code
    source: str


@cache
def currencies() -> CurrenciesFile:
    """The rates. Raises KnowledgeError."""
    return read_constants(CurrenciesFile, "currencies.yaml")


def per_usd(currency: str) -> float:
    """What a US dollar costs in a currency, by its code of three letters. Raises InputError for one without a rate."""
    rates = currencies().per_euro
    code = currency.upper()
    if code not in rates:
        nearest, fix = nearest_words(code, sorted(rates)), f"name one of {', '.join(sorted(rates))}"
        raise InputError(
            Problem("unknown-currency", f"there is no rate for the currency {currency!r}", nearest=nearest, fix=fix)
        )
    return rates[code] / rates["USD"]
