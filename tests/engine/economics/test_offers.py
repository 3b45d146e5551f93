from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.economics.constants import load_economics
from engine.economics.offers import Wishes
from engine.economics.offers import cheapest_offer
from engine.economics.offers import index_offers
from engine.economics.offers import offer_index
from engine.economics.offers import region_allowed
from engine.economics.offers import stale_offers
from engine.economics.offers import wishes_from_facts
from engine.knowledge import load_knowledge
from engine.knowledge.model import Gpu
from engine.knowledge.model import Offer


ECONOMICS = load_economics()
KNOWLEDGE = load_knowledge()
H200 = KNOWLEDGE.gpus["nvidia-h200-sxm"]
NO_WISHES = Wishes()


def offer(count: int = 1, usd: float = 2.0, **changes: object) -> Offer:
    fields: dict[str, object] = {
        "provider": "aws",
        "provider_class": "hyperscaler",
        "instance": "p5",
        "gpu": "nvidia-h200-sxm",
        "count": count,
        "usd_per_hour": usd,
        "region": "us-east-1",
        "as_of": "2026-07-20",
        "source": "test",
    }
    return Offer.model_validate(fields | changes)


def rent(offers: list[Offer], count: int, gpu: Gpu = H200, wishes: Wishes = NO_WISHES, together: int | None = None):
    return cheapest_offer(gpu, count, wishes, index_offers(offers, ECONOMICS), together=together)


def test_an_offer_of_eight_covers_one_at_the_price_of_eight() -> None:
    rental = rent([offer(8, 64.0)], 1)
    assert rental is not None
    assert (rental.usd_per_hour, rental.instances, rental.offer.count) == (64.0, 1, 8)


def test_several_machines_combine_for_a_larger_count() -> None:
    rental = rent([offer(8, 64.0)], 20)
    assert rental is not None
    assert (rental.usd_per_hour, rental.instances) == (192.0, 3)


def test_machines_of_one_gpu_are_no_node_of_eight() -> None:
    assert rent([offer(1, 5.0)], 8) is None
    assert rent([offer(1, 5.0)], 8, together=1).usd_per_hour == 40.0


def test_a_price_per_gpu_grows_with_the_order() -> None:
    neocloud = offer(1, 3.0, provider="lambda", provider_class="neocloud")
    assert rent([neocloud], 8).usd_per_hour == 24.0
    assert rent([neocloud], 8).instances == 1
    assert rent([neocloud], 16).instances == 2
    pairs = offer(2, 5.0, provider="lambda", provider_class="neocloud")
    assert rent([pairs], 3).usd_per_hour == 10.0


def test_marketplaces_do_not_join_nodes() -> None:
    hosts = offer(8, 20.0, provider="vast-ai", provider_class="marketplace")
    assert rent([hosts], 8).usd_per_hour == 20.0
    assert rent([hosts], 16) is None
    assert rent([hosts], 16, together=1).usd_per_hour == 40.0


def test_only_some_providers_join_nodes() -> None:
    node = offer(8, 20.0, provider="packet-ai", provider_class="neocloud")
    cluster = offer(8, 30.0, provider="coreweave", provider_class="neocloud")
    assert rent([node, cluster], 8).offer == node
    assert rent([node, cluster], 16).offer == cluster
    assert rent([node, cluster], 16, together=1).offer == node


def test_a_virtual_gpu_is_one_gpu_and_no_firm_machine() -> None:
    virtual = offer(1, 0.8, provider="thunder-compute", provider_class="neocloud", instance="prototyping")
    assert rent([virtual], 1).offer == virtual
    assert rent([virtual], 2) is None
    assert rent([virtual, offer(1, 2.0)], 1).usd_per_hour == 2.0


def test_a_preferred_class_wins_over_a_cheaper_later_one() -> None:
    market = offer(1, 1.0, provider="vast-ai", provider_class="marketplace")
    managed = offer(1, 2.0, provider="hf-jobs", provider_class="managed")
    firm = offer(1, 3.0)
    assert rent([market, managed, firm], 1).offer == firm
    assert rent([market, managed], 1).offer == managed
    assert rent([market, managed, firm], 1, wishes=Wishes(interruptible=True)).offer == market


def test_fractions_and_interruptible_prices_are_left_out() -> None:
    assert rent([offer(0, 0.5), offer(1, 0.0), offer(1, 0.4, spot_only=True)], 1) is None


def test_an_offer_of_the_family_covers_every_form_of_it() -> None:
    family = offer(8, 30.0, gpu=H200.family)
    assert H200.family != H200.id
    assert rent([family], 8).usd_per_hour == 30.0


def test_allowed_providers_and_regions_are_hard_limits() -> None:
    offers = [offer(8, 60.0), offer(8, 70.0, provider="gcp", region="europe-west4"), offer(8, 50.0, region=None)]
    assert rent(offers, 8, wishes=Wishes(("google",))).offer.provider == "gcp"
    assert rent(offers, 8, wishes=Wishes((), ("europe",))).offer.region == "europe-west4"
    assert rent(offers, 8, wishes=Wishes(("aws",), ("eu",))) is None
    assert rent(offers, 8).usd_per_hour == 50.0


@pytest.mark.parametrize(
    ("region", "allowed", "verdict"),
    [
        ("us-east-1", "us", True),
        ("eastus2", "us", True),
        ("us-east-1", "US-East-1", True),
        ("westeurope", "eu", True),
        ("uksouth", "eu", False),
        ("uksouth", "Europe", True),
        ("europe-west2", "eu", False),
        ("europe-west12", "eu", True),
        ("asia-east1", "europe", False),
        (None, "us", False),
    ],
)
def test_regions_by_name_and_by_area(region: str | None, allowed: str, verdict: bool) -> None:
    assert region_allowed(region, (allowed,), ECONOMICS) is verdict


def test_wishes_are_read_from_facts() -> None:
    wishes = wishes_from_facts({"providers_allowed": ("aws", "gcp"), "regions_allowed": "eu", "interruptible": True})
    assert wishes == Wishes(("aws", "gcp"), ("eu",), interruptible=True)
    assert wishes.narrow_offers
    assert not wishes_from_facts({}).narrow_offers


def test_tpus_are_priced_by_the_chip() -> None:
    chip = offer(1, 1.2, gpu="google-tpu-v5e", provider="gcp", instance="tpu-chip")
    assert rent([chip], 8, gpu=KNOWLEDGE.gpus["google-tpu-v5e"]).usd_per_hour == pytest.approx(9.6)


def test_stale_prices_are_those_older_than_the_limit() -> None:
    old, new = offer(as_of="2026-05-24"), offer(as_of="2026-08-20")
    assert stale_offers([new, old], date(2026, 8, 30), 90) == (old,)
    assert stale_offers([new, old], date(2026, 8, 22), 90) == ()


def test_the_index_of_the_snapshot_is_made_once() -> None:
    index = offer_index(KNOWLEDGE, ECONOMICS)
    assert offer_index(KNOWLEDGE, ECONOMICS) is index
    assert sum(len(found) for found in index.by_gpu.values()) < len(index.offers)
    h100 = KNOWLEDGE.gpus["nvidia-h100-80gb-sxm"]
    assert cheapest_offer(h100, 8, NO_WISHES, index) is cheapest_offer(h100, 8, NO_WISHES, index)


offers_of_any_kind = st.builds(
    offer,
    st.sampled_from([1, 2, 4, 8, 16]),
    st.floats(0.1, 100).map(lambda usd: round(usd, 2)),
    provider_class=st.sampled_from(["hyperscaler", "neocloud", "managed", "marketplace", "serverless"]),
    provider=st.sampled_from(["aws", "gcp", "lambda", "vast-ai"]),
)


@given(st.lists(offers_of_any_kind, max_size=8), st.sampled_from([1, 2, 3, 4, 8, 16, 40]))
def test_the_order_of_offers_does_not_matter_and_more_choice_costs_no_more(offers: list[Offer], count: int) -> None:
    rental = rent(offers, count)
    again = rent(offers[::-1], count)
    assert (rental and rental.usd_per_hour) == (again and again.usd_per_hour)
    if rental is not None:
        machines = rental.instances * max(rental.offer.count, min(count, H200.node_gpus))
        assert machines >= count
        cheaper = offer(8, 0.05)
        assert rent([*offers, cheaper], count).usd_per_hour <= rental.usd_per_hour


@given(st.lists(offers_of_any_kind, min_size=1, max_size=8), st.integers(1, 64))
def test_a_larger_count_never_costs_less(offers: list[Offer], count: int) -> None:
    small, large = rent(offers, count, together=1), rent(offers, count + 1, together=1)
    assert small is not None
    assert large is not None
    assert large.usd_per_hour >= small.usd_per_hour - 1e-9
