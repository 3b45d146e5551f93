from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from typing import Any

import click
import pytest

from whichgpu.cli import exits, main
from whichgpu.engine.core.errors import InputError, Problem


Whichgpu = Callable[..., Any]


def test_help_lists_every_command(whichgpu: Whichgpu) -> None:
    ran = whichgpu("--help")
    assert ran.code == 0
    for name, entry in main.COMMANDS.items():
        assert f"  {name} " in ran.out
        assert entry.help in ran.out


def test_help_loads_no_command() -> None:
    script = (
        "import sys; from whichgpu.cli.main import run; run(['--help']); "
        "costly = ('whichgpu.cli.commands', 'pydantic', 'yaml', 'whichgpu.engine.catalogue'); "
        "loaded = [m for m in sys.modules if m.startswith(costly)]; "
        "sys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)  # noqa: S603 - our own text
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sorted(main.COMMANDS))
def test_every_command_is_there_and_explains_itself(name: str, whichgpu: Whichgpu) -> None:
    entry = main.COMMANDS[name]
    command = getattr(importlib.import_module(f"whichgpu.cli.commands.{entry.module}"), entry.name)
    assert isinstance(command, click.Command)
    ran = whichgpu(name, "--help")
    assert ran.code == 0
    assert "Usage: whichgpu" in ran.out


def test_version(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"1.2.3 of {name}")
    assert whichgpu("--version").out == "whichgpu 1.2.3 of whichgpu\n"


def test_version_of_a_checkout_that_is_not_installed(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", version)
    assert whichgpu("--version").out == "whichgpu 0+unknown\n"


def test_a_misspelt_command_gets_a_suggestion(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recomend", "x.yaml")
    assert ran.code == 2
    assert "there is no command 'recomend'. Did you mean recommend?" in ran.err


def test_an_unknown_option_is_wrong_input(whichgpu: Whichgpu) -> None:
    ran = whichgpu("facts", "--colour")
    assert ran.code == 2
    assert "No such option" in ran.err


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def raises(**_options: object) -> None:
        raise error

    command = click.Command("gpus", callback=raises)
    monkeypatch.setattr("whichgpu.cli.commands.catalogue.gpus", command)


def test_an_internal_error_says_what_to_report(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, ZeroDivisionError("division by zero"))
    ran = whichgpu("gpus")
    assert ran.code == exits.INTERNAL_ERROR
    assert "whichgpu failed in itself (at test_main_command.py:" in ran.err
    assert "ZeroDivisionError: division by zero" in ran.err
    assert "whichgpu doctor" in ran.err
    assert "Traceback" not in ran.err


def test_the_course_is_shown_on_request(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, ZeroDivisionError("division by zero"))
    monkeypatch.setenv("WHICHGPU_DEBUG", "1")
    ran = whichgpu("gpus")
    assert ran.code == exits.INTERNAL_ERROR
    assert "Traceback" in ran.err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_ctrl_c_is_quiet(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    fail_with(monkeypatch, error)
    ran = whichgpu("gpus")
    assert ran.code == 130
    assert ran.err.strip() == ""


def test_every_problem_is_reported(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(
        monkeypatch, InputError([Problem("a", "one thing", nearest=("this",)), Problem("b", "another", fix="so")])
    )
    ran = whichgpu("gpus")
    assert ran.code == exits.WRONG_INPUT
    assert ran.err.splitlines() == ["2 errors:", "one thing", "  did you mean this?", "another", "  fix: so"]


@pytest.mark.parametrize(
    ("written", "meant"), [("explain", "why or why-not"), ("plan", "recommend or ask"), ("recomend", "recommend")]
)
def test_a_command_of_another_program_is_pointed_to_its_like(whichgpu: Whichgpu, written: str, meant: str) -> None:
    ran = whichgpu(written)
    assert ran.code == 2
    assert f"Did you mean {meant}?" in ran.err
