"""`firth align`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import require_writable, sanitise
from firth.cli.options import JSON, QUIET, SETTINGS, field_type
from firth.config import schema
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.workflows.align_files import AlignedFiles

Symmetrisation = field_type(schema.Aligner, "symmetrisation")


def align(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Source texts, one per line.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Their translations, line by line.")],
    preset: Annotated[
        str, typer.Option(help="Train on these files: hmm-aligner (default), ibm-1, ibm-2 or fast-align.")
    ] = "",
    run: Annotated[str, typer.Option(metavar="RUN", help="Use a trained run instead.")] = "",
    symmetrisation: Annotated[
        Symmetrisation | None, typer.Option(help="How both directions are combined; by default as trained.")
    ] = None,
    gold: Annotated[str, typer.Option(metavar="FILE", help="Sure gold links (Pharaoh format), to compute AER.")] = "",
    possible: Annotated[str, typer.Option(metavar="FILE", help="With --gold: possible gold links.")] = "",
    out: Annotated[Path | None, typer.Option(help="Write the links to this file.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Print words instead of positions.")] = False,
    threads: Annotated[int, typer.Option(min=0, help="Number of threads; 0: all cores.")] = 0,
    settings: SETTINGS = None,
    quiet: QUIET = False,
    as_json: JSON = False,
) -> None:
    """Word-align two parallel files; print links in Pharaoh format."""
    from firth import api
    from firth.datasets import numbered_lines
    from firth.workflows.align_files import align_files

    if run and (preset or settings):
        raise FirthError("a run is used as it was trained", where=run, do="leave out --preset and --set")
    if possible and not gold:
        raise FirthError("--possible without --gold", do="give the sure links with --gold")
    require_writable(out)
    overrides = [f"train.threads={threads}", *(settings or [])]
    choice = None if run else api.resolve_config(preset or "hmm-aligner", overrides)

    def log(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)

    aligned = align_files(
        source, target, choice, run=run, symmetrisation=symmetrisation or "", gold=gold, possible=possible, log=log
    )
    lines = _format_links(aligned, words, as_json)
    if out:
        numbered_lines.save_lines(out, lines)
    else:
        for line in lines:
            print(line)
    log(_summary(aligned))


def _format_links(aligned: AlignedFiles, words: bool, as_json: bool) -> Iterator[str]:
    from firth.pipelines.align_words import linked_words

    for pair, links in zip(aligned.pairs, aligned.links, strict=True):
        word_pairs = linked_words(pair.left, pair.right, links)
        if as_json:
            yield json.dumps({"links": links, "words": word_pairs}, ensure_ascii=False)
        elif words:
            yield "  ".join("–".join(map(sanitise, both)) for both in word_pairs)
        else:
            yield " ".join(f"{i}-{j}" for i, j in links)


def _summary(aligned: AlignedFiles) -> str:
    line = f"{len(aligned.pairs):,} pairs, {sum(map(len, aligned.links)):,} links"
    if aligned.counts is None:
        return line
    counts = aligned.counts
    metrics = {"alignment error rate": counts.error_rate, "precision": counts.precision, "recall": counts.recall}
    return line + "".join(f"; {name} {'n/a' if value is None else f'{value:.4f}'}" for name, value in metrics.items())
