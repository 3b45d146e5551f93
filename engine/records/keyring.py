"""A folder of keys: the own private key, and the public keys of others that are trusted."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec.structs import replace

from whichgpu.engine.core import InputError, Problem, unreadable
from whichgpu.engine.records.signing import PublicKey, SigningKey, is_encrypted, new_key, open_key, read_public


_PRIVATE, _PUBLIC, _TRUSTED = "signing.pem", "signing.pub", "trusted"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}\Z")


class Keyring:
    """The keys of one person or one service.

    Args:
        folder: holds ``signing.pem`` (mode 0600), ``signing.pub`` and ``trusted/NAME.pub``. It need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def has_private(self) -> bool:
        """Whether there is a key to sign with."""
        return (self.folder / _PRIVATE).is_file()

    @property
    def asks_passphrase(self) -> bool:
        """Whether the private key is encrypted."""
        return self.has_private and is_encrypted(self._read(self.folder / _PRIVATE))

    def create(self, name: str, passphrase: str | None) -> PublicKey:
        """Make a key pair. Raises InputError where there is one already: what it signed could not be checked then."""
        _check_name(name)
        if self.has_private:
            fix = "move that file away first, and keep its public key where records signed by it are checked"
            message = f"there is a private key already, {self.folder / _PRIVATE}"
            raise InputError(Problem("key-exists", message, fix=fix))
        text, public = new_key(name, passphrase)
        self._write(self.folder / _PRIVATE, text, 0o600)
        self._write(self.folder / _PUBLIC, f"{public.to_text()}# {name}\n", 0o644)
        return public

    def own(self) -> PublicKey | None:
        """The public half of the own key."""
        file = self.folder / _PUBLIC
        return _named(self._read(file), "me") if file.is_file() else None

    def signing(self, passphrase: str | None) -> SigningKey:
        """The own private key, opened. Raises InputError."""
        if not self.has_private:
            raise InputError(Problem("no-key", "there is no key to sign with", fix="whichgpu keys new"))
        own = self.own()
        return open_key(self._read(self.folder / _PRIVATE), own.name if own else "me", passphrase)

    def trust(self, text: str, name: str, label: str | None = None) -> PublicKey:
        """Trust a public key under a name; ``label`` says where its text came from. Raises InputError."""
        _check_name(name)
        key = replace(read_public(text, label or name), name=name)
        file = self.folder / _TRUSTED / f"{name}.pub"
        if file.is_file() and _named(self._read(file), name).id != key.id:
            fix = "choose another --name, or remove that file first"
            raise InputError(Problem("key-exists", f"another key is trusted as {name!r} already", fix=fix))
        self._write(file, key.to_text(), 0o644)
        return key

    def trusted(self) -> dict[str, PublicKey]:
        """All keys that vouch for a record here, by their ids: the own one, and those trusted. Raises InputError."""
        files = sorted((self.folder / _TRUSTED).glob("*.pub")) if (self.folder / _TRUSTED).is_dir() else []
        keys = [_named(self._read(file), file.stem) for file in files]
        own = self.own()
        return {key.id: key for key in ([own] if own else []) + keys}

    def _read(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(unreadable(file, error, f"the key {file}")) from error

    def _write(self, file: Path, text: str, mode: int) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            message = f"cannot write the key {file}: {error.strerror or error}"
            raise InputError(Problem("unwritable", message)) from error


def _named(text: str, name: str) -> PublicKey:
    """The key of a file; its last line may name whose it is."""
    noted = text.rstrip().rpartition("\n")[2]
    return read_public(text, noted.removeprefix("# ") if noted.startswith("# ") else name)


def _check_name(name: str) -> None:
    if not _NAME.match(name):
        fix = "letters, digits, and . _ @ - between them; up to 64"
        raise InputError(Problem("bad-name", f"{name!r} is no name for a key", fix=fix))
