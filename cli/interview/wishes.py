"""The five wishes with which an interview begins: what matters most, the budget, what is owned, how fast, by when."""

from __future__ import annotations

from msgspec import Struct

from whichgpu.cli.interview.plainwords import BUDGETS, DEADLINE, FIRST_WORD, WHOLE_ANSWER


class Wish(Struct, frozen=True):
    """One wish in plain words, and the facts that an answer may be of: the first that takes it."""

    title: str
    such_as: str
    facts: tuple[str, ...]


WISHES = (
    Wish("What matters most?", "money, time, or a fair mix", ("objective",)),
    Wish("What may it cost?", "$2000 a month, $3 an hour", (BUDGETS["month"], BUDGETS["h"], BUDGETS[""])),
    Wish("Which GPUs do you own?", "2 x RTX 4090, 4x3090", ("gpus_owned",)),
    Wish(
        "How fast must an answer come, where you serve?",
        "20 s, 1 s to first word",
        (WHOLE_ANSWER, FIRST_WORD),
    ),
    Wish("By when must a run be done, where you train or work off a batch?", "next Friday, 3 days", (DEADLINE,)),
)
