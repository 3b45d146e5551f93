"""Further ``gpu.*`` facts that GPU records state under ``facts``: checked against the vocabulary that defines them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu, Knowledge, gpu_facts
from whichgpu.engine.core import KnowledgeError, Place, Problem, find, place_of, read_document
from whichgpu.engine.rules import Vocabulary, read_value


def check_further_facts(knowledge: Knowledge, vocabulary: Vocabulary, layers: Iterable[Path]) -> None:
    """Refuse facts that no vocabulary defines, that are no ``gpu.*`` facts, or whose value does not suit them.

    Raises:
        KnowledgeError: with every such fact at its place.
    """
    folders = (Path(knowledge.folder), *layers)
    problems = []
    for gpu in knowledge.gpus.values():
        for name, value in sorted(gpu.facts.items()):
            problems += _problems(gpu, name, value, vocabulary, folders)
    if problems:
        raise KnowledgeError(problems)


def _problems(
    gpu: Gpu, name: str, value: bool | float | str, vocabulary: Vocabulary, folders: Iterable[Path]
) -> list[Problem]:
    fact = vocabulary.facts.get(name)
    own = gpu_facts(replace(gpu, facts={}))
    if fact is None:
        message = f"{gpu.id} states {name!r}, which is no fact"
        fix = "define it in vocabulary.yaml, with a name that begins with gpu."
        return [Problem("unknown-fact", message, _place(folders, gpu.id, name), name, vocabulary.nearest(name), fix)]
    if fact.scope != "gpu" or name in own:
        message = f"{gpu.id} states {name}, " + ("which its record gives already" if name in own else "no gpu.* fact")
        return [Problem("wrong-scope", message, _place(folders, gpu.id, name), name, fix="leave it out")]
    if read_value(fact, value).problems:
        return list(read_value(fact, value, _place(folders, gpu.id, name)).problems)
    return []


def _place(folders: Iterable[Path], gpu_id: str, name: str) -> Place | None:
    """Where a GPU's record states a fact; searched for only when there is something to say of it."""
    found = None
    for folder in folders:
        for path in sorted((*folder.glob("gpus.yaml"), *folder.glob("gpus/*.yaml"))):
            document = read_document(path, error=KnowledgeError, cached=True)
            for index, record in enumerate(document.plain.get("gpus") or ()):
                if record.get("id") == gpu_id and name in (record.get("facts") or {}):
                    found = place_of(find(document.node, ("gpus", index, "facts", name)))
    return found
