from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.catalogue.model import Gpu, Offer
from whichgpu.engine.core import record_of
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.model import Rental
from whichgpu.engine.plans.costs.offers import OfferIndex, offer_index
from whichgpu.engine.plans.costs.rental_wishes import Wishes, region_allowed, wishes_from_facts


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
    return record_of(Offer, fields | changes)


def rent(
    offers: list[Offer],
    count: int,
    together: int | None = None,
    *,
    gpu: Gpu = H200,
    wishes: Wishes = NO_WISHES,
    linked: bool | None = None,
) -> Rental | None:
    index = OfferIndex(offers, ECONOMICS).narrowed(wishes)
    return index.rental(gpu, count, together or count, linked=linked, interruptible=wishes.interruptible)


def found(rental: Rental | None) -> Rental:
    assert rental is not None
    return rental


def clouds(*prices: float, count: int = 8) -> list[Offer]:
    """An offer of each of so many neoclouds, at these prices."""
    return [
        offer(count, usd, provider=f"cloud-{number}", provider_class="neocloud") for number, usd in enumerate(prices)
    ]


# ------------------------------------------------------------------------------------------------ which shapes cover


def test_a_larger_machine_covers_a_smaller_plan_at_its_whole_price() -> None:
    rental = found(rent([offer(8, 64.0)], 1))
    assert (rental.usd_per_hour, rental.instances, rental.offer.count, rental.assumed) == (64.0, 1, 8, False)


def test_machines_of_one_gpu_are_no_node_of_eight() -> None:
    assert rent([offer(1, 5.0)], 8) is None
    assert found(rent([offer(1, 5.0)], 8, 1)).usd_per_hour == 40.0


def test_replicas_that_do_not_talk_stand_on_machines_of_their_own() -> None:
    ones = found(rent([offer(1, 5.0), offer(8, 48.0)], 8, 1))
    assert (ones.usd_per_hour, ones.instances) == (40.0, 8)
    # Four GPUs hold one replica of three; eight hold two.
    fours = found(rent([offer(4, 20.0)], 6, 3))
    assert (fours.usd_per_hour, fours.instances) == (40.0, 2)
    eights = found(rent([offer(8, 35.0)], 6, 3))
    assert (eights.usd_per_hour, eights.instances) == (35.0, 1)


def test_a_replica_never_spans_machines_of_a_provider_that_joins_none() -> None:
    hosts = offer(8, 20.0, provider="packet-ai", provider_class="neocloud")
    cluster = offer(8, 30.0, provider="coreweave", provider_class="neocloud")
    assert found(rent([hosts, cluster], 8)).quotes == 2
    assert found(rent([hosts, cluster], 16)).offer == cluster
    assert found(rent([hosts, cluster], 16)).instances == 2
    assert found(rent([hosts], 16, 8, linked=False)).usd_per_hour == 40.0
    assert rent([hosts], 16, 8) is None
    assert rent([hosts], 16, 16, linked=True) is None


def test_cards_that_are_alone_in_their_machine_are_not_joined_unless_they_must_be() -> None:
    superchip = KNOWLEDGE.gpus["nvidia-gh200"]
    assert superchip.node_gpus == 1
    host = offer(1, 2.0, gpu=superchip.id, provider="packet-ai", provider_class="neocloud")
    assert found(rent([host], 2, 1, gpu=superchip)).instances == 2
    assert rent([host], 2, 2, gpu=superchip, linked=True) is None
    # Who joins servers of eight joins no virtual machines with one.
    virtual = offer(1, 2.0, gpu=superchip.id, provider="lambda", provider_class="neocloud")
    assert found(rent([virtual], 2, 1, gpu=superchip)).instances == 2
    assert rent([virtual], 2, 2, gpu=superchip, linked=True) is None


def test_a_price_per_gpu_is_scaled_up_only_where_nobody_covers_the_shape() -> None:
    listed = offer(1, 3.0, provider="lambda", provider_class="neocloud")
    pairs = offer(2, 7.0, provider="lambda", provider_class="neocloud", instance="pair")
    scaled = found(rent([listed, pairs], 8))
    assert (scaled.usd_per_hour, scaled.instances, scaled.assumed, scaled.nearest_offer) == (24.0, 1, True, pairs)
    real = found(rent([listed, pairs, offer(8, 90.0)], 8))
    assert (real.usd_per_hour, real.assumed, real.nearest_offer) == (90.0, False, None)
    assert found(rent([listed], 16)).instances == 2
    assert found(rent([listed], 3)).usd_per_hour == 9.0


def test_a_machine_that_stands_half_idle_counts_only_where_it_is_cheaper() -> None:
    four, eight = offer(4, 20.0, provider="hf-jobs", provider_class="managed"), offer(8, 34.0)
    assert found(rent([four, eight], 4)).offer == four
    cheaper = found(rent([four, offer(8, 15.0)], 4))
    assert (cheaper.usd_per_hour, cheaper.lowest.usd_per_hour, cheaper.quotes) == (17.5, 15.0, 2)
    # Of one provider the cheaper way counts, filled or not.
    assert found(rent([offer(4, 20.0), offer(8, 15.0), *clouds(50.0)], 4)).usd_per_hour == 15.0
    assert found(rent([offer(4, 27.0, provider="lambda"), *clouds(68.0, 69.0)], 4)).usd_per_hour == 27.0


def test_a_virtual_gpu_is_one_gpu_and_no_firm_machine() -> None:
    virtual = offer(1, 0.8, provider="thunder-compute", provider_class="neocloud", instance="prototyping")
    assert found(rent([virtual], 1)).offer == virtual
    assert rent([virtual], 2) is None
    assert found(rent([virtual, offer(1, 2.0)], 1)).usd_per_hour == 2.0


def test_tpus_are_rented_by_the_chip_in_any_number() -> None:
    chip = offer(1, 1.2, gpu="google-tpu-v5e", provider="gcp", instance="tpu-chip")
    rental = found(rent([chip], 8, gpu=KNOWLEDGE.gpus["google-tpu-v5e"]))
    assert rental.usd_per_hour == pytest.approx(9.6)
    assert not rental.assumed


def test_fractions_and_interruptible_prices_are_no_firm_offers() -> None:
    assert rent([offer(0, 0.5), offer(1, 0.0), offer(1, 0.4, spot_usd_per_hour=0.4, spot_only=True)], 1) is None


def test_an_offer_of_the_family_covers_every_form_of_it() -> None:
    assert H200.family != H200.id
    assert found(rent([offer(8, 30.0, gpu=H200.family)], 8)).usd_per_hour == 30.0


# ------------------------------------------------------------------------------------------------ which price


def test_the_price_is_the_median_of_the_three_lowest_providers() -> None:
    rental = found(rent(clouds(30.0, 26.0, 25.0, 90.0, 31.0), 8))
    assert (rental.usd_per_hour, rental.lowest.usd_per_hour, rental.quotes) == (26.0, 25.0, 5)
    assert rental.offer.usd_per_hour == 26.0
    assert [quote.usd_per_hour for quote in rental.compared] == [25.0, 26.0, 30.0]


def test_of_two_providers_the_price_is_the_mean_and_of_one_its_own() -> None:
    two = found(rent(clouds(20.0, 30.0), 8))
    assert (two.usd_per_hour, two.offer.usd_per_hour, two.quotes) == (25.0, 30.0, 2)
    one = found(rent(clouds(20.0), 8))
    assert (one.usd_per_hour, one.quotes) == (20.0, 1)


def test_a_provider_has_one_price_however_often_it_is_listed() -> None:
    several = [offer(8, usd, region=region) for usd, region in ((50.0, "us-east-1"), (48.0, "us-west-2"), (55.0, None))]
    rental = found(rent([*several, *clouds(60.0)], 8))
    assert (rental.usd_per_hour, rental.quotes, rental.lowest.offer.region) == (54.0, 2, "us-west-2")


def test_a_machine_costs_no_more_alone_than_as_one_of_two() -> None:
    joining = [offer(8, 76.0, provider="lambda"), offer(8, 142.0, provider="aws")]
    market = [*joining, offer(8, 128.0, provider="a-cloud-without-clusters")]
    alone, pair = found(rent(market, 8)), found(rent(market, 16, 16, linked=True))
    assert (alone.usd_per_hour, alone.quotes) == (109.0, 2)  # Not the median of all three.
    assert pair.usd_per_hour == 2 * 109.0
    # What one provider of clusters asks is no market: the median of all stands.
    assert found(rent([joining[0], *clouds(128.0, 142.0)], 8)).usd_per_hour == 128.0
    assert found(rent(market, 1)).usd_per_hour == 109.0  # A whole machine is paid for it.
    assert found(rent([*market, *clouds(20.0, count=1)], 1)).usd_per_hour == 20.0


def test_a_preferred_class_wins_over_a_cheaper_later_one() -> None:
    market = offer(1, 1.0, provider="vast-ai", provider_class="marketplace")
    managed = offer(1, 2.0, provider="hf-jobs", provider_class="managed")
    firm = offer(1, 3.0)
    assert found(rent([market, managed, firm], 1)).offer == firm
    assert found(rent([market, managed], 1)).offer == managed
    both = found(rent([market, managed, firm], 1, wishes=Wishes(interruptible=True)))
    assert (both.usd_per_hour, both.lowest.offer) == (2.0, market)


def test_what_the_user_brought_goes_before_the_snapshot() -> None:
    own = offer(8, 60.0, provider="acme", provider_class="marketplace", own=True)
    rental = found(rent([*clouds(20.0, 30.0, 40.0), own], 8))
    assert (rental.usd_per_hour, rental.quotes, rental.offer) == (60.0, 1, own)
    # Half of it would stand idle: it is no quote for four.
    assert found(rent([*clouds(10.0, count=4), own], 4)).usd_per_hour == 10.0


def test_allowed_providers_and_regions_are_hard_limits() -> None:
    offers = [offer(8, 60.0), offer(8, 70.0, provider="gcp", region="europe-west4"), offer(8, 50.0, region=None)]
    assert found(rent(offers, 8, wishes=Wishes(("google",)))).offer.provider == "gcp"
    assert found(rent(offers, 8, wishes=Wishes((), ("europe",)))).offer.region == "europe-west4"
    assert rent(offers, 8, wishes=Wishes(("aws",), ("eu",))) is None
    assert found(rent(offers, 8)).usd_per_hour == 60.0  # the mean of 50 and 70


def test_what_is_allowed_beside_others_keeps_the_price_that_it_has_alone() -> None:
    market = [
        offer(8, usd, provider=name, provider_class="marketplace") for usd, name in ((20.0, "vast-ai"), (24.0, "b"))
    ]
    offers = [*market, offer(8, 60.0), offer(8, 90.0, provider="gcp")]
    assert found(rent(offers, 8, wishes=Wishes(("marketplace",)))).usd_per_hour == 22.0
    wider = found(rent(offers, 8, wishes=Wishes(("marketplace", "aws"))))
    assert (wider.usd_per_hour, wider.lowest.usd_per_hour, wider.quotes) == (22.0, 20.0, 2)
    # Of two that are named, the lower is what one would order, and not the mean of both.
    named = found(rent(offers, 8, wishes=Wishes(("gcp", "aws"))))
    assert (named.usd_per_hour, len(named.compared), named.quotes) == (60.0, 1, 2)
    elsewhere = [*clouds(50.0), offer(8, 70.0, provider="cloud-0", provider_class="neocloud", region="europe-west4")]
    apart = [elsewhere[1], offer(8, 99.0)]
    assert found(rent(apart, 8, wishes=Wishes((), ("europe", "us")))).usd_per_hour == 70.0


def test_what_covers_the_shape_goes_before_what_is_scaled_up_to_it() -> None:
    offers = [offer(1, 1.0, provider="a", provider_class="neocloud"), offer(8, 90.0)]
    rental = found(rent(offers, 8, wishes=Wishes(("a", "aws"))))
    assert (rental.usd_per_hour, rental.assumed) == (90.0, False)


def test_spot_and_commitments_stand_beside_the_price_and_do_not_change_it() -> None:
    plain, rich = offer(8, 64.0), offer(8, 64.0, spot_usd_per_hour=20.0, one_year_usd_per_hour=40.0)
    rich = replace(rich, three_years_usd_per_hour=30.0, committed_source="elsewhere")
    rental = found(rent([rich], 16))
    assert (rental.usd_per_hour, rental.spot_usd_per_hour) == (found(rent([plain], 16)).usd_per_hour, 40.0)
    assert [(each.term_months, each.usd_per_hour, each.instances) for each in rental.committed] == [
        (12, 80.0, 2),
        (36, 60.0, 2),
    ]
    assert {each.source for each in rental.committed} == {"elsewhere"}
    # A machine that is mostly idle is another shape.
    assert (found(rent([rich], 2)).spot_usd_per_hour, found(rent([rich], 2)).committed) == (None, ())


def test_spot_prices_are_of_offers_that_can_only_be_had_so_as_well() -> None:
    only = offer(1, 1.0, provider="salad", provider_class="marketplace", spot_usd_per_hour=1.0, spot_only=True)
    assert found(rent([offer(1, 3.0), only], 1)).spot_usd_per_hour == 1.0


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
        ("eu-west-2", "uk", True),
        ("eu-west-2", "eu", False),
        ("eu-central-2", "eu", False),
        ("eu-central-2", "europe", True),
        ("ca-central-1", "canada", True),
        ("ap-southeast-2", "australia", True),
        ("ap-southeast-2", "asia", False),
        ("CANADA-1", "canada", True),
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


def test_the_index_of_the_snapshot_is_made_once() -> None:
    index = offer_index(KNOWLEDGE, ECONOMICS)
    assert offer_index(KNOWLEDGE, ECONOMICS) is index
    h100 = KNOWLEDGE.gpus["nvidia-h100-80gb-sxm"]
    assert index.rental(h100, 8, 8) is index.rental(h100, 8, 8)
    wishes = Wishes(regions_allowed=("us",))
    assert index.narrowed(wishes) is index.narrowed(wishes)
    assert index.narrowed(NO_WISHES) is index


# ------------------------------------------------------------------------------------------------ laws

offers_of_any_kind = st.builds(
    offer,
    st.sampled_from([1, 2, 4, 8, 16]),
    st.floats(0.1, 100).map(lambda usd: round(usd, 2)),
    provider_class=st.sampled_from(["hyperscaler", "neocloud", "managed", "marketplace", "serverless"]),
    provider=st.sampled_from(["aws", "gcp", "lambda", "vast-ai", "packet-ai"]),
)
lists_of_offers = st.lists(offers_of_any_kind, max_size=10)
counts = st.sampled_from([1, 2, 3, 4, 8, 16, 40])
sizes = st.sampled_from([1, 2, 4, 8])


@given(lists_of_offers, counts, sizes)
def test_the_order_of_offers_does_not_matter(offers: list[Offer], count: int, together: int) -> None:
    assert rent(offers, count, together) == rent(offers[::-1], count, together)


@given(st.dictionaries(st.sampled_from(["aws", "gcp", "lambda", "here", "there"]), st.integers(20, 200), min_size=3))
def test_two_machines_never_cost_less_than_twice_one(usd: dict[str, int]) -> None:
    offers = [offer(8, float(price), provider=name) for name, price in usd.items()]
    one, two = rent(offers, 8), rent(offers, 16, 16, linked=True)
    if two is not None and two.quotes > 1 and not two.assumed:
        assert two.usd_per_hour >= 2 * found(one).usd_per_hour


@given(lists_of_offers, counts, sizes)
def test_the_price_lies_between_the_lowest_and_the_third(offers: list[Offer], count: int, together: int) -> None:
    rental = rent(offers, count, together)
    if rental is not None:
        prices = [quote.usd_per_hour for quote in rental.compared]
        assert prices == sorted(prices)
        assert rental.lowest.usd_per_hour == prices[0] <= rental.usd_per_hour <= prices[-1]
        assert len(prices) == min(3, rental.quotes)
        chosen = [quote for quote in rental.compared if quote.offer == rental.offer]
        assert chosen[0].usd_per_hour >= rental.usd_per_hour
        assert len({quote.offer.provider for quote in rental.compared}) == len(prices)


@given(lists_of_offers, counts, sizes)
def test_rented_machines_hold_the_plan_or_the_price_is_assumed(offers: list[Offer], count: int, together: int) -> None:
    rental = rent(offers, count, together)
    if rental is None:
        return
    share = min(together, count)
    firm = [each for each in offers if each.count >= share]
    if rental.assumed:
        assert rental.nearest_offer is not None
        assert rental.nearest_offer.count < share
        linked = count > share >= H200.node_gpus
        assert linked or not firm
    else:
        for quote in rental.compared:
            assert quote.offer.count >= share
            assert quote.instances * quote.offer.count >= count
            assert quote.usd_per_hour == pytest.approx(quote.instances * quote.offer.usd_per_hour)


@given(st.lists(offers_of_any_kind.map(lambda each: replace(each, provider_class="neocloud"))), counts)
def test_more_providers_of_a_class_never_raise_the_lowest(offers: list[Offer], count: int) -> None:
    few = rent([each for each in offers if each.provider != "gcp"], count, count)
    many = rent(offers, count, count)
    if few is not None and not few.assumed:
        assert found(many).lowest.usd_per_hour <= few.lowest.usd_per_hour
        assert found(many).quotes >= 1


allowed = st.sampled_from(["hyperscaler", "neocloud", "marketplace", "aws", "gcp", "lambda", "vast-ai"])


@given(lists_of_offers, counts, sizes, st.lists(allowed, min_size=1, max_size=3), allowed)
def test_one_more_allowed_never_raises_the_price(
    offers: list[Offer], count: int, together: int, names: list[str], more: str
) -> None:
    few = rent(offers, count, together, wishes=Wishes(tuple(names)))
    if few is not None:
        many = found(rent(offers, count, together, wishes=Wishes((*names, more))))
        assert few.assumed >= many.assumed
        assert many.usd_per_hour <= few.usd_per_hour or few.assumed > many.assumed


@given(st.lists(offers_of_any_kind, min_size=1, max_size=8), st.integers(1, 64))
def test_more_replicas_never_cost_less(offers: list[Offer], count: int) -> None:
    small, large = rent(offers[:1], count, 1), rent(offers[:1], count + 1, 1)
    assert found(large).usd_per_hour >= found(small).usd_per_hour - 1e-9


# ------------------------------------------------------------------------------------------------ the snapshot


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_every_node_of_the_snapshot_is_covered_or_called_assumed(count: int) -> None:
    index = offer_index(KNOWLEDGE, ECONOMICS)
    chips = ECONOMICS.per_gpu_list_price.instances
    for gpu in KNOWLEDGE.plannable:
        if count > gpu.node_gpus:
            continue
        named = [each for each in KNOWLEDGE.offers if each.gpu in (gpu.id, gpu.family)]
        covering = [each for each in named if each.count >= count or each.instance in chips]
        rental = index.rental(gpu, count, count)
        if covering:
            assert not found(rental).assumed, gpu.id
            assert all(quote.offer in covering for quote in found(rental).compared), gpu.id
        elif named:
            assert rental is None or rental.assumed, gpu.id
        else:
            assert rental is None, gpu.id


def test_more_than_a_provider_lets_one_customer_have_is_not_priced_by_it() -> None:
    offers = [offer(8, 16.0, quota_gpus=8), offer(8, 24.0), offer(8, 40.0, provider="gcp")]
    assert found(rent(offers, 8)).lowest.usd_per_hour == 16.0
    more = found(rent(offers, 16, together=8, linked=False))
    assert more.lowest.usd_per_hour == 48.0
    assert rent([offer(8, 16.0, quota_gpus=8)], 16, together=8, linked=False) is None
