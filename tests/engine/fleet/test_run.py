"""A run: equal jobs once, every job a row, on from where it ended, and cost then beside cost now."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.fleet import checking, formats
from whichgpu.engine.fleet.compare import compare_results
from whichgpu.engine.fleet.figures import figures_of
from whichgpu.engine.fleet.mapping import JobMap, Taken, map_of_result
from whichgpu.engine.fleet.run import Kept, Progress
from whichgpu.engine.fleet.store import Store
from whichgpu.engine.rules.inference.firing import probing

from .conftest import MOMENT, Fleet, rows_of


#: What cannot be sized is decided quickest.
TRY = {"task": "experimentation"}


def test_equal_jobs_are_decided_once_however_they_are_written(fleet: Fleet) -> None:
    jobs = [TRY | {"run_hours": hours, "id": n} for n, hours in enumerate(["2 h", 2, 2.0, "120 min", 3])]
    store, asked = fleet([*jobs, {"id": 9} | TRY | {"run_hours": 2}])
    assert len(asked) == 2
    rows = rows_of(store, "row", "id", "status", "facts")
    assert [row["id"] for row in rows] == ["0", "1", "2", "3", "4", "9"]
    assert [row["row"] for row in rows] == list(range(6))
    assert {row["status"] for row in rows} == {"decided"}
    assert [part.distinct for part in store.manifest.parts] == [1, 1]


@pytest.mark.parametrize("form", formats.FORMS)
def test_a_row_holds_what_recommend_answers(form: str, fleet: Fleet, advisor: Advisor) -> None:
    store, _ = fleet([TRY], form=form)
    (row,) = rows_of(store, "answer", "now_plan", "now_usd_per_hour", "rules", "proven", "now_count", "error")
    with probing():
        answer = advisor.decide(TRY, decided_at=MOMENT).compact()
    assert json.loads(row["answer"]) == json.loads(json.dumps(answer))
    assert answer["plan"] is not None
    assert answer["price"] is not None
    assert row["now_plan"] == answer["plan"]["id"]
    assert row["now_count"] == answer["plan"]["count"]
    assert row["now_usd_per_hour"] == answer["price"]["usd_per_hour"]
    assert (row["rules"], row["proven"], row["error"]) == (answer["rules"], answer["proven"], None)


def test_wrong_jobs_are_rows_and_stop_nothing(fleet: Fleet) -> None:
    jobs = [TRY, {"task": "tain"}, {"tsk": 1}, {"model_family": "llm"}, TRY | {"concurrency": -1}, TRY]
    store, _ = fleet(jobs)
    rows = rows_of(store, "status", "error_code", "missing", "now_plan", "then_usd")
    assert [row["status"] for row in rows] == ["decided", "error", "error", "no_answer", "error", "decided"]
    assert [row["error_code"] for row in rows[:3]] == [None, "unknown-choice", "unknown-fact"]
    assert rows[3]["missing"] == ["task"]
    assert sum(part.errors for part in store.manifest.parts) == 3


def test_a_run_goes_on_where_it_ended(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [TRY | {"run_hours": n + 1, "id": n} for n in range(7)]
    whole, _ = fleet(jobs, out="whole")
    real = Store.add

    def stopped(self: Store, *arguments: Any, **options: Any) -> Any:
        if len(self.manifest.parts) == 1:
            raise KeyboardInterrupt
        return real(self, *arguments, **options)

    monkeypatch.setattr(Store, "add", stopped)
    with pytest.raises(KeyboardInterrupt):
        fleet(jobs)
    monkeypatch.setattr(Store, "add", real)
    reported: list[Progress] = []
    store, asked = fleet(jobs, report=reported.append)
    # Three rows are in the part, and three more were decided for the next before the run ended.
    assert len(asked) == 1
    assert store.manifest.complete
    assert reported[-1].rows == 7
    assert reported[-1].share == 1
    names = ("row", "id", "status", "answer")
    assert rows_of(store, *names) == rows_of(whole, *names)


@pytest.mark.parametrize("changed", [{"rulebook": "x"}, {"knowledge": "x"}, {"changes": ("a=b",)}, {"map": "x"}])
def test_it_does_not_go_on_by_other_rules(changed: dict[str, Any], fleet: Fleet) -> None:
    fleet([TRY])
    with pytest.raises(InputError, match="begun with other"):
        fleet([TRY], **changed)


def test_a_folder_of_something_else_is_left_alone(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="no result"):
        fleet([TRY])


def test_two_runs_do_not_write_at_once(fleet: Fleet, tmp_path: Path) -> None:
    store, _ = fleet([TRY])
    with (
        closing(Store.open(tmp_path / "out", store.manifest)),
        pytest.raises(InputError, match="another run is writing"),
    ):
        fleet([TRY])


def test_a_full_disk_costs_no_part_that_is_complete(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [TRY | {"id": n, "run_hours": n + 1} for n in range(5)]
    real = formats.WRITERS["jsonl"]

    def full(path: Path, columns: Any, rows: int) -> None:
        if path.name.startswith(".part-00001"):
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        real(path, columns, rows)

    monkeypatch.setitem(formats.WRITERS, "jsonl", full)
    with pytest.raises(InputError, match="no space left on device"):
        fleet(jobs)
    monkeypatch.setitem(formats.WRITERS, "jsonl", real)
    store, asked = fleet(jobs)
    assert asked == []  # What was decided is kept, too.
    assert [row["id"] for row in rows_of(store, "id")] == list("01234")
    assert sorted(path.name for path in store.folder.iterdir()) == [
        "_manifest.json",
        "part-00000.jsonl",
        "part-00001.jsonl",
    ]


MONEY = JobMap(
    facts={"task": Taken(column="task"), "model_name": Taken(column="model"), "train_steps": Taken(column="steps")},
    then={name: Taken(column=name) for name in ("gpu", "count", "hours", "usd")},
    team="team",
)
TRAINED = {"task": "full_finetuning", "model": "resnet50", "steps": 1000}
HISTORY = [
    TRAINED | {"team": "a", "gpu": "H100 SXM", "count": 1, "hours": 10, "usd": 50},
    {"team": "a", "task": "experimentation", "gpu": "T4", "count": 0.5, "hours": 2},
    {"team": "b", "task": "experimentation", "gpu": "G2", "count": 1, "hours": 2},
    {"team": "b", "task": "experimentation", "count": 0, "hours": 2},
]
THEN = ("then_gpu", "then_usd", "then_usd_per_hour", "then_price", "then_problem")
NOW = ("status", "now_basis", "now_usd", "saving_usd", "now_count", "now_usd_per_hour")


def test_money_then_and_now(fleet: Fleet, advisor: Advisor) -> None:
    store, asked = fleet(HISTORY, MONEY)
    assert len(asked) == 3  # What used no GPU is not decided.
    stated, listed, unknown, idle = rows_of(store, *THEN, *NOW)
    assert (stated["then_price"], stated["then_usd"], stated["then_usd_per_hour"]) == ("stated", 50, 5)
    assert stated["now_basis"] == "run"
    assert stated["saving_usd"] == pytest.approx(50 - stated["now_usd"], rel=1e-5)
    assert (listed["then_price"], listed["now_basis"]) == ("offer", "same_gpu_hours")
    assert listed["then_usd"] == pytest.approx(2 * listed["then_usd_per_hour"])
    # A GPU of the plan is taken to do what one did then.
    assert listed["now_usd"] == pytest.approx(listed["now_usd_per_hour"] / listed["now_count"] * 0.5 * 2, rel=1e-5)
    assert unknown["then_problem"] == "no GPU is called 'G2'"
    assert unknown["then_usd"] is unknown["saving_usd"] is None
    assert (idle["status"], idle["now_usd"]) == ("no_gpu", None)


def test_figures_add_up(fleet: Fleet, advisor: Advisor) -> None:
    store, _ = fleet(HISTORY, MONEY)
    found = figures_of(store.folder, store.manifest, advisor)
    rows = rows_of(store, "then_usd", "saving_usd")
    saving = sum(row["saving_usd"] for row in rows if row["saving_usd"] is not None)
    assert found.status == {"decided": 3, "no_gpu": 1}
    assert found.whole.saving == pytest.approx(saving)
    for groups in found.by.values():
        assert sum(sums.saving for sums in groups.values()) == pytest.approx(saving)
        assert sum(sums.jobs for sums in groups.values()) == 4
    assert found.unpriced == {"no GPU is called 'G2'": 1}
    (before, after), shift = found.best()[0]
    assert before == "1 x nvidia-h100-80gb-sxm"
    assert after
    assert not found.verdicts & set(shift.rules)


def test_an_earlier_result_is_decided_again(fleet: Fleet, advisor: Advisor) -> None:
    jobs = [*HISTORY, {"team": "b", "task": "tain"}]
    store, _ = fleet(jobs, MONEY)
    again, _ = fleet(store.folder, map_of_result(()), out="again")
    same = compare_results(store.folder, again.folder)
    assert (same.jobs, same.same, same.differences) == (5, 5, {}), same.differences
    names = ("then_usd", "then_gpu", "now_usd", "status")
    assert rows_of(store, *names) == rows_of(again, *names)
    other, _ = fleet(
        store.folder, map_of_result(()), out="other", changes=("deployment_site=workstation", "num_gpus=2"), batch=2
    )
    found = compare_results(store.folder, other.folder)
    assert found.jobs - found.same == sum(each.jobs for each in found.differences.values()) >= 3
    checked = checking.check_result(again.folder, again.manifest, advisor, 2)
    assert checked == (2, ())


def test_results_over_other_jobs_are_not_compared(fleet: Fleet) -> None:
    one, _ = fleet([TRY | {"id": 1}], out="one")
    two, _ = fleet([TRY | {"id": 2}], out="two")
    with pytest.raises(InputError, match="other jobs"):
        compare_results(one.folder, two.folder)


def test_what_is_kept_stays_bounded() -> None:
    kept = Kept(2)
    kept.add([("a", "1"), ("b", "2")])
    assert kept.get("a") == "1"
    kept.add([("c", "3")])
    assert (len(kept), kept.get("b"), kept.get("a")) == (2, None, "1")
