"""Is the most probable text a good text? Human text and the model's own, token by token (Holtzman et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from firth.config.core import bounded
from firth.errors import FirthError
from firth.families.language import LanguageModel, prompts
from firth.metrics.repetition import ORDERS, distinct, repeated
from firth.report.surprise import KINDS, Passage, Strand, Study

_LEAST = 10  # tokens that a human continuation must have
Rows = list[list[int]]


@dataclass(frozen=True)
class Asked:
    """What to look at."""

    passages: int = bounded(8, least=1)
    prompt: int = bounded(20, least=1)  # tokens
    length: int = bounded(80, least=_LEAST)  # tokens after the prompt
    beam: int = bounded(5, least=1)
    top_p: float = bounded(0.95, above=0.0, most=1.0)
    seed: int = bounded(0, least=0)


def study(model: LanguageModel, documents: Iterable[str], asked: Asked, name: str = "") -> Study:
    """Continue beginnings of documents greedily, by beam search and by nucleus sampling, beside what people wrote.

    Continuations have their [END], if it came, as a last token.
    """
    begun, human = _chosen(model, documents, asked)
    written = {"human": human, **_continued(model, begun, asked)}
    chances = {kind: _chances(model, begun, rows) for kind, rows in written.items()}
    passages = tuple(
        Passage(model.tokenizer.decode(row), _strands(model, row, n, written, chances)) for n, row in enumerate(begun)
    )
    rows = tuple(_row(kind, written[kind], chances[kind], model.marks[0]) for kind in KINDS)
    return Study(f"How probable is each token? {name}".rstrip(), _note(asked), passages, rows)


def _chosen(model: LanguageModel, documents: Iterable[str], asked: Asked) -> tuple[Rows, Rows]:
    """Beginnings and what people went on with: of documents that are long enough, from all over the text."""
    end = model.marks[0]
    rows = [[*ids, end] for ids in model.tokenizer.encode_batch(list(documents))]
    longest = max((len(row) for row in rows), default=0)
    wanted = asked.prompt + min(asked.length, max(_LEAST, longest - asked.prompt))
    fitting = [row for row in rows if len(row) >= wanted] or [row for row in rows if len(row) == longest]
    if longest < asked.prompt + _LEAST:
        what = f"the longest document has {longest} tokens, and {asked.prompt + _LEAST} are needed"
        raise FirthError(what, do="give a shorter --prompt, longer text, or --document file")
    places = np.linspace(0, len(fitting) - 1, min(asked.passages, len(fitting))).round().astype(int)
    chosen = [fitting[place] for place in places]
    stop = asked.prompt + asked.length
    return [row[: asked.prompt] for row in chosen], [row[asked.prompt : stop] for row in chosen]


def _continued(model: LanguageModel, begun: Rows, asked: Asked) -> dict[str, Rows]:
    """What the model writes itself, in each way."""
    from firth.decoding.beam import Beam, search
    from firth.decoding.sample import Sampling, generate

    (end, never), read = model.marks, prompts([[model.tokenizer.special.start, *row] for row in begun])
    marks = {"end": end, "banned": never}
    found: dict[str, Sequence[Any]] = {}
    for kind, how in {"greedy": Sampling(temperature=0.0), "nucleus": Sampling(top_p=asked.top_p)}.items():
        found[kind] = generate(model.stepper, read, asked.length, how, asked.seed, **marks)
    best = search(model.stepper, read, asked.length, Beam(asked.beam), **marks)
    found["beam"] = [each[0] for each in best]
    return {kind: [[*each.ids, *[end] * each.ended] for each in rows] for kind, rows in found.items()}


def _chances(model: LanguageModel, begun: Rows, rows: Rows) -> list[list[float]]:
    """The probability of each token of the continuations."""
    scores = model.id_scores([[*before, *row] for before, row in zip(begun, rows, strict=True)])
    return [np.exp(score[len(before) :]).tolist() for before, score in zip(begun, scores, strict=True)]


def _strands(
    model: LanguageModel, before: list[int], at: int, written: Mapping[str, Rows],
    chances: Mapping[str, list[list[float]]],
) -> tuple[Strand, ...]:  # fmt: skip
    return tuple(
        Strand(kind, tuple(_spelled(model, before, written[kind][at])), tuple(chances[kind][at])) for kind in KINDS
    )


def _spelled(model: LanguageModel, before: list[int], row: list[int]) -> list[str]:
    """What each token adds to the text; special ones by their names."""
    texts = [model.tokenizer.decode([*before, *row[:count]]) for count in range(len(row) + 1)]
    special = model.tokenizer.special.ids
    return [
        model.tokenizer.piece(token) if token in special else after[len(text) :]
        for token, (text, after) in zip(row, pairwise(texts), strict=True)
    ]


def _row(kind: str, rows: Rows, chances: list[list[float]], end: int) -> dict[str, Any]:
    """The numbers of a kind of text: of [END], only the probability counts."""
    texts = [[token for token in row if token != end] for row in rows]
    all_chances = [chance for each in chances for chance in each]
    possible = all(chance > 0 for chance in all_chances)
    surprise = -sum(map(math.log, all_chances)) / len(all_chances) if possible else math.inf
    rates = {f"repeated {order}": _mean([repeated(text, order) for text in texts]) for order in ORDERS}
    return {
        "text": kind,
        "tokens": len(all_chances),
        "mean probability": sum(all_chances) / len(all_chances),
        "perplexity": math.exp(surprise) if surprise < 700.0 else math.inf,
        **rates,
        "distinct 2": distinct(texts, 2),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _note(asked: Asked) -> str:
    return (
        f"The first {asked.prompt} tokens of each text are the prompt; beam of {asked.beam}, nucleus of "
        f"{asked.top_p:g}, seed {asked.seed}. The upper lines are means over the passages, smoothed over five tokens."
    )
