"""`firth vectors align`: cross-lingual word vectors, and the lexicon induced from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import print_json, print_scores, require_writable, sanitise, split_commas, stdin_lines
from firth.cli.options import COUNT, DATA, JSON
from firth.cli.vectors_arguments import load_vectors
from firth.embeddings.cross_lingual import Retrieval
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.datasets.records import Record
    from firth.embeddings.cross_lingual import Candidate, CrossLingualVectors
    from firth.embeddings.lookup import Result

    Lexicon = list[tuple[str, str]]

_FORMAT = "write a word, a tab, its translation"


def align(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Vectors of the language to translate from.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Vectors of the language to translate to.")],
    seed_lexicon: Annotated[Path | None, typer.Option(help="Word pairs, two columns per line.")] = None,
    parallel: Annotated[
        str, typer.Option(metavar="SET|FILE", help="Parallel sentences, to induce the seed lexicon from.")
    ] = "",
    reverse: Annotated[bool, typer.Option("--reverse", help="The pairs have the target's words first.")] = False,
    max_seeds: Annotated[int, typer.Option(min=0, help="Only the first n seed pairs; 0: all.")] = 0,
    hold_out: Annotated[int, typer.Option(min=0, help="Hold out n of the pairs for the test.")] = 0,
    test_lexicon: Annotated[
        Path | None, typer.Option(help="Word pairs to test on; a word may have several translations.")
    ] = None,
    refinement_rounds: Annotated[int, typer.Option(min=0, help="Rounds of refinement; 0: the seed lexicon alone.")] = 5,
    retrieval: Annotated[Retrieval, typer.Option(help="How translations are retrieved.")] = "csls",
    translate: Annotated[str, typer.Option(metavar="WORD,…", help="Words to translate; - to read them.")] = "",
    count: COUNT = 5,
    out: Annotated[Path | None, typer.Option(help="Write the source vectors in the common space to this file.")] = None,
    data: DATA = None,
    as_json: JSON = False,
) -> None:
    """Align the vectors of two languages (Procrustes); translate words, evaluate the lexicon."""
    from firth.embeddings.cross_lingual import AlignmentOptions, align

    require_writable(out)
    lexicon = _read_seed_lexicon(seed_lexicon, parallel, reverse, data)
    held_out = set(range(0, len(lexicon), max(1, len(lexicon) // hold_out))[:hold_out]) if hold_out else set()
    seeds = [pair for number, pair in enumerate(lexicon) if number not in held_out]
    options = AlignmentOptions(refinement_rounds=refinement_rounds, retrieval=retrieval)
    aligned = align(load_vectors(source), load_vectors(target), seeds[: max_seeds or None], options)
    gold = _ordered(_read_lexicon(test_lexicon), reverse) if test_lexicon else []
    gold += [lexicon[number] for number in sorted(held_out)]
    result = _evaluate(aligned, gold) if gold else None
    if out:
        aligned.mapped_source().save(out)
    words = stdin_lines() if translate == "-" else split_commas(translate)
    _print(aligned, result, {word: aligned.translate([word], count)[0] for word in words}, out, as_json)


def _read_seed_lexicon(seeds: Path | None, parallel: str, reverse: bool, data: Path | None) -> Lexicon:
    """Word pairs, the source's word first."""
    from firth.cli import data_arguments
    from firth.datasets import tasks
    from firth.embeddings.cross_lingual import induce_lexicon

    if bool(seeds) == bool(parallel):
        what = "two seed lexicons" if seeds else "no seed lexicon"
        raise FirthError(what, do="give --seed-lexicon or --parallel, one of them")
    if seeds:
        return _ordered(_read_lexicon(seeds), reverse)
    chosen = data_arguments.find(parallel, "", None, None, "", data)
    records = map(_as_pair, chosen.records())
    return _ordered(induce_lexicon(tasks.examples(records, "translation", chosen.columns)), reverse)


def _as_pair(record: Record) -> Record:
    """The first two cells of a table row without column names, as a pair."""
    from firth.datasets.records import Pair, Row

    is_pair = isinstance(record, Row) and not record.names and len(record.values) > 1
    return Pair(record.values[0], record.values[1], line=record.line) if is_pair else record


def _ordered(pairs: Lexicon, reverse: bool) -> Lexicon:
    return [(right, left) for left, right in pairs] if reverse else pairs


def _read_lexicon(path: Path) -> Lexicon:
    """Two words per line, with a tab or a blank between."""
    from firth.datasets import numbered_lines

    pairs = []
    for number, line in numbered_lines.lines(path):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if not any(cells):
            continue
        if len(cells) != 2 or not all(cells):
            raise FirthError("not two words", where=numbered_lines.at(path, number), do=_FORMAT)
        pairs.append((cells[0], cells[1]))
    if not pairs:
        raise FirthError("no word pairs in it", where=path, do=_FORMAT)
    return pairs


def _evaluate(aligned: CrossLingualVectors, gold: Lexicon) -> Result:
    from firth.embeddings.cross_lingual import evaluate_dictionary

    translations: dict[str, list[str]] = {}
    for word, translation in gold:
        translations.setdefault(word, []).append(translation)
    return evaluate_dictionary(aligned, translations)


def _print(
    aligned: CrossLingualVectors,
    result: Result | None,
    translations: dict[str, list[Candidate]],
    out: Path | None,
    as_json: bool,
) -> None:
    if as_json:
        about = {"pairs": list(aligned.pair_counts), "out": str(out) if out else None}
        scores = [score.to_dict() for score in result.scores] if result else []
        counts = {"total": result.total, "answered": result.answered} if result else {}
        words = {word: [candidate._asdict() for candidate in row] for word, row in translations.items()}
        print_json({**about, "scores": scores, **counts, "translations": words})
        return
    first, *later = aligned.pair_counts
    rounds = f", {', '.join(f'{count:,}' for count in later)} after each round" if later else ""
    print(f"{first:,} seed pairs{rounds}")
    if result:
        scores = ", ".join(f"{s.name} {'n/a' if s.value is None else format(s.value, '.4f')}" for s in result.scores)
        print(f"{scores} over {result.answered:,} of {result.total:,} words")
    for word, row in translations.items():
        print(sanitise(word))
        print_scores(row)
    if out:
        print(f"{out}: {len(aligned.source):,} words in the common space")
