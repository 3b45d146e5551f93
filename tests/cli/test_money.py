from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from whichgpu.cli.render.blocks import Block, Paragraph, Table, Verbatim
from whichgpu.cli.render.money import in_currency
from whichgpu.engine.catalogue import currencies, per_usd


Whichgpu = Callable[..., Any]


def test_every_amount_of_a_page_is_converted() -> None:
    page: list[Block] = [
        Paragraph("about $1,000.50 an hour, $0.00012 a token; $ is no amount"),
        Table(("Price",), (("$2",),)),
        Verbatim("--set quote=$2"),
    ]
    paragraph, table, verbatim, note = in_currency(page, "eur")
    rate = per_usd("EUR")
    assert isinstance(paragraph, Paragraph)
    assert isinstance(table, Table)
    assert isinstance(note, Paragraph)
    assert paragraph.text == f"about €{1000.5 * rate:,.0f} an hour, €{0.00012 * rate:.3g} a token; $ is no amount"
    assert table.rows == ((f"€{2 * rate:.2f}",),)
    assert verbatim == page[2]
    assert currencies().as_of in note.text


def test_a_page_in_another_currency_leaves_no_dollar(whichgpu: Whichgpu) -> None:
    stdin = "task: inference\nmodel_name: llama-3.1-8b\n"
    ran = whichgpu("recommend", "-", "--currency", "INR", stdin=stdin)
    assert "INR " in ran.out
    assert not re.search(r"\$\d", ran.out)
    there = whichgpu("recommend", "-", "--currency", "INR", "--format", "json", stdin=stdin).out
    assert json.loads(there)["recommendation"]["cost"]["usd_per_hour"] < 20


@pytest.mark.parametrize("currency", ["EURO", "", "XXX"])
def test_a_currency_without_a_rate_is_reported(currency: str, whichgpu: Whichgpu) -> None:
    ran = whichgpu("prices", "l4", "--currency", currency)
    assert ran.code == 2
    assert "there is no rate for the currency" in ran.err
