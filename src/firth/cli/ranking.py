"""`firth rank`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli import stores
from firth.cli.tables import show

if TYPE_CHECKING:
    from firth.uses.ranking import Ranked


def rank(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder of a language model.")],
    texts: Annotated[list[str], typer.Argument(metavar="TEXT...", help="The alternatives, or - for one a line.")],
    context: Annotated[str, typer.Option(help="What stands before each of them.")] = "",
    prefix: Annotated[bool, typer.Option("--prefix", help="The texts need not end where they stop.")] = False,
    as_json: stores.JSON = False,
) -> None:
    """Say which of several texts is the most probable, and by how much."""
    from firth.uses.models import language_model
    from firth.uses.ranking import rank

    found = rank(language_model(run), list(stores.words_of(texts, "text")), whole=not prefix, context=context)
    if as_json:
        stores.print_json([asdict(row) for row in found])
        return
    show([_row(row) for row in found], whole=True)
    for row in found:
        if row.unknown:
            print(f"note: unknown in {stores.plain(row.text)!r}: {stores.plain(', '.join(row.unknown))}")


def _row(row: Ranked) -> dict[str, str]:
    each = "n/a" if row.per_token is None else f"{row.per_token:.3f}"
    return {"share": f"{row.share:.2%}", "nats": f"{row.log_probability:.2f}", "bits": f"{row.bits:.2f}",
            "tokens": str(row.tokens), "nats/token": each, "text": stores.plain(row.text)}  # fmt: skip
