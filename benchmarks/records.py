"""Forgeries of records, and a register under ten writers and a kill.

    python benchmarks/records.py [--bytes 200] [--tampers 60] [--again 6] [--seed 1]

A signed record is changed: at single bytes, and at random places of its statement with every checksum made anew; its
signature is taken off, and put on by a stranger. None may pass as authentic, and what a command shows of one it shows
with the mark that says so. Some of the same changes are made to an unsigned record, which is then decided again by what
it carries: what says something else than its own rules and prices has to be found; what was asked, by whom, cannot be.
Ten processes write to one register while one of them is killed. The exit code is 1 where something passes.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from whichgpu import Advisor, load_advisor
from whichgpu.cli.main import whichgpu
from whichgpu.engine.core import InputError
from whichgpu.engine.explain.auditing import check_complete, check_true_then
from whichgpu.engine.records.canonical import sha256_of
from whichgpu.engine.records.keyring import Keyring
from whichgpu.engine.records.reading import read_saved
from whichgpu.engine.records.register import Register
from whichgpu.engine.records.signing import PublicKey, new_key, open_key
from whichgpu.engine.records.statement import Asked, id_of, make_statement, record_text, respelt


#: Two cards make a short answer; what it was decided with is as long as ever.
FACTS = {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 4, "gpu_candidates": "l4, l40s"}
MOMENT = datetime(2026, 6, 1, tzinfo=UTC)
WRITERS, EACH = 10, 5
#: Of these nothing but a signature can tell: they state what was asked, and by what program.
NOT_DERIVED = ("inputs", "meta", "versions", "revision")
#: So does which code made it: deciding again by this code tells nothing of another.
MADE_BY = "digests: ... engine"
#: What was changed, and the record with that change.
Forgery = tuple[str, bytes]


def leaf(value: Any, chance: random.Random) -> tuple[Any, Any]:
    """The holder and the key of a random value inside."""
    holder: Any = None
    key: Any = None
    while isinstance(value, dict | list) and value:
        holder = value
        key = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        value = holder[key]
    return holder, key


def changed(value: Any, chance: random.Random) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 2 + 1
    if isinstance(value, str) and len(value) == 64:
        return value[::-1]
    return f"{value} " if isinstance(value, str) else chance.choice((1, "x"))


def tampered(record: dict[str, Any], part: str, chance: random.Random) -> tuple[str, str]:
    """A record with one value changed and every checksum made anew, and what was changed."""
    forged = copy.deepcopy(record)
    statement = forged["statement"]
    holder, key = leaf({part: statement[part]}, chance)
    if holder is None or part in holder:
        holder, key = statement, part
    before = holder[key]
    holder[key] = changed(before, chance)
    statement["id"] = id_of(statement)
    forged["sha256"] = sha256_of(statement)
    return respelt(forged), f"{part}: ... {key} = {str(before)[:40]!r}"


def standing_of(raw: bytes, trusted: Any) -> tuple[str, str]:
    """How far a record is believed, and the mark that everything shown of it has to carry."""
    try:
        saved = read_saved(raw, "r.json", trusted)
    except InputError:
        return "refused", ""
    return saved.standing.state, saved.mark


def shows_unmarked(raw: bytes, mark: str, folder: Path) -> bool:
    """Whether ``why`` and ``report`` show a forged record without its mark; without one it has to be refused."""
    file, page = folder / "r.json", folder / "r.html"
    file.write_bytes(raw)
    runner = CliRunner(env={"XDG_CONFIG_HOME": str(folder)})
    why = runner.invoke(whichgpu, ["why", str(file), "count"])
    if not mark:
        return why.exit_code == 0
    runner.invoke(whichgpu, ["report", str(file), "-o", str(page)])
    return not all(mark in " ".join(unescape(text).split()) for text in (why.output, page.read_text()))


def stranger(statement: dict[str, Any]) -> str:
    """The record as somebody signs it whose key is not trusted."""
    return record_text(
        statement, open_key(new_key("x", None)[0], "x", None).sign(sha256_of(statement), statement["id"])
    )


def register_under_load(texts: list[str], folder: Path) -> list[str]:
    """Ten processes append, one of them is killed on the way; what is wrong with the register then."""
    file = folder / "register.sqlite"
    code = (
        "import sys, json; from datetime import datetime, UTC; from pathlib import Path\n"
        "from whichgpu.engine.records.register import Register\n"
        "for line in sys.stdin:\n"
        "    record = json.loads(line)\n"
        "    Register(Path(sys.argv[1])).add(record, record['statement']['answer'], datetime.now(UTC))\n"
        "    print(record['statement']['id'], flush=True)\n"
    )
    writers = []
    for number in range(WRITERS):
        lines = "".join(texts[number * EACH : (number + 1) * EACH])
        source = folder / f"{number}.jsonl"
        source.write_text(lines)
        with source.open() as stream:
            writers.append(
                subprocess.Popen(
                    [sys.executable, "-c", code, str(file)], stdin=stream, stdout=subprocess.PIPE, text=True
                )
            )
    victim = writers[0]
    assert victim.stdout is not None
    victim.stdout.readline()
    victim.send_signal(signal.SIGKILL)
    printed = [writer.communicate()[0].split() for writer in writers[1:]]
    kept = {entry.id for entry in Register(file).entries()}
    lost = [name for names in printed for name in names if name not in kept]
    return [*Register(file).faults(), *(f"{name} was reported as kept and is not" for name in lost)]


def forgeries(record: dict[str, Any], options: argparse.Namespace, chance: random.Random) -> Iterator[Forgery]:
    """Changes of a signed record: single bytes, values with every checksum made anew, and the signature."""
    raw, parts = respelt(record).encode(), sorted(record["statement"].keys() - {"id"})
    for _ in range(options.bytes):
        place = chance.randrange(len(raw))
        other = chance.choice([byte for byte in range(256) if byte != raw[place]])
        yield f"byte {place}", raw[:place] + bytes([other]) + raw[place + 1 :]
    for number in range(options.tampers):
        forged, what = tampered(record, parts[number % len(parts)], chance)
        yield what, forged.encode()
    yield "the signature taken off", respelt({**record, "signature": None}).encode()
    yield "signed by a stranger", stranger(record["statement"]).encode()


def passing(forged: Iterable[Forgery], public: PublicKey) -> tuple[list[str], Counter[str]]:
    """The forgeries that pass as authentic or are shown without their mark, and how far each was believed."""
    passed, states, trusted = list[str](), Counter[str](), {public.id: public}
    with TemporaryDirectory() as folder:
        Keyring(Path(folder) / "whichgpu" / "keys").trust(public.to_text(), "bench")
        for number, (what, raw) in enumerate(forged):
            state, mark = standing_of(raw, trusted)
            states[state] += 1
            passed += [what] if state == "signed" else []
            hidden = state in {"altered", "refused"}
            if (not hidden or number % 20 == 0) and shows_unmarked(raw, "" if hidden else mark, Path(folder)):
                passed.append(f"{what} is shown without its mark")
    return passed, states


def holding(record: dict[str, Any], tampers: int, advisor: Advisor, chance: random.Random) -> list[str]:
    """Changes of an unsigned record that hold when it is decided again by what it carries."""
    unsigned, missed = {**record, "signature": None}, []
    derived = [part for part in sorted(record["statement"].keys() - {"id"}) if part not in NOT_DERIVED]
    for number in range(tampers):
        forged, what = tampered(unsigned, derived[number % len(derived)], chance)
        if what.startswith(MADE_BY):
            continue
        try:
            saved = read_saved(forged, "r.json")
        except InputError:
            continue
        if check_complete(saved).holds and check_true_then(saved, advisor).holds:
            missed.append(what)
    return missed


def small_records(statement: dict[str, Any]) -> Iterator[str]:
    """A short record for every turn of every writer."""
    for number in range(WRITERS * EACH):
        small = {**statement, "meta": {"ticket": f"T-{number}"}, "data": {"knowledge": {}, "layers": [], "offers": {}}}
        small["answer"] = {**statement["answer"], "trace": []}
        small["id"] = id_of(small)
        yield record_text(small, None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, amount in (("bytes", 200), ("tampers", 60), ("again", 6), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=amount)
    options = parser.parse_args()
    chance, started = random.Random(options.seed), time.process_time()
    advisor = load_advisor(tests=False)
    key = open_key(new_key("bench", None)[0], "bench", None)
    decision = advisor.decide(FACTS, decided_at=MOMENT)
    statement = make_statement(decision, decision.to_dict(), Asked("w.yaml", b"x", (), {"ticket": "T-1"}))
    text = record_text(statement, key.sign(sha256_of(statement), statement["id"]))
    raw, record = text.encode(), json.loads(text)
    standing, _ = standing_of(raw, {key.public.id: key.public})
    print(f"a record of {len(raw):,} bytes, {len(gzip.compress(raw, 9)):,} packed; {standing}")
    passed, states = passing(forgeries(record, options, chance), key.public)
    print(f"{options.bytes} bytes, {options.tampers} tampers and 2 signatures of a signed record: {dict(states)}")
    print(f"{len(passed)} pass as authentic, or are shown without their mark")
    missed = holding(record, options.again, advisor, chance)
    print(f"{options.again} tampers of an unsigned record, decided again: {len(missed)} hold")
    with TemporaryDirectory() as folder:
        faults = register_under_load(list(small_records(statement)), Path(folder))
    print(f"a register with {WRITERS} writers, one of them killed: {len(faults)} faults")
    for line in (*passed, *missed, *faults):
        print(f"  {line}")
    print(f"{time.process_time() - started:.0f} s of CPU time")
    return 1 if passed or faults else 0


if __name__ == "__main__":
    sys.exit(main())
