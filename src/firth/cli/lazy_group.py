"""Command groups given by tables: a command's module is imported when the command is used, not when help is shown."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from firth.errors import FirthError, unknown

# title of a section -> name of a command -> (module and function within firth.cli, help)
Sections = Mapping[str, Mapping[str, tuple[str, str]]]


class LazyGroup(TyperGroup):
    """A group whose commands are in a table."""

    sections: ClassVar[Sections] = {}
    moved: ClassVar[Mapping[str, str]] = {}  # commands of earlier versions -> what to type now

    @property
    def table(self) -> dict[str, tuple[str, str]]:
        """The commands of all sections."""
        return {name: entry for section in self.sections.values() for name, entry in section.items()}

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the table's order."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One command, its module imported now."""
        if cmd_name in self.moved:
            raise FirthError(f"unknown verb {cmd_name!r}", do=f"type firth {self.moved[cmd_name]}")
        if cmd_name not in self.table:
            raise unknown("verb", cmd_name, self.table)
        module, _, name = self.table[cmd_name][0].partition(".")
        entry = getattr(import_module(f"firth.cli.{module}"), name)
        if isinstance(entry, typer.Typer):
            group = entry
        else:
            group = typer.Typer(add_completion=False, rich_markup_mode=None)
            group.command(cmd_name, cls=getattr(entry, "command_class", None))(entry)
        command = typer.main.get_command(group)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The table as help, section by section."""
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, help_text) for name, (_, help_text) in commands.items()])


def lazy_group(help_text: str, sections: Sections, moved: Mapping[str, str] | None = None) -> typer.Typer:
    """A Typer application of these commands."""
    kind = type("Commands", (LazyGroup,), {"sections": sections, "moved": moved or {}})
    app = typer.Typer(
        cls=kind,
        help=help_text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain help: the coloured one costs more time than the rest of the command
        pretty_exceptions_enable=False,
    )
    app.callback()(_no_options)
    return app


def _no_options() -> None:
    pass
