"""Ed25519 by ``cryptography``: the one module that needs it."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from whichgpu.engine.core import InputError, Problem


def new(passphrase: str | None) -> tuple[str, bytes]:
    """A new private key as PEM, and the bytes of its public half."""
    key = Ed25519PrivateKey.generate()
    how: KeySerializationEncryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how).decode("ascii")
    return text, _raw(key.public_key())


def load(text: str, passphrase: str | None) -> tuple[Ed25519PrivateKey, bytes]:
    """The private key in a PEM text, and the bytes of its public half. Raises InputError."""
    try:
        key = load_pem_private_key(text.encode(), passphrase.encode() if passphrase else None)
    except TypeError as error:
        fix = "set WHICHGPU_PASSPHRASE, or run it where it can be typed"
        message = "the private key has a passphrase" if not passphrase else "the private key has no passphrase"
        raise InputError(Problem("passphrase", message, fix=fix if not passphrase else "leave it out")) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        message = "the passphrase is wrong, or the file is no private key"
        raise InputError(Problem("passphrase", message)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(Problem("not-a-key", "the private key is not of Ed25519", fix="whichgpu keys new"))
    return key, _raw(key.public_key())


def read_public(text: str, name: str) -> bytes:
    """The bytes of the public key in a PEM text. Raises InputError."""
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm, UnicodeEncodeError) as error:
        fix = "it begins with -----BEGIN PUBLIC KEY-----; whichgpu keys show prints yours"
        raise InputError(Problem("not-a-key", f"{name} holds no public key", fix=fix)) from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(Problem("not-a-key", f"{name} holds a public key that is not of Ed25519"))
    return _raw(key)


def verifies(raw: bytes, signature: bytes, signed: bytes) -> bool:
    """Whether a signature is this key's over these bytes."""
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def public(raw: bytes) -> bytes:
    """A public key as PEM."""
    return Ed25519PublicKey.from_public_bytes(raw).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
