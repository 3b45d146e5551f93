"""A small vocabulary, and rules from text."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from whichgpu.engine.authoring import Finding, StatedNumber, lint_rulebook
from whichgpu.engine.authoring.guides.statements import sections
from whichgpu.engine.authoring.lint.finding import CatalogueView, Statement, Surroundings
from whichgpu.engine.authoring.lint.heuristic_limits import stated_calls, stated_limits
from whichgpu.engine.authoring.lint.wording import words_of
from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.core.yaml.filling import filled
from whichgpu.engine.rules.facts import Code, FactDef, Vocabulary
from whichgpu.engine.rules.rulebook import KnownNames, Rulebook, load_rules_text


Lint = Callable[..., list[Finding]]

#: What the fixtures' rulebooks may refer to, and what surrounds them.
KNOWN = KnownNames(sources=frozenset({"fpt", "runpod"}), heuristics=frozenset({"seven", "slow-sync", "students"}))
#: The disagreements that heuristics lie in.
DISPUTES = {"seven": ("C01", "C02")}
LIMITS = {
    "seven": "param_count_b <= 7 -> tier = low",
    "slow-sync": "plan.nodes > 1 -> warn(W-SLOW-LINK), advise(A-NVLINK), ask(framework), prefer(big)",
    "students": "task == 'inference' and not training -> verdict = rent",
}
STATED = {
    name: Statement(
        guide,
        section,
        frozenset(numbers),
        words_of(said),
        frozenset(facts),
        said,
        stated_limits(LIMITS[name]),
        stated_calls(LIMITS[name]),
        DISPUTES.get(name, ()),
    )
    for name, guide, section, numbers, said, facts in (
        (
            "seven",
            "fpt",
            "3.4. Scaling out",
            {StatedNumber("B", 7.0)},
            "tier of parameters: large models stay low",
            ["param_count_b"],
        ),
        ("slow-sync", "fpt", "1. Links", {StatedNumber("%", 85.0)}, "share of a slow link that machines lose", ()),
        ("students", "runpod", "Cost Considerations", (), "students rent frugal consumer boards", ()),
    )
}
CALCULATED = {"weights_gb": frozenset({"param_count_b"})}
#: A few cards; whatever else a rule names or waits for does not exist.
CATALOGUE = CatalogueView(
    gpus=(
        {"gpu.name": "Small", "gpu.series": "small", "gpu.vram_gb": 24.0},
        {"gpu.name": "Big", "gpu.series": "big", "gpu.vram_gb": 80.0},
        {"gpu.name": "B100 40", "gpu.series": "b100-small", "gpu.vram_gb": 40.0},
        {"gpu.name": "B100 80", "gpu.series": "b100-large", "gpu.vram_gb": 80.0},
    ),
    words={
        "gpu.series": frozenset({"small", "big", "b100-small", "b100-large"}),
        "gpu.name": frozenset({"Small", "Big", "B100 40", "B100 80"}),
        "gpu.family": frozenset({"a100", "h200"}),
        "model_name": frozenset({"llama-8b"}),
        "default_model": frozenset({"llama-8b"}),
        "makers": frozenset({"acme"}),
    },
)
FIGURES = {"use_pct": {"value": [85, 95], "unit": "%", "sources": ["runpod/cost"]}}
TODAY = datetime.date(2026, 6, 30)


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    facts = [
        FactDef(name="training", type="bool"),
        FactDef(name="cuda_required", type="bool"),
        FactDef(name="task", type="enum", choices=("pretraining", "finetuning", "inference")),
        FactDef(name="framework", type="enum", choices=("pytorch", "other"), open=True),
        FactDef(name="tier", type="enum", choices=("low", "middle", "high"), role="derived"),
        FactDef(
            name="grade",
            type="enum",
            choices=("a", "b"),
            role="derived",
            question="Which grade?",
            askable="if_it_matters",
        ),
        FactDef(name="is_serving", type="bool", role="derived"),
        FactDef(name="verdict", type="enum", choices=("rent", "buy"), role="output", available="outcome"),
        FactDef(name="param_count_b", type="number", unit="B", min=0, exclusive_min=True),
        FactDef(name="train_tokens_b", type="number", unit="B", min=0),
        FactDef(name="share_pct", type="number", unit="%", min=0, max=100),
        FactDef(name="num_models", type="int", min=1),
        FactDef(name="run_hours", type="number", min=0),
        FactDef(name="deadline_hours", type="number", min=0, asked_when="task != inference"),
        FactDef(name="weights_gb", type="number", unit="GB", min=0, role="derived"),
        FactDef(name="hourly_usd", type="number", unit="USD/h", min=0, role="derived"),
        FactDef(name="spend_usd_per_month", type="number", unit="USD", min=0, label="cloud bill per month"),
        FactDef(name="budget_usd_per_month", type="number", unit="USD", min=0, label="budget per month"),
        FactDef(name="budget_usd", type="number", unit="USD", min=0, label="budget in all"),
        FactDef(name="share_low", type="number", role="derived"),
        FactDef(name="share_high", type="number", role="derived"),
        FactDef(name="model_name", type="text"),
        FactDef(name="default_model", type="text", role="derived"),
        FactDef(name="makers", type="list", items="text"),
        FactDef(name="wishes", type="list", items="enum", choices=("quiet", "cheap", "fast")),
        FactDef(name="plan.count", type="int", min=1, scope="plan", available="plan"),
        FactDef(
            name="plan.nodes",
            type="int",
            min=1,
            scope="plan",
            available="plan",
            always_known=True,
            at_most=("plan.count",),
        ),
        FactDef(name="plan.is_smallest_fit", type="bool", scope="plan", available="plan"),
        FactDef(name="plan.link", type="enum", choices=("pcie", "nvlink"), scope="plan", available="plan"),
        FactDef(name="plan.owned", type="bool", scope="plan", available="plan", always_known=True),
        FactDef(name="plan.tpot_ms", type="number", min=0, scope="plan", available="plan"),
        FactDef(name="gpu.name", type="text", scope="gpu", available="plan"),
        FactDef(name="gpu.series", type="text", scope="gpu", available="plan"),
        FactDef(name="gpu.family", type="text", scope="gpu", available="plan"),
        FactDef(name="gpu.vram_gb", type="number", unit="GB", min=0, scope="gpu", available="plan"),
    ]
    codes = [Code(code=code, meaning="x") for code in ("W-X", "A-NVLINK", "A-SPOT")]
    codes += [Code(code="W-SLOW-LINK", meaning="Machines lose time over a slow link.")]
    return Vocabulary({fact.name: fact for fact in facts}, {code.code: code for code in codes})


@pytest.fixture(scope="session")
def load(vocabulary: Vocabulary) -> Callable[[str], Rulebook]:
    """Rules from indented text."""
    return lambda text: load_rules_text(textwrap.dedent(text), vocabulary)


@pytest.fixture(scope="session")
def findings(load: Callable[[str], Rulebook], vocabulary: Vocabulary) -> Lint:
    """What one check says about rules."""

    def findings(text: str, check: str, *, known: KnownNames | None = None, **more: Any) -> list[Finding]:
        found = lint_rulebook(load(text), vocabulary, known or KnownNames(), TODAY, Surroundings(**more))
        return [finding for finding in found if finding.check == check]

    return findings


@pytest.fixture(scope="session")
def complaints(load: Callable[[str], Rulebook], vocabulary: Vocabulary) -> Callable[[str, str], str]:
    """What one check says about a rulebook, as text with places, fixes and examples."""

    def complaints(text: str, check: str) -> str:
        rules = load(filled(text.encode(), "rules.yaml", RulebookError).decode())
        found = lint_rulebook(
            rules,
            vocabulary,
            KNOWN,
            TODAY,
            Surroundings(
                produced=frozenset(CALCULATED),
                consumed=frozenset({"framework"}),
                calculated=CALCULATED,
                statements=STATED,
                sections=sections(STATED.values(), {}),
                uncarried=() if any(rule.encodes for rule in rules.rules) else ("seven",),
                catalogue=CATALOGUE,
                figures=FIGURES,
                required=("author", "approved_on") if check == "unsigned-rule" else (),
            ),
        )
        return "".join(_written(finding) for finding in found if finding.check == check)

    return complaints


def _written(finding: Finding) -> str:
    kind = f"possible {finding.severity}" if finding.possible else finding.severity
    place = f"{finding.place.line}:{finding.place.column}" if finding.place else "vocabulary"
    lines = [f"{place} {kind}: {finding.message}"]
    if finding.nearest:
        lines.append(f"  did you mean {' or '.join(finding.nearest)}?")
    if finding.fix:
        lines.append(f"  fix: {finding.fix}")
    return "\n".join(lines) + "\n"
