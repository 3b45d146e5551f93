"""Points for speed, latency, cost or efficiency that do not say what they claim.

Why: speed and cost are computed and ranked. Points for them on the word of a source count the same thing again, and
nobody sees whether the source is right here. As a claim the points count only where nothing can be computed, and the
answer shows the source's figure beside its own.

Bad::

    - id: h200-serves-faster
      when: [serving, gpu.series == nvidia-h200]
      then: {points: 2, reason: speed}

Good::

    - id: h200-serves-faster
      when: [serving, gpu.series == nvidia-h200]
      then: {points: 2, reason: speed, claim: {quantity: speed, ratio: 2, over: nvidia-h100}}

A rule that names cards for a case may be a band instead. Rules whose conditions read the computed figure themselves,
such as ``plan.tpot_ms > 100``, claim nothing and are left alone.

Silence: put ``# lint: allow untyped-claim: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.rulebook.model import Points


_COMPUTED_REASONS = frozenset({"speed", "latency", "cost", "efficiency"})
#: Figures of speed and cost that a plan has; a rule that reads one judges what was computed.
_FIGURES = frozenset(
    {
        "plan.tokens_per_s",
        "plan.samples_per_s",
        "plan.ttft_ms",
        "plan.tpot_ms",
        "plan.latency_ms",
        "plan.qps",
        "plan.max_concurrency",
        "plan.hours",
        "plan.power_w",
        "plan.speed_vs_fastest",
        "plan.cost_vs_cheapest",
    }
)


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.of_stage("prefer"):
        for effect in rule.effects:
            if not isinstance(effect, Points) or effect.reason not in _COMPUTED_REASONS:
                continue
            if effect.claim or effect.band or _reads_a_figure(rule.reads):
                continue
            yield CHECK.about(
                rule,
                f"{rule.id} gives points for {effect.reason}, which is computed, and says neither `claim` nor `band`",
                fix=f"add `claim: {_quantity(effect.reason)}`, with `ratio` and `over` where the source gives them",
            )


def _reads_a_figure(reads: frozenset[str]) -> bool:
    return bool(reads & _FIGURES) or any(fact.startswith("plan.usd_") for fact in reads)


def _quantity(reason: str) -> str:
    return {"speed": "speed", "latency": "speed", "cost": "cost"}.get(reason, "throughput_per_usd")


CHECK = Check("untyped-claim", "warning", _run, __doc__ or "")
