from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from whichgpu import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.yaml import plain, read_yaml_text


Whichgpu = Callable[..., Any]

PRICES = """\
provider,provider_class,instance,gpu,count,usd_per_hour,spot_usd_per_hour,region,as_of,source
acme,neocloud,one,nvidia-l4,1,0.01,,,2026-11-01,my-quote
acme,neocloud,two,L40S,2,3.5,1.5,eu,2026-11-01,my-quote
acme,marketplace,three,nvidia-l4,1,,0.02,,2026-11-01,my-quote
"""


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (("facts", "zzzz"), "whichgpu facts lists them"),
        (("prices", "zzz"), "see: whichgpu gpus"),
        (("prices", "l4", "--currency", "XXX"), "name one of AUD, BRL"),
        (("fit", "--gpu", "l4", "--precision", "foo"), "name one of fp32, "),
        (("fit", "--gpu", "l4", "--kind", "foo"), "name one of detection, "),
        (("rules", "graph", "zzz"), "whichgpu rules list and whichgpu facts name them"),
    ],
)
def test_a_name_of_nothing_comes_with_where_names_are(arguments: tuple[str, ...], fix: str, whichgpu: Whichgpu) -> None:
    ran = whichgpu(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"fix: {fix}" in ran.err
    assert " or AUD or " not in ran.err


def test_facts_lists_what_can_be_stated(whichgpu: Whichgpu) -> None:
    ran = whichgpu("facts")
    assert ran.code == 0
    assert "param_count_b" in ran.out
    assert "number (B), from " in ran.out
    assert "gpu.tdp_w" not in ran.out
    assert "gpu.tdp_w" in whichgpu("facts", "--derived").out


def test_one_fact_in_full(whichgpu: Whichgpu) -> None:
    ran = whichgpu("facts", "task")
    assert "if not given:" in ran.out
    assert "must be given" in ran.out
    assert "- inference: " in ran.out
    assert json.loads(whichgpu("facts", "task", "--format", "json").out)["when_unstated"] == "must_ask"
    assert whichgpu("facts", "task", "--format", "markdown").out.startswith("# task\n")


def test_a_fact_that_is_assumed_says_what_and_why(whichgpu: Whichgpu) -> None:
    assert "is assumed" in whichgpu("facts", "is_moe").out


def test_a_misspelt_fact_gets_the_nearest(whichgpu: Whichgpu) -> None:
    ran = whichgpu("facts", "param_count")
    assert ran.code == 2
    assert "did you mean param_count_b" in ran.err


def test_gpus(whichgpu: Whichgpu) -> None:
    ran = whichgpu("gpus")
    assert ran.code == 0
    assert "nvidia-h100-80gb-sxm" in ran.out
    listed = json.loads(whichgpu("gpus", "--format", "json").out)
    assert {"nvidia-l4", "amd-mi300x"} <= {gpu["id"] for gpu in listed}


def test_one_gpu_with_sources(whichgpu: Whichgpu) -> None:
    ran = whichgpu("gpus", "L4")
    assert "A job can use 23.7 GB (22.1 GiB)" in ran.out
    assert "whichgpu prices nvidia-l4" in ran.out
    assert "Sources" in ran.out


def test_a_series_shows_all_its_members(whichgpu: Whichgpu) -> None:
    shown = json.loads(whichgpu("gpus", "nvidia-a100", "--format", "json").out)
    assert {gpu["series"] for gpu in shown} == {"nvidia-a100"}
    assert len(shown) >= 4


def test_a_gpu_that_is_never_recommended_says_so(whichgpu: Whichgpu) -> None:
    assert "Never recommended" in whichgpu("gpus", "nvidia-dgx").out


@pytest.mark.parametrize(
    ("command", "name"), [("gpus", "nvidia-l44"), ("models", "lamma-3.1-8b"), ("prices", "nvidia-l44")]
)
def test_an_unknown_name_gets_the_nearest(whichgpu: Whichgpu, command: str, name: str) -> None:
    ran = whichgpu(command, name)
    assert ran.code == 2
    assert "did you mean" in ran.err


def test_models(whichgpu: Whichgpu) -> None:
    assert "llama-3.1-8b" in whichgpu("models").out
    page = whichgpu("models", "meta-llama/Llama-3.1-8B").out
    assert "id llama-3.1-8b" in page
    assert "8.03 billion" in page
    assert json.loads(whichgpu("models", "llama-3.1-8b", "--format", "json").out)[0]["layers"] == 32


def test_words_and_limits_narrow_the_gpus(whichgpu: Whichgpu) -> None:
    found = json.loads(whichgpu("gpus", "hopper", "--min-memory", "80", "--max-price", "3", "--format", "json").out)
    assert {gpu["architecture"] for gpu in found} == {"hopper"}
    assert "nvidia-h100-80gb-sxm" in {gpu["id"] for gpu in found}
    assert min(gpu["vram_gb"] for gpu in found) >= 80
    assert "id nvidia-rtx-4090" in whichgpu("gpus", "rtx", "4090").out
    assert whichgpu("gpus", "L4", "--min-memory", "80").code == 1
    rows = whichgpu("gpus", "laptop", "--format", "csv").out.splitlines()
    assert rows[0].startswith("id,family,series,name")
    assert len(rows) > 20


def test_words_tasks_and_sizes_narrow_the_models(whichgpu: Whichgpu) -> None:
    found = json.loads(whichgpu("models", "qwen", "--task", "embedding", "--format", "json").out)
    assert {"qwen3-embedding-8b", "gte-qwen2-7b-instruct"} <= {model["id"] for model in found}
    assert {model["kind"] for model in found} == {"encoder"}
    small = json.loads(whichgpu("models", "--task", "llm", "--max-params", "1", "--format", "json").out)
    assert 0 < max(model["params_b"] for model in small) <= 1
    assert "qwen2.5-7b" in whichgpu("models", "qwen").out
    assert "name one of" in whichgpu("models", "--task", "cooking").err


def test_prices_come_cheapest_first(whichgpu: Whichgpu) -> None:
    offers = json.loads(whichgpu("prices", "nvidia-l4", "--provider", "aws", "--format", "json").out)
    each = [offer["usd_per_hour"] / offer["count"] for offer in offers]
    assert each == sorted(each)
    assert {offer["provider"] for offer in offers} == {"aws"}
    assert "g6.xlarge" in whichgpu("prices", "L4", "--provider", "aws").out
    assert "no offer is of the provider 'nobody'" in whichgpu("prices", "nvidia-l4", "--provider", "nobody").err
    ran = whichgpu("prices", "nvidia-l4", "--max-price", "0.001")
    assert (ran.code, "No offer" in ran.out) == (1, True)


def test_imported_prices_lie_over_the_snapshot(whichgpu: Whichgpu, tmp_path: Path, own_data: Path) -> None:
    before = len(json.loads(whichgpu("prices", "--format", "json").out))
    file = tmp_path / "mine.csv"
    file.write_text(PRICES)
    ran = whichgpu("prices", "import", str(file))
    assert ran.out == f"3 offers imported to {own_data}/whichgpu/prices.csv.\n"
    assert (own_data / "whichgpu" / "prices.csv").stat().st_mode & 0o777 == 0o600
    offers = json.loads(whichgpu("prices", "--format", "json").out)
    assert len(offers) == before + 3
    assert [offer["usd_per_hour"] for offer in offers if offer["instance"] == "one"] == [0.01]
    assert "acme" in whichgpu("prices", "nvidia-l4").out
    assert whichgpu("prices", "forget").out == "Imported prices dropped.\n"
    assert whichgpu("prices", "forget").out == "There were no imported prices.\n"
    assert len(json.loads(whichgpu("prices", "--format", "json").out)) == before


def test_an_imported_offer_replaces_the_same_shape(whichgpu: Whichgpu, tmp_path: Path) -> None:
    before = json.loads(whichgpu("prices", "nvidia-l4", "--provider", "aws", "--format", "json").out)
    first = before[0]
    row = f"aws,hyperscaler,{first['instance']},nvidia-l4,{first['count']},99,,{first['region']},2026-11-01,quote\n"
    whichgpu("prices", "import", "-", stdin=PRICES.splitlines()[0] + "\n" + row)
    after = json.loads(whichgpu("prices", "nvidia-l4", "--provider", "aws", "--format", "json").out)
    assert len(after) == len(before)
    assert after[-1]["usd_per_hour"] == 99


def test_a_wrong_price_list_is_refused_whole(whichgpu: Whichgpu, tmp_path: Path, own_data: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(PRICES.replace("0.01", "cheap").replace("L40S", "L40X"))
    ran = whichgpu("prices", "import", str(file))
    assert ran.code == 2
    assert f"{file}:2:" in ran.err
    assert f"{file}:3:" in ran.err
    assert not own_data.exists()


def test_a_price_list_that_is_not_there(whichgpu: Whichgpu) -> None:
    ran = whichgpu("prices", "import", "nowhere.csv")
    assert ran.code == 2
    assert "there is no file nowhere.csv" in ran.err


def test_schemas(whichgpu: Whichgpu) -> None:
    for shape in ("decision", "decision_line", "compact_line", "record", "size_answer", "refused_line"):
        jsonschema_rs.meta.validate(json.loads(whichgpu("schema", shape).out))


@pytest.mark.parametrize("task", ["pretraining", "inference", None])
def test_init_writes_a_workload_that_can_be_read(
    whichgpu: Whichgpu, advisor: Advisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = whichgpu("init", *(["--task", task] if task else []))
    assert ran.code == 0
    assert "whichgpu recommend workload.yaml" in ran.out
    text = (tmp_path / "workload.yaml").read_text()
    assert max(map(len, text.splitlines())) <= 100
    assert ("\ntask: " in text) is bool(task)
    if task == "pretraining":
        assert "ttft_slo_ms" not in text
    stated = text.replace("#task:", "task: inference").replace("#param_count_b:", "param_count_b: 8")
    given = advisor.read(plain(read_yaml_text(stated, "workload.yaml", error=InputError))).given
    assert given == {"task": task or "inference", "param_count_b": 8}


def test_init_never_overwrites_unasked(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("task: inference\n")
    ran = whichgpu("init", str(file))
    assert ran.code == 2
    assert "is there already, and was left as it is" in ran.err
    assert file.read_text() == "task: inference\n"
    assert whichgpu("init", str(file), "--force").code == 0
    assert file.read_text().startswith("# A workload for whichgpu.")


def test_init_can_print_and_can_hold_everything(whichgpu: Whichgpu) -> None:
    usual, everything = whichgpu("init", "-").out, whichgpu("init", "-", "--all").out
    assert "#task:" in usual
    assert usual.count("\n#") < everything.count("\n#")
