"""`firth text clean | stats`."""

from __future__ import annotations

import typer

from firth.cli import cleaning, statistics

app = typer.Typer(
    help="Clean text and count what is in it.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
app.command("clean")(cleaning.clean)
app.command("stats")(statistics.stats)
