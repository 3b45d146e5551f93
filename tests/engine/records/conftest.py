"""One small decision as a record, signed and unsigned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whichgpu import Decision
from whichgpu.engine.records.canonical import sha256_of
from whichgpu.engine.records.signing import PublicKey, SigningKey, new_key, open_key
from whichgpu.engine.records.statement import Asked, id_of, make_statement, record_text


FACTS = {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 4, "gpu_candidates": "l4, l40s"}


@pytest.fixture(scope="session")
def key() -> SigningKey:
    return open_key(new_key("anna", None)[0], "anna", None)


@pytest.fixture(scope="session")
def trusted(key: SigningKey) -> dict[str, PublicKey]:
    return {key.public.id: key.public}


@pytest.fixture(scope="session")
def small_decision(decide: Callable[..., Decision]) -> Decision:
    return decide(FACTS)


@pytest.fixture(scope="session")
def statement(small_decision: Decision) -> dict[str, Any]:
    """Not to be changed."""
    asked = Asked("w.yaml", b"task: inference\n", ("concurrency=4",), {"ticket": "T-1"})
    return make_statement(small_decision, small_decision.to_dict(), asked)


@pytest.fixture(scope="session")
def short(statement: dict[str, Any]) -> dict[str, Any]:
    """The same with hardly any data: a hundredth of the work, for tests of what vouches for it."""
    limits = statement["data"]["layers"][0]["rules"]["limits.yaml"]
    data = {
        "knowledge": {"costs.yaml": statement["data"]["knowledge"]["costs.yaml"]},
        "layers": [{"name": "rules", "rules": {"limits.yaml": limits}, "knowledge": {}}],
        "offers": {name: column[:3] for name, column in statement["data"]["offers"].items()},
    }
    answer = {**statement["answer"], "alternatives": [], "outranked": [], "rejected": [], "rules": []}
    answer["trace"] = answer["trace"][:30]
    changed = {**statement, "data": data, "answer": answer, "plans": statement["plans"][:3]}
    return {**changed, "id": id_of(changed)}


@pytest.fixture(scope="session")
def unsigned(short: dict[str, Any]) -> str:
    return record_text(short, None)


@pytest.fixture(scope="session")
def signed(short: dict[str, Any], key: SigningKey) -> str:
    return record_text(short, key.sign(sha256_of(short), short["id"]))
