"""Signatures over records: DSSE envelopes around an in-toto statement, with Ed25519 keys.

The envelope (https://github.com/secure-systems-lab/dsse, protocol 1) holds an in-toto statement (version 1) whose
subject is the record's own statement, by its SHA-256: the signature lies beside what it vouches for, which stays
readable. ``cryptography`` does the arithmetic (``pip install 'whichgpu[sign]'``).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from whichgpu.engine.core import InputError, Problem


PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
#: What the statement is about, as the URI that in-toto asks for.
PREDICATE_TYPE = "urn:whichgpu:record:2"


class PublicKey(Struct, frozen=True):
    """A key that signatures are checked with."""

    name: str  # whose it is, as its keeper calls it
    raw: bytes  # 32 bytes

    @property
    def id(self) -> str:
        """SHA-256 over the key's bytes, in hexadecimal: what signatures call it."""
        return hashlib.sha256(self.raw).hexdigest()

    def to_text(self) -> str:
        """The key as PEM (SubjectPublicKeyInfo)."""
        crypto = _crypto()
        whole: bytes = crypto.public(self.raw)
        return whole.decode("ascii")


class SigningKey(Struct, frozen=True):
    """A private key, opened."""

    public: PublicKey
    secret: Any

    def sign(self, digest: str, name: str) -> dict[str, Any]:
        """The DSSE envelope that vouches for a statement with this SHA-256, called ``name``."""
        stated = {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": name, "digest": {"sha256": digest}}],
            "predicateType": PREDICATE_TYPE,
            "predicate": {"signed_by": self.public.name},
        }
        payload = json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        made = {"keyid": self.public.id, "sig": _base64(self.secret.sign(encoded(PAYLOAD_TYPE, payload)))}
        return {"payloadType": PAYLOAD_TYPE, "payload": _base64(payload), "signatures": [made]}


def can_sign() -> bool:
    """Whether ``cryptography`` is installed."""
    return find_spec("cryptography") is not None


def encoded(kind: str, payload: bytes) -> bytes:
    """The pre-authentication encoding of DSSE: the bytes that are signed."""
    return b"DSSEv1 %d %b %d %b" % (len(kind.encode()), kind.encode(), len(payload), payload)


def new_key(name: str, passphrase: str | None) -> tuple[str, PublicKey]:
    """A new private key as PEM (PKCS 8, encrypted where there is a passphrase), and its public half."""
    text, raw = _crypto().new(passphrase)
    return text, PublicKey(name, raw)


def open_key(text: str, name: str, passphrase: str | None) -> SigningKey:
    """The private key in a PEM text.

    Raises:
        InputError: it is none, it is encrypted and no passphrase is given, or the passphrase is wrong.
    """
    secret, raw = _crypto().load(text, passphrase)
    return SigningKey(PublicKey(name, raw), secret)


def is_encrypted(text: str) -> bool:
    """Whether a private key's PEM text asks for a passphrase."""
    return "ENCRYPTED" in text.partition("\n")[0]


def read_public(text: str, name: str) -> PublicKey:
    """The public key in a PEM text. Raises InputError where there is none."""
    if "PRIVATE KEY" in text:
        fix = "hand out the public one: whichgpu keys show prints it"
        raise InputError(Problem("private-key", f"{name} holds a private key, which must stay with its owner", fix=fix))
    return PublicKey(name, _crypto().read_public(text, name))


def subject_of(signature: Mapping[str, Any], key: PublicKey) -> str | None:
    """The SHA-256 that an envelope vouches for with this key; None where it does not.

    Args:
        signature: an envelope, of any shape: what is malformed vouches for nothing.
        key: the key that it is checked with.
    """
    try:
        payload = base64.b64decode(signature["payload"], validate=True)
        kind, made = signature["payloadType"], signature["signatures"]
        sound = kind == PAYLOAD_TYPE and any(
            entry["keyid"] == key.id and _crypto().verifies(key.raw, _bytes(entry["sig"]), encoded(kind, payload))
            for entry in made
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return stated_subject(signature) if sound else None


def stated_subject(signature: Mapping[str, Any]) -> str | None:
    """The SHA-256 that an envelope says it vouches for, whoever made it; None where it is malformed."""
    try:
        stated = json.loads(base64.b64decode(signature["payload"], validate=True))
        kinds = (stated["_type"], stated["predicateType"])
        if kinds != (STATEMENT_TYPE, PREDICATE_TYPE) or len(stated["subject"]) != 1:
            return None
        return str(stated["subject"][0]["digest"]["sha256"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None


def key_ids(signature: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that an envelope names; none where it is malformed."""
    made = signature.get("signatures")
    entries = made if isinstance(made, list) else []
    return tuple(str(entry["keyid"]) for entry in entries if isinstance(entry, dict) and "keyid" in entry)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _bytes(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _crypto() -> Any:
    """The arithmetic. Raises InputError where ``cryptography`` is not installed."""
    if not can_sign():
        fix = "pip install 'whichgpu[sign]'"
        raise InputError(Problem("no-cryptography", "signatures need the package cryptography", fix=fix))
    from whichgpu.engine.records import ed25519  # noqa: PLC0415 - most runs sign and check nothing.

    return ed25519
