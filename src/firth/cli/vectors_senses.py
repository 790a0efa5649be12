"""`firth vectors pseudo-words`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.console import print_json, print_table, sanitise, split_commas
from firth.cli.options import ENCODING, JSON, SEED, TEXT
from firth.cli.vectors_arguments import VECTORS, load_vectors
from firth.cli.vectors_evaluate import read_sentences
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.embeddings.pseudo_words import PseudoWordAccuracy

_SHOWN = 20


def pseudo_words(
    vectors: VECTORS,
    text: TEXT = "python-docs",
    pairs: Annotated[str, typer.Option(help="Pairs of words: bank/door,key/dog; random ones by default.")] = "",
    count: Annotated[int, typer.Option(min=1, help="Number of random pairs.")] = 50,
    window: Annotated[int, typer.Option(min=1, help="Words of context on each side.")] = 5,
    max_senses: Annotated[int, typer.Option(min=1, help="Senses of a pseudo-word at most.")] = 2,
    seed: SEED = 0,
    encoding: ENCODING = "utf-8",
    as_json: JSON = False,
) -> None:
    """Score word sense induction on pseudo-words: pairs of words merged into one."""
    from firth.embeddings.pseudo_words import METHODS, choose_pairs, measure_pseudo_words
    from firth.embeddings.senses import InductionOptions

    store = load_vectors(Path(vectors))
    chosen = _parse_pairs(pairs) if pairs else choose_pairs(store, count, seed=seed)
    options = InductionOptions(window=window, max_senses=max_senses, seed=seed)
    result = measure_pseudo_words(store, read_sentences(text, encoding), chosen, options)
    if as_json:
        print_json(result.to_dict())
        return
    print_table([_row(row, METHODS) for row in result.rows[:_SHOWN]], full_width=True)
    if len(result.rows) > _SHOWN:
        print(f"… and {len(result.rows) - _SHOWN} more; --json prints all")
    for name, value in result.means.items():
        low, high = result.intervals[name]
        print(f"{name:<8}  {value:.1%} ({low:.1%} to {high:.1%}), mean of {len(result.rows)} pseudo-words")


def _parse_pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in split_commas(text):
        left, slash, right = part.partition("/")
        if not (left and slash and right and left != right):
            raise FirthError(f"cannot read the pair {part!r}", where="--pairs", do="write bank/door,key/dog")
        pairs.append((left, right))
    return pairs


def _row(row: PseudoWordAccuracy, methods: tuple[str, ...]) -> dict[str, str]:
    accuracies = {name: f"{right / row.contexts:.1%}" for name, right in zip(methods, row.right, strict=True)}
    return {
        "words": sanitise("/".join(row.pair)),
        "contexts": f"{row.contexts:,}",
        "senses": str(row.senses),
    } | accuracies
