"""Groups of commands that say what was meant where a command is misspelt or called as other programs call it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import click


class SuggestingGroup(click.Group):
    """A group that names the nearest command where there is none of that name."""

    #: What other programs call such commands.
    called_so: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of that name. Refuses one that is not there."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            from whichgpu.engine.core import nearest_words  # noqa: PLC0415 - help and version need no engine.

            nearest = self.called_so.get(name) or nearest_words(name, self.list_commands(ctx))
            hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
            raise click.UsageError(f"there is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)
