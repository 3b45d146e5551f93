"""The rule that ``rules new`` writes: it can be loaded and tested as it stands, and says what to change."""

from __future__ import annotations

from msgspec import Struct

from whichgpu.engine.rules import Each, Stage


class _Sample(Struct, frozen=True):
    """The parts of a template that depend on stage and scope."""

    when: tuple[str, ...]
    then: tuple[str, ...]
    given: str
    near_miss: str
    plan: str = ""


_PLAN = "{gpu: nvidia-l4, count: 1}"
_SAMPLES: dict[tuple[Stage, Each], _Sample] = {
    ("derive", "workload"): _Sample(
        ("task == inference", "concurrency > 100"),
        ("set: {traffic_level: high}          # facts to set: whichgpu facts --derived",),
        "{task: inference, concurrency: 200}",
        "{concurrency: 100}",
    ),
    ("derive", "plan"): _Sample(
        ("plan.fits",),
        ("set: {your_fact: true}              # a fact that begins with `plan.`, defined in vocabulary.yaml",),
        "{task: inference, param_count_b: 8}",
        "{plan.fits: false}",
        "{gpu: nvidia-l4, count: 1, plan.fits: true}",
    ),
    ("reject", "plan"): _Sample(
        ("lifecycle_stage == production", "gpu.vram_gb < 40"),
        ('reject: "{gpu.name} has {gpu.vram_gb}, and production here needs more"',),
        "{task: inference, lifecycle_stage: production}",
        "{lifecycle_stage: prototype}",
        _PLAN,
    ),
    ("reject", "workload"): _Sample(
        ("latency_slo_ms < 1", "serving_mode == batch"),
        ("reject: A batch job needs no answer within {latency_slo_ms}",),
        "{task: inference, latency_slo_ms: 0.5, serving_mode: batch}",
        "{serving_mode: realtime}",
    ),
    ("prefer", "plan"): _Sample(
        ("lifecycle_stage == production", "gpu.ecc"),
        (
            "points: 2                        # 1 slight, 2 clear, 4 strong, 6 decisive; below 0 speaks against",
            "reason: reliability              # claim: or band: beside it where it is one; see docs/rules.md",
            "text: The memory of {gpu.name} corrects its errors",
        ),
        "{task: inference, lifecycle_stage: production}",
        "{lifecycle_stage: prototype}",
        "{gpu: nvidia-l40s, count: 1}",
    ),
    ("advise", "workload"): _Sample(
        ("task == inference", "peak_qps is unknown"),
        ("ask: peak_qps                       # or advise: A-..., warn: W-..., figure:, monitor:, disagree:",),
        "{task: inference}",
        "{peak_qps: 5}",
    ),
    ("advise", "chosen"): _Sample(
        ("plan.count > 1",),
        (
            "advise: A-MONITOR-TARGETS           # a code of codes.yaml; a layer may bring its own",
            'text: "{plan.count} GPUs work together: watch each of them"',
        ),
        "{task: inference}",
        "{plan.count: 1}",
        "{gpu: nvidia-l4, count: 2}",
    ),
    ("advise", "candidate"): _Sample(
        ("candidate.is_current", "gpu.generation_lag >= 2"),
        ("advise: A-BENCHMARK-REAL-WORKLOAD   # a code of codes.yaml; a layer may bring its own",),
        "{task: inference, current_gpu: nvidia-t4}",
        "{current_gpu: nvidia-l4}",
        "{gpu: nvidia-t4, count: 1}",
    ),
}

#: What a rule of each stage looks at unless somebody says otherwise.
DEFAULT_EACH: dict[Stage, Each] = {"derive": "workload", "reject": "plan", "prefer": "plan", "advise": "chosen"}

_HEAD = """\
- id: {id}
  title: Say in one line what the rule is for
  {stage:<35} # derive | reject | prefer | advise
  {each:<35} # workload | plan | chosen | candidate: what it looks at
  when:                               # all lines must hold; `whichgpu facts` lists the facts
"""
_GROUNDS = """\
  because: Say why it holds, in a sentence that a reader of the answer understands.
  sources: [whichgpu-judgement]       # ids of sources.yaml, optionally with /section
  # valid_until: 2027-12-31           # where the claim ages: the day to check it again
  # overrides: [another-rule]         # a more general rule that this one silences where both match
  # replaces: a-rule-below            # in a layer: the rule whose place this one takes
  status: draft                       # stable, once it is agreed
  tests:                              # one that fires, and a near miss in which one thing differs and it does not
    - given: {given}
"""


def rule_template(rule_id: str, stage: Stage, each: Each) -> str:
    """A rule of this stage and scope as an entry of a rule file."""
    sample = _SAMPLES[stage, each]
    text = _HEAD.format(id=rule_id, stage=f"stage: {stage}", each=f"each: {each}")
    text += "".join(f"    - {line}\n" for line in sample.when)
    text += "  then:\n" + "".join(f"    {line}\n" for line in sample.then)
    text += _GROUNDS.format(given=sample.given)
    text += f"      plan: {sample.plan}\n" if sample.plan else ""
    return text + f"      fires: true\n    - near_miss: {sample.near_miss}\n"


TABLE_TEMPLATE = """\
- table: {id}
  title: Say in one line what the table is for
  stage: prefer                       # derive | reject | prefer | advise
  each: plan                          # workload | plan | chosen | candidate: what it looks at
  hit: first                          # first: the first row that matches; collect: every row that does
  when:                               # lines that hold for all rows
    - task == inference
  columns: [lifecycle_stage, gpu.vram_gb]
  then: {{reason: fit}}                 # merged into the `then` of each row
  because: Say why it holds, in a sentence that a reader of the answer understands.
  sources: [whichgpu-judgement]       # ids of sources.yaml, optionally with /section
  status: draft                       # stable, once it is agreed
  rows:                               # a cell: - (anything), a value, [a, list], 7..13, < 3, >= 70, is known
    - id: small-cards-for-trials
      if: [prototype, < 24]
      then: {{points: 1}}
      tests:
        - given: {{task: inference, lifecycle_stage: prototype}}
          plan: {{gpu: nvidia-t4, count: 1}}
          fires: true
        - near_miss: {{lifecycle_stage: production}}
    - id: large-cards-for-production
      if: [production, ">= 40"]
      then: {{points: 2}}
      tests:
        - given: {{task: inference, lifecycle_stage: production}}
          plan: {{gpu: nvidia-l40s, count: 1}}
          fires: true
        - near_miss: {{gpu: nvidia-l4}}
"""


def table_template(table_id: str) -> str:
    """A decision table as an entry of a rule file."""
    return TABLE_TEMPLATE.format(id=table_id)
