"""Whether a change left the answers as they were: ``same_answers.py --keep FILE``, later ``--against FILE``.

Five hundred generated workloads are decided in full. Kept are digests of every key of every answer, so that a
difference is reported by workload and key. ``--new KEY`` names a key that the change adds and that is left out.
It measures the ``engine`` that PYTHONPATH points to, or else that of this checkout.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from decision_laws.generator import workloads

from whichgpu.engine.advisor.advisor import load_advisor
from whichgpu.engine.core.errors import InputError


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
#: Keys that identify the program and not the answer.
OF_THE_PROGRAM = frozenset({"engine_version"})
SEED = 12


def main() -> None:
    """Keep the digests, or compare with those that were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--keep", type=Path, help="write the digests to this file")
    parser.add_argument("--against", type=Path, help="compare with the digests in this file")
    parser.add_argument("--new", action="append", default=[], help="a key that is left out")
    options = parser.parse_args()
    found = digests(options.sample, OF_THE_PROGRAM | set(options.new))
    if options.keep:
        options.keep.write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(f"kept the answers to {len(found)} workloads")
    if options.against:
        kept = json.loads(options.against.read_text(encoding="utf-8"))
        kept = {name: {key: one for key, one in keys.items() if key not in options.new} for name, keys in kept.items()}
        differences = [line for name in sorted(kept.keys() | found.keys()) for line in _differs(name, kept, found)]
        print("\n".join(differences) or f"{len(found)} answers are equal in every key")
        sys.exit(bool(differences))


def digests(sample: int, left_out: frozenset[str] | set[str]) -> dict[str, dict[str, str]]:
    """By workload and key of its answer the digest of what stands there."""
    advisor = load_advisor(tests=False)
    found = {}
    for name, facts in workloads(sample, SEED).items():
        try:
            answer = advisor.decide(facts, decided_at=MOMENT).to_dict()
        except InputError as error:
            answer = {"refused": str(error)}
        found[name] = {key: _digest(value) for key, value in answer.items() if key not in left_out}
    return found


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _differs(name: str, kept: dict[str, dict[str, str]], found: dict[str, dict[str, str]]) -> list[str]:
    one, other = kept.get(name, {}), found.get(name, {})
    keys = [key for key in sorted(one.keys() | other.keys()) if one.get(key) != other.get(key)]
    return [f"{name}: {', '.join(keys)}"] if keys else []


if __name__ == "__main__":
    main()
