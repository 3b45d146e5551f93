"""The accuracy report as Markdown: bars first, then misses, then every row."""

from __future__ import annotations

from statistics import mean, median

from bars import Bar, bars_of
from pages import as_table
from reference import peer_answers, table
from results import Results
from scores import FITTED, USES, FitScore, MemoryScore, SpeedScore, median_error, median_like_error, median_width, share


_ABOUT = """# How accurate the figures are

Made by `python benchmarks/accuracy/run.py` from the measurements in `data/`; every figure of this tool comes from
`whichgpu size --jsonl`, asked with the facts that the source states (`mapping.py`, `anchors.py`). Nothing here was run
for this report: the measurements are other people's, each with its source in the data.

**Device** is what the tool answers as `per_gpu_gb` or `needed_gb`: everything on the card. Many sources count less
(what the allocator handed out, without the driver's context); **like for like** compares such rows with `allocated_gb`.
GB are decimal; figures that a source gives in GiB are converted, those whose base is not known are taken as GB.

**Fitted** sources were looked at while constants were chosen (litgpt, torchtune, Qwen's fine-tuning tables, Qwen2.5's
and Qwen3's speed pages, ms-swift, the FLUX runs, detectron2, mmdetection, mmsegmentation, Whisper); what was chosen on
which rows stands beside each constant in `knowledge/sizing.yaml`. The split goes by source, never by row (`scores.py`);
a page with several tables is split by table. **Seen** rows gave no constant its value, but they were read when mistakes
of structure were looked for: axolotl's, PEFT's, Baichuan's, CogVideoX's and llama-recipes' rows and the Whisper run led
to mended formulas and bands. **Kept apart** are Cosmos-Predict2, the x-flux issue, the benchmark of odyn-network
and Qwen2's memory page: no formula, constant or band was changed for them, although their errors stood in earlier
editions of this page. The rows kept apart are the best guess at how figures for new sources come out. Qwen-72B served
is seen: its figures led to the cache that is joined anew with each token.
"""


def report(results: Results, judged: str) -> str:
    """The whole page; ``judged`` is its part on runs judged without their own source."""
    parts = [
        _ABOUT,
        judged,
        _bars(bars_of(results)),
        _beside(results),
        _groups(results.memory),
        _sources(results.memory),
        _anchors(results),
        _reserves(results),
        _tpots(results),
        _memory_rows(results.memory),
        _fits(results.fits),
        _speeds(results.speeds),
        _workloads(results),
        _refused(results),
        _data(),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _bars(bars: list[Bar]) -> str:
    rows = [(bar.what, bar.asked, bar.found, "reached" if bar.reached else "**missed**") for bar in bars]
    return "## Bars on the first file, as shipped\n\n" + as_table("bar|asked|found|", rows)


def _summary(scores: list[MemoryScore]) -> tuple[object, ...]:
    inside = share([score.inside for score in scores])
    figures = (median_error(scores), median_like_error(scores), inside, median_width(scores))
    return (len(scores), *(f"{figure:.1f} %" for figure in figures))


def _groups(scores: list[MemoryScore]) -> str:
    rows: list[tuple[object, ...]] = []
    for trust in ("A", "B"):
        for group in sorted({score.group for score in scores}):
            for use in USES:
                found = [s for s in scores if (s.group, s.trust, s.use) == (group, trust, use)]
                if found:
                    rows.append((group, trust, use, *_summary(found)))
    for use in USES:
        rows.append(("all", "A, B", use, *_summary([s for s in scores if s.use == use])))
    head = "job|trust|rows are|rows|median error, device|like for like|inside the band|median width"
    return "## Memory by kind of job (published runs, suite `memory_error`)\n\n" + as_table(head, rows)


def _sources(scores: list[MemoryScore]) -> str:
    rows = []
    for source in sorted({score.source for score in scores}):
        found = [score for score in scores if score.source == source]
        uses = ", ".join(sorted({score.use for score in found}))
        rows.append((source, uses, *_summary(found)))
    head = "source|rows are|rows|median error, device|like for like|inside the band|median width"
    return "## Memory by source\n\n" + as_table(head, rows)


_TRAINERS = ("vramcalc", "KV-planner", "ftuneai", "agilerl-arena (allocated)", "LLaMA-Factory rule", "gpu_poor")


def _beside(results: Results) -> str:
    """Every tool on the rows that it answers, and this tool on the same rows."""
    return "\n\n".join(
        (
            "## Beside other tools, on the same rows",
            "Each tool on the measured fine-tuning runs that it sizes, and this tool on the same runs: mean error, and"
            " the lowest answer, since an answer that is too low ends in a run out of memory. Vramcalc was calibrated"
            " on five of its thirteen.",
            as_table("tool|runs|mean error|lowest|this tool, same runs|lowest", _beside_training(results)),
            "Each tool on what vLLM keeps beside weights and cache in eight runs on H100s.",
            as_table("tool|runs|median error, GiB|largest", _beside_serving(results)),
        )
    )


def _beside_training(results: Results) -> list[tuple[object, ...]]:
    peers = {row["id"]: row for row in table("accuracy_train")["rows"]}
    rows: list[tuple[object, ...]] = []
    for name in _TRAINERS:
        pairs = [(anchor, peers.get(anchor.id, {}).get(name)) for anchor in results.anchors]
        theirs = [gb / anchor.measured_gb - 1 for anchor, gb in pairs if gb]
        ours = [anchor.error for anchor, gb in pairs if gb]
        cells = [
            f"{100 * figure:.1f} %" for figure in (mean(map(abs, theirs)), min(theirs), mean(map(abs, ours)), min(ours))
        ]
        rows.append((name, len(theirs), *cells))
    return rows


def _beside_serving(results: Results) -> list[tuple[object, ...]]:
    told = {"this tool": [r.estimated_gib - r.measured_gib for r in results.reserves]}
    for name in results.reserves[0].peers:
        pairs = [(r.peers[name], r.measured_gib) for r in results.reserves]
        if all(isinstance(said, int | float) for said, _ in pairs):
            told[name] = [said - measured for said, measured in pairs]
    return [
        (name, len(off), f"{median(map(abs, off)):.2f}", f"{max(off, key=abs):+.2f}")
        for name, off in sorted(told.items(), key=lambda item: median(map(abs, item[1])))
    ]


def _anchors(results: Results) -> str:
    peers = {row["id"]: row for row in table("accuracy_train")["rows"]}
    names = _TRAINERS
    rows = []
    for anchor in sorted(results.anchors, key=lambda anchor: -abs(anchor.error)):
        others = [peers.get(anchor.id, {}).get(name) for name in names]
        told = [f"{100 * (gb / anchor.measured_gb - 1):+.0f} %" if gb else "-" for gb in others]
        outside = not anchor.low_gb <= anchor.measured_gb <= anchor.high_gb
        inside = f"{anchor.low_gb:.1f} to {anchor.high_gb:.1f}" + (", outside" if outside else "")
        rows.append(
            (
                anchor.id,
                anchor.what,
                f"{anchor.measured_gb:.2f}",
                f"{anchor.estimated_gb:.2f}",
                f"{100 * anchor.error:+.1f} %",
                f"{100 * (anchor.allocated_gb / anchor.measured_gb - 1):+.1f} %",
                inside,
                *told,
            )
        )
    errors = [abs(anchor.error) for anchor in results.anchors]
    covered = [abs(anchor.error) for anchor in results.anchors if anchor.covered]
    alike = [abs(anchor.allocated_gb / anchor.measured_gb - 1) for anchor in results.anchors]
    text = (
        f"Mean error {100 * mean(errors):.1f} % on all eighteen, {100 * mean(covered):.1f} % on the eight that the"
        f" best other tool covers (it has 7.3 %); counting tensors only, {100 * mean(alike):.1f} %. Vramcalc was"
        " calibrated on the VC rows."
    )
    head = "row|run|measured GB|device GB|error|tensors only|band|" + "|".join(names)
    return f"## Training anchors, beside other tools\n\n{text}\n\n{as_table(head, rows)}"


def _reserves(results: Results) -> str:
    names = [name for name in results.reserves[0].peers if not name.startswith("gpu_poor")]
    rows = []
    for reserve in results.reserves:
        band = f"{reserve.low_gib:.1f} to {reserve.high_gib:.1f}"
        others = [reserve.peers[name] for name in names]
        rows.append((reserve.run, reserve.version, reserve.measured_gib, f"{reserve.estimated_gib:.2f}", band, *others))
    head = "run|vLLM|measured GiB|this tool|band|" + "|".join(names)
    return f"## What vLLM keeps beside weights and cache, H100\n\n{as_table(head, rows)}"


def _tpots(results: Results) -> str:
    rows = [
        (
            tpot.gpu,
            f"{tpot.measured_ms:.2f}",
            f"{tpot.estimated_ms:.2f}",
            f"{100 * (tpot.estimated_ms / tpot.measured_ms - 1):+.1f} %",
            f"{tpot.low_ms:.1f} to {tpot.high_ms:.1f}",
        )
        for tpot in results.tpots
    ]
    head = "GPU|measured ms|this tool|error|band"
    return f"## Time per token (Qwen2.5-7B, vLLM 0.19.1, 2,048 in, 256 out, eight at a time)\n\n{as_table(head, rows)}"


def _memory_rows(scores: list[MemoryScore]) -> str:
    rows = [
        (
            score.id,
            score.group,
            score.trust if score.use == FITTED else f"{score.trust}, {score.use}",
            f"{score.measured_gb:.2f}",
            f"{score.estimated_gb:.2f}",
            f"{100 * score.error:+.1f} %",
            f"{100 * score.like_error:+.1f} %",
            f"{score.low_gb:.1f} to {score.high_gb:.1f}" + ("" if score.inside else ", outside"),
            score.metric[:40],
        )
        for score in sorted(scores, key=lambda score: (score.inside, -abs(score.error), score.id))
    ]
    head = "row|job|trust|measured GB|device GB|error|like for like|band|what the source counts"
    return f"## Memory, every row, misses first\n\n{as_table(head, rows)}"


def _fits(scores: list[FitScore]) -> str:
    kinds = (
        ("ran", ("fits", "memory")),
        ("recommended or minimum by its publisher", ("minimum", "recommended")),
        ("ran out of memory", ("oom",)),
    )
    rows = []
    for name, members in kinds:
        found = [score for score in scores if score.kind in members]
        rows.append((name, len(found), f"{share([score.right for score in found]):.0f} %"))
    wrong = [
        (score.id, score.kind, score.group, f"{score.needed_gb:.1f}", f"{score.available_gb:.1f}")
        for score in sorted(scores, key=lambda score: (score.kind, score.id))
        if not score.right
    ]
    return (
        "## Does it fit? (suite `feasibility`)\n\n"
        + as_table("runs|rows|judged right", rows)
        + "\n\nJudged wrong, GB per GPU:\n\n"
        + as_table("row|kind|job|needed|available", wrong)
    )


def _speeds(scores: list[SpeedScore]) -> str:
    rows: list[tuple[object, ...]] = []
    for source in sorted({score.source for score in scores}):
        found = [score.factor for score in scores if score.source == source]
        near, far = share([f <= 1.3 for f in found]), share([f <= 2.0 for f in found])
        rows.append((source, len(found), f"{median(found):.2f}", f"{near:.0f} %", f"{far:.0f} %"))
    each = [
        (score.id, score.what, f"{score.measured:.4g}", f"{score.estimated:.4g}", f"{score.factor:.2f}")
        for score in sorted(scores, key=lambda score: (-score.factor, score.id))
    ]
    return (
        "## Speed (suite `throughput`)\n\n"
        + as_table("source|rows|median factor|within 1.3|within 2", rows)
        + "\n\n"
        + as_table("row|what|measured|this tool|factor", each)
    )


def _workloads(results: Results) -> str:
    peers = {name: found for name, found in peer_answers().items() if name in _SHOWN}
    rows = []
    for work, answer in results.workloads:
        told = []
        for name in _SHOWN:
            row = next((row for row in peers[name]["rows"] if row["workload"] == work["id"]), {})
            figure = row.get("total") or row.get("per_gpu")
            told.append(f"{figure:.1f}" if isinstance(figure, int | float) else "-")
        if "error" in answer:
            rows.append((answer["id"], work["name"], answer["error"]["message"], "", *told))
            continue
        per, total = answer["per_gpu_gb"] / 1.073741824, answer["needed_gb"] / 1.073741824
        rows.append((answer["id"], work["name"], f"{total:.1f}", f"{per:.1f}", *told))
    head = "workload|what|total GiB|per GPU GiB|" + "|".join(_SHOWN)
    note = "Other tools' recorded answers, GiB: totals while serving, per GPU or of one GPU in training."
    return f"## The common workloads, beside other tools\n\n{note}\n\n{as_table(head, rows)}"


_SHOWN = ("kv-planner", "llm-d-planner", "aiconfigurator", "llmfit", "vramcalc", "ftuneai", "agilerl-arena")


def _refused(results: Results) -> str:
    if not results.refused:
        return "## Lines that were refused\n\nNone."
    return "## Lines that were refused\n\n" + as_table("row|why", results.refused)


def _data() -> str:
    return """## The data

| file | what |
|---|---|
| `published_runs.jsonl` | 367 runs published by others: source, facts, hardware, measured values, trust grade |
| `blind_runs.jsonl` | 71 of the same form that were run once before anybody looked at an error |
| `blind_runs_2.jsonl` | 236 more, of other sources |
| `blind_runs_3.jsonl` | 308 more, of sources that stand in none of these |
| `train_anchors.json` | eighteen measured fine-tuning runs |
| `accuracy_train.json`, `accuracy_infer.json`, `accuracy_tpot.json` | other tools beside measured runs |
| `workloads.json`, `peers/` | fifteen common workloads, and what other tools answer to them |
"""
