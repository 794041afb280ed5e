"""Commands that are imported when they are run, so that each start pays for one."""

import gc
import importlib
from collections.abc import Mapping
from typing import Any, final

import click


@final
class LazyGroup(click.Group):
    """A group that knows its commands by module and one line of help."""

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = dict(lazy)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return None
        module, _, name = self._lazy[cmd_name][0].partition(":")
        # What an import makes stays: to look through it again and again took a tenth of a node's start.
        collects = gc.isenabled()
        gc.disable()
        try:
            command = getattr(importlib.import_module(module), name)
        finally:
            if collects:
                gc.enable()
        assert isinstance(command, click.Command), cmd_name
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._lazy and not args[0].startswith("-"):
            import difflib  # for who mistyped

            near = difflib.get_close_matches(args[0], self._lazy, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help) for name, (_, help) in self._lazy.items()])
