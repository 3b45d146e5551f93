"""The pager: a text that is longer than the terminal, shown by the program that the person reads long texts with."""

from __future__ import annotations

import os
import sys


#: Leave at once where all is seen, keep colours, leave the text on the screen afterwards.
_LESS_OPTIONS = "FRX"


def show_paged(text: str) -> bool:
    """Show a text by ``$PAGER``, or by ``less``. False where it was not shown: it is short, or this is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "") in {"", "dumb"}:
        return False
    import shlex  # noqa: PLC0415 - three imports that an answer into a pipe or a file does not need
    import shutil  # noqa: PLC0415
    import subprocess  # noqa: PLC0415

    if text.count("\n") < shutil.get_terminal_size().lines:
        return False
    command = shlex.split(os.environ.get("PAGER") or "less")
    program = shutil.which(command[0]) if command else None
    if program is None:
        return False
    environment = {"LESS": _LESS_OPTIONS, **os.environ}
    shown = subprocess.run([program, *command[1:]], input=text, text=True, check=False, env=environment)  # noqa: S603
    return shown.returncode == 0
