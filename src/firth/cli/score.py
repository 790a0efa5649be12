"""`firth score`: system outputs against references, line by line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import print_json, print_table, sanitise, split_commas
from firth.cli.options import ENCODING, JSON, SEED, choice
from firth.errors import FirthError
from firth.metrics.bleu import TOKENIZATIONS
from firth.metrics.comparison import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firth.metrics.bleu import MetricOptions
    from firth.metrics.bootstrap import ConfidenceInterval
    from firth.metrics.by_length import Bin
    from firth.metrics.comparison import Comparison, SignificanceTests, SystemScores


def score(
    hypotheses: Annotated[Path, typer.Argument(metavar="HYPOTHESES", help="Output of a system, one text per line.")],
    reference: Annotated[list[Path], typer.Option(metavar="FILE", help="References; repeat for several sets.")],
    other: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Output of another system; repeat for more.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Source texts: also score by their length.")
    ] = None,
    metric: Annotated[
        str, typer.Option(metavar="A,B,…", help=f"{', '.join(METRICS)}; several with commas.")
    ] = "bleu,chrf",
    tokenize: Annotated[
        choice(TOKENIZATIONS) | None, typer.Option(help="sacrebleu's tokenisation, of BLEU and ROUGE; BLEU: 13a.")
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    length_bins: Annotated[
        str, typer.Option(metavar="N,…", help="With --source: last lengths of the bins, such as 10,20,30.")
    ] = "",
    sentence_level: Annotated[bool, typer.Option("--sentence-level", help="Print the BLEU of each line.")] = False,
    resamples: Annotated[int, typer.Option(min=100, help="Resamples of the significance tests.")] = 1000,
    encoding: ENCODING = "utf-8",
    seed: SEED = 0,
    as_json: JSON = False,
) -> None:
    """Score texts against references (BLEU, chrF, ROUGE, exact match); test whether two systems differ."""
    from firth.metrics.bleu import MetricOptions, looks_tokenized
    from firth.metrics.comparison import compare

    options, names = MetricOptions(tokenize or "", lowercase), split_commas(metric)
    if not names:
        raise FirthError("no metric", do="give --metric bleu, or several with commas")
    paths = [hypotheses, *(other or []), *reference, *([source] if source else [])]
    texts = dict(zip(paths, _read_parallel(paths, encoding), strict=True))
    systems = [(str(path), texts[path]) for path in (hypotheses, *(other or []))]
    references = [texts[path] for path in reference]
    if sentence_level:
        _print_sentences(systems, references, options, as_json)
        return
    comparison = compare(
        systems,
        references,
        names,
        options,
        sources=texts[source] if source else (),
        edges=_parse_bins(length_bins, source),
        seed=seed,
        resamples=resamples,
    )
    if as_json:
        print_json(comparison.to_dict())
        return
    _print(comparison, [str(path) for path in reference])
    if looks_tokenized(systems[0][1], options):
        print("note: the texts look tokenised already; --tokenize none compares them as they are")


def _read_parallel(paths: Sequence[Path], encoding: str) -> list[list[str]]:
    """The lines of each file; all files must have the same number of lines."""
    from firth.datasets import numbered_lines

    files = [[line for _, line in numbered_lines.lines(numbered_lines.with_encoding(path, encoding))] for path in paths]
    for path, texts in zip(paths, files, strict=True):
        if len(texts) != len(files[0]):
            (fewer, short), (more, longer) = sorted([(len(files[0]), paths[0]), (len(texts), path)])
            what = f"{short} has no such line: it has {fewer:,}, this file {more:,}"
            raise FirthError(what, where=numbered_lines.at(longer, fewer + 1), do="give files that agree line by line")
    return files


def _parse_bins(lengths: str, source: Path | None) -> list[int]:
    bins = split_commas(lengths)
    if bins and not source:
        raise FirthError("--length-bins are of source texts", do="give them with --source")
    if not all(word.isdecimal() and int(word) for word in bins):
        raise FirthError(f"cannot read --length-bins {lengths!r}", do="write it as 10,20,30")
    return [int(word) for word in bins]


def _print_sentences(
    systems: Sequence[tuple[str, list[str]]], references: Sequence[list[str]], options: MetricOptions, as_json: bool
) -> None:
    """A line for each text: the sentence-level BLEU of every system."""
    from firth.metrics.bleu import count_bleu

    statistics = [count_bleu(texts, references, options, effective_order=True) for _, texts in systems]
    rows = [[each.score_subset([number]) for each in statistics] for number in range(len(systems[0][1]))]
    if as_json:
        names = [name for name, _ in systems]
        print_json({"systems": names, "signature": statistics[0].signature, "sentences": rows})
        return
    for row in rows:
        print("\t".join(f"{value:.2f}" for value in row))


# --- tables -------------------------------------------------------------------------------------------------------


def _print(comparison: Comparison, references: Sequence[str]) -> None:
    rows = [row for system in comparison.systems for row in _rows(system, len(comparison.systems) > 1)]
    blank = dict.fromkeys(rows[0], "")
    baseline = comparison.reference
    last = {"system": references[0], "metric": baseline.name, "score": _number(baseline.value)}
    print_table([*rows, {**blank, **last}], full_width=True)
    if comparison.by_length:
        print(f"\n{comparison.systems[0].scores[0].score.name} by source length")
        names = [system.name for system in comparison.systems]
        print_table([_bin(row, names) for row in comparison.by_length], full_width=True)
    print()
    first, signatures = comparison.systems[0], {}
    for each in [*(each.score for each in first.scores), *first.diagnostics]:
        signatures.setdefault(each.signature, []).append(each.name)
    for signature, metrics in signatures.items():
        print(f"{', '.join(metrics)}  [{signature}]")


def _rows(system: SystemScores, several: bool) -> list[dict[str, str]]:
    """A row for each score and diagnostic; with several systems, also the tests against the first."""
    tests = {each.metric: each for each in system.significance}
    rows = []
    measured = [(each.score, each.interval) for each in system.scores]
    for score, interval in [*measured, *((each, None) for each in system.diagnostics)]:
        row = {"system": sanitise(system.name), "metric": score.name, "score": _number(score.value),
               "95% CI": _range(interval) if interval else ""}  # fmt: skip
        rows.append(row | _test_cells(tests.get(score.name)) if several else row)
    return rows


def _test_cells(tests: SignificanceTests | None) -> dict[str, str]:
    if not tests:
        return dict.fromkeys(("difference", "its 95% CI", "wins", "p (bootstrap)", "p (randomisation)"), "")
    paired = tests.paired_bootstrap
    return {
        "difference": f"{paired.difference:+.2f}",
        "its 95% CI": _range(paired.interval),
        "wins": f"{paired.win_rate:.1%}",
        "p (bootstrap)": f"{paired.p_value:.4f}",
        "p (randomisation)": f"{tests.approximate_randomisation.p_value:.4f}",
    }


def _bin(row: Bin, names: Sequence[str]) -> dict[str, str]:
    """A row for a bin; equal names of systems get blanks, since the keys of a table differ."""
    keys = [sanitise(name) + " " * names[:number].count(name) for number, name in enumerate(names)]
    length = str(row.low) if row.low == row.high else f"{row.low}–{row.high}"
    return {"tokens": length, "texts": f"{row.texts:,}", **dict(zip(keys, map(_number, row.scores), strict=True))}


def _number(value: float | None) -> str:
    return "n/a" if value is None or math.isnan(value) else f"{value:.2f}"


def _range(interval: ConfidenceInterval) -> str:
    return f"{_number(interval.low)} … {_number(interval.high)}"
