"""`firth ladder`."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.stores import print_json

if TYPE_CHECKING:
    from firth.runs.ladder import Ladder, Row

_WIDE = 130  # columns where there is no terminal
_LEAST = 12  # columns of a sample


def ladder(
    text: Annotated[str | None, typer.Option(help="File, folder, - (standard input), python-docs or world.")] = None,
    valid: Annotated[str | None, typer.Option(help="Own validation text instead of a share.")] = None,
    test: Annotated[str | None, typer.Option(help="Own test text instead of a share.")] = None,
    document: Annotated[str | None, typer.Option(help="What a document is: auto, file, paragraph or line.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of the text files.")] = None,
    errors: Annotated[str | None, typer.Option(help="strict, or replace bytes that are not text.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time for all rungs: 2m, 20m, 2h; or 500 steps of each neural one. 2m.")
    ] = None,
    rungs: Annotated[str | None, typer.Option(help="Which, with commas: 5-gram,lstm-lm,gpt:small")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="auto, char, byte, word, bpe, byte-bpe, …")] = None,
    vocabulary: Annotated[str | None, typer.Option(help="Tokens; by the size of the text if not given.")] = None,
    lower: Annotated[str | None, typer.Option(help="no, yes or turkish.")] = None,
    split: Annotated[str | None, typer.Option(help="words, or whitespace if the text is cut already.")] = None,
    precision: Annotated[str | None, typer.Option(help="float32 or bf16.")] = None,
    threads: Annotated[str | None, typer.Option(help="Of the processor; all if not given.")] = None,
    seed: Annotated[str | None, typer.Option(help="Of splits, start values and samples.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder; runs/ladder. One that was stopped goes on.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the table at the end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The table and the advice as one JSON object.")] = False,
) -> None:
    """Train every language model from n-gram to Transformer on one text; say which to use."""
    import firth
    from firth.training.guard import Interrupted

    given = {"text": text, "valid": valid, "test": test, "document": document, "encoding": encoding, "errors": errors,
             "budget": budget, "rungs": rungs, "tokenizer": tokenizer, "vocabulary": vocabulary, "lower": lower,
             "split": split, "precision": precision, "threads": threads, "seed": seed}  # fmt: skip
    words = {name: value for name, value in given.items() if value is not None}
    try:
        found = firth.ladder(out=out, progress="quiet" if quiet or as_json else "auto", **words)
    except (Interrupted, KeyboardInterrupt) as stop:
        again = shlex.join([*(f"--{k}={v}" for k, v in words.items()), *([f"--out={out}"] if out else [])])
        print(f"firth: stopped; go on with: firth ladder {again}".rstrip(), file=sys.stderr)
        sys.exit(128 + stop.number if isinstance(stop, Interrupted) else 130)
    if as_json:
        print_json(found.to_dict())
        return
    _print(found)


def _print(found: Ladder) -> None:
    rows = [_cells(row, found) for row in found.rows]
    for line in _aligned(rows, shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDE):
        print(line)
    if "test" in found.floors:
        print(f"the truth about this text: {found.floors['test']:.3f} {found.yardstick}")
    print()
    for sentence in found.advice.sentences:
        print(sentence)
    for note in found.notes:
        print(f"note: {note}")
    print(f"\nby itself:   {found.advice.command}")
    print(f"the model:   {found.recommended}")
    print(f"the report:  {found.report}")


def _cells(row: Row, found: Ladder) -> dict[str, str]:
    from firth.report.plot import short

    return {
        "rung": f"{'*' if row.rung == found.advice.rung else ' '} {row.rung}",
        "parameters": short(row.parameters),
        "seconds": f"{row.seconds:.1f}",
        "tokens/s": short(row.tokens_per_second),
        "read": short(row.tokens),
        "perplexity": f"{row.perplexity:,.1f}",
        found.yardstick: f"{row.bits.value:.3f} ± {(row.bits.high - row.bits.low) / 2:.3f}",
        "sample": " ".join(row.sample.split()),
    }


def _aligned(rows: Sequence[Mapping[str, str]], width: int) -> Iterator[str]:
    """Numbers to the right; the sample takes what is left of the line, or nothing if that is little."""
    *names, last = rows[0]
    wide = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    left = width - sum(wide.values()) - 2 * len(names)
    for row in [{name: name for name in rows[0]}, *rows]:
        cells = [
            row[name].rjust(wide[name]) if place else row[name].ljust(wide[name]) for place, name in enumerate(names)
        ]
        text = row[last] if len(row[last]) <= left else f"{row[last][: left - 1]}…"
        yield "  ".join([*cells, text] if left >= _LEAST else cells).rstrip()
