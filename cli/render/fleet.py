"""What a result over many jobs comes to, as blocks: for the terminal, and for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Pairs, Paragraph, Table
from whichgpu.cli.render.figures import percent, usd
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.whynot import plan_name
from whichgpu.engine.fleet import Difference, FleetDifference, FleetFigures, Sums


#: Rows of a table; the rest is summed up in one.
SHOWN = 12
_STATUS = {
    "decided": "got a plan",
    "no_answer": "no plan fits, or a fact is missing",
    "no_gpu": "used no GPU",
    "error": "are wrong, or could not be read",
}
_BASES = {
    "run": "their work: the hours on the new plan are computed from the steps or tokens that are stated",
    "scaled": "their GPU-hours, times the computed speed of the GPU then over that of the plan, as if GPUs added up",
    "service": "their hours: a service runs as long as it did",
    "same_gpu_hours": "the same GPU-hours: their speed is not known, and a GPU is taken to do as much as one did then",
}
_FACTS = {"model_name": "model_name (or param_count_b): without it the size of the job is not known"}


def fleet_blocks(found: FleetFigures, names: Names) -> list[Block]:
    """The whole text."""
    return [
        Heading("What the jobs should have run on", 1),
        *opening(found),
        *(block for name in found.by for block in spend_blocks(found, name, names)),
        *shift_blocks(found, names),
        *memory_blocks(found),
        *unjudged_blocks(found),
        *about_blocks(found),
    ]


def opening(found: FleetFigures) -> list[Block]:
    """The cost in all, and how far it can be believed."""
    whole = found.whole
    rows = [(_jobs(amount), _status(status, amount)) for status, amount in found.status.most_common()]
    if not whole.compared:
        nothing_known = "For no job are the size, the cost then and the cost now all known."
        return [Paragraph(nothing_known, "strong"), Pairs(tuple(rows))]
    saving = f"{usd(whole.saving)} less, {_share(whole)}" if whole.saving >= 0 else f"{usd(-whole.saving)} more"
    firm = (
        ""
        if whole.saving <= 0
        else f" Of that, {usd(whole.computed)} rests on speeds that are both computed, or on a service's hours."
    )
    return [
        Paragraph(f"{usd(whole.then)} then, {usd(whole.now)} as recommended: {saving}.{firm}", "strong"),
        Paragraph(f"Compared are the {whole.compared:,} of {whole.jobs:,} jobs whose size and cost are known."),
        Pairs(tuple(rows)),
    ]


def _status(status: str, jobs: int) -> str:
    said = _STATUS.get(status, status)
    return said.replace("are ", "is ", 1) if jobs == 1 else said


def spend_blocks(found: FleetFigures, name: str, names: Names) -> list[Block]:
    """Cost then and now by team, GPU or task."""
    groups = found.by[name]
    if not found.whole.compared or list(groups) in ([], ["not known"]):
        return []
    return [
        Heading(f"By {name}"),
        Table(
            (
                name.capitalize() if name != "GPU" else "GPU then",
                "Jobs",
                "Compared",
                "Then",
                "Recommended",
                "Saving",
                "Share",
            ),
            tuple(
                (
                    names.gpu(word) if name == "GPU" and word in names.gpus else word,
                    f"{sums.jobs:,}",
                    f"{sums.compared:,}",
                    usd(sums.then),
                    usd(sums.now),
                    usd(sums.saving),
                    _share(sums),
                )
                for word, sums in largest(groups)
            ),
            frozenset(range(1, 7)),
        ),
    ]


def largest(groups: Mapping[str, Sums]) -> list[tuple[str, Sums]]:
    """The groups that cost most then, and all others as one."""
    ordered = sorted(groups.items(), key=lambda entry: (-entry[1].then, -entry[1].jobs, entry[0]))
    if len(ordered) <= SHOWN + 1:
        return ordered
    rest = Sums()
    for _, sums in ordered[SHOWN:]:
        for part in ("jobs", "compared", "then", "now", "computed"):
            setattr(rest, part, getattr(rest, part) + getattr(sums, part))
    return [*ordered[:SHOWN], (f"{len(ordered) - SHOWN} more", rest)]


def shift_blocks(found: FleetFigures, names: Names) -> list[Block]:
    """The ten changes that save most, each with what decided it and what could be wrong with it."""
    best = found.best()
    if not best:
        return []
    items = []
    for (before, after), shift in best:
        count, _, gpu = before.rpartition(" x ")
        ran = f"{count} x {names.gpu(gpu)}" if count else names.gpu(gpu)
        sums = shift.sums
        rule = _rule(shift.rules.most_common(1)[0][0], names) if shift.rules else "no rule alone"
        most = shift.risks.most_common(3)
        risks = "; ".join(f"{_risk(risk, names)} ({_jobs(amount)})" for risk, amount in most) or "none named"
        money = f"{usd(sums.saving)} of {usd(sums.then)} ({_share(sums)})"
        below = (f"Decided by: {rule}", f"Risk: {risks}")
        items.append(Item(f"{ran} -> {plan_name(after, names)}: {money}, {_jobs(sums.jobs)}", below))
    return [Heading("The changes that save most"), Bullets(tuple(items))]


def _rule(rule: str, names: Names) -> str:
    return f"{names.rules[rule]} ({rule})" if rule in names.rules else rule


def _risk(risk: str, names: Names) -> str:
    said = names.codes.get(risk)
    return risk if said is None else f"{said[:1].lower()}{said[1:].rstrip('.')} ({risk})"


def memory_blocks(found: FleetFigures) -> list[Block]:
    """Jobs that had much more memory than they need, or less."""
    if not found.memory_judged:
        return []
    over, under = found.over, found.under
    twice = f"{_jobs(over.jobs)} had more than twice the memory that they need at the most"
    short = (
        f"{_jobs(under.jobs)} had less than they need at the least: they fail or spill, or a fact of theirs is wrong"
    )
    rows = (
        ("Over-provisioned", f"{twice}; {usd(over.then)} then, {usd(over.now)} as recommended"),
        ("Under-provisioned", short),
    )
    return [
        Heading("Memory"),
        Paragraph(f"Of {_jobs(found.memory_judged)} the size and the GPU are known."),
        Pairs(rows),
    ]


def unjudged_blocks(found: FleetFigures) -> list[Block]:
    """What cannot be judged, and which fact is missing for it."""
    money = f", which cost {usd(found.unsized.then)} then" if found.unsized.then else ""
    unsized = f"{_jobs(found.unsized.jobs)}{money}, are of unknown size: no saving is claimed for them"
    items = [
        *([Item(unsized)] if found.unsized.jobs else []),
        *_items("without", {_FACTS.get(fact, fact): amount for fact, amount in found.missing.most_common()}),
        *_items("cost then not known:", found.unpriced),
        *_items("refused:", {_refusal(code, found): amount for code, amount in found.errors.items()}),
    ]
    return [Heading("What cannot be judged"), Bullets(tuple(items))] if items else []


def _refusal(code: str, found: FleetFigures) -> str:
    return f"{code}; such as: {found.said[code]}" if code in found.said else code


def about_blocks(found: FleetFigures) -> list[Block]:
    """What the result was made of."""
    manifest = found.manifest
    rows = [
        ("Jobs", manifest.source),
        ("Decided", manifest.decided_at),
        ("Rules", manifest.rulebook[:16]),
        ("Knowledge and prices", manifest.knowledge[:16]),
    ]
    rows += [("Rounded", ", ".join(f"{name} to {n} digits" for name, n in manifest.rounding.items()))] * bool(
        manifest.rounding
    )
    rows += [("Stated for every job", ", ".join(manifest.changes))] * bool(manifest.changes)
    rows += [("Not complete", "the run was ended; the same command goes on")] * (not manifest.complete)
    bases = [Item(f"{_jobs(amount)} by {_BASES[basis]}") for basis, amount in found.basis.most_common() if basis]
    price = "Cost then is what the jobs state, else today's price to rent the same GPUs."
    return [Heading("How it was compared"), Bullets(tuple(bases)), Paragraph(price), Pairs(tuple(rows))]


def difference_blocks(
    found: FleetDifference, sides: tuple[str, str], names: Names, *, everything: bool = False
) -> list[Block]:
    """Which decisions differ, by how many jobs and how much cost."""
    changed = found.jobs - found.same
    kinds = {"rulebook": "rules", "knowledge": "knowledge or prices", "engine_version": "versions"}
    parts = [word for name, word in kinds.items() if getattr(found.before, name) != getattr(found.after, name)]
    said = (
        f"They were made by other {' and '.join(parts)}." if parts else "They were made by the same rules and prices."
    )
    money = f"The plans cost {usd(found.usd_before)} in {sides[0]} and {usd(found.usd_after)} in {sides[1]}."
    share = percent(100 * changed / max(1, found.jobs))
    blocks: list[Block] = [
        Heading(f"{sides[0]} beside {sides[1]}", 1),
        Paragraph(f"{changed:,} of {found.jobs:,} jobs are decided otherwise ({share}).", "strong"),
        Paragraph(f"{said} {money}"),
    ]
    items = [_became(each, names) for each in found.largest(len(found.differences) if everything else SHOWN)]
    if items:
        blocks += [Heading("What became what"), Bullets(tuple(items))]
    rest = len(found.differences) - len(items)
    return [*blocks, Paragraph(f"and {rest} more; --all shows them", "faint")] if rest else blocks


def _became(each: Difference, names: Names) -> Item:
    cost = f", {usd(abs(each.usd))} {'more' if each.usd > 0 else 'less'}" if each.compared else ""
    rules = (("No longer", each.gone), ("Now", each.come))
    below = [f"{word}: {', '.join(rule for rule, _ in found.most_common(3))}" for word, found in rules if found]
    before, after = (_decision(side, names) for side in (each.before, each.after))
    return Item(f"{before} -> {after}: {_jobs(each.jobs)}{cost}", (*below, f"For example: {each.example}"))


def _decision(side: str, names: Names) -> str:
    """``nvidia-b200x1, rent`` with the GPU by its name; what is no plan, as it is."""
    plan, comma, procurement = side.partition(", ")
    return f"{plan_name(plan, names)}{comma}{procurement}"


def figures_json(found: FleetFigures) -> dict[str, Any]:
    """The figures as JSON."""

    def sums(each: Sums) -> dict[str, float]:
        money = {"then_usd": each.then, "now_usd": each.now, "saving_usd": each.saving}
        return {"jobs": each.jobs, "compared": each.compared} | {name: round(usd, 2) for name, usd in money.items()}

    return {
        "status": dict(found.status),
        "whole": sums(found.whole),
        "saving_by_computed_hours_usd": round(found.whole.computed, 2),
        **{
            f"by_{name.lower()}": {word: sums(each) for word, each in groups.items()}
            for name, groups in found.by.items()
        },
        "changes": [
            {"from": before, "to": after, **sums(shift.sums), "rules": dict(shift.rules), "risks": dict(shift.risks)}
            for (before, after), shift in found.best()
        ],
        "over_provisioned": sums(found.over),
        "under_provisioned": sums(found.under),
        "memory_judged": found.memory_judged,
        "missing": dict(found.missing),
        "errors": dict(found.errors),
        "money_then_not_known": dict(found.unpriced),
        "basis": {str(basis): amount for basis, amount in found.basis.items()},
    }


def _items(word: str, counted: Mapping[str, int]) -> list[Item]:
    most = Counter(counted).most_common()
    shown = [Item(f"{_jobs(amount)}, {word} {what}") for what, amount in most[:SHOWN]]
    rest = sum(amount for _, amount in most[SHOWN:])
    return [*shown, Item(f"{_jobs(rest)}, {word} {len(most) - SHOWN} other reasons")] if rest else shown


def _jobs(amount: int) -> str:
    return "1 job" if amount == 1 else f"{amount:,} jobs"


def _share(sums: Sums) -> str:
    return percent(100 * sums.saving / sums.then) if sums.then else ""
