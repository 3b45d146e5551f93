from __future__ import annotations

from pathlib import Path

import pytest

from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.rules.facts import Vocabulary, load_vocabulary


CODES = "codes:\n  A-X: {meaning: Do x., priority: 1}\n  W-Y: {meaning: Beware.}\n"
FACTS = """
facts:
  task:
    type: enum
    choices: [training, inference]
    synonyms: {serving: inference}
    when_unstated: must_ask
  batch_size_per_gpu: {type: int, min: 1}
  concurrency:
    type: int
    min: 1
    aliases: [batch_size_per_gpu]
    alias_when: task == inference
  param_count_b:
    type: number
    unit: B
    min: 0
    aliases: [params]
    when_unstated: {assume: 7b, because: Most are small.}
  precision:
    type: enum
    choices: [fp16, nf4]
    when_unstated:
      - {assume: nf4, when: task == training}
      - {assume: fp16}
  plan.count: {type: int, available: plan, role: output}
"""


def load(folder: Path, facts: str = FACTS, codes: str = CODES) -> Vocabulary:
    (folder / "vocabulary.yaml").write_text(facts)
    (folder / "codes.yaml").write_text(codes)
    return load_vocabulary(folder, cached=False)


def test_facts_codes_and_aliases(tmp_path: Path):
    vocabulary = load(tmp_path)
    assert list(vocabulary.facts) == sorted(vocabulary.facts)
    assert vocabulary.codes["A-X"].priority == 1
    assert vocabulary.codes["W-Y"].priority == 3
    assert vocabulary.resolve("params") == "param_count_b"
    assert vocabulary.resolve("batch_size_per_gpu") == "batch_size_per_gpu"
    assert vocabulary.resolve("nothing") is None
    (serving,) = vocabulary.conditional_aliases("batch_size_per_gpu")
    assert (serving.name, serving.alias_when) == ("concurrency", "task == inference")
    assert vocabulary.conditional_aliases("task") == ()
    assert "params" in vocabulary.names()
    assert vocabulary.nearest("param-count")[0] in {"param_count_b", "params"}


def test_scopes_and_resolving(tmp_path: Path):
    vocabulary = load(tmp_path)
    count = vocabulary.facts["plan.count"]
    assert (count.scope, count.askable) == ("plan", "never")
    assert vocabulary.facts["task"].when_unstated == "must_ask"
    assert vocabulary.facts["task"].assumptions == ()
    (seven,) = vocabulary.facts["param_count_b"].assumptions
    assert seven.assume == "7b"
    assert [entry.when for entry in vocabulary.facts["precision"].assumptions] == ["task == training", None]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{type: enum}", "an enum needs choices"),
        ("{type: int, choices: [a]}", "has no choices"),
        ("{type: list}", "a list needs items"),
        ("{type: int, items: gpu}", "only a list has items"),
        ("{type: enum, choices: [a], synonyms: {b: c}}", "c is not among the choices"),
        ("{type: enum, choices: [a], also_states: {c: {task: inference}}}", "c is no spelling of a choice"),
        ("{type: enum, choices: [a], also_states: {a: {tusk: inference}}}", "did you mean task?"),
        ("{type: enum, choices: [a], also_states: {a: {task: nonsense}}}", "is not a choice"),
        ("{type: enum, choices: [a], choice_labels: {z: y}}", "z is not among the choices"),
        ("{type: enum, choices: [a], open: true}", "needs the choice 'other'"),
        ("{type: enum, choices: [a, a]}", "a choice stands twice"),
        ("{type: text, min: 1}", "only numbers have min and max"),
        ("{type: int, min: 3, max: 2}", "min is more than max"),
        ("{type: int, scope: gpu}", "the scope must be workload"),
        ("{type: int, aliases: [id]}", "the alias id is reserved"),
        ("{type: int, aliases: [zbroken]}", "its own alias"),
        ("{type: int, aliases: [params]}", "belongs to"),
        ("{type: int, otherwise: tsk}", "no fact is called 'tsk'; did you mean task?"),
        ("{type: int, when_unstated: {assume: many}}", "'many' is not a number"),
        ("{type: int, when_unstated: {assume: unknown}}", "the assumed value is unknown"),
        ("{type: itn}", "type: should be"),
        ("{type: int, untt: GB}", "the key 'untt' is not known"),
        ("{unit: GB}", "the key 'type' is missing"),
        ("3", "must be a mapping"),
    ],
)
def test_every_mistake_has_its_place(tmp_path: Path, entry: str, message: str):
    with pytest.raises(KnowledgeError) as caught:
        load(tmp_path, FACTS + f"  zbroken: {entry}\n")
    assert message in str(caught.value)
    assert all(problem.place is not None for problem in caught.value.problems)
    line = FACTS.count("\n") + 1
    assert any(problem.place.line == line for problem in caught.value.problems)


def test_reserved_names_and_code_prefixes(tmp_path: Path):
    with pytest.raises(KnowledgeError) as caught:
        load(tmp_path, FACTS + "  gpu: {type: gpu}\n", "codes:\n  X-1: {meaning: x}\n  A-2: {priority: 9}\n")
    text = str(caught.value)
    assert "the name is reserved" in text
    assert "must start with A- or W-" in text
    assert "meaning" in text
    assert "priority" in text


@pytest.mark.parametrize("facts", ["- a\n", "other: {}\n", "facts: [1]\n"])
def test_a_file_of_another_shape(tmp_path: Path, facts: str):
    with pytest.raises(KnowledgeError, match="must hold the one key 'facts:'"):
        load(tmp_path, facts)


def test_missing_files_are_reported(tmp_path: Path):
    with pytest.raises(KnowledgeError, match="there is no file"):
        load_vocabulary(tmp_path)


def test_the_real_vocabulary_loads():
    vocabulary = load_vocabulary(locate("knowledge"), cached=False)
    assert {"task", "param_count_b", "plan.count", "gpu.vram_gb"} <= set(vocabulary.facts)
    assert vocabulary.codes
