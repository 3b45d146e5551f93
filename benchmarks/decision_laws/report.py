"""The report: a table of laws with their bars, then every miss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from decision_laws.counting import Law
from decision_laws.reading import in_short


def table(laws: Iterable[Law]) -> list[str]:
    """One row a law."""
    lines = ["| law | what is counted | applies to | missed | keep it | bar | |", "|---|---|---|---|---|---|---|"]
    for law in laws:
        share = "" if law.share is None else f"{100 * law.share:.1f} %"
        bar = "" if law.bar is None else f"{100 * law.bar:g} %"
        verdict = {True: "met", False: "**missed**", None: ""}[law.kept]
        lines.append(f"| {law.name} | {law.says} | {law.applies} | {len(law.misses)} | {share} | {bar} | {verdict} |")
    return lines


def misses(laws: Sequence[Law], most: int | None) -> list[str]:
    """Every miss under the heading of its law; of laws without a bar the first few."""
    lines: list[str] = []
    for law in laws:
        if not law.misses:
            continue
        shown = law.misses if law.bar is not None and most is None else law.misses[: most or 10]
        lines += ["", f"### {law.name}: {len(law.misses)} of {law.applies}", ""]
        for miss in shown:
            lines += [f"- {miss.workload}: {miss.says}", f"  `{in_short(miss.facts)}`"]
        if len(shown) < len(law.misses):
            lines.append(f"- and {len(law.misses) - len(shown)} more")
    return lines


def standing(laws: Sequence[Law]) -> str:
    """One line: how many bars there are, and which are missed."""
    bars = [law for law in laws if law.bar is not None]
    missed = [f"{law.name} ({len(law.misses)} of {law.applies})" for law in bars if law.kept is False]
    named = f": {', '.join(missed)}" if missed else ""
    on_other_seeds = "On other seeds: [known limits](#known-limits)."
    return f"**Missed on this seed: {len(missed)} of {len(bars)} bars**{named}. {on_other_seeds}"


def report(
    title: str, head: Sequence[str], sections: Sequence[tuple[str, Sequence[Law]]], most: int | None = None
) -> str:
    """The whole report as Markdown."""
    lines = [f"# {title}", "", *head, "", standing([law for _, laws in sections for law in laws])]
    for name, laws in sections:
        lines += ["", f"## {name}", "", *table(laws)]
    lines += ["", "## Misses"]
    for _, laws in sections:
        lines += misses(laws, most)
    return "\n".join(lines) + "\n"
