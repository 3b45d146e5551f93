"""One import name: whichgpu works beside a stranger's ``engine.py`` and ``cli/``, and takes neither name for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import whichgpu


#: Where the package was found: site-packages, or the checkout.
FOUND = Path(whichgpu.__file__).parents[1]
DECIDES = "print(whichgpu.decide({'task': 'inference', 'param_count_b': 1}).to_dict()['recommendation']['count'])"


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A folder with modules of those names that are not ours."""
    (tmp_path / "engine.py").write_text("raise ImportError('not ours')\n")
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__init__.py").write_text("raise ImportError('not ours')\n")
    return tmp_path


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([".", str(FOUND)])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(  # noqa: S603
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_it_decides_beside_a_strangers_modules(strange: Path) -> None:
    done = run(["-c", f"import whichgpu; {DECIDES}"], strange)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_the_module_is_the_command(strange: Path) -> None:
    done = run(["-m", "whichgpu", "size", "--help"], strange)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: whichgpu size")


def test_nothing_of_it_is_loaded_under_another_name(tmp_path: Path) -> None:
    code = (
        f"import sys, whichgpu, whichgpu.cli.main; {DECIDES};"
        "sys.exit(any(name.partition('.')[0] in ('engine', 'cli') for name in sys.modules))"
    )
    assert run(["-c", code], tmp_path).returncode == 0


def test_a_size_is_answered_too() -> None:
    assert whichgpu.size({"task": "inference", "param_count_b": 8, "weight_precision": "bf16"}, gpu="l40s")["fits"]
