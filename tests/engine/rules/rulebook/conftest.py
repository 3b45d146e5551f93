"""A small vocabulary, and loading rules from text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.rules.facts import Code, FactDef, Vocabulary
from whichgpu.engine.rules.rulebook import KnownNames, Rulebook, load_rules_text


def _facts() -> list[FactDef]:
    plan, gpu, candidate = (
        {"scope": "plan", "available": "plan"},
        {"scope": "gpu", "available": "plan"},
        {"scope": "candidate"},
    )
    return [
        FactDef(name="task", type="enum", choices=("pretraining", "peft_finetuning", "inference")),
        FactDef(name="training", type="bool", role="derived"),
        FactDef(name="param_count_b", type="number", unit="billion parameters", min=0, exclusive_min=True),
        FactDef(
            name="size_class", type="enum", choices=("small", "medium", "large"), role="derived", aliases=("size",)
        ),
        FactDef(name="run_hours", type="number", unit="h", min=0),
        FactDef(name="num_models", type="int", min=1),
        FactDef(name="cuda_required", type="bool"),
        FactDef(name="gpu_candidates", type="list", items="gpu"),
        FactDef(name="wishes", type="list", items="enum", choices=("quiet", "cheap", "fast")),
        FactDef(name="model_name", type="text"),
        FactDef(name="surviving_plans", type="int", role="derived", available="survey"),
        FactDef(name="procurement", type="enum", choices=("rent", "buy", "hybrid"), role="output", available="outcome"),
        FactDef(name="own_score", type="number", role="output", available="outcome"),
        FactDef(name="plan.count", type="int", min=1, **plan),
        FactDef(name="plan.gpu", type="gpu", **plan),
        FactDef(name="plan.link", type="enum", choices=("none", "pcie", "nvlink"), **plan),
        FactDef(name="plan.headroom_pct", type="number", unit="%", **plan),
        FactDef(name="plan.needed_gb", type="number", unit="GB", min=0, **plan),
        FactDef(name="plan.nodes", type="int", role="output", **plan),
        FactDef(name="plan.crowded", type="bool", role="derived", **plan),
        FactDef(name="plan.cost_vs_cheapest", type="number", scope="plan", available="survey"),
        FactDef(name="gpu.name", type="text", **gpu),
        FactDef(name="gpu.series", type="text", **gpu),
        FactDef(name="gpu.vram_gb", type="number", unit="GB", min=0, **gpu),
        FactDef(name="gpu.ecc", type="bool", **gpu),
        FactDef(
            name="candidate.verdict", type="enum", choices=("recommended", "rejected"), available="outcome", **candidate
        ),
    ]


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    codes = [Code(code=code, meaning=code) for code in ("A-FP8", "A-SPOT", "W-PCIE-BOTTLENECK", "W-NO-ECC")]
    return Vocabulary({fact.name: fact for fact in _facts()}, {code.code: code for code in codes})


@pytest.fixture(scope="session")
def known() -> KnownNames:
    return KnownNames(
        sources=frozenset({"fpt", "runpod"}),
        gpus=frozenset({"nvidia-l40s", "nvidia-t4"}),
        figures=frozenset({"cloud_idle_pct"}),
        disagreements=frozenset({"C13"}),
        heuristics=frozenset({"fpt-slow-sync"}),
    )


@pytest.fixture(scope="session")
def load(vocabulary: Vocabulary, known: KnownNames) -> Callable[[str], Rulebook]:
    """Rules from indented text."""

    def load(text: str) -> Rulebook:
        return load_rules_text(textwrap.dedent(text), vocabulary, known)

    return load


@pytest.fixture(scope="session")
def errors(load: Callable[[str], Rulebook]) -> Callable[[str], str]:
    """The rendered problems of a text that must be refused."""

    def errors(text: str) -> str:
        with pytest.raises(RulebookError) as caught:
            load(text)
        return str(caught.value)

    return errors
