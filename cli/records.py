"""Records as the commands use them: keys of this person, reading with verification, saving with a signature."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path
from typing import Any

import click

from whichgpu import Decision
from whichgpu.cli import output
from whichgpu.cli.inputs import read_bytes
from whichgpu.cli.render.blocks import Block, Paragraph
from whichgpu.engine.records import (
    MAX_BYTES,
    Asked,
    Keyring,
    Saved,
    SigningKey,
    can_sign,
    make_statement,
    read_saved as saved_in,
    record_text,
    sha256_of,
)


PASSPHRASE = "WHICHGPU_PASSPHRASE"  # noqa: S105 - the name of a variable.


def keyring() -> Keyring:
    """The keys of this person: ``$XDG_CONFIG_HOME/whichgpu/keys``, by default below ``~/.config``."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".config"
    return Keyring(folder / "whichgpu" / "keys")


def passphrase(ring: Keyring) -> str | None:
    """What opens the private key: from the environment, or typed. None where it has none."""
    if not ring.asks_passphrase:
        return None
    passphrase = os.environ.get(PASSPHRASE)
    if passphrase is None and sys.stdin.isatty():
        passphrase = click.prompt("Passphrase of the signing key", hide_input=True, err=True)
    return passphrase


def read_saved(file: str, *, altered: bool = False) -> Saved:
    """The decision in a file or on standard input, verified. Raises InputError where there is none, or half of one.

    Args:
        file: its path; ``-`` for standard input.
        altered: take one that was altered too, for a command that says so. Else it is refused.
    """
    raw, name = read_bytes(file, MAX_BYTES)
    ring = keyring()
    saved = saved_in(raw, name, ring.trusted() if can_sign() else {})
    return saved if altered else saved.believed()


def mark_blocks(*records: Saved) -> list[Block]:
    """What every page about records ends with: how far each can be believed."""
    return [Paragraph(saved.mark, "good" if saved.standing.state == "signed" else "plain") for saved in records]


def marked(payload: dict[str, Any], saved: Saved) -> dict[str, Any]:
    """A JSON answer about a record, with the mark."""
    return {**payload, "record": {"id": saved.id, "state": saved.standing.state, "says": saved.standing.says}}


def save_record(
    decision: Decision, answer: Any, file: str | None, asked: Asked, *, sign: bool | None
) -> dict[str, Any]:
    """Make a decision a record, signed where there is a key, and save it where a file is named. ``.gz`` packs it.

    Returns:
        The record. A line on standard error says whether it is signed.

    Raises:
        InputError: it cannot be signed, or not be written.
    """
    key = _signing_key() if sign or (sign is None and keyring().has_private) else None
    with output.working("recording every figure"):
        statement = make_statement(decision, answer, asked)
        digest = sha256_of(statement)
        signature = key.sign(digest, statement["id"]) if key else None
        if file:
            write_record(record_text(statement, signature), file)
    how = f"signed by {key.public.name}" if key else "unsigned"
    click.echo(f"Record {statement['id']}, {how}{f', saved in {file}' if file else ''}", err=True)
    return {"format": "whichgpu.record/2", "sha256": digest, "signature": signature, "statement": statement}


def write_record(text: str, file: str) -> None:
    """Write a record's text, whole or not at all. Raises InputError."""
    data = text.encode("utf-8")
    with output.writing(file):
        output.save_private(Path(file), gzip.compress(data, 9, mtime=0) if file.endswith(".gz") else data)


def _signing_key() -> SigningKey:
    ring = keyring()
    return ring.signing(passphrase(ring))
