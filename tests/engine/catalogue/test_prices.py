"""Price lists: what is read, what is refused and where, and what the shipped snapshot holds."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.catalogue import load_knowledge, parse_prices, with_offers
from whichgpu.engine.catalogue.folder import resolver
from whichgpu.engine.catalogue.prices import COLUMNS, PROVIDER_CLASSES
from whichgpu.engine.core.errors import InputError, KnowledgeError, Problem


KNOWLEDGE = load_knowledge()
RESOLVE = resolver(KNOWLEDGE.gpus.values())
HEAD = "provider,provider_class,instance,gpu,count,usd_per_hour,spot_usd_per_hour,region,as_of,source"
ROW = "acme,neocloud,one,nvidia-l4,1,0.7,,eu,2026-07-01,tardellirs"


def refused(text: str) -> list[Problem]:
    with pytest.raises(KnowledgeError) as caught:
        parse_prices(text, "new.csv", resolve=RESOLVE)
    return list(caught.value.problems)


def test_a_row_becomes_an_offer() -> None:
    (offer,) = parse_prices(f"{HEAD}\n{ROW}\n", "new.csv", resolve=RESOLVE)
    assert (offer.provider, offer.gpu, offer.count, offer.usd_per_hour) == ("acme", "nvidia-l4", 1, 0.7)
    assert (offer.spot_usd_per_hour, offer.spot_only, offer.instance, offer.region) == (None, False, "one", "eu")


def test_columns_may_stand_in_any_order_and_optional_ones_be_left_out() -> None:
    text = (
        "gpu,provider,provider_class,count,usd_per_hour,as_of,source\nRTX 4090,a,marketplace,2,1,2026-07-01,tardellirs"
    )
    (offer,) = parse_prices("\ufeff" + text + "\r\n\r\n", "new.csv", resolve=RESOLVE)
    assert (offer.gpu, offer.count, offer.instance, offer.region) == ("nvidia-rtx-4090", 2, None, None)


def test_a_row_with_only_a_spot_price_says_so() -> None:
    (offer,) = parse_prices(f"{HEAD}\nacme,marketplace,,nvidia-t4,1,,0.05,,2026-07-01,tardellirs", "new.csv")
    assert offer.spot_only
    assert offer.usd_per_hour == offer.spot_usd_per_hour == 0.05


def test_committed_prices_stand_beside_the_price_on_demand() -> None:
    text = ",".join(COLUMNS[:-2]) + "\nacme,hyperscaler,one,nvidia-l4,1,0.7,,0.5,0.3,eu,2026-07-01,tardellirs,gcosts"
    (offer,) = parse_prices(text, "new.csv", resolve=RESOLVE)
    assert (offer.one_year_usd_per_hour, offer.three_years_usd_per_hour) == (0.5, 0.3)
    assert offer.cites == ("tardellirs", "gcosts")
    assert [problem.code for problem in refused(text.replace(",0.3,", ",soon,"))] == ["not-a-price"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia-a100-80gb", "nvidia-a100-80gb"),
        ("H100 80GB HBM3", "nvidia-h100-80gb-sxm"),
        ("A100", "nvidia-a100-80gb-sxm"),
        ("nvidia-h200", "nvidia-h200"),
        ("A100 80GB PCIe", "nvidia-a100-80gb-pcie"),
    ],
)
def test_gpu_names_become_ids_or_families(name: str, expected: str) -> None:
    assert RESOLVE(name)[0] == expected


def test_a_series_is_too_wide_for_a_price() -> None:
    found, near = RESOLVE("nvidia-h100")
    assert found is None
    assert "nvidia-h100-80gb-sxm" in near


@pytest.mark.parametrize(
    ("row", "code", "column"),
    [
        ("acme,neocloud,one,nvidia-l99,1,0.7,,eu,2026-07-01,s", "unknown-gpu", 19),
        ("acme,newcloud,one,nvidia-l4,1,0.7,,eu,2026-07-01,s", "unknown-provider-class", 6),
        ("acme,neocloud,one,nvidia-l4,0.5,0.7,,eu,2026-07-01,s", "not-a-count", 29),
        ("acme,neocloud,one,nvidia-l4,0,0.7,,eu,2026-07-01,s", "not-a-count", 29),
        ("acme,neocloud,one,nvidia-l4,1,$0.7,,eu,2026-07-01,s", "not-a-price", 31),
        ("acme,neocloud,one,nvidia-l4,1,0,,eu,2026-07-01,s", "price-out-of-range", 31),
        ("acme,neocloud,one,nvidia-l4,1,9e99,,eu,2026-07-01,s", "price-out-of-range", 31),
        ("acme,neocloud,one,nvidia-l4,1,,,eu,2026-07-01,s", "no-price", 31),
        ("acme,neocloud,one,nvidia-l4,1,0.7,,eu,01.07.2026,s", "not-a-date", 39),
        ("acme,neocloud,one,nvidia-l4,1,0.7,,eu,20260701,s", "not-a-date", 39),
        (",neocloud,one,nvidia-l4,1,0.7,,eu,2026-07-01,s", "empty-field", 1),
        ("acme,neocloud,one,nvidia-l4,1", "wrong-field-count", 1),
    ],
)
def test_errors_name_line_and_column(row: str, code: str, column: int) -> None:
    (problem,) = refused(f"{HEAD}\n{ROW}\n{row}\n")
    assert problem.code == code
    assert problem.place is not None
    assert (problem.place.path, problem.place.line, problem.place.column) == ("new.csv", 3, column)
    assert problem.place.text == row


def test_quota_and_waiting_time_are_read_and_checked() -> None:
    head, row = f"{HEAD},quota_gpus,lead_time_days", "acme,neocloud,one,nvidia-l4,1,0.7,,eu,2026-07-01,s"
    (offer,) = parse_prices(f"{head}\n{row},16,2.5\n", "new.csv", resolve=RESOLVE)
    assert (offer.quota_gpus, offer.lead_time_days) == (16, 2.5)
    assert [problem.code for problem in refused(f"{head}\n{row},1.5,soon\n")] == ["not-a-count", "not-days"]


def test_errors_suggest_what_was_meant() -> None:
    gpu, kind = refused(f"{HEAD}\na,neoclud,o,nvidia-rtx-4091,1,0.7,,eu,2026-07-01,s")[::-1]
    assert gpu.nearest[0] == "nvidia-rtx-4090"
    assert kind.nearest == ("neocloud",)


def test_all_errors_are_reported_at_once_but_not_without_end() -> None:
    bad = "acme,neocloud,one,nvidia-l4,x,y,,eu,2026-07-01,s"
    assert [problem.code for problem in refused(f"{HEAD}\n{bad}\n{bad}")] == ["not-a-count", "not-a-price"] * 2
    assert len(refused("\n".join([HEAD, *[bad] * 100]))) == 40


@pytest.mark.parametrize(
    ("header", "codes"),
    [
        ("", ["empty-file"]),
        ("provider,gpus,count", ["unknown-column", "missing-column"]),
        (f"{HEAD},gpu", ["duplicate-column", "duplicate-column"]),
    ],
)
def test_the_first_line_must_name_the_columns(header: str, codes: list[str]) -> None:
    assert [problem.code for problem in refused(f"{header}\n{ROW}")] == codes


def test_the_kind_of_error_is_the_callers() -> None:
    with pytest.raises(InputError):
        parse_prices("", "new.csv", error=InputError)


def test_the_order_of_rows_does_not_matter_and_repeats_count_once() -> None:
    rows = [ROW, ROW.replace("acme", "zeta"), ROW.replace("0.7", "0.8"), ROW]
    forwards = parse_prices("\n".join([HEAD, *rows]), "a.csv")
    backwards = parse_prices("\n".join([HEAD, *rows[::-1]]), "b.csv")
    assert forwards == backwards
    assert len(forwards) == 3


@given(st.text(max_size=200))
def test_any_text_gives_offers_or_problems(text: str) -> None:
    for content in (text, f"{HEAD}\n{text}"):
        try:
            offers, problems = parse_prices(content, "any.csv", resolve=RESOLVE), ()
        except KnowledgeError as error:
            offers, problems = (), error.problems
        assert not (offers and problems)


# ------------------------------------------------------------------------------------------------ the snapshot


def test_the_snapshot_is_of_the_size_that_its_guide_states() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "prices.md").read_text(encoding="utf-8")
    committed = [offer for offer in KNOWLEDGE.offers if offer.one_year_usd_per_hour or offer.three_years_usd_per_hour]
    for amount in (len(KNOWLEDGE.all_offers), len(KNOWLEDGE.offers), len(KNOWLEDGE.spot_offers), len(committed)):
        assert f"{amount:,}" in guide
    assert KNOWLEDGE.prices_as_of is not None
    assert KNOWLEDGE.prices_as_of in guide
    assert {offer.provider_class for offer in KNOWLEDGE.offers} == set(PROVIDER_CLASSES)


def test_offers_name_known_hardware_sources_and_days() -> None:
    families = set(KNOWLEDGE.families)
    for offer in KNOWLEDGE.all_offers:
        assert offer.gpu in KNOWLEDGE.gpus or offer.gpu in families
        assert set(offer.cites) <= KNOWLEDGE.sources.keys()
        assert date(2024, 1, 1) <= date.fromisoformat(offer.as_of) <= date(2026, 11, 20)
        assert offer.count >= 1


def test_prices_per_gpu_are_of_this_world() -> None:
    for offer in KNOWLEDGE.offers:
        assert 0.03 <= offer.usd_per_hour / offer.count <= 60, offer
        assert not offer.spot_only
        if offer.spot_usd_per_hour is not None:
            assert offer.spot_usd_per_hour <= offer.usd_per_hour, offer
        for committed in (offer.one_year_usd_per_hour, offer.three_years_usd_per_hour):
            assert committed is None or committed < offer.usd_per_hour, offer
    assert all(offer.spot_only for offer in KNOWLEDGE.spot_offers)


def test_forms_are_distinguished_where_the_offer_does() -> None:
    azure = {offer.instance: offer.gpu for offer in KNOWLEDGE.offers if offer.provider == "azure"}
    assert azure["Standard_NC24ads_A100_v4"] == "nvidia-a100-80gb-pcie"
    assert azure["Standard_ND96amsr_A100_v4"] == "nvidia-a100-80gb-sxm"
    assert azure["Standard_ND96asr_v4"] == "nvidia-a100-40gb-sxm"
    assert any(offer.gpu == "nvidia-h100-80gb" for offer in KNOWLEDGE.offers)


def test_hyperscalers_rent_the_largest_gpus_by_the_eight() -> None:
    for key in ("nvidia-h200-sxm", "amd-mi300x"):
        counts = {offer.count for offer in KNOWLEDGE.offers if offer.gpu == key and offer.provider in {"azure", "gcp"}}
        assert counts == {8}, key


def test_newer_prices_replace_the_snapshot() -> None:
    newer = parse_prices(f"{HEAD}\n{ROW}\nacme,marketplace,,nvidia-t4,1,,0.05,,2026-09-01,tardellirs", "new.csv")
    replaced = with_offers(KNOWLEDGE, reversed(newer))
    assert (len(replaced.offers), len(replaced.spot_offers)) == (1, 1)
    assert replaced.prices_as_of == "2026-09-01"
    assert replaced.digest != KNOWLEDGE.digest
    assert replaced.digest == with_offers(KNOWLEDGE, newer).digest
    assert replaced.gpus is KNOWLEDGE.gpus
