"""The recorded measurements, as read from ``data``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


DATA = Path(__file__).parent / "data"
GIB = 1.073741824


def published_runs() -> list[dict[str, Any]]:
    """Runs published by others, one record each; fields that a source leaves open are absent."""
    return _runs("published_runs")


def released_runs() -> list[dict[str, Any]]:
    """The same, gathered later: no constant of memory and no mended formula has seen them."""
    return _runs("released_runs")


def own_runs() -> list[dict[str, Any]]:
    """What was measured for this project (``benchmarks/measured``): no constant has seen them."""
    return _runs("own_runs")


def _runs(name: str) -> list[dict[str, Any]]:
    return runs_of(DATA / f"{name}.jsonl")


def runs_of(path: Path) -> list[dict[str, Any]]:
    """The runs of any file of this form, one record on each line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_stated(json.loads(line)) for line in lines]


def _stated(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stated(inner) for key, inner in value.items() if inner is not None}
    return [_stated(inner) for inner in value] if isinstance(value, list) else value


def table(name: str) -> Any:
    """One of the JSON tables: train_anchors, accuracy_infer, accuracy_tpot, accuracy_train, workloads."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def peer_answers() -> dict[str, dict[str, Any]]:
    """What other tools answered to the common workloads, by tool."""
    answers = {}
    for path in sorted((DATA / "peers").glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        answers[str(found["peer"])] = found
    return answers
