"""`firth shots`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli import given, stores
from firth.cli.tables import show
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.data.records import Record
    from firth.uses.prompting import Asked, Tested

_FEW = 12  # labels of a table of confusions
_OTHER = "(other)"  # what was written is no label


def shots(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder of a model that continues or writes texts.")],
    template: Annotated[
        str, typer.Option(help=r'A file, or the text: "Review: {text}\nFeeling: {label}", columns in braces.')
    ],
    examples: Annotated[str, typer.Option(help="What is asked: a table (TSV, CSV, JSONL, …) or a set, sst2:dev.")],
    pool: Annotated[str, typer.Option("--from", help="What is shown; else the other examples.")] = "",
    shots: Annotated[str, typer.Option(help="How many examples a prompt shows, with commas.")] = "0,1,4",
    by: Annotated[str, typer.Option(help="total, token, byte, relative or generation; several with commas.")] = "",
    label: Annotated[list[str] | None, typer.Option(help="1=positive: what to call a label; repeat for more.")] = None,
    column: Annotated[list[str] | None, typer.Option(help="text=body: {text} is the column body.")] = None,
    joint: Annotated[str, typer.Option(help="What stands between examples.")] = r"\n\n",
    most: Annotated[int, typer.Option(min=0, help="Only so many of the examples, drawn by the seed; 0: all.")] = 0,
    form: Annotated[str, typer.Option("--format", help="Of the tables; else guessed.")] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Options of the format: columns=label,text …")
    ] = None,
    encoding: Annotated[str, typer.Option(help="Of the tables; UTF-8 otherwise.")] = "",
    data: stores.DATA = None,
    prompts: Annotated[bool, typer.Option("--prompts", help="Also print the first prompt of each kind.")] = False,
    seed: stores.SEED = 0,
    as_json: stores.JSON = False,
) -> None:
    """Test a model on a task it was not trained for, with prompts that show no, one or a few examples."""
    from firth import api
    from firth.data.templates import examples as made
    from firth.data.templates import template as parsed
    from firth.uses.prompting import evaluate, rules

    wanted, asked, words = parsed(_template(template)), _asked(shots, by, joint, most, seed), _words(label or [])
    tables = {name: _records(name, form, settings, encoding, data) for name in (examples, pool) if name}
    model = api.load(run)
    rules(model, asked)  # refused before the tables are read
    columns = given.columns_of(column)
    read = {name: made(records, wanted, columns, name) for name, records in tables.items()}
    found = evaluate(model, wanted, read[examples], pool=read.get(pool), words=words, asked=asked)
    stores.print_json(_values(found)) if as_json else _print(found, prompts)


def _template(text: str) -> str:
    """The content of a file of this name, else the text, in which \\n and \\t are meant."""
    path = Path(text)
    if "{" not in text and (path.is_file() or "/" in text):
        from firth.data import lines

        return lines.whole(path).removesuffix("\n")
    return _unescaped(text)


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t")


def _asked(shots: str, by: str, joint: str, most: int, seed: int) -> Asked:
    from dataclasses import replace

    from firth.config import core
    from firth.uses.prompting import Asked

    settings = [f"shots={shots}", *([f"by={by}"] if by else []), f"most={most}", f"seed={seed}"]
    return replace(core.override(Asked(), settings), joint=_unescaped(joint))


def _records(name: str, form: str, settings: list[str] | None, encoding: str, data: Path | None) -> Iterator[Record]:
    """The records of a file, or of a split of a set: world-classification:test."""
    base, _, split = ("", "", "") if Path(name).exists() else name.partition(":")
    return given.find(base or name, split, form, settings, encoding, data).records()


def _words(settings: list[str]) -> dict[str, str]:
    found = {}
    for setting in settings:
        label, equals, words = setting.partition("=")
        if not equals or not label or not words:
            raise FirthError(f"cannot read --label {setting!r}", do="write it as 1=positive")
        found[label] = words
    return found


# --- what is printed ----------------------------------------------------------------------------------------------


def _values(found: Tested) -> dict[str, Any]:
    outcomes = [
        {
            "shots": each.shots, "by": each.by, **each.accuracy.to_dict(), "interval": each.interval._asdict(),
            "guesses": each.guesses,
            "confusion": {
                right: {_OTHER if guess is None else guess: count for guess, count in row.items() if count}
                for right, row in found.confusion(each).items()
            },
        }
        for each in found.outcomes
    ]  # fmt: skip
    label, share = found.majority
    return {"examples": len(found.right), "right": found.right, "words": found.words,
            "majority": {"label": label, "share": share}, "outcomes": outcomes,
            "prompts": {str(shots): text for shots, text in found.prompts.items()}, "notes": found.notes}  # fmt: skip


def _print(found: Tested, prompts: bool) -> None:
    for shots, text in found.prompts.items() if prompts else ():
        print(f"--- the first prompt with {shots} shot{'s' * (shots != 1)}")
        print("\n".join(map(stores.plain, text.split("\n"))))
    if prompts:
        print("---")
    show([_row(each) for each in found.outcomes], whole=True)
    label, share = found.majority
    print(f"{len(found.right):,} examples; always saying {stores.plain(label)!r} is right in {share:.1%}")
    print(f"[{_signature(found)}]")
    for note in found.notes:
        print(f"note: {stores.plain(note)}")
    last = found.outcomes[-1]
    if len(found.labels) <= _FEW:
        print(f"\nright label and guesses, {last.shots} shot{'s' * (last.shots != 1)} by {last.by}:")
        show(_confused(found), whole=True)


def _row(each: Any) -> dict[str, str]:
    low, high = each.interval
    return {"shots": str(each.shots), "by": each.by, "accuracy": f"{each.accuracy.value:.1%}",
            "95 of 100 draws": f"{low:.1%} to {high:.1%}"}  # fmt: skip


def _signature(found: Tested) -> str:
    """What the signatures of all outcomes share."""
    parts = found.outcomes[0].accuracy.signature.split("|")
    return "|".join(part for part in parts if not part.startswith(("shots:", "by:")))


def _confused(found: Tested) -> list[dict[str, str]]:
    """A row for each right label."""
    rows = found.confusion(found.outcomes[-1]).items()
    name = {guess: _OTHER if guess is None else stores.plain(guess) for _, row in rows for guess in row}
    return [
        {"right": stores.plain(right), **{name[guess]: f"{count:,}" for guess, count in row.items()}}
        for right, row in rows
    ]
