"""Loading a folder: errors with their places, the digest, the cache, and that nothing stands without a source."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.catalogue.bundle import knowledge_digest
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.yaml import cache


KNOWLEDGE = load_knowledge()

SOURCES = "sources:\n  - {id: page, title: A page, kind: page}\n"
GPU = """gpus:
  - id: maker-x1
    family: maker-x1
    series: maker-x1
    name: X1
    vendor: maker
    architecture: one
    vram_gb: 16
    evidence: {vram_gb: [page]}
"""
MODEL = """models:
  - id: acme-1b
    name: Acme 1B
    kind: llm
    params_b: 1
    sources: [page]
"""
PRICES = (
    "provider,provider_class,instance,gpu,count,usd_per_hour,spot_usd_per_hour,region,as_of,source\n"
    "a,neocloud,,X1,1,2.5,,,2026-01-02,page\n"
)
LINES = "lines:\n  - {vendor: maker, newest_first: [[two], [one]], sources: [page]}\n"
RESERVES = "reserves:\n  - {vendor: maker, base_mib: 100, sources: [page]}\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("WHICHGPU_CACHE", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small but complete knowledge folder."""
    root = tmp_path / "facts"
    write(root, "sources.yaml", SOURCES)
    write(root, "gpus/makers.yaml", GPU)
    write(root, "models/acme.yaml", MODEL)
    write(root, "prices.csv", PRICES)
    write(root, "generations.yaml", LINES)
    write(root, "memory_reserve.yaml", RESERVES)
    write(root, "figures.yaml", "figures:\n  b: {value: 2}\n  a: {value: 1}\n")
    write(root, "disagreements.yaml", "disagreements:\n  C01: {title: t}\n")
    return root


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def problems(root: Path) -> list[str]:
    with pytest.raises(KnowledgeError) as caught:
        load_knowledge(root)
    return [problem.render() for problem in caught.value.problems]


def test_a_small_folder(folder: Path) -> None:
    loaded = load_knowledge(folder)
    gpu = loaded.gpus["maker-x1"]
    assert gpu.generation_lag == 1
    assert gpu.usable_assumed
    assert loaded.offers[0].gpu == "maker-x1"
    assert loaded.prices_as_of == "2026-01-02"
    assert list(loaded.figures) == ["a", "b"]
    assert loaded.disagreements["C01"] == {"title": "t"}
    assert loaded.families == {"maker-x1": ("maker-x1",)}
    assert loaded.series == {"maker-x1": ("maker-x1",)}
    assert loaded.gpu_facts["maker-x1"]["gpu.vram_gb"] == 16


def test_parts_may_be_missing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    loaded = load_knowledge(tmp_path / "empty")
    assert (loaded.gpus, loaded.offers, loaded.prices_as_of) == ({}, (), None)


def test_usable_memory_may_be_stated_and_is_read_from_the_driver_otherwise(folder: Path) -> None:
    write(folder, "gpus/makers.yaml", GPU + "    device_mib: 16000\n")
    assert load_knowledge(folder).gpus["maker-x1"].usable_gb == pytest.approx(15_900 * 1.048576e-3, abs=1e-3)
    write(folder, "gpus/makers.yaml", GPU + "    usable_gb: 15\n")
    assert load_knowledge(folder).gpus["maker-x1"].usable_gb == 15


@pytest.mark.parametrize(
    ("name", "old", "new", "place", "says"),
    [
        (
            "gpus/makers.yaml",
            "vram_gb: 16\n",
            "vram_gbb: 16\n",
            "facts/gpus/makers.yaml:8:5",
            "'vram_gbb' is not known",
        ),
        ("gpus/makers.yaml", "vram_gb: 16\n", "vram_gb: much\n", "facts/gpus/makers.yaml:8:14", "should be a number"),
        ("gpus/makers.yaml", "    name: X1\n", "", "facts/gpus/makers.yaml:2:5", "'name' is missing"),
        ("gpus/makers.yaml", "[page]", "[pgae]", "facts/gpus/makers.yaml:9:26", "no source 'pgae'"),
        ("gpus/makers.yaml", "vram_gb: 16\n", "plannable: false\n", "facts/gpus/makers.yaml:8:16", "nothing says why"),
        ("gpus/makers.yaml", "gpus:", "gpu:", "facts/gpus/makers.yaml:1:1", "has no key 'gpus'"),
        ("models/acme.yaml", "kind: llm", "kind: lm", "facts/models/acme.yaml:4:11", "kind"),
        ("models/acme.yaml", "sources: [page]", "sources: [pages]", "facts/models/acme.yaml:6:15", "no source 'pages'"),
        ("prices.csv", "X1", "X2", "facts/prices.csv:2:13", "no accelerator is called 'X2'"),
        ("prices.csv", ",page", ",paeg", "", "no source 'paeg'"),
        ("generations.yaml", "vendor: maker, ", "", "facts/generations.yaml:2:5", "'vendor' is missing"),
        ("sources.yaml", "kind: page", "kind: pag", "facts/sources.yaml:2:37", "kind"),
        ("figures.yaml", "figures:", "figure:", "facts/figures.yaml:1:1", "has no key 'figures'"),
    ],
)
def test_errors_name_their_place(folder: Path, name: str, old: str, new: str, place: str, says: str) -> None:
    path = folder / name
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    found = problems(folder)
    assert len(found) == 1
    assert found[0].startswith(place)
    assert says in found[0]


def test_errors_of_all_files_are_reported_at_once(folder: Path) -> None:
    write(folder, "gpus/makers.yaml", GPU.replace("vram_gb", "vram"))
    write(folder, "models/acme.yaml", "models: {}\n")
    write(folder, "broken.yaml", "a: [1\n")
    write(folder, "costs.yaml", "costs: [\n")
    found = "\n".join(problems(folder))
    assert "'vram' is not known" in found
    assert "models must be a list" in found
    assert "facts/costs.yaml" in found


def test_one_id_is_one_record_whatever_the_file(folder: Path) -> None:
    write(folder, "gpus/more.yaml", GPU)
    (found,) = problems(folder)
    assert found.startswith("facts/gpus/more.yaml:2:9")
    assert "'maker-x1' is used already" in found


def test_prices_that_are_no_text(folder: Path) -> None:
    (folder / "prices.csv").write_bytes(b"provider\xff\n")
    assert "not UTF-8" in problems(folder)[0]


# ------------------------------------------------------------------------------------------------------ digest


def test_the_digest_follows_content_and_not_files_or_order(folder: Path) -> None:
    first = load_knowledge(folder).digest
    reordered = GPU.replace("    name: X1\n    vendor: maker\n", "    vendor: maker   # a remark\n    name: X1\n")
    write(folder, "gpus/makers.yaml", reordered)
    shutil.move(folder / "models" / "acme.yaml", folder / "models" / "other.yaml")
    assert load_knowledge(folder).digest == first
    write(folder, "gpus/makers.yaml", GPU.replace("16", "24"))
    assert load_knowledge(folder).digest != first


def test_the_digest_covers_files_that_others_read(folder: Path) -> None:
    first = load_knowledge(folder).digest
    write(folder, "vocabulary.yaml", "facts: {a: {type: bool}}\n")
    second = load_knowledge(folder).digest
    write(folder, "vocabulary.yaml", "facts: {a: {type: int}}\n")
    assert len({first, second, load_knowledge(folder).digest}) == 3


def test_the_digest_is_of_values() -> None:
    assert knowledge_digest({"a": [{"id": "x", "n": 1.0}, {"id": "b"}]}) == knowledge_digest(
        {"a": [{"id": "b"}, {"id": "x", "n": 1}]}
    )
    assert knowledge_digest({"a": [1, 2]}) != knowledge_digest({"a": [2, 1]})
    assert knowledge_digest({"a": 1.5}) != knowledge_digest({"a": 1})


# ------------------------------------------------------------------------------------------------------- cache


def test_the_cache_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = load_knowledge(folder)
    warm = load_knowledge(folder)
    monkeypatch.setenv("WHICHGPU_CACHE", "off")
    without = load_knowledge(folder)
    assert cold == warm == without


def test_a_spoilt_cache_is_not_believed(folder: Path) -> None:
    good = load_knowledge(folder)
    kept = cache.cache_folder()
    assert kept is not None
    for path in kept.glob("*.knowledge*.json"):
        path.write_text("[]", encoding="utf-8")
    assert load_knowledge(folder) == good


# ----------------------------------------------------------------------------------------------------- sources


def test_nothing_stands_without_a_source() -> None:
    for gpu in KNOWLEDGE.gpus.values():
        assert gpu.evidence, gpu.id
        for field, value in (("vram_gb", gpu.vram_gb), ("mem_bw_tbs", gpu.mem_bw_tbs), ("tdp_w", gpu.tdp_w)):
            assert value is None or gpu.evidence.get(field), (gpu.id, field)
        for precision in gpu.tflops:
            assert gpu.evidence.get(f"tflops.{precision}"), (gpu.id, precision)
        for field in ("link_gbs", "buy_usd", "achieved", "device_mib", "ecc", "mig_profiles"):
            assert not getattr(gpu, field) or gpu.evidence.get(field), (gpu.id, field)
    for model in KNOWLEDGE.models.values():
        assert model.sources, model.id
    for cost in KNOWLEDGE.costs.values():
        assert cost.sources, cost.id
        assert cost.value is not None or cost.low is not None, cost.id
    assert all(offer.source for offer in KNOWLEDGE.offers)


def test_every_cited_source_exists() -> None:
    """Also in the files that other rooms read; their loaders do not look sources up."""
    known = set(KNOWLEDGE.sources)
    for path in sorted(locate("knowledge").rglob("*.yaml")):
        for cited in _cited(yaml.safe_load(path.read_text(encoding="utf-8"))):
            assert cited.partition("/")[0] in known, f"{path.name} cites {cited}"


def _cited(content: object) -> list[str]:
    """Everything under a key ``sources``, or ``source`` beside ``says``."""
    found: list[str] = []
    if isinstance(content, dict):
        sources = content.get("sources")
        if isinstance(sources, list):
            found += [source for source in sources if isinstance(source, str)]
        if "says" in content:
            found.append(content["source"])
        for value in content.values():
            found += _cited(value)
    elif isinstance(content, list):
        for value in content:
            found += _cited(value)
    return found


def test_the_guides_are_known_for_what_they_are() -> None:
    guides = {key: source for key, source in KNOWLEDGE.sources.items() if source.kind == "guide"}
    assert set(guides) == {"thunder", "briefing", "runpod", "fpt", "gmi"}
    assert {key for key, source in guides.items() if source.seller} == {"thunder", "runpod", "fpt", "gmi"}


def test_the_licences_name_every_data_file() -> None:
    folder = locate("knowledge")
    text = (folder / "LICENSES.md").read_text(encoding="utf-8")
    for path in folder.iterdir():
        name = f"{path.name}/*.yaml" if path.is_dir() else path.name
        if path.name != "LICENSES.md":
            assert f"`{name}`" in text or path.suffix == ".yaml", name
    for name in ("gpus/*.yaml", "models/*.yaml", "prices.csv", "sources.yaml"):
        assert f"`{name}`" in text
