"""Two rulebooks side by side, in words: for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table
from whichgpu.cli.render.figures import count_of, joined, number
from whichgpu.engine.authoring import ChangedRule, Comparison, Moved, Names, Region, RuleChange, by_task
from whichgpu.engine.rules import Rule


_SHOWN = 20
_KINDS = (("added", "New rules"), ("removed", "Rules that went"), ("changed", "Changed rules"), ("renamed", "Renamed"))
_ASPECTS = {
    "stage": "stage",
    "each": "what it looks at",
    "overrides": "what it overrides",
    "hit": "hit policy",
    "row": "place in the table",
    "title": "title",
    "text": "text",
    "because": "ground",
    "sources": "sources",
    "encodes": "heuristics it encodes",
    "status": "status",
    "valid_until": "valid until",
    "responsible": "who answers for it",
    "topic": "topic",
}
_PARTS = {
    "recommendation": "recommendation",
    "no_answer": "whether there is an answer",
    "procurement": "rent or buy",
    "candidates": "verdict on named GPUs",
    "warnings": "warnings",
    "advice": "advice",
    "monitoring": "what to watch",
    "disagreements": "disagreements named",
    "refused": "whether it can be read",
}


def comparison_blocks(found: Comparison, *, everything: bool = False) -> list[Block]:
    """The comparison as a page."""
    blocks: list[Block] = [Heading(f"Rules: {found.old} against {found.new}", 1), Paragraph(_summary(found), "strong")]
    for kind, title in _KINDS:
        listed = [entry for entry in found.rules if entry.change.kind == kind]
        if listed:
            blocks.append(Heading(title))
            shown = listed if everything else listed[: 2 * _SHOWN]
            blocks += [block for entry in shown for block in _rule(entry)]
            blocks += _more(len(listed) - len(shown), "rule")
    if found.knowledge:
        blocks += [Heading("Knowledge"), Bullets(tuple(_names(names) for names in found.knowledge))]
    return [*blocks, *_workloads(found, everything=everything)]


def _summary(found: Comparison) -> str:
    if found.digests[0] == found.digests[1] and not found.rules and not found.knowledge:
        return f"Nothing differs. {_compared(found)}"
    counts: Counter[str] = Counter(entry.change.kind for entry in found.rules)
    said = [f"{count_of(counts[kind], 'rule')} {kind}" for kind, _ in _KINDS if counts[kind]]
    rules = joined(said, "and") if said else "No rule differs"
    if not found.workloads:
        return f"{rules}. {_compared(found)}"
    moved = Counter(part for entry in found.moved for part in entry.parts)
    answer = f"{count_of(len(found.moved), 'workload')} of {found.workloads} get another answer"
    if moved["recommendation"] or moved["no_answer"]:
        firm = sum(bool({"recommendation", "no_answer"} & set(entry.parts)) for entry in found.moved)
        answer += f", {firm} of them another recommendation"
    return f"{rules}. {answer}. {_compared(found)}"


def _compared(found: Comparison) -> str:
    words = {
        "example": "example",
        "scenario": "scenario",
        "test": "test inside a rule",
        "region": "drawn where rules differ",
        "sample": "drawn at random",
    }
    plural = {"test": "tests inside rules"}
    said = []
    for origin, amount in found.compared.items():
        word = words[origin]
        many = plural.get(origin, word if origin in {"sample", "region"} else f"{word}s")
        said.append(f"{amount} {word if amount == 1 else many}")
    if not said:
        return "No workload was decided: nothing differs that can change an answer."
    spared = f" {found.spared} of them cannot meet a rule that differs." if found.spared else ""
    return f"Compared on {joined(said, 'and')} (seed {found.seed}).{spared}"


def _rule(entry: ChangedRule) -> list[Block]:
    change = entry.change
    rule = change.rule
    blocks: list[Block] = [Heading(change.id, 3), Paragraph(rule.title, "strong")]
    if change.old is not None and change.new is not None:
        items = [Item(line) for line in _differences(change.old, change.new, change)]
        if change.kind == "renamed":
            items.insert(0, Item(f"was called {change.old.id}"))
        blocks.append(Bullets(tuple(items)))
    else:
        blocks.append(Bullets(tuple(Item(line) for line in _whole(rule))))
    blocks += [Paragraph(_region(region)) for region in entry.regions]
    if change.decisive and not entry.exercised:
        blocks.append(Paragraph("No workload that was compared exercised it.", "bad"))
    elif change.decisive:
        answers = (
            f"{count_of(entry.turned, 'workload')} {'gets' if entry.turned == 1 else 'get'} another answer by it"
            if entry.turned
            else "no answer turns on it"
        )
        blocks.append(Paragraph(f"It fires on workloads that were compared; {answers}."))
    return blocks


def _whole(rule: Rule) -> list[str]:
    when = "; ".join(condition.text for condition in rule.when) or "always"
    then = "; ".join(effect.words(number) for effect in rule.effects)
    return [f"{rule.stage}, each {rule.each}: when {when}", f"then {then}", f"because: {rule.because}"]


def _differences(old: Rule, new: Rule, change: RuleChange) -> list[str]:
    lines: list[str] = []
    if "when" in change.aspects:
        lines += _listed("condition", [c.text for c in old.when], [c.text for c in new.when])
    if "effects" in change.aspects:
        lines += _listed("effect", [e.words(number) for e in old.effects], [e.words(number) for e in new.effects])
    for aspect, word in _ASPECTS.items():
        if aspect in change.aspects:
            lines.append(f"{word}: {_value(getattr(old, aspect))} -> {_value(getattr(new, aspect))}")
    if "tests" in change.aspects:
        lines.append(f"tests: {len(old.tests)} -> {len(new.tests)}")
    return lines


def _listed(what: str, old: Sequence[str], new: Sequence[str]) -> list[str]:
    gone = [text for text in old if text not in new]
    fresh = [text for text in new if text not in old]
    if len(gone) == len(fresh):
        return [f"{what}: {was} -> {now}" for was, now in zip(gone, fresh, strict=True)]
    return [*(f"{what} dropped: {text}" for text in gone), *(f"{what} added: {text}" for text in fresh)]


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value) or "nothing"
    return str(value) if value not in (None, "") else "nothing"


def _region(region: Region) -> str:
    where = " and ".join(region.conditions) or "always"
    if region.excluded:
        exceptions = " and ".join(region.excluded)
        where += f", unless {exceptions}"
    if region.proved_empty:
        return f"It {region.says} nowhere: no facts meet {where}."
    said = f"It {region.says} where {where}."
    if region.example:
        sure = "For example" if region.certain else "Possibly, for example"
        said += f" {sure}: {region.example}."
    return said


def _names(names: Names) -> Item:
    said = []
    for kind in ("added", "removed", "changed"):
        found: tuple[str, ...] = getattr(names, kind)
        if found:
            listed = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
            said.append(f"{len(found)} {kind}: {listed}")
    return Item(f"{names.kind}: {'; '.join(said)}")


def _workloads(found: Comparison, *, everything: bool) -> list[Block]:
    if not found.moved:
        return [Heading("Workloads"), Paragraph("Every workload gets the same answer.", "good"), *_unexercised(found)]
    counts = Counter(part for entry in found.moved for part in entry.parts)
    summary = tuple((_PARTS[part], str(counts[part])) for part in _PARTS if counts[part])
    blocks: list[Block] = [
        Heading("Workloads with another answer"),
        Table(("What is different", "Workloads"), summary, frozenset({1})),
    ]
    by_rule = Counter(rule for entry in found.moved for rule in entry.rules)
    if by_rule:
        rows = tuple((rule, str(amount)) for rule, amount in sorted(by_rule.items(), key=lambda it: (-it[1], it[0])))
        blocks.append(Table(("Rule behind it", "Workloads"), rows[:_SHOWN], frozenset({1})))
    tasks = by_task(found.moved)
    task_rows = tuple((task, str(len(moved)), str(firm)) for task, (moved, firm) in tasks.items())
    blocks.append(Table(("Task", "Workloads", "Another recommendation"), task_rows, frozenset({1, 2})))
    blocks += _unexercised(found)
    shown = found.moved if everything else [moved[0] for moved, _ in tasks.values()]
    blocks.append(Bullets(tuple(_moved(entry) for entry in shown)))
    return [*blocks, *_more(len(found.moved) - len(shown), "workload")]


def _unexercised(found: Comparison) -> list[Block]:
    """The rules that differ and did nothing on any workload."""
    idle = [entry.change.id for entry in found.rules if entry.change.decisive and not entry.exercised]
    if not idle or not found.workloads:
        return []
    listed = joined(idle[:_SHOWN], "and") + (f" and {len(idle) - _SHOWN} more" if len(idle) > _SHOWN else "")
    return [Paragraph(f"Not exercised by any workload: {listed}.", "bad")]


def _moved(entry: Moved) -> Item:
    below = [_part(entry, part) for part in entry.parts]
    if entry.rules:
        below.append(f"by {joined(list(entry.rules[:4]), 'and')}")
    facts = ", ".join(f"{name}: {_fact(value)}" for name, value in entry.workload.facts.items() if name != "id")
    if entry.workload.origin in {"sample", "region"}:
        below.append(facts)
    return Item(f"{entry.workload.name} ({entry.workload.origin})", tuple(below))


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


def _part(entry: Moved, part: str) -> str:
    old, new = getattr(entry.old, part), getattr(entry.new, part)
    if isinstance(old, tuple):
        gone = [f"no longer {name}" for name in _less(old, new)]
        fresh = [f"now {name}" for name in _less(new, old)]
        return f"{_PARTS[part]}: {', '.join([*gone, *fresh])}"
    return f"{_PARTS[part]}: {old or 'none'} -> {new or 'none'}"


def _less(names: Iterable[str], others: Sequence[str]) -> list[str]:
    return [name for name in names if name not in others]


def _more(amount: int, word: str) -> list[Block]:
    if amount <= 0:
        return []
    return [Paragraph(f"And {count_of(amount, word)} more; --all shows them, --format json has everything.")]
