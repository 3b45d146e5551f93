"""Records of the second form: whole, small, signed, and betraying every change."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from whichgpu import Advisor, Decision
from whichgpu.engine.core.canonical import json_value
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.records.canonical import sha256_of
from whichgpu.engine.records.data_slice import slice_of
from whichgpu.engine.records.packing import packed, unpacked
from whichgpu.engine.records.reading import read_saved
from whichgpu.engine.records.signing import PublicKey, SigningKey, new_key, open_key, read_public
from whichgpu.engine.records.statement import Asked, id_of, make_statement, read_meta, record_text, respelt


Json = dict[str, Any]
#: How a forger changes a record, by what would be gained. Each is followed by making all checksums anew.
TAMPERS: dict[str, Callable[[Json], object]] = {
    "answer": lambda s: s["answer"]["recommendation"].update(count=7),
    "price": lambda s: s["answer"]["recommendation"]["cost"].update(usd_per_hour=0.01),
    "day": lambda s: s["answer"].update(decided_at="2020-01-01T00:00:00+00:00"),
    "fact": lambda s: s["answer"]["facts"]["concurrency"].update(value=5),
    "who": lambda s: s["meta"].update(ticket="T-2"),
    "file": lambda s: s["inputs"].update(file=None),
    "plan": lambda s: s["plans"].pop(),
    "offer": lambda s: s["data"]["offers"]["usd_per_hour"].__setitem__(0, 0.5),
    "rule": lambda s: s["data"]["layers"][0]["rules"]["limits.yaml"].pop(),
    "engine": lambda s: s["digests"].update(engine="0" * 64),
    "trace": lambda s: s["answer"]["trace"].pop(),
    "rules": lambda s: s["rules"].popitem(),
}


def tampered(text: str, change: Callable[[Json], object]) -> str:
    """A record that was changed by someone who makes every checksum anew, and keeps the signature."""
    value = copy.deepcopy(json.loads(text))
    change(value["statement"])
    value["statement"]["id"] = id_of(value["statement"])
    value["sha256"] = sha256_of(value["statement"])
    return respelt(value)


def test_an_answer_comes_back_as_it_was(example_answers: dict[str, Json]) -> None:
    for name in ("llm-serving-70b", "qlora-7b"):
        answer = json_value(example_answers[name])
        short = packed(answer)
        assert json.dumps(unpacked(short), sort_keys=True) == json.dumps(answer, sort_keys=True)
        assert len(json.dumps(short)) < 0.9 * len(json.dumps(answer))


def test_a_record_reads_back_as_it_was_saved(
    small_decision: Decision, statement: Json, key: SigningKey, trusted: dict[str, PublicKey]
) -> None:
    text = record_text(statement, key.sign(sha256_of(statement), statement["id"]))
    packed_file = gzip.compress(text.encode(), 9)
    assert len(packed_file) < 300_000
    found = read_saved(packed_file, "r.json.gz", trusted)
    assert found.decision == json_value(small_decision.to_dict())
    assert found.standing.state == "signed"
    assert found.mark == f"Record {found.id}: {found.standing.says}."
    assert "signed by anna" in found.mark


def test_a_name_written_otherwise_than_in_the_catalogue_is_kept_in_the_record(
    decide: Callable[..., Decision], statement: Json
) -> None:
    asked = Asked(None, None, (), {})
    decision = decide({"task": "inference", "model_name": "Llama-3.1-8B", "gpu_candidates": "l4"})
    made = make_statement(decision, decision.to_dict(), asked)
    assert made["inputs"]["as_written"] == {"model_name": "Llama-3.1-8B"}
    assert made["answer"]["facts"]["model_name"]["value"] == "llama-3.1-8b"
    assert "as_written" not in statement["inputs"]
    assert read_saved(record_text(made, None).encode(), "r.json", {}).standing.state == "unsigned"
    forged = tampered(record_text(made, None), lambda s: s["inputs"].pop("as_written"))
    assert json.loads(forged)["statement"]["id"] != made["id"]


@pytest.mark.parametrize(
    ("name", "size_b", "model"),
    [("MISTRAL 7B", None, "mistral-7b-v0.1"), ("mixtral", 46.7, "mixtral-8x7b"), ("no such model", 7, None)],
)
def test_the_model_is_kept_however_it_is_spelt(advisor: Advisor, name: str, size_b: float | None, model: str) -> None:
    given = {"model_name": name} | ({"param_count_b": size_b} if size_b else {})
    facts = {fact: {"value": value, "origin": "given"} for fact, value in given.items()}
    kept = slice_of(advisor, facts)["knowledge"]
    models = [row["id"] for path, content in kept.items() if path.startswith("models/") for row in content["models"]]
    assert models == ([model] if model else [])


def test_who_vouches_is_said(signed: str, unsigned: str, trusted: dict[str, PublicKey]) -> None:
    assert read_saved(signed.encode(), "r.json", trusted).standing.state == "signed"
    assert read_saved(unsigned, "r.json", trusted).standing.says == "unsigned, checksum intact"
    assert read_saved(signed, "r.json", {}).standing.state == "unknown key"


def test_every_evaluated_plan_has_its_line(small_decision: Decision, statement: Json) -> None:
    found = small_decision.outcome.round
    assert found is not None
    lines = {line["id"]: line for line in statement["plans"]}
    assert lines.keys() >= {*found.surviving.ids, *found.rejected.ids}
    assert sum(line["standing"] == "recommended" for line in lines.values()) == 1
    for line in lines.values():
        assert line["because"] or line["standing"] == "recommended"
        assert "usd_per_hour" in line["figures"] or "per_gpu_gb" in line["figures"]
        assert (line["score"] is None) == (line["standing"] in ("rejected", "refused"))


@pytest.mark.parametrize("name", TAMPERS)
def test_no_forgery_passes_as_authentic(signed: str, unsigned: str, trusted: dict[str, PublicKey], name: str) -> None:
    assert read_saved(tampered(signed, TAMPERS[name]), "r.json", trusted).standing.state == "altered"
    # Who does not have the key learns that what was signed is something else.
    assert read_saved(tampered(signed, TAMPERS[name]), "r.json", {}).standing.state == "altered"
    # Without a signature only deciding again can show it.
    assert read_saved(tampered(unsigned, TAMPERS[name]), "r.json", trusted).standing.state in {"unsigned", "altered"}


def test_no_changed_byte_passes(signed: str, trusted: dict[str, PublicKey]) -> None:
    raw, chance = signed.encode(), random.Random(3)
    ends = [*range(0, 900, 60), len(raw) - 2]
    for place in [*ends, *(chance.randrange(len(raw)) for _ in range(20))]:
        other = chance.choice([byte for byte in range(32, 127) if byte != raw[place]])
        changed = raw[:place] + bytes([other]) + raw[place + 1 :]
        try:
            state = read_saved(changed, "r.json", trusted).standing.state
        except InputError:
            continue
        assert state != "signed", place


def test_a_signature_is_bound_to_its_record_and_key(
    signed: str, short: Json, trusted: dict[str, PublicKey], key: SigningKey
) -> None:
    other = open_key(new_key("mallory", None)[0], "mallory", None)
    digest = json.loads(signed)["sha256"]
    forged = other.sign(digest, short["id"])
    forged["signatures"][0]["keyid"] = key.public.id  # In another's name.
    assert read_saved(record_text(short, forged), "r.json", trusted).standing.state == "altered"
    of_another = key.sign("0" * 64, short["id"])
    assert read_saved(record_text(short, of_another), "r.json", trusted).standing.state == "altered"
    nobody = {"payloadType": "x", "payload": "", "signatures": []}
    assert read_saved(record_text(short, nobody), "r.json", trusted).standing.state == "altered"
    honest = read_saved(record_text(short, other.sign(digest, short["id"])), "r.json", trusted)
    assert honest.standing.state == "unknown key"
    assert "not trusted here" in honest.mark


def test_what_was_altered_is_not_shown(unsigned: str) -> None:
    changed = unsigned.replace('"ticket":"T-1"', '"ticket":"T-9"')
    with pytest.raises(InputError, match="is not what was saved: its SHA-256"):
        read_saved(changed, "r.json").believed()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\x1f\x8b\x08garbage", "damaged"),
        (gzip.compress(b"{}", mtime=0)[:-6], "damaged"),
        (b'{"format": "whichgpu.record/2"}', r"\$\.sha256 is missing"),
        (b'{"statement": []}', r"\$\.format is missing"),
        (b'{"format": "whichgpu.decision/1", "facts": {"a": "\\ud800"}}', r"half a surrogate pair.*\$\.facts\.a"),
        (b'{"format": "\xff"}', "not UTF-8"),
    ],
)
def test_what_is_no_record_is_refused_by_its_place(raw: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_saved(raw, "r.json")


def test_a_malformed_statement_is_refused_by_its_place(unsigned: str) -> None:
    for change, said in (
        (lambda s: s.update(meta=["x"]), r"\$\.statement\.meta"),
        (lambda s: s["plans"][0].pop("figures"), r"\$\.statement\.plans\[0\]\.figures is missing"),
        (lambda s: s["answer"].update(trace="x"), r"\$\.trace"),
        (lambda s: s["answer"]["trace"][0].update(matched=3), r"\$\.trace\[0\]\.matched"),
        (lambda s: s["answer"].pop("facts"), r"\$\.facts is missing"),
    ):
        value = json.loads(unsigned)
        change(value["statement"])
        with pytest.raises(InputError, match=said):
            read_saved(respelt(value), "r.json")


def test_keys_are_opened_by_their_passphrase_alone() -> None:
    text, public = new_key("anna", "correct horse")
    assert "ENCRYPTED" in text
    assert open_key(text, "anna", "correct horse").public.raw == public.raw
    for wrong in (None, "battery"):
        with pytest.raises(InputError, match="passphrase"):
            open_key(text, "anna", wrong)
    assert read_public(public.to_text(), "anna") == public
    for bad in (text, "hello", ""):
        with pytest.raises(InputError):
            read_public(bad, "anna")


def test_meta_is_key_and_value() -> None:
    assert read_meta(["ticket=A=1", "purpose = chat "]) == {"ticket": "A=1", "purpose": "chat"}
    for wrong in (["ticket"], ["Ticket=1"], ["a="], ["a=1", "a=2"]):
        with pytest.raises(InputError):
            read_meta(wrong)
