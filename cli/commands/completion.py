"""``whichgpu completion``: the script that lets a shell complete commands, facts, GPUs and models."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from whichgpu.cli import output


_HELP = """\
Print the script that lets SHELL complete commands, options, facts, GPUs and models as you type.

\b
bash:  eval "$(whichgpu completion bash)"     in ~/.bashrc
zsh:   eval "$(whichgpu completion zsh)"      in ~/.zshrc
fish:  whichgpu completion fish | source      in ~/.config/fish/config.fish
"""


@click.command(help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(*, shell: str) -> int:
    """Print the script of a shell."""
    from whichgpu.cli.main import whichgpu  # noqa: PLC0415 - that module names this one.

    made = get_completion_class(shell)
    if made is None:  # click knows all three.
        return 1
    output.emit(made(whichgpu, {}, "whichgpu", "_WHICHGPU_COMPLETE").source() + "\n")
    return 0
