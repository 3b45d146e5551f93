"""The one module that touches durable-rules' C extension.

It is used below its Python layer (which starts threads, swallows exceptions and never frees a ruleset), in a form
measured to be safe: one fixed session, a priming run after compiling, sentinel facts around each batch, one thread at
a time. The extension is undocumented, so the distribution pins its version.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import weakref
from functools import cache
from typing import Any

from msgspec import Struct

from whichgpu.engine.core import InputError, InternalError, Problem, nearest_words


#: Facts of one batch with the two sentinels; also each rule's ``cap``, so that one message reports all its matches.
BATCH = 1000
MAX_FACTS = BATCH - 2

#: Name of the rule that the sentinel facts fire. An unparsable value makes the engine drop the rest of a batch without
#: a word, hence the last; a batch whose first fact cannot be parsed has no session and crashes, hence the first.
SENTINEL = "last"
_FIRST_FACT = '{"id":"first","last":1}'
_LAST_FACT = '{"id":"last","last":1}'
_SENTINEL_RULE = f'"{SENTINEL}":{{"all":[{{"m":{{"last":1}}}}],"cap":{BATCH}}}'
_SESSION = "0"
_OK, _NOT_HANDLED = 0, 1


class EngineStatus(Struct, frozen=True):
    """Which engine fires the rules, and why not durable-rules if it does not."""

    engine: str  # "durable" | "generated"
    version: str | None
    why_not: str | None


@cache
def _extension() -> tuple[Any, str | None]:
    """The C module, or None and why it cannot be had."""
    try:
        return importlib.import_module("durable_rules_engine"), None
    except ImportError as error:
        if sys.version_info >= (3, 13):
            return None, "durable-rules 2.0.28 does not load on Python 3.13 and later"
        return None, f"the module durable_rules_engine cannot be imported ({error}); installing it needs a C compiler"


def _switched_off() -> str | None:
    """The setting that switches durable-rules off, if there is one: ``WHICHGPU_ENGINE=generated``, or its old name.

    Raises:
        InputError: it names no engine.
    """
    wanted = os.environ.get("WHICHGPU_ENGINE")
    if wanted in (None, "", "durable"):
        return None
    if wanted not in ("generated", "reference"):
        message, known = f"WHICHGPU_ENGINE: there is no engine {wanted!r}", ("durable", "generated")
        fix = "write generated to do without durable-rules, or unset the variable"
        raise InputError(Problem("unknown-engine", message, nearest=nearest_words(wanted, known), fix=fix))
    return f"WHICHGPU_ENGINE={wanted} is set"


def engine_status() -> EngineStatus:
    """What ``doctor`` says. The environment variable ``WHICHGPU_ENGINE=generated`` switches durable-rules off."""
    if off := _switched_off():
        return EngineStatus("generated", None, off)
    module, why_not = _extension()
    if module is None:
        return EngineStatus("generated", None, why_not)
    from importlib import metadata  # noqa: PLC0415  # 17 ms that only this report needs.

    try:
        version = metadata.version("durable-rules")
    except metadata.PackageNotFoundError:
        version = None
    return EngineStatus("durable", version, None)


def durable_available() -> bool:
    """Whether durable-rules is to fire the rules."""
    return _switched_off() is None and _extension()[0] is not None


class Session:
    """One compiled ruleset in the C engine. Freed with the object.

    Args:
        name: for the engine's own use.
        rules: the members of the ruleset's JSON object, without the sentinel's rule.

    Raises:
        InternalError: the engine refuses the ruleset; the compiler must not produce such.
    """

    def __init__(self, name: str, rules: list[str]) -> None:
        self._engine = _extension()[0]
        if self._engine is None:
            raise InternalError("durable-rules is not available")
        self._lock = threading.RLock()  # Compiling runs the priming batch.
        self._broken = False
        self._limit = len(rules) + 1
        self._text = "{" + ",".join([*rules, _SENTINEL_RULE]) + "}"
        self._name = name
        self._handle = self._compile()

    def _compile(self) -> int:
        try:
            handle: int = self._engine.create_ruleset(self._name, self._text)
        except self._engine.error as error:
            raise InternalError(f"durable-rules refuses the ruleset {self._name}: {error}") from error
        # At exit the process gives everything back faster than we could.
        self._free = weakref.finalize(self, self._engine.delete_ruleset, handle)
        self._free.atexit = False
        # Deleting a session that never fired frees an uninitialised pointer; the first one always fires here.
        self._handle = handle
        self.run([])
        return handle

    def run(self, facts: list[str]) -> list[tuple[str, str]]:
        """Assert the facts, let every rule fire, forget the facts.

        Args:
            facts: JSON objects, each with an ``id`` that no other of the batch has; at most MAX_FACTS.

        Returns:
            For each rule that fired its name and the engine's message with all matched facts, in no meaningful order.

        Raises:
            InternalError: the engine reports an error, drops facts, or fires without end.
        """
        if len(facts) > MAX_FACTS:
            raise InternalError(f"{len(facts)} facts in one batch, {MAX_FACTS} at most")
        batch = "[" + ",".join([_FIRST_FACT, *facts, _LAST_FACT]) + "]"
        with self._lock:
            if self._broken:
                # A failed run may leave facts behind, and a session that never fired cannot be deleted: start afresh.
                self._free()
                self._broken = False
                self._handle = self._compile()
            try:
                fired = self._fire(batch)
            except self._engine.error as error:
                self._broken = True
                raise InternalError(f"durable-rules failed on the ruleset {self._name}: {error}") from error
            except BaseException:
                self._broken = True
                raise
        return fired

    def _fire(self, batch: str) -> list[tuple[str, str]]:
        engine, handle = self._engine, self._handle
        code, state = engine.assert_facts(handle, batch)
        if code not in (_OK, _NOT_HANDLED):
            raise InternalError(f"durable-rules takes two facts of the ruleset {self._name} for one (code {code})")
        started = engine.start_action_for_state(handle, state)
        message = started[1] if started else None
        fired: list[tuple[str, str]] = []
        try:
            while message:
                if len(fired) == self._limit:
                    raise InternalError(f"the ruleset {self._name} fires more often than it has rules")
                fired.append((message[2 : message.index('"', 2)], message))
                message = engine.complete_and_start_action(handle, state)
        finally:
            if fired:
                engine.delete_state(handle, _SESSION)
        sentinel = next((number for number, (name, _) in enumerate(fired) if name == SENTINEL), None)
        if sentinel is None or _LAST_FACT not in fired.pop(sentinel)[1]:
            raise InternalError(f"durable-rules dropped facts of a batch of the ruleset {self._name}")
        return fired
