"""Deciding by the rules and knowledge of another day, in a process of its own: much of them is read once a process.

The engine is today's; the data is that of a record, of a folder, or of a revision. Nothing is taken from a cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from whichgpu.engine.core import InputError, Problem, WhichgpuError, json_value, read_data_from, record_of
from whichgpu.engine.records.data_slice import digests_of, lay_out, offers_in


#: The command line of the process: it finds the package where this process did, and never in the present folder.
_START = (
    "import sys, json; sys.path += [p for p in json.loads(sys.argv[1]) if p not in sys.path]; "
    "from whichgpu.engine.records import answer_request; answer_request()"
)
#: Long enough for any decision on a slow machine.
_SECONDS = 300


class DecidedAgain(Struct, frozen=True):
    """What today's engine makes of a recorded workload by the data of another day."""

    answer: dict[str, Any]
    plans: list[dict[str, Any]]  # a line for each that was evaluated
    rules: dict[str, str]  # the digests of those that fired, were overridden or stayed undecided
    arithmetic: dict[str, Any]  # how figures follow


def decide_from_slice(decision: Mapping[str, Any], data: Mapping[str, Any]) -> DecidedAgain:
    """The decision of today's engine by what a record carries. Raises InputError where there is none."""
    with TemporaryDirectory(prefix="whichgpu-") as scratch:
        root = Path(scratch)
        return decide_from_folder(decision, root, lay_out(data, root), offers_in(data), data.get("models", {}))


def decide_from_folder(
    decision: Mapping[str, Any],
    root: Path,
    layers: Sequence[Path] = (),
    offers: Sequence[Mapping[str, Any]] | None = None,
    models: Mapping[str, Any] | None = None,
) -> DecidedAgain:
    """The decision of today's engine by ``knowledge`` and ``rules`` of a folder.

    Args:
        decision: what was decided, in the shape of the contract.
        root: holds ``knowledge``, and ``rules`` where no layers are named.
        layers: folders of rules, the lowest first.
        offers: in place of the price list in ``knowledge``.
        models: as configurations said, by what they were read from.

    Raises:
        InputError: today's engine cannot read that data, or does not take the recorded facts.
    """
    request = {
        "root": str(root.resolve()),
        "layers": [str(folder.resolve()) for folder in layers] or [str((root / "rules").resolve())],
        "offers": None if offers is None else list(offers),
        "models": models or {},
        "trade_offs": "trade_offs" in decision,
        "decision": {
            "facts": {name: fact for name, fact in decision["facts"].items() if fact["origin"] == "given"},
            "objective": decision["objective"],
            "decided_at": decision["decided_at"],
        },
    }
    try:
        ran = subprocess.run(  # noqa: S603 - no shell, and our own words.
            [sys.executable, "-P", "-c", _START, json.dumps(sys.path)],
            input=json.dumps(request).encode(),
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            env={**os.environ, "WHICHGPU_CACHE": "off"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(Problem("undecided", f"deciding by the data of the record failed: {error}")) from error
    try:
        answered = json.loads(ran.stdout)
    except ValueError as error:
        last = ran.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise InputError(Problem("undecided", f"deciding by the data of the record failed: {last}")) from error
    if "error" in answered:
        raise InputError(Problem("undecided", answered["error"]))
    return DecidedAgain(**answered)


def answer_request() -> None:
    """The other side: read a request from standard input, and write the answer to standard output as JSON."""
    request = json.loads(sys.stdin.buffer.read())
    read_data_from(Path(request["root"]))  # Before anything is loaded.
    try:
        answer: dict[str, Any] = _answer(request)
    except WhichgpuError as error:
        answer = {"error": str(error)}
    sys.stdout.write(json.dumps(answer))


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    from whichgpu.engine.advisor import load_advisor  # noqa: PLC0415 - after the data's place is known.
    from whichgpu.engine.catalogue import ModelSpec, Offer, load_knowledge, with_offers  # noqa: PLC0415
    from whichgpu.engine.records.again import decide_again  # noqa: PLC0415
    from whichgpu.engine.records.plan_lines import plan_lines  # noqa: PLC0415
    from whichgpu.engine.records.statement import arithmetic_stated  # noqa: PLC0415

    lowest, *layers = map(Path, request["layers"])
    folder = Path(request["root"]) / "knowledge"
    knowledge = load_knowledge(folder, layers=[lowest, *layers])
    if request["offers"] is not None:
        knowledge = with_offers(knowledge, [record_of(Offer, row) for row in request["offers"]])
    models = {name: record_of(ModelSpec, entry) for name, entry in request["models"].items()}
    knowledge = replace(knowledge, read_models=models)
    advisor = load_advisor(layers, own_rules=lowest, knowledge_folder=folder, knowledge=knowledge, tests=False)
    decision = decide_again(request["decision"], advisor)
    answer = json_value(decision.to_dict(trade_offs=request["trade_offs"]))
    plans = plan_lines(decision, answer)
    return {
        "answer": answer,
        "plans": json_value(plans),
        "arithmetic": arithmetic_stated(decision, answer, plans),  # Figures are rounded, constants are not.
        "rules": digests_of(advisor.rulebook, answer["rules"]),
    }
