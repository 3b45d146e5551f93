"""What the exit codes mean, and how an error is reported."""

from __future__ import annotations

import contextlib
import os
import sys

import click


ANSWERED = 0
NO_RECOMMENDATION = 1
WRONG_INPUT = 2
INTERNAL_ERROR = 3
INTERRUPTED = 130


def report(error: BaseException) -> int:
    """Say on standard error what went wrong, and return the exit code that it means."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        error.show()
        return WRONG_INPUT
    return _report_other(error)


def _report_other(error: BaseException) -> int:
    import traceback  # noqa: PLC0415 - help and version need neither this nor the engine.

    from whichgpu.engine.core import WhichgpuError  # noqa: PLC0415

    if isinstance(error, WhichgpuError):
        _say(_problems(str(error), len(error.problems)))
        return WRONG_INPUT
    if os.environ.get("WHICHGPU_DEBUG") == "1":
        traceback.print_exception(error, file=sys.stderr)
    _say(_internal(error))
    return INTERNAL_ERROR


def _say(text: str) -> None:
    """Write to standard error, where it can be written to."""
    from whichgpu.cli.render.blocks import printable  # noqa: PLC0415 - as above.

    with contextlib.suppress(OSError):
        click.echo(printable(text), err=True)


def _problems(text: str, amount: int) -> str:
    head = "Error: " if amount == 1 else f"{amount} errors:\n"
    return head + text


def _internal(error: BaseException) -> str:
    import traceback  # noqa: PLC0415 - as above.

    frame = traceback.extract_tb(error.__traceback__)[-1:] if error.__traceback__ else []
    file = os.path.basename(frame[0].filename) if frame else ""  # noqa: PTH119 - pathlib is slow to import.
    where = f" (at {file}:{frame[0].lineno})" if frame else ""
    return (
        f"whichgpu failed in itself{where}: {type(error).__name__}: {error}\n"
        "Please report this line, the command and its input file, and what `whichgpu doctor` prints. "
        "WHICHGPU_DEBUG=1 shows the whole course."
    )
