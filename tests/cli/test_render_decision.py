from __future__ import annotations

import re
from typing import Any

import pytest

from whichgpu.cli.render.brief import brief_blocks
from whichgpu.cli.render.cost import basis_sentence
from whichgpu.cli.render.decision import decision_blocks
from whichgpu.cli.render.markdown import to_markdown
from whichgpu.cli.render.names import Names, fair_form
from whichgpu.cli.render.plan import plan_sentence, summary_sentence
from whichgpu.cli.render.procurement import flip_sentence
from whichgpu.cli.render.screen import Screen
from whichgpu.cli.render.text import to_text


NAMES = Names(
    gpus={"nvidia-a100-80gb-sxm": "NVIDIA A100 80 GB SXM"},
    sources={"gmi": "GMI Cloud guide"},
    priorities={"W-LOW-HEADROOM": 1, "W-HIDDEN-COSTS-CLOUD": 4},
    facts={
        "utilization_pct": "utilisation",
        "rent_quote_usd_h": "rental price",
        "budget_usd_per_hour": "budget per hour",
        "ttft_slo_ms": "time to first token",
    },
)


def shown(decision: dict[str, Any], *, everything: bool = False, width: int = 100) -> str:
    return to_text(decision_blocks(decision, NAMES, everything=everything), Screen(width=width))


def unwrapped(decision: dict[str, Any], *, everything: bool = False) -> str:
    return re.sub(r"\s+", " ", shown(decision, everything=everything))


def test_the_plan_comes_first_in_one_sentence(answered: dict[str, Any]) -> None:
    page = unwrapped(answered)
    sentence = (
        "4 x NVIDIA A100 80 GB SXM, in one node, linked by NVLink, in bf16, "
        "each layer split over 4 GPUs (tensor parallel)."
    )
    assert page.startswith(f"Recommendation ============== {sentence}")


@pytest.mark.parametrize(
    "fact",
    [
        "61.3 GB (57.1 GiB) on each GPU; 84.0 GB (78.2 GiB) can be used there",
        "73 % used, 27 % free",
        "Likely between 232.9 GB and 259.9 GB over all GPUs",
        "model weights 35.3 GB 57.6 %",
        "tokens per second: 1,850 (1,295 to 2,405)",
        "In short: rent it; about $5.96 an hour; 27 % of the memory stays free; about 1,850 tokens/s; "
        "4 GPUs: the smallest count that fits.",
        "per hour: $5.96",
        "per month: $4,351",
        "price of 2026-07-20",
        "Rented from a GPU cloud (lambda)",
        "Rent. At 25 % use the cards would pay for themselves after 58 months",
        "GMI Cloud guide: rent below 70 %. Utilisation (utilization_pct) is 25 here, so it says rent.",
        "Further lines of the guides would apply if this were known: gpu_hours_total.",
        "Owning would cost less if the utilisation (utilization_pct) were above 62.5 % instead of 25 %.",
        "By rule rent-below-break-even; source: GMI Cloud guide, tco.",
        "For (interconnect, +4): A layer split over several GPUs",
        "rule nvlink-for-tensor-parallel; source: runpod/multi-gpu",
        "NVIDIA T4: ruled out. Needs 61 GB on each GPU, 15.6 GB are there",
        "GMI Cloud guide says: own above 70 % use",
        "Above which use it pays to own (C13)",
        "This answer follows: The figure of 70 %, because it is dated and comes with its cost lines.",
        "always_on = yes",
        "Which share of the time will the hardware be busy?",
        "--set utilization_pct=...",
        "rules fired by durable-rules",
    ],
)
def test_a_stranger_finds(answered: dict[str, Any], fact: str) -> None:
    assert fact in unwrapped(answered)


def test_alternatives_stand_beside_the_answer(answered: dict[str, Any]) -> None:
    lines = shown(answered, width=140).splitlines()
    assert any("4 x NVIDIA H100 SXM 80GB" in line and line.endswith("98 % costlier, 2.1 x as fast") for line in lines)
    assert any("8 x NVIDIA L40S" in line and "19 % cheaper, 51 % slower; not proven" in line for line in lines)


def test_the_price_of_one_of_several_allowed_providers_is_no_mean(answered: dict[str, Any]) -> None:
    quote = {"provider": "lambda", "usd_per_hour": 5.96}
    rental = {"quotes": 2, "compared": [quote], "lowest_offer": quote, "lowest_usd_per_hour": 5.96}
    answered["recommendation"]["cost"] |= rental
    assert "It is the price of lambda, one of 2 allowed providers that have this shape." in unwrapped(answered)


def test_alternatives_are_compared_by_what_the_choice_compares(answered: dict[str, Any]) -> None:
    answered["alternatives"][0] |= {"cost_ratio": 1.5, "speed_ratio": 0.8, "dominated_by": "nvidia-a100-80gb-sxmx4"}
    lines = shown(answered, width=200).splitlines()
    assert any(line.endswith("50 % costlier, 20 % slower; beaten by 4 x NVIDIA A100 80 GB SXM") for line in lines)


def test_owning_what_is_there_means_keeping_it(answered: dict[str, Any]) -> None:
    answered["procurement"] |= {"verdict": "buy", "because": "it is there", "flip": None}
    answered["recommendation"]["cost"]["origin"] = "owned"
    assert "Use what you have. It is there." in unwrapped(answered)
    answered["recommendation"]["cost"]["origin"] = "purchase"
    assert "Buy. It is there." in unwrapped(answered)


def test_a_plan_for_ones_own_place_says_what_it_would_rent_for(answered: dict[str, Any]) -> None:
    offer = answered["recommendation"]["offer"]
    rented = {"origin": "purchase", "rented_from": offer, "rented_usd_per_hour": 7.25}
    answered["recommendation"]["cost"] |= rented
    answered["recommendation"]["offer"] = None
    page = unwrapped(answered)
    assert "about $7.25 an hour rented; bought, busy or idle, $5.96 an hour" in page
    assert "Rented from a GPU cloud (lambda) they would cost $7.25 an hour." in page


def compared(**changes: Any) -> dict[str, Any]:
    entries = [
        {"side": side, "name": name, "usd": usd, "formula": "", "source": ""}
        for side, name, usd in (
            ("rent", "rent", 40000),
            ("own", "purchase", 50000),
            ("own", "resale", -10000),
            ("own", "energy", 20000),
        )
    ]
    sums = {"rent_usd": 40000, "own_usd": 60000, "hybrid_usd": None, "ratio": 1.5, "clear": True, "says": "rent"}
    return {"horizon_years": 3.0, "clear_ratio": 1.3, "entries": entries, "course": [], **sums, **changes}


def test_the_sums_stand_below_the_verdict(answered: dict[str, Any]) -> None:
    answered["figures"]["purchase_usd"] = {"value": 50000, "unit": "USD", "sources": []}
    answered["procurement"]["comparison"] = compared(rent_band_usd=[30000, 70000], horizon_assumed=True)
    page = unwrapped(answered)
    assert "Over 3 years, which is assumed: renting comes to $40,000 ($30,000 to $70,000), owning to $60,000." in page
    assert "Owning is $50,000 to buy, less $10,000 of resale value, plus $20,000 for capital, power" in page
    assert "Owning costs 1.50 x renting, which is clear (from 1.3 x on)." in page
    answered["procurement"]["comparison"] = compared(hybrid_usd=45000, ratio=1.1, clear=False, says="even")
    page = unwrapped(answered)
    assert "owning the base load and renting the peaks to $45,000" in page
    assert "too close to decide by itself" in page
    answered["procurement"]["comparison"] = compared(already_owned=True, rent_is_stated_bill=True)
    assert "renting, by the stated bill, comes to $40,000" in unwrapped(answered)
    assert "owning costs only its running" in unwrapped(answered)


def test_hours_of_owning_and_renting_are_compared_by_the_hour_of_work(answered: dict[str, Any]) -> None:
    """$0.37 an hour that is bought is no cheaper than $0.96 rented where it works 30 % of the time."""
    of_work = {"own_usd_per_hour": 0.37, "busy_share": 0.3, "own_usd_per_busy_hour": 1.2333, "rent_usd_per_hour": 0.96}
    answered["procurement"] |= {"verdict": "rent", "comparison": compared(**of_work)}
    answered["recommendation"]["cost"] |= {"origin": "purchase", "usd_per_hour": 0.37, "rented_usd_per_hour": 0.96}
    answered["recommendation"]["offer"] = None
    page = unwrapped(answered)
    assert "$0.96 an hour rented; bought, busy or idle, $0.37 an hour, which is $0.37 / 30 % busy = $1.23 for" in page
    assert "An hour of work comes to $0.37 / 30 % busy = $1.23 owned, idle hours included, and to $0.96 rented" in page
    for other in ({"rent_is_stated_bill": True}, {"already_owned": True}, {"busy_share": 1.0}, {"busy_share": None}):
        answered["procurement"]["comparison"] = compared(**{**of_work, **other})
        assert "An hour of work comes to" not in unwrapped(answered)


def test_a_wish_that_costs_clearly_more_is_priced_beside_the_verdict(answered: dict[str, Any]) -> None:
    wish = {"asked": "rent", "usd": 40000, "least": "buy", "least_usd": 10000, "usd_more": 30000, "cost_ratio": 4.0}
    answered["procurement"] |= {"verdict": "buy", "price_of_wish": wish}
    answered["recommendation"]["cost"]["origin"] = "offer"
    page = unwrapped(answered)
    assert "You asked to rent, which comes to $40,000, $30,000 more (4 times as much)." in page
    assert "The plan and its price keep to that." in page
    assert "buy it; you asked to rent, which costs $30,000 more" in page
    answered["recommendation"]["cost"]["origin"] = "owned"
    assert "keep to that" not in unwrapped(answered)


def test_what_the_comparison_lacks_is_named(answered: dict[str, Any]) -> None:
    answered["procurement"]["comparison"] = compared(own_usd=None, says="unknown", lacking=["utilization_pct"])
    assert "cannot be compared while this is not stated: utilization_pct." in unwrapped(answered)


def test_a_line_of_a_guide_says_what_it_was_drawn_for(answered: dict[str, Any]) -> None:
    line = {"id": "monthly_spend", "source": "briefing", "fact": "monthly_cloud_spend_usd", "value": 1200.0}
    line |= {"limit": "rent below 1,000", "says": "own", "scope": "a workstation", "in_scope": False, "agrees": False}
    answered["procurement"]["thresholds"] = [line]
    page = unwrapped(answered)
    assert "so it says own, which does not agree with the comparison." in page
    assert "Drawn for a workstation, which this is not, so it does not decide." in page


def test_markdown_has_the_same_words(answered: dict[str, Any]) -> None:
    for everything in (False, True):
        blocks = decision_blocks(answered, NAMES, everything=everything)
        markdown = to_markdown(blocks).replace("\\", "")
        for word in re.findall(r"[\w$.%]+", to_text(blocks, Screen(width=400))):
            assert word.strip(".") in markdown


def test_no_line_is_wider_than_the_screen(answered: dict[str, Any]) -> None:
    for width in (40, 60, 80, 100):
        long = [line for line in shown(answered, everything=True, width=width).splitlines() if len(line) > width]
        assert [line for line in long if "--set" not in line] == []


def test_warnings_come_by_priority(answered: dict[str, Any]) -> None:
    page = shown(answered)
    assert page.index("W-LOW-HEADROOM") < page.index("W-HIDDEN-COSTS-CLOUD")


def test_at_most_ten_warnings_unless_all(answered: dict[str, Any]) -> None:
    answered["warnings"] = [{**answered["warnings"][0], "code": f"W-{n}", "text": f"warning {n}."} for n in range(14)]
    assert "and 4 more; --all shows them" in shown(answered)
    assert "warning 12." not in shown(answered)
    assert "warning 13." in shown(answered, everything=True)


def test_at_most_five_reasons_unless_all(answered: dict[str, Any]) -> None:
    points = [{"rule": f"r{n}", "reason": f"n{n}", "points": n, "because": f"reason {n}."} for n in range(1, 9)]
    answered["recommendation"]["points"] = points
    assert "reason 8." in shown(answered)
    assert "reason 3." not in shown(answered)
    assert "reason 1." in shown(answered, everything=True)


def test_all_shows_the_sum(answered: dict[str, Any]) -> None:
    page = unwrapped(answered, everything=True)
    assert "nvlink-for-tensor-parallel interconnect +4 +6" in page
    assert "a100-mature maturity +1 a stronger rule of this reason counts" in page
    assert "score +5.38" in page


def test_all_shows_facts_figures_and_every_rejection(answered: dict[str, Any]) -> None:
    page = unwrapped(answered, everything=True)
    assert "param count b" not in page
    assert "param_count_b 70.6 looked up" in page
    assert "cloud idle pct 20 to 40 %" in page
    assert "breakeven gpu hours 9,100 (7,000 to 12,000) h" in page
    assert "NVIDIA T4 x 1, 2, 4 or 8: needs 61 GB" in page
    assert "required vram gb 245" in page


def test_an_unproven_plan_says_so(answered: dict[str, Any]) -> None:
    answered["recommendation"]["proven"] = False
    assert "Not proven: a hard limit could not be checked" in unwrapped(answered)


def test_without_a_recommendation_it_says_why_and_what_to_provide(unanswered: dict[str, Any]) -> None:
    page = unwrapped(unanswered)
    assert page.startswith("No recommendation yet: too little is known.")
    assert "Without the task, neither memory nor speed can be worked out." in page
    assert (
        "Please provide: - task: What will the GPU do? - param_count_b: How many billion parameters has the model?"
        in page
    )
    assert "whichgpu recommend FILE --set task=... --set param_count_b=..." in page


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("nothing_fits", "no plan in the catalogue qualifies"),
        ("contradictory", "the stated facts contradict each other"),
    ],
)
def test_other_reasons_for_no_recommendation(unanswered: dict[str, Any], kind: str, title: str) -> None:
    unanswered["no_answer"] = {"kind": kind, "why": "Because.", "facts": ["budget_usd_per_hour"]}
    assert title in unwrapped(unanswered)
    assert "budget_usd_per_hour" in unwrapped(unanswered)


def test_what_stands_in_the_way_is_said_in_words_with_the_fact_to_set(unanswered: dict[str, Any]) -> None:
    facts = ["budget_usd_per_hour", "ttft_slo_ms", "task"]
    groups = [["budget_usd_per_hour", "ttft_slo_ms"], ["task"]]
    unanswered["facts"]["budget_usd_per_hour"] = {"value": 2.5, "origin": "given", "seq": None}
    unanswered["no_answer"] = {"kind": "nothing_fits", "why": "Because.", "facts": facts, "relaxable": groups}
    unanswered["open_questions"] = []
    says = "budget per hour (budget_usd_per_hour: 2.5) together with time to first token (ttft_slo_ms)"
    assert f"A plan would qualify without one of these: - {says} - task" in unwrapped(unanswered)
    unanswered["no_answer"]["relaxable"] = groups[:1]
    assert f"A plan would qualify without this: - {says}" in unwrapped(unanswered)


def test_advice_does_not_repeat_the_verdict(answered: dict[str, Any]) -> None:
    verdict = answered["procurement"]["because"]
    code = "A-CLOUD-TEST-FIRST"
    entry = {"code": code, "text": verdict, "because": "x", "rule": None, "also": [], "sources": []}
    answered["advice"] = [entry, entry | {"text": "Measure it."}]
    answered["launch"] = None
    page = re.sub(r"\s+", " ", to_text(brief_blocks(answered, NAMES), Screen(width=100)))
    assert page.count(verdict.rstrip(".")) == 1
    assert "- Measure it." in page


def test_unknown_figures_are_called_unknown(answered: dict[str, Any]) -> None:
    plan = answered["recommendation"]
    plan["memory"] = None
    plan["speed"] = {"tokens_per_s": None}
    plan["cost"] = dict.fromkeys(plan["cost"])
    plan["offer"] = None
    page = unwrapped(answered)
    assert "The memory need could not be worked out" in page
    assert "No speed can be worked out" in page
    assert "its cost is unknown" in page


def test_a_quoted_price_has_no_offer(answered: dict[str, Any]) -> None:
    answered["recommendation"]["offer"] = None
    assert "The price is the one that was given." in unwrapped(answered)


def test_several_nodes_and_replicas(answered: dict[str, Any]) -> None:
    plan = answered["recommendation"]
    plan.update(count=16, nodes=2, node_link="infiniband")
    plan["parallelism"] = {"tensor": 4, "pipeline": 2, "data": 2, "sharding": "zero3"}
    assert plan_sentence(plan, NAMES) == (
        "16 x NVIDIA A100 80 GB SXM, in 2 nodes joined by InfiniBand, NVLink inside each, in bf16, each layer split "
        "over 4 GPUs (tensor parallel), the layers split into 2 stages (pipeline parallel), 2 replicas (data parallel) "
        "and weights, gradients and optimizer state split across the GPUs (ZeRO-3)."
    )


def test_one_gpu_needs_no_link(answered: dict[str, Any]) -> None:
    plan = answered["recommendation"]
    plan.update(count=1, link="none", precision=None)
    plan["parallelism"] = {"tensor": 1, "pipeline": 1, "data": 1, "sharding": "none"}
    assert plan_sentence(plan, NAMES) == "1 x NVIDIA A100 80 GB SXM."


def test_phases(answered: dict[str, Any]) -> None:
    answered["phases"] = [
        {"phase": "training", "recommendation": answered["recommendation"]},
        {"phase": "serving", "recommendation": None},
    ]
    page = unwrapped(answered)
    assert "training: 4 x NVIDIA A100 80 GB SXM" in page
    assert "serving: no recommendation" in page


def test_an_id_without_a_name_reads_fairly() -> None:
    assert fair_form("nvidia-rtx-4060-ti-16gb") == "NVIDIA RTX 4060 Ti 16GB"
    assert Names().source("fpt/3.4") == "fpt/3.4"
    assert Names(sources={"fpt": "FPT guide"}).source("fpt/3.4") == "FPT guide, 3.4"


@pytest.mark.parametrize(
    ("origin", "says"),
    [
        ("owned", "In short: you have it already, but rent it; about $2.00 an hour for electricity"),
        ("purchase", "In short: rent it; about $2.00 an hour if it is bought"),
        ("offer", "In short: rent it; about $2.00 an hour"),
    ],
)
def test_the_summary_says_whose_hardware_is_priced(origin: str, says: str) -> None:
    plan = {"count": 1, "cost": {"usd_per_hour": 2.0, "origin": origin}, "memory": None, "speed": {}}
    assert summary_sentence(plan, {"verdict": "rent"}) == f"{says}."


def test_the_summary_of_a_purchase_has_the_price_of_owning() -> None:
    plan = {"count": 1, "cost": {"usd_per_hour": 2.0, "origin": "offer"}, "memory": None, "speed": {}}
    procurement = {"verdict": "buy", "comparison": {"own_usd_per_hour": 0.8}}
    says = "In short: buy it; about $0.80 an hour of the horizon if it is bought, or $2.00 an hour rented."
    assert summary_sentence(plan, procurement) == says
    plan["cost"] |= {"origin": "owned", "rented_usd_per_hour": 0.1}
    says = "In short: you have it already, but rent it; about $0.10 an hour, or $2.00 for running what you have."
    assert summary_sentence(plan, {"verdict": "rent"}) == says


@pytest.mark.parametrize(
    ("count", "says"),
    [
        (1, "You own this GPU: the cost is the power that running it takes. Rented from a GPU cloud (x) it would cost"),
        (
            2,
            "You own these GPUs: the cost is the power that running them takes. Rented from a GPU cloud (x) they would",
        ),
    ],
)
def test_one_gpu_is_no_several(count: int, says: str) -> None:
    offer = {"provider": "x", "provider_class": "neocloud"}
    cost = {"origin": "owned", "rented_from": offer, "rented_usd_per_hour": 0.5}
    assert basis_sentence({"count": count, "cost": cost, "offer": None}).startswith(says)


def test_only_a_run_pays_for_the_hours_between_runs() -> None:
    cost: dict[str, Any] = {"origin": "purchase", "usd_per_run": None}
    assert "between runs" not in basis_sentence({"count": 1, "cost": cost, "offer": None})
    assert "between runs" in basis_sentence({"count": 1, "cost": {**cost, "usd_per_run": 3.0}, "offer": None})


def test_what_turns_the_verdict_is_said_with_its_unit() -> None:
    flip = {"fact": "rent_quote_usd_h", "now": 0.96, "needed": 0.9112, "verdict": "rent"}
    says = flip_sentence(flip, None, NAMES)
    assert says == "Renting would cost less if the rental price (rent_quote_usd_h) were below $0.91 instead of $0.96."
    flip = {"fact": "utilization_pct", "now": 30.0, "needed": 41.234, "verdict": "own"}
    says = flip_sentence(flip, None, NAMES)
    assert says == "Owning would cost less if the utilisation (utilization_pct) were above 41.2 % instead of 30 %."
