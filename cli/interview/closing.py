"""The end of an interview: what the answer rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whichgpu.cli.render.answered import answer_text, owned_cards
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Row, Summary
from whichgpu.cli.render.figures import count_of, value_text, with_unit
from whichgpu.cli.render.names import Names
from whichgpu.engine.advisor import Advisor
from whichgpu.engine.interview import Answer, Answered, State


if TYPE_CHECKING:
    from whichgpu.engine.advisor import Interview, UnknownFact


#: Of what could still change the answer, so many facts are shown with what they would change.
_MOST_DECISIVE = 2


def closing_blocks(
    state: State, interview: Interview, answer: Mapping[str, Any], advisor: Advisor, names: Names
) -> list[Block]:
    """What the answer rests on, in ten lines: stated, taken as usual, assumed, not known, and not asked."""
    stated = [a for a in state.answers if a.value is not None and a.origin != "usual"]
    usual = [a for a in state.answers if a.origin == "usual"]
    unknown = {missing["fact"] for missing in interview["unknown"]}
    assumed = [e for e in answer["assumptions"] if e["fact"] not in unknown]
    decisive = [missing for missing in interview["unknown"] if not missing["robust"]]
    more = [_label(missing["fact"], advisor) for missing in decisive[_MOST_DECISIVE:]]
    holds = [_label(missing["fact"], advisor) for missing in interview["unknown"] if missing["robust"]]
    rows = [Row("Stated", _listed([_said(a, advisor) for a in stated], 6))]
    if usual:
        rows.append(Row("Usual answers", _listed([_said(a, advisor) for a in usual], 4)))
    if assumed:
        rows.append(Row("Assumed", _listed([_fact_value(e["fact"], e["value"], advisor) for e in assumed], 4)))
    owned = owned_cards(state.given, advisor)
    rows += [
        Row("Not known", _decisive_fact(missing, advisor, names, owned), "warn")
        for missing in decisive[:_MOST_DECISIVE]
    ]
    if more:
        rows.append(Row("Not known", f"{_listed(more, 4)}, which could change it, too", "warn"))
    if holds:
        rows.append(Row("Holds whatever", _listed(holds, 4)))
    if interview["unasked"]:
        left = count_of(len(interview["unasked"]), "fact")
        rows.append(Row("Not asked", f"{left} that cannot change the answer (--all names them, with the reasons)"))
    return [Heading("What this rests on", 3), Summary(tuple(rows))]


def _listed(words: Sequence[str], most: int) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return (", ".join(words[:most]) or "nothing") + more


def _label(name: str, advisor: Advisor) -> str:
    return advisor.vocabulary.facts[name].label or name


def _said(answer: Answer, advisor: Advisor) -> str:
    return _fact_value(answer.fact, answer.value, advisor)


def _fact_value(name: str, value: object, advisor: Advisor) -> str:
    return f"{_label(name, advisor)} {_with_unit(name, value, advisor)}"


def _with_unit(name: str, value: object, advisor: Advisor) -> str:
    return with_unit(value, advisor.vocabulary.facts[name].unit)


def _decisive_fact(missing: UnknownFact, advisor: Advisor, names: Names, owned: Mapping[str, int]) -> str:
    """What another value of a fact that is not known would make of the answer."""
    name = missing["fact"]
    taken = f" ({_with_unit(name, missing['assumed'], advisor)} assumed)" if missing["assumed"] is not None else ""
    change = missing["changes"][0]
    other = answer_text(Answered(change["gpu"], change["count"], change["procurement"]), names, owned)
    return f"{_label(name, advisor)}{taken}: {_with_unit(name, change['value'], advisor)} would make it {other}"


def interview_blocks(state: State, interview: Interview, advisor: Advisor, names: Names) -> list[Block]:
    """What was not known and what was not asked, each with its reason."""
    owned = owned_cards(state.given, advisor)
    blocks: list[Block] = []
    if interview["unknown"]:
        blocks += [
            Heading("What you did not know"),
            Bullets(tuple(_missing(m, names, owned) for m in interview["unknown"])),
        ]
    unasked = interview["unasked"]
    if unasked:
        amount = count_of(len(unasked), "question")
        items = (Item(f"{entry['fact']}: {entry['why']}", (f"checked by: {entry['checked']}",)) for entry in unasked)
        blocks += [
            Heading("What was not asked"),
            Paragraph(
                f"{amount} left out: no answer can change the GPU, the count or the verdict, as long as all else stays "
                "as it was answered or assumed. This is said of these facts and of no others:"
            ),
            Bullets(tuple(items)),
        ]
    return blocks


def _missing(missing: UnknownFact, names: Names, owned: Mapping[str, int]) -> Item:
    assumed = missing["assumed"]
    taken = "nothing was assumed in its place" if assumed is None else f"{value_text(assumed)} was assumed"
    if missing["robust"]:
        return Item(f"{missing['fact']}: the answer holds whatever it is; {taken}")
    below = tuple(
        f"{value_text(c['value'])}: {answer_text(Answered(c['gpu'], c['count'], c['procurement']), names, owned)}"
        for c in missing["changes"][:4]
    )
    return Item(f"{missing['fact']}: {taken}, and the answer depends on it", below)
