"""Layers of knowledge: facts, codes, GPUs, sources and prices of one's own, every mistake at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whichgpu import Advisor, load_advisor
from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.rules.facts import load_vocabulary


FACTS = """\
facts:
  quiet_office: {type: bool, label: quiet, question: Must it be quiet?, askable: if_it_matters}
  gpu.noise_db: {type: number, unit: dB, min: 0, label: noise}
"""
SOURCES = "sources:\n  - {id: lab, title: Our lab, kind: data}\n"
GPUS = """\
gpus:
  - {id: acme-one, family: acme-one, series: acme, name: Acme One, vendor: acme, vram_gb: 48, sw_stack: cuda,
     facts: {gpu.noise_db: 30}, evidence: {vram_gb: [lab]}}
  - {id: nvidia-rtx-4090, because: Measured., buy_usd: 1234, facts: {gpu.noise_db: 52}}
"""
PRICES = """\
provider,provider_class,instance,gpu,count,usd_per_hour,spot_usd_per_hour,region,as_of,source
acme-cloud,neocloud,one,acme-one,1,0.5,,eu,2026-11-01,lab
"""
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a layer, file by file."""

    def write(**files: str) -> Path:
        folder = tmp_path / "acme"
        for name, text in files.items():
            path = folder / name.replace("__", "/").replace("_csv", ".csv")
            path = path if path.suffix else path.with_suffix(".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    return write


@pytest.fixture
def layer(write: Write) -> Path:
    return write(vocabulary=FACTS, sources=SOURCES, gpus__acme=GPUS, prices_csv=PRICES)


def test_a_layer_adds_and_changes(layer: Path) -> None:
    advisor = load_advisor([layer])
    knowledge = advisor.knowledge
    assert knowledge.gpu_facts["acme-one"]["gpu.noise_db"] == 30
    assert knowledge.gpus["nvidia-rtx-4090"].buy_usd == 1234
    assert knowledge.gpus["nvidia-rtx-4090"].name == "GeForce RTX 4090"
    assert knowledge.find_gpu("Acme One").ids == ("acme-one",)
    assert [offer.usd_per_hour for offer in knowledge.offers if offer.gpu == "acme-one"] == [0.5]
    assert advisor.vocabulary.facts["quiet_office"].question == "Must it be quiet?"
    (laid,) = knowledge.layers
    assert (laid.facts, laid.gpus) == (("gpu.noise_db", "quiet_office"), ("acme-one", "nvidia-rtx-4090"))
    assert (laid.sources, laid.offers) == (("lab",), 1)
    assert laid.because == {"nvidia-rtx-4090": "Measured."}
    assert not laid.empty
    assert [entry["name"] for entry in advisor.layers()] == ["rules", "acme"]
    assert advisor.layers()[1]["knowledge"] == laid.digest


def test_digests_follow_what_a_layer_says(write: Write, layer: Path) -> None:
    plain = load_knowledge()
    first = load_knowledge(layers=[layer])
    write(vocabulary=FACTS.replace("Must it", "Has it to"))
    second = load_knowledge(layers=[layer])
    assert len({plain.digest, first.digest, second.digest}) == 3
    assert len({first.layers[0].digest, second.layers[0].digest}) == 2
    (layer / "prices.csv").unlink()
    assert load_knowledge(layers=[layer]).digest not in {first.digest, second.digest}


def test_a_layer_of_rules_alone_leaves_the_knowledge_as_it_is(tmp_path: Path) -> None:
    loaded = load_knowledge(layers=[tmp_path])
    assert loaded.digest == load_knowledge().digest
    assert loaded.layers[0].empty


def test_later_layers_change_earlier_ones(layer: Path, tmp_path: Path) -> None:
    team = tmp_path / "team"
    team.mkdir()
    (team / "vocabulary.yaml").write_text("facts:\n  quiet_office: {because: Ours., question: Quiet?}\n")
    (team / "gpus.yaml").write_text("gpus:\n  - {id: acme-one, because: Ours., vram_gb: 40}\n")
    (team / "prices.csv").write_text(PRICES.replace("0.5", "0.4"))
    (team / "codes.yaml").write_text("codes:\n  W-LOUD: {priority: 2, meaning: It is loud.}\n")
    (team / "figures.yaml").write_text("figures:\n  our-limit: {value: 3, meaning: Ours, sources: [lab]}\n")
    advisor = load_advisor([layer, team])
    assert advisor.vocabulary.facts["quiet_office"].question == "Quiet?"
    assert advisor.vocabulary.facts["quiet_office"].label == "quiet"
    assert advisor.vocabulary.codes["W-LOUD"].priority == 2
    assert advisor.knowledge.gpus["acme-one"].vram_gb == 40
    assert advisor.knowledge.figures["our-limit"]["value"] == 3
    assert [offer.usd_per_hour for offer in advisor.knowledge.offers if offer.gpu == "acme-one"] == [0.4]
    assert advisor.knowledge.layers[1].because == {"acme-one": "Ours.", "quiet_office": "Ours."}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"vocabulary": "facts:\n  task: {type: bool}\n"}, "task is defined already, in"),
        ({"vocabulary": "facts:\n  own: {type: bol}\n"}, "vocabulary.yaml:2:15"),
        ({"vocabulary": "facts:\n  own: {type: bool, because: Why?}\n"}, "'because' is not known here"),
        ({"codes": "codes:\n  LOUD: {meaning: It is.}\n"}, "must start with A- or W-"),
        ({"gpus": "gpus:\n  - {id: nvidia-l40s, buy_usd: 1}\n"}, "'nvidia-l40s' is there already"),
        ({"gpus": "gpus:\n  - {id: x, because: y}\n"}, "'because' is not known here"),
        ({"gpus": "gpus:\n  - {id: nvidia-l40s, because: y, vramm_gb: 1}\n"}, "did you mean vram_gb"),
        ({"gpus": "gpus: 3\n"}, "must be a list of records"),
        ({"gpus": "gpu: []\n"}, "has no key 'gpus'"),
        ({"gpus": GPUS}, "no source 'lab'"),
        ({"figures": "figures:\n  cloud_idle_pct: {value: 3}\n"}, "cloud_idle_pct"),
        ({"prices_csv": PRICES.replace("acme-one", "acme-on")}, "prices.csv:2:"),
        ({"prices_csv": PRICES.replace("acme-one", "nvidia-l40s")}, "prices.csv:2:58"),
        ({"gpus": GPUS, "sources": SOURCES}, "gpus.yaml:3:28"),
        (
            {"gpus": GPUS, "sources": SOURCES, "vocabulary": FACTS.replace("number, unit: dB, min: 0", "bool")},
            "gpu.noise_db",
        ),
        ({"gpus": GPUS.replace("gpu.noise_db", "gpu.vram_gb"), "sources": SOURCES}, "gives already"),
        ({"gpus": GPUS.replace("gpu.noise_db", "training"), "sources": SOURCES}, "no gpu.* fact"),
    ],
)
def test_mistakes_are_reported_at_their_place(write: Write, files: dict[str, str], said: str) -> None:
    folder = write(**files)
    with pytest.raises(KnowledgeError) as caught:
        load_advisor([folder])
    assert said in str(caught.value)
    assert str(folder) in str(caught.value)


def test_a_price_list_that_is_no_text(write: Write) -> None:
    folder = write(prices_csv="x")
    (folder / "prices.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(KnowledgeError, match="not UTF-8"):
        load_knowledge(layers=[folder])


def test_the_vocabulary_alone(layer: Path) -> None:
    assert "quiet_office" in load_vocabulary(locate("knowledge"), layers=[layer]).facts


def test_knowledge_that_was_loaded_already(layer: Path, advisor: Advisor) -> None:
    knowledge = load_knowledge(layers=[layer])
    assert load_advisor([layer], knowledge=knowledge).knowledge is knowledge
    assert "acme-one" not in advisor.knowledge.gpus
