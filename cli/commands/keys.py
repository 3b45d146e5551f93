"""``whichgpu keys``: the key that signs records, and the keys that are trusted."""

from __future__ import annotations

import getpass
import os
import sys

import click

from whichgpu.cli import output
from whichgpu.cli.groups import SuggestingGroup
from whichgpu.cli.inputs import read_bytes
from whichgpu.cli.options import output_format
from whichgpu.cli.records import PASSPHRASE, keyring
from whichgpu.engine.core import InputError, Problem
from whichgpu.engine.records import PublicKey


@click.group(cls=SuggestingGroup)
def keys() -> None:
    """Sign records, and say whose signatures count."""


@keys.command()
@click.option("--name", help="Whose key it is, as records will say; your login name if left out.")
@click.option("--no-passphrase", "open_", is_flag=True, help="Keep it unencrypted, for services.")
def new(*, name: str | None, open_: bool) -> int:
    """Make a key pair; every record that is saved from then on is signed.

    The private key is encrypted with a passphrase from WHICHGPU_PASSPHRASE, or typed, and only you may read its file.
    """
    phrase = None if open_ else _new_passphrase()
    key = keyring().create(name or getpass.getuser(), phrase)
    output.emit(f"{_line(key)}\nHand out the public key: whichgpu keys show\n")
    return 0


@keys.command()
@output_format("text", "json")
def show(form: str) -> int:
    """Show your public key, and the keys that are trusted."""
    ring = keyring()
    own, trusted = ring.own(), ring.trusted()
    if form == "json":
        listed = [
            {"name": key.name, "keyid": key.id, "own": key == own, "pem": key.to_text()} for key in trusted.values()
        ]
        output.emit_json(listed)
        return 0
    lines = [f"{_line(own)}, yours\n{own.to_text()}" if own else "You have no key. Make one: whichgpu keys new\n"]
    others = [key for key in trusted.values() if own is None or key.id != own.id]
    lines += [f"{_line(key)}, trusted\n" for key in others]
    output.emit("".join(lines))
    return 0


@keys.command()
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--name", required=True, help="Whose key it is.")
def trust(file: str, name: str) -> int:
    """Trust the public key in FILE: records signed by it are authentic here.

    Compare the key's id with its owner first, by another way than the one that the file came by.
    """
    raw, label = read_bytes(file)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(Problem("not-a-key", f"{label} holds no public key", fix="see: whichgpu keys show")) from error
    output.emit(f"{_line(keyring().trust(text, name, label))}, trusted\n")
    return 0


def _line(key: PublicKey) -> str:
    return f"{key.name}: key {key.id}"


def _new_passphrase() -> str:
    passphrase = os.environ.get(PASSPHRASE)
    if passphrase is None and sys.stdin.isatty():
        passphrase = click.prompt("New passphrase", hide_input=True, confirmation_prompt=True, err=True)
    if not passphrase:
        fix = f"set {PASSPHRASE}, type one at a terminal, or say --no-passphrase"
        raise InputError(Problem("passphrase", "there is no passphrase for the new key", fix=fix))
    return str(passphrase)
