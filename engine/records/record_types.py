"""What a record of the second form holds: the types behind its check and its JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from whichgpu.engine.advisor import Word, doc


Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Amount = Annotated[float, Field(allow_inf_nan=False)]


class InputFile(TypedDict):
    """The file that the workload was read from."""

    name: Annotated[str, doc("As it was named on the command line.")]
    sha256: Annotated[Digest, doc("Over its bytes.")]


class Inputs(TypedDict):
    """What was asked. The facts themselves are those of the answer whose origin is given."""

    file: Annotated[InputFile | None, doc("The workload's file; null where there was none.")]
    changes: Annotated[list[str], doc("FACT=VALUE, as --set stated them over the file.")]
    as_written: NotRequired[
        Annotated[dict[str, str], doc("By fact, a name that was written otherwise than in the catalogue.")]
    ]


class Digests(TypedDict):
    """SHA-256 over what the decision was made with."""

    rulebook: Annotated[Digest, doc("All rules in force, without their tests.")]
    knowledge: Annotated[Digest, doc("All knowledge and prices.")]
    vocabulary: Annotated[Digest, doc("Facts and codes.")]
    engine: Annotated[Digest, doc("The program's own code.")]


class PlanLine(TypedDict):
    """One plan that was evaluated."""

    id: Annotated[Word, doc("The plan.")]
    gpu: Annotated[Word, doc("Its GPU.")]
    count: Annotated[int, Field(ge=1), doc("How many.")]
    standing: Annotated[
        Literal["recommended", "alternative", "outranked", "rejected", "refused"], doc("What became of it.")
    ]
    because: Annotated[str, doc("What ruled it out or beat it; empty for the answer.")]
    rules: Annotated[list[Word], doc("The rules that rejected it.")]
    score: Annotated[Amount | None, doc("Points of evidence and objective; null where rejected.")]
    figures: Annotated[dict[str, Amount], doc("Money, speed and memory, by the plan.* fact without its head.")]


class Constant(TypedDict):
    """A number that expressions read by its name."""

    name: Annotated[Word, doc("Its name.")]
    value: Annotated[Amount, doc("The number.")]
    unit: Annotated[str, doc("What it is counted in.")]
    source: Annotated[str, doc("On whose word.")]


Expression = TypedDict(
    "Expression",
    {
        "figure": Annotated[Word, doc("The figure that it gives.")],
        "expression": Annotated[Word, doc("Arithmetic over figures of the same plan, facts and constants.")],
        "except": Annotated[list[Word], doc("Plans whose figure is another, for a reason given in its trace.")],
    },
)


class PlanFormulas(TypedDict):
    """How the figures of one plan were computed; numbers point to ``texts``."""

    figures: Annotated[dict[str, int], doc("Figures with another text than those of most plans; -1 for none.")]
    parts: Annotated[dict[str, int], doc("Parts with another text than those of most plans.")]
    inputs: Annotated[dict[str, Amount], doc("Numbers of this plan that texts refer to and its trace rounds.")]
    zeros: Annotated[dict[str, int], doc("Of an input that solves an equation, the text that is 0 there.")]


class Formulas(TypedDict):
    """How figures were computed: arithmetic over inputs and constants, each text once."""

    texts: Annotated[list[Word], doc("Arithmetic over names; _3 is the fourth of these texts.")]
    constants: Annotated[list[Constant], doc("What knowledge files and catalogues state.")]
    figures: Annotated[dict[str, int], doc("Of each figure of the trace, and of its ends, the text that gives it.")]
    parts: Annotated[dict[str, int], doc("Names of parts that texts refer to.")]
    plans: Annotated[dict[str, PlanFormulas], doc("By the plan's id, and `workload` for what no plan has.")]


class Arithmetic(TypedDict):
    """How figures follow from each other."""

    constants: Annotated[list[Constant], doc("Numbers by name that expressions read.")]
    expressions: Annotated[list[Expression], doc("One for each figure; it holds for every plan shown whole.")]
    formulas: NotRequired[Annotated[Formulas, doc("How figures were computed; older records have none.")]]


class Data(TypedDict):
    """The rules, knowledge and offers that the decision was made with: enough to make it again."""

    knowledge: Annotated[dict[str, Any], doc("The knowledge files, by name.")]
    layers: Annotated[list[dict[str, Any]], doc("The layers of rules, the lowest first, with the files of each.")]
    offers: Annotated[dict[str, list[Any]], doc("All offers: a list for each column.")]


class Statement(TypedDict):
    """What the record states, and what a signature vouches for."""

    id: Annotated[Word, doc("The decision's id: the head of a SHA-256 over all else here.")]
    answer: Annotated[dict[str, Any], doc("The decision; its trace leaves out what it states elsewhere.")]
    inputs: Annotated[Inputs, doc("What was asked.")]
    meta: Annotated[dict[str, str], doc("Who asked, for what, under which ticket: what --meta stated.")]
    plans: Annotated[list[PlanLine], doc("Every plan that was evaluated.")]
    rules: Annotated[dict[str, Digest], doc("The digest of every rule that fired, was overridden or undecided.")]
    arithmetic: NotRequired[Annotated[Arithmetic, doc("How figures follow; the first records of this form have none.")]]
    data: Annotated[Data, doc("What the decision was made with.")]
    digests: Annotated[Digests, doc("SHA-256 over what the decision was made with.")]
    versions: Annotated[dict[str, str], doc("Of the program, of Python, and of what fires the rules.")]
    revision: Annotated[str | None, doc("The source revision of the program; null where it is not known.")]


class Signature(TypedDict):
    """A DSSE envelope."""

    payloadType: Annotated[str, doc("The kind of payload: an in-toto statement.")]
    payload: Annotated[str, doc("The in-toto statement in base64; its subject is the SHA-256 of the statement.")]
    signatures: Annotated[list[dict[str, str]], doc("keyid and sig.")]


class SignedRecord(TypedDict):
    """``whichgpu.record/2``: a decision with all that it rests on."""

    format: Annotated[Literal["whichgpu.record/2"], doc("The format.")]
    sha256: Annotated[Digest, doc("Over the canonical JSON of the statement.")]
    signature: Annotated[Signature | None, doc("Who vouches for the statement; null where it is not signed.")]
    statement: Annotated[Statement, doc("What the record states.")]
