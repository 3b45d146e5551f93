"""A rulebook that was kept is the one that the files hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import known_names
from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import RulebookError, locate, sources_alone
from whichgpu.engine.rules import conditions_of, load_rulebook, load_vocabulary
from whichgpu.engine.rules.rulebook.model import Rulebook


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("WHICHGPU_CACHE", raising=False)
    return tmp_path


def load(*layers: Path, cached: bool = True) -> Rulebook:
    vocabulary = load_vocabulary(locate("knowledge"), layers=layers)
    known = known_names(load_knowledge(layers=layers))
    return load_rulebook([locate("rules"), *layers], vocabulary, known, cached=cached, tests=False)


def test_everything_that_is_kept_is_what_the_files_say(home: Path) -> None:
    with sources_alone():
        read = load(), load_vocabulary(locate("knowledge")), load_knowledge()
        conditions = conditions_of(read[1])
    for _ in range(2):  # made, then taken from the cache
        vocabulary, knowledge = load_vocabulary(locate("knowledge")), load_knowledge()
        found = load()
        assert found.key is not None
        assert (replace(found, key=None), knowledge) == (read[0], read[2])
        assert (vocabulary.facts, vocabulary.codes) == (read[1].facts, read[1].codes)
        assert conditions_of(vocabulary) == conditions
        assert knowledge.find_model("llama 3.1 8b") == read[2].find_model("llama 3.1 8b")
    kinds = {path.name.split("-")[0] for path in (home / "cache").rglob("*.msgpack")}
    assert {"rulebook", "vocabulary", "knowledge", "conditions"} <= kinds


def test_a_layer_that_changes_is_read_anew(home: Path) -> None:
    layer = home / "layer"
    layer.mkdir()
    rule = (
        "- id: own-rule\n  title: A rule of our own\n  stage: prefer\n  each: plan\n  when: [plan.count > {}]\n"
        "  then: {{points: -1, reason: fit}}\n  because: We say so.\n  sources: [runpod/faq]\n"
    )
    (layer / "own.yaml").write_text(rule.format(4))
    first = load(layer)
    (layer / "own.yaml").write_text(rule.format(8))
    second = load(layer)
    assert first.rule("own-rule").when[0].text == "plan.count > 4"
    assert second.rule("own-rule").when[0].text == "plan.count > 8"
    assert load(layer) == second
    (layer / "own.yaml").write_text("- id: own-rule\n")
    with pytest.raises(RulebookError):
        load(layer)
    (layer / "own.yaml").unlink()
    assert "own-rule" not in {rule.id for rule in load(layer).rules}


def test_a_warm_start_makes_no_models_and_reads_no_rules() -> None:
    code = (
        "import sys\nfrom whichgpu.engine.advisor import load_advisor\nload_advisor(tests=False)\n"
        "heavy = {'pydantic', 'yaml', 'whichgpu.engine.rules.rulebook.assembling', 'whichgpu.engine.catalogue.folder',"
        " 'whichgpu.engine.rules.language.parsing'}\n"
        "print(sorted(heavy & set(sys.modules)) if sys.argv[1:] else '[]')"
    )
    for arguments in ([], ["warm"]):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")
