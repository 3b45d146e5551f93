"""Words that are no value of the fact they were written for: of which other fact they say something, and how."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from whichgpu.engine.catalogue import Knowledge, currencies, per_usd
from whichgpu.engine.core import Place, Problem, Value
from whichgpu.engine.plans import unoffered
from whichgpu.engine.rules import FactDef, Vocabulary, conditions_of, evaluate, fold, format_number, read_value


#: Words that stand among the choices of many facts and say nothing by themselves.
_SAYS_LITTLE = frozenset(
    ("yes", "no", "true", "false", "on", "off", "none", "other", "unknown", "any", "all", "auto", "default", "latest")
)
#: More ways than this are no help.
_MOST_WAYS = 3
#: So many choices are listed with a fact.
_MOST_CHOICES = 5
#: Problems with a word that may belong to another fact.
_OF_WORDS = frozenset(("unknown-choice", "unknown-gpu", "not-a-number", "not-a-bool"))
_OTHER_MONEY = re.compile(
    r"^\s*(?P<before>[^\W\d_]+|[^\w\s])?\s*(?P<amount>\d[\d.,]*\s*(?:[kKmM](?![^\W\d_]))?)\s*(?P<after>[^\W\d_]+|[^\w\s])?"
)


def stated_otherwise(word: str, fact: FactDef, vocabulary: Vocabulary, knowledge: Knowledge) -> tuple[str, ...]:
    """How a word is stated that is no value of a fact: ``rl_method: grpo, with task: full_finetuning``.

    Args:
        word: as it was written.
        fact: for which it was written.
        vocabulary: the other facts.
        knowledge: whose GPUs, models and providers have names.

    Returns:
        The ways to state it, at most a few; none where it says nothing of any fact.
    """
    folded = fold(word)
    if folded in _SAYS_LITTLE or not any(letter.isalpha() for letter in folded):
        return ()
    found = [*_as_names(word, fact, knowledge), *_as_values(word, fact, vocabulary)]
    return tuple(dict.fromkeys(found))[:_MOST_WAYS]


def explained(
    problem: Problem, written: object, fact: FactDef, vocabulary: Vocabulary, knowledge: Knowledge
) -> Problem:
    """A problem with a value, with how to state what was written where it says something of another fact."""
    if not isinstance(written, str):
        return problem
    if problem.code in {"wrong-unit", "not-a-number"} and (fix := _in_dollars(written, fact)):
        message = f"{fact.name}: {written.strip()!r} is in another currency; the figure is in US dollars"
        return replace(problem, code="other-currency", message=message, fix=fix)
    if problem.code in {"other-period", "wrong-unit"}:
        ways = tuple(f"{other.name}: {written}" for other in _fitting(vocabulary.looked_for_beside(fact), written))
        return replace(problem, fix=f"write {' or '.join(ways)}") if ways else problem
    if problem.code not in _OF_WORDS:
        return problem
    ways = stated_otherwise(written, fact, vocabulary, knowledge)
    return replace(problem, nearest=(), fix=f"write {'; or '.join(ways)}", elsewhere=ways) if ways else problem


def taken_as_other(
    remark: Problem, written: object, fact: FactDef, vocabulary: Vocabulary, knowledge: Knowledge
) -> Problem:
    """A remark on a word that an open fact takes as ``other``, with the fact of which it is a value."""
    if remark.code != "unknown-choice" or not isinstance(written, str):
        return remark
    ways = stated_otherwise(written, fact, vocabulary, knowledge)
    says = f"; what it says is stated as {'; or '.join(ways)}" if ways else ""
    return replace(remark, message=remark.message + says, elsewhere=ways)


def not_offered(fact: FactDef, value: Value, place: Place | None, knowledge: Knowledge) -> tuple[Problem, ...]:
    """Remarks on providers and regions that are allowed and offer nothing."""
    if fact.name not in _OF_OFFERS or not isinstance(value, tuple):
        return ()
    kind, where = _OF_OFFERS[fact.name]
    found = unoffered(tuple(map(str, value)), kind, knowledge)
    return tuple(
        Problem(
            "not-offered",
            f"{fact.name}: nothing in the price list is offered {where} {name!r}"
            + (f"; did you mean {' or '.join(near)}?" if near else ""),
            place,
            fact.name,
        )
        for name, near in found
    )


#: Facts that name providers or regions, and how one speaks of these.
_OF_OFFERS = {"providers_allowed": ("providers", "by"), "regions_allowed": ("regions", "in")}


def unknown_fact(name: str, value: object, place: Place | None, vocabulary: Vocabulary) -> Problem:
    """The problem with a name that is no fact: the facts that it may be meant for, by their names and by the value."""
    message, known = f"{name!r} is no fact of a workload", vocabulary.nearest(name, stated=True)
    if looked_for := vocabulary.looked_for(name):
        fitting = tuple(_fitting(looked_for, value)) or looked_for
        fix = f"write {', or '.join(f'{fact.name} ({fact.label})' for fact in fitting)}"
        return Problem("unknown-fact", message, place, name, fix=fix)
    word = value if isinstance(value, str) and fold(value) not in _SAYS_LITTLE else None
    meant = vocabulary.facts_of_choice(word) if word else ()
    meant = tuple(each for each in meant if each[0] in known) or meant
    if 0 < len(meant) <= _MOST_WAYS:
        facts = tuple(fact for fact, _ in meant)
        message = f"{message}, but {value!r} is a value of {' and of '.join(facts)}"
        return Problem("unknown-fact", message, place, name, facts, f"write {_said(meant)}")
    if values := vocabulary.facts_of_choice(name):
        message = f"{message} but a value of one"
        return Problem("unknown-fact", message, place, name, fix=f"write {_said(values[:_MOST_WAYS])}")
    near = (vocabulary.facts[each] for each in known)
    if stated := next((way for fact in near if (way := _in_its_unit(name, value, fact))), None):
        return Problem("unknown-fact", message, place, name, known, f"write {stated}")
    # What has only a part in common may be something else, so that no one is told to write it.
    slips = [each for each in known if vocabulary.spelt_alike(name, each)]
    fix = f"write {' or '.join(slips)}" if slips else "see: whichgpu facts"
    return Problem("unknown-fact", message, place, name, known, fix)


def _in_its_unit(name: str, value: object, fact: FactDef) -> str | None:
    """A figure under a name that ends in another unit than the fact's: ``deadline_hours: 3 days`` for deadline_days."""
    words, plain = name.lower().split("_"), read_value(fact, value)
    own = {word for called in (fact.name, *fact.aliases) for word in called.split("_")}
    if plain.problems or isinstance(plain.value, bool) or not isinstance(plain.value, int | float):
        return None
    for first in range(len(words)):
        if not own.issuperset(words[:first]) or (first == 0 and "per" not in words):
            continue
        written = f"{value} {' '.join(words[first:]).replace(' per ', '/')}"
        read = read_value(fact, written)
        if not read.problems and read.value != plain.value:
            return f"{fact.name}: {written}"
    return None


def _said(values: Iterable[tuple[str, str]]) -> str:
    return " or ".join(f"{fact}: {choice}" for fact, choice in values)


def _as_values(word: str, fact: FactDef, vocabulary: Vocabulary) -> Iterator[str]:
    """The word as a value of other facts, or as what people call such a fact."""
    # Facts about the same thing first; of these and of the others those that people are asked for.
    pairs = sorted(vocabulary.facts_of_choice(word), key=lambda pair: vocabulary.facts[pair[0]].topic != fact.topic)
    for name, choice in pairs:
        if name != fact.name and fold(word) not in _SAYS_LITTLE:
            yield f"{name}: {choice}{_beside(vocabulary.facts[name], fact, vocabulary)}"
    for other in vocabulary.looked_for(word):
        if other.name != fact.name:
            choices = [choice for choice in other.choices if choice not in _SAYS_LITTLE]
            values = f": {' or '.join(choices)}" if 0 < len(choices) <= _MOST_CHOICES else f" ({other.label})"
            yield f"{other.name}{values}{_beside(other, fact, vocabulary)}"


def _as_names(word: str, fact: FactDef, knowledge: Knowledge) -> Iterator[str]:
    """The word as the name of a GPU, a model or a provider."""
    of_gpus = fact.type == "gpu" or fact.items in {"gpu", "gpu_count"}
    if not of_gpus and knowledge.find_gpu(word).found:
        yield f"gpu_candidates: {word}, or gpus_owned: {word}"
    match = knowledge.find_model(word) if fact.name != "model_name" else None
    if match is not None and match.spec is not None and match.how == "as written":
        yield f"model_name: {word}"
    if fact.name != "providers_allowed" and word.casefold() in {offer.provider for offer in knowledge.offers}:
        yield f"providers_allowed: {word.casefold()}"


def _beside(other: FactDef, fact: FactDef, vocabulary: Vocabulary) -> str:
    """The choices of a fact with which another one makes sense: ``, with task: inference``; nothing where all do."""
    condition = conditions_of(vocabulary).questions.get(other.name)
    if condition is None or not fact.choices:
        return ""
    fitting = [choice for choice in fact.choices if evaluate(condition, {fact.name: choice}) is not False]
    if not 0 < len(fitting) < len(fact.choices):
        return ""
    return f", with {fact.name}: {' or '.join(fitting)}"


def _fitting(facts: tuple[FactDef, ...], written: object) -> Iterator[FactDef]:
    """The facts that can be read of what was written; no GPU is called by a digit or two."""
    counts = len(str(written).strip()) <= len("10") and str(written).strip().isdigit()
    of_gpus = {"gpu", "gpu_count"}
    return (fact for fact in facts if not (counts and fact.items in of_gpus) and not read_value(fact, written).problems)


def _in_dollars(written: str, fact: FactDef) -> str | None:
    """How an amount in another currency is written in US dollars, by the rate of a day."""
    unit, found = fact.parsed_unit, _OTHER_MONEY.match(written)
    if unit is None or not unit.dimension.startswith("money") or found is None:
        return None
    first = _currency(found["before"])
    code = first or _currency(found["after"])
    if code is None or code == "USD":
        return None
    amount = read_value(replace(fact, min=None, max=None), found["amount"]).value
    if not isinstance(amount, int | float):
        return None
    usd = format_number(amount / per_usd(code), digits=3)
    period = written[found.end("amount" if first else "after") :].rstrip()  # "/month" is converted to the fact's own.
    said = f"{usd} USD{period}" if period else f"{usd}, in US dollars"
    return f"write {said} (at the rate of {currencies().as_of})"


def _currency(word: str | None) -> str | None:
    """The code of a currency that has a rate, by its code, sign or name."""
    if not word:
        return None
    file = currencies()
    signs = {sign: code for code, sign in file.symbols.items()}
    code = signs.get(word) or file.names.get(word.casefold()) or word.upper()
    return code if code in file.per_euro else None
