"""How the tests are run, and the loaded advisor that all of them share.

``HYPOTHESIS_PROFILE=quick`` for a second interpreter, ``ci`` (the default) for the full run, ``thorough`` for a night.
The whole suite uses all cores where pytest-xdist is installed; a file or a test that is named runs in one process.
``-m "not slow"`` leaves out what takes most of the time and is no question of the interpreter.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from whichgpu.engine.advisor.advisor import Advisor, shipped_advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.pipeline import decide_workload
from whichgpu.engine.advisor.tradeoffs import trade_offs
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.yaml import read_yaml
from whichgpu.engine.interview.partial_plans import partial_plans


_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "derandomize": True}

settings.register_profile("ci", max_examples=40, **_CALM)
settings.register_profile("quick", max_examples=15, **_CALM)
settings.register_profile("thorough", max_examples=1000, **{**_CALM, "derandomize": False})
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


HERE = Path(__file__).parent

#: Most of the time of all tests.
SLOW = (
    "acceptance/test_cases_shifted.py",
    "acceptance/test_decision_laws.py",
    "acceptance/test_determinism.py",
    "acceptance/test_odd_input.py",
    "acceptance/test_soak.py",
    "acceptance/test_unseen_cases.py",
    "benchmarks/test_fleet_history.py",
    "benchmarks/test_layers.py",
    "benchmarks/test_load_simulator.py",
    "benchmarks/test_seeded_mistakes.py",
    "cli/report/test_report_in_browser.py",
    "cli/report/test_report_page.py",
    "cli/test_broken_records.py",
    "cli/test_explain_commands.py",
    "cli/test_fit_command.py",
    "cli/test_guide_cover.py",
    "cli/test_guides.py",
    "cli/test_interview_commands.py",
    "cli/test_interview_transcripts.py",
    "cli/test_recommend_command.py",
    "cli/test_record_commands.py",
    "cli/test_rules_checking.py",
    "cli/test_rules_command.py",
    "cli/test_rules_editing.py",
    "engine/advisor/answer/test_check.py",
    "engine/advisor/answer/test_decision_contract.py",
    "engine/advisor/test_size_every_model.py",
    "engine/advisor/test_tradeoffs.py",
    "engine/authoring/diff/test_comparing.py",
    "engine/authoring/lint/test_random_rulebooks.py",
    "engine/authoring/test_schemas.py",
    "engine/authoring/test_kept_cases.py",
    "engine/authoring/testing/test_coverage_of_tests.py",
    "engine/explain/test_auditing.py",
    "engine/explain/test_comparing.py",
    "engine/explain/test_probing.py",
    "engine/explain/test_sensitivity_search.py",
    "engine/explain/test_true_then.py",
    "engine/explain/test_whynot.py",
    "engine/fleet/test_many_workers.py",
    "engine/interview/test_planner.py",
    "engine/interview/test_score_bounds.py",
    "engine/plans/test_gate.py",
    "engine/records/test_arithmetic.py",
    "engine/rules/inference/test_driver.py",
    "engine/rules/rulebook/test_kept_rulebook.py",
    "engine/sizing/test_accuracy_bars.py",
    "engine/sizing/test_speed_of_parts.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow files."""
    gone = [name for name in SLOW if not (HERE / name).is_file()]
    if gone:
        raise pytest.UsageError(f"tests/conftest.py calls files slow that are not there: {', '.join(gone)}")
    slow = {HERE / name for name in SLOW}
    for item in items:
        if item.path in slow:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Spread the whole suite over the cores, as ``-n auto`` would. ``-n 0`` and ``--pdb`` keep it in one process.

    pytest-cov has made up its mind by now: with ``--cov``, say ``-n auto`` as well.
    """
    options, plugins = config.option, config.pluginmanager
    if not plugins.hasplugin("xdist") or plugins.hasplugin("_cov") or "PYTEST_XDIST_WORKER" in os.environ:
        return
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if whole and options.numprocesses is None and not (options.usepdb or options.collectonly):
        options.numprocesses = "auto"
        options.dist = "worksteal"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Load all modules without the garbage collector: what is made then stays. It took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Keep the garbage collector off what lives as long as the tests do: a tenth of their time went there."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


#: The time on every decision of the tests. Prices are judged stale by it, so it stands still.
MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
EXAMPLES = HERE.parent / "examples"


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands that tests start in processes of their own find, however the tests themselves are run.

    They compile the modules once, even where nothing may be kept. A terminal is as wide as the test makes it, though
    pytest-xdist states a width of its own. Ctrl-C reaches them, though a shell that runs the tests in the background
    has it ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.MonkeyPatch.context() as environment:
        for name in ("COLUMNS", "LINES"):
            environment.delenv(name, raising=False)
        if sys.dont_write_bytecode:
            environment.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            environment.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        yield


@pytest.fixture(scope="session")
def advisor() -> Advisor:
    """The shipped rulebook and knowledge, loaded once for the whole suite."""
    return shipped_advisor()


@pytest.fixture(scope="session")
def decide(advisor: Advisor) -> Callable[..., Decision]:
    """Decides facts given as a mapping, or as keywords."""

    def call(facts: Mapping[str, object] | None = None, /, **more: object) -> Decision:
        return advisor.decide({**(facts or {}), **more}, decided_at=MOMENT)

    return call


@pytest.fixture(scope="session")
def examples() -> dict[str, Path]:
    """The workload files of the README, by name."""
    return {path.stem: path for path in sorted(EXAMPLES.glob("*.yaml"))}


@pytest.fixture(scope="session")
def example_decisions(advisor: Advisor, examples: dict[str, Path]) -> dict[str, Decision]:
    """The decision on every example."""
    return {
        name: advisor.decide(read_yaml(path, error=InputError), decided_at=MOMENT) for name, path in examples.items()
    }


@pytest.fixture(scope="session")
def example_answers(example_decisions: dict[str, Decision]) -> dict[str, dict[str, Any]]:
    """The JSON value of the decision on every example. Not to be changed."""
    return {name: decision.to_dict() for name, decision in example_decisions.items()}


def _kept(call: Callable[..., Any], key: Callable[..., object]) -> Callable[..., Any]:
    """``call``, keeping its latest results; where the key is None nothing is kept."""
    kept: OrderedDict[object, tuple[Any, object]] = OrderedDict()  # with the arguments, so that an id stays theirs

    def again(*arguments: Any, **options: Any) -> Any:
        at = key(*arguments, **options)
        if at is None:
            return call(*arguments, **options)
        entry = kept.get(at)
        if entry is None:
            entry = kept[at] = call(*arguments, **options), arguments
            if len(kept) > 250:
                kept.popitem(last=False)
        return entry[0]

    return again


def _written(facts: Mapping[str, object]) -> str:
    return repr(sorted(facts.items()))  # 1, 1.0 and True are equal, and not the same answer.


@pytest.fixture(scope="session")
def _keeping() -> dict[str, Callable[..., Any]]:
    """By the place where it is looked up: what costs most of a decision, and depends on nothing but its arguments."""
    advisor = shipped_advisor()

    def workload(context: object, workload: Any, objective: object, today: object = None) -> object:
        return (_written(workload.given), repr(objective), today) if context is advisor.context else None

    def further(
        context: object, given: Mapping[str, object], outcome: object, _all: object, settings: object
    ) -> object:
        shipped = context is advisor.context and settings is advisor.trade_off_settings
        return (_written(given), id(outcome)) if shipped else None

    def partial(by: Advisor, given: Mapping[str, object], counts: object = ()) -> object:
        return (_written(given), counts) if by is advisor else None

    return {
        "whichgpu.engine.advisor.advisor.decide_workload": _kept(decide_workload, workload),
        "whichgpu.engine.advisor.decision.trade_offs": _kept(trade_offs, further),
        "whichgpu.engine.interview.plan_variations.partial_plans": _kept(partial_plans, partial),
    }


@pytest.fixture
def decided_once(_keeping: dict[str, Callable[..., Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the shipped rules no workload is decided twice: for tests of what is asked, shown and made of decisions.

    That decisions repeat is shown by acceptance/test_determinism.py and engine/explain/test_auditing.py, without this.
    """
    for place, call in _keeping.items():
        monkeypatch.setattr(place, call)
