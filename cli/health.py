"""What ``doctor`` reports, as one value and as blocks."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from whichgpu.cli.prices import own_prices_file
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Pairs, Paragraph, Table
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.plans import load_economics
from whichgpu.engine.rules import differences_file, engine_status, kept_differences


if TYPE_CHECKING:
    from whichgpu import Advisor


ENGINES = {"durable": "durable-rules", "generated": "generated"}


def health(advisor: Advisor, today: date) -> dict[str, Any]:
    """Engine, differences between the engines, rulebook, knowledge and prices."""
    status = engine_status()
    rulebook, knowledge = advisor.rulebook, advisor.knowledge
    return {
        "fired_by": ENGINES[status.engine],
        "because": status.why_not or "the C module is there, and the generated evaluator checks each of its matches",
        "engines_differ": kept_differences(),
        "rulebook": {
            "digest": rulebook.digest,
            "rules": len(rulebook.rules),
            "layers": advisor.layers(),
            "expired": [rule.id for rule in rulebook.rules if (rule.valid_until or "9") < today.isoformat()],
        },
        "knowledge": {
            "digest": knowledge.digest,
            "gpus": len(knowledge.gpus),
            "models": len(knowledge.models),
            "offers": len(knowledge.all_offers),
            "spot_only": len(knowledge.spot_offers),
        },
        "imported_prices": str(own_prices_file()) if own_prices_file().exists() else None,
        "prices": prices(advisor, today),
    }


def prices(advisor: Advisor, today: date) -> list[dict[str, Any]]:
    """Offers by provider, interruptible ones too, with the dates of the oldest and the newest price."""
    dates: dict[str, list[str]] = {}
    for offer in advisor.knowledge.all_offers:
        dates.setdefault(offer.provider, []).append(offer.as_of)
    return [
        {
            "provider": provider,
            "offers": len(found),
            "oldest": min(found),
            "newest": max(found),
            "stale": (today - date.fromisoformat(max(found))).days > stale_after_days(),
        }
        for provider, found in sorted(dates.items())
    ]


def stale_after_days() -> int:
    """Days after which rental prices are called old."""
    return round(load_economics()["stale_after_days"].value)


def health_blocks(report: dict[str, Any]) -> list[Block]:
    """The report in words."""
    packages = ", ".join(f"{name} {version or '(not installed)'}" for name, version in report["packages"].items())
    rulebook, knowledge = report["rulebook"], report["knowledge"]
    layers = tuple((layer["name"], str(layer["rules"]), layer["digest"][:12]) for layer in rulebook["layers"])
    stale = [entry["provider"] for entry in report["prices"] if entry["stale"]]
    rows = tuple(_price_row(entry) for entry in report["prices"])
    return [
        Heading("whichgpu", 1),
        Pairs(
            (
                ("rules fired by", report["fired_by"]),
                ("because", report["because"]),
                ("python", report["python"]),
                ("packages", packages),
                ("rulebook", f"{count_of(rulebook['rules'], 'rule')}, digest {rulebook['digest'][:12]}"),
                ("knowledge", _knowledge(knowledge)),
                ("imported prices", report["imported_prices"] or "none"),
            )
        ),
        Heading("Layers of rules"),
        Table(("Layer", "Rules", "Digest"), layers, frozenset({1})),
        *_expired(rulebook["expired"]),
        *_differences(report["engines_differ"]),
        Heading("Prices"),
        Paragraph(_age(stale)),
        Table(
            ("Provider", "Offers", "Oldest", "Newest", f"Older than {stale_after_days()} days"), rows, frozenset({1})
        ),
    ]


def _expired(rules: list[str]) -> list[Block]:
    if not rules:
        return []
    listed = Bullets(tuple(Item(rule) for rule in rules))
    return [Heading("Rules past their day"), Paragraph("Their sources should be checked again."), listed]


def _differences(kept: list[dict[str, Any]]) -> list[Block]:
    """Where the engines that fire the rules were seen to differ, each with the facts that the rule reads."""
    if not kept:
        return []
    return [
        Heading("Where the engines differ"),
        Paragraph(
            f"One of the two is wrong, and the generated evaluator answered. Please report {differences_file()}."
        ),
        Bullets(tuple(Item(_difference(entry)) for entry in kept)),
    ]


def _difference(entry: dict[str, Any]) -> str:
    facts = ", ".join(f"{name} = {value}" for name, value in entry.get("facts", {}).items())
    return f"{entry.get('decided_at', '')}: {entry.get('what', '')}{f' ({facts})' if facts else ''}"


def _knowledge(knowledge: dict[str, Any]) -> str:
    counts = (("gpus", "GPU"), ("models", "model"), ("offers", "offer"))
    words = ", ".join(count_of(knowledge[key], word) for key, word in counts)
    return f"{words} ({knowledge['spot_only']:,} of them interruptible only), digest {knowledge['digest'][:12]}"


def _price_row(entry: dict[str, Any]) -> tuple[str, ...]:
    stale = "yes" if entry["stale"] else "no"
    return (entry["provider"], str(entry["offers"]), entry["oldest"], entry["newest"], stale)


def _age(stale: list[str]) -> str:
    if not stale:
        return f"Every provider's newest price is at most {stale_after_days()} days old."
    return (
        f"{count_of(len(stale), 'provider')} with prices older than {stale_after_days()} days. "
        "State what you pay with --set rent_quote_usd_h=..., or bring newer offers: whichgpu prices import FILE."
    )
