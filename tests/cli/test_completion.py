from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from whichgpu.cli.main import COMMANDS, whichgpu as command


def _offered(*words: str) -> list[str]:
    *before, incomplete = words
    completer = ShellComplete(command, {}, "whichgpu", "_WHICHGPU_COMPLETE")
    return [item.value for item in completer.get_completions(before, incomplete)]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("gpus", "h100-80"), "nvidia-h100-80gb-sxm"),
        (("size", "w.yaml", "--gpu", "3090"), "nvidia-rtx-3090"),
        (("why-not", "r.json", "l40"), "nvidia-l40s"),
        (("models", "llama-3.1-8"), "llama-3.1-8b"),
        (("facts", "peft_m"), "peft_method"),
        (("recommend", "w.yaml", "--set", "peft_m"), "peft_method="),
        (("recommend", "w.yaml", "--set", "peft_method=ql"), "peft_method=qlora"),
        (("recommend", "w.yaml", "--set", "model_name=llama-3.1-8"), "model_name=llama-3.1-8b"),
        (("recommend", "w.yaml", "--set", "mission_critical=t"), "mission_critical=true"),
        (("recommend", "w.yaml", "--set", "gpu_candidates=l40s"), "gpu_candidates=nvidia-l40s"),
        (("rec",), "recommend"),
    ],
)
def test_a_shell_is_offered(words: tuple[str, ...], offered: str) -> None:
    assert offered in _offered(*words)


def test_nothing_is_offered_of_a_fact_that_is_not() -> None:
    assert _offered("recommend", "w.yaml", "--set", "no_such_fact=") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str, whichgpu: Callable[..., Any]) -> None:
    ran = whichgpu("completion", shell)
    assert ran.code == 0
    assert "_WHICHGPU_COMPLETE" in ran.out


def test_help_lists_every_command_once(whichgpu: Callable[..., Any]) -> None:
    lines = [line.split()[0] for line in whichgpu("--help").out.splitlines() if line.startswith("  ") and line.split()]
    assert [line for line in lines if line in COMMANDS] == [
        name
        for task in dict.fromkeys(e.task for e in COMMANDS.values())
        for name, e in COMMANDS.items()
        if e.task == task
    ]
