"""A trained model of alignment and its verbs: links, translations of words, scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.config.core import bounded
from firth.counts import alignment
from firth.data import examples, links, written
from firth.data.records import Pair
from firth.errors import FirthError
from firth.families.labels import own_examples
from firth.families.order import read_options
from firth.metrics import alignment as measures
from firth.metrics.language import perplexity
from firth.metrics.score import Score, signature
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer
from firth.training import passes

Link = tuple[int, int]
WAYS = {"forward": "→", "backward": "←"}
SEPARATORS = ("\t", " ||| ")  # between the two texts of a line


@dataclass(frozen=True)
class Asked:
    """How `firth run` is to answer."""

    word: str = ""
    count: int = bounded(10, least=1)


class Linker:
    """A trained model of which words belong together: what `firth.load` gives for a run of one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, both: alignment.Both) -> None:
        self.run, self.tokenizer, self.both = run, tokenizer, both
        self.config: schema.AlignmentModel = run.record.config

    # --- links ----------------------------------------------------------------------------------------------------

    def align(self, pairs: Sequence[tuple[str, str]], join: str = "") -> list[list[Link]]:
        """The links (left, right) of each pair of texts, words counted between blanks, from 0.

        `join` says how both directions are put together (`firth.counts.alignment.JOINS`); as trained by default."""
        how = join or self.config.method.join
        return self.both.align(alignment.encode(pairs, self.tokenizer), how, passes.threads(self.config.train))

    def posteriors(self, left: str, right: str, backward: bool = False) -> np.ndarray:
        """(right tokens, 1 + left tokens): the probability that a token comes from none (column 0) or from each.

        Backward: (left tokens, 1 + right tokens)."""
        bitext = alignment.encode([(left, right)], self.tokenizer)
        model, bitext = (self.both.backward, bitext.turned) if backward else (self.both.forward, bitext)
        if not bitext.usable().all():
            return np.empty((len(bitext.right.ids), 1 + len(bitext.left.ids)))
        return model.posteriors(model.texts(bitext))[0]

    def translations(self, word: str, count: int = 10, backward: bool = False) -> list[tuple[str, float]]:
        """The most probable words for a word of the left language (backward: of the right); none for a new one."""
        ids = self.tokenizer.ids(word)
        if len(ids) != 1:
            raise FirthError(f"{word!r} is {len(ids)} words", do="ask for one word at a time")
        targets, chances = (self.both.backward if backward else self.both.forward).lexicon.row(ids[0])
        order = np.lexsort((targets, -chances))[:count]
        return [(self.tokenizer.piece(int(targets[n])), float(chances[n])) for n in order]

    def fertility(self, pairs: Iterable[Pair]) -> measures.Fertility | None:
        """How many words become none, one, two or more."""
        texts = [(pair.left, pair.right) for pair in pairs]
        return measures.fertility(self.align(texts), [_sizes(*pair) for pair in texts])

    # --- the yardstick --------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Pair] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Signed scores on a split of the run's own pairs, on a file or set, or on pairs from Python.

        Error rate, precision and recall where the right links are known."""
        if text is None:
            return self.scores(own_examples(self.run, split, written.pairs))
        found = examples.named(text, self.config.data) if isinstance(text, str) else text
        return self.scores(examples.make("given", written.written(list(found))))

    def scores(self, split: examples.Split) -> list[Score]:
        """How probable these pairs are in both directions, how good their links, and what kinds of words they make."""
        pairs = [(pair.left, pair.right) for pair in split.examples]
        if not any(left.split() and right.split() for left, right in pairs):
            raise FirthError("no pairs to score", where=split.name, do="give at least one")
        losses = self.both.losses(alignment.encode(pairs, self.tokenizer))
        values: dict[str, float | None] = {
            name: perplexity(loss.total, loss.count)
            for name, loss in zip(("perplexity", "perplexity_backward"), losses, strict=True)
        }
        found = self.align(pairs)
        values |= self._judged(found, split) | _kinds(measures.fertility(found, [_sizes(*pair) for pair in pairs]))
        told = self._signed(split)
        return [Score(name, value, told) for name, value in values.items()]

    def _judged(self, found: list[list[Link]], split: examples.Split) -> dict[str, float | None]:
        """How well links agree with the right ones, beside those of the diagonal."""
        sure, possible = links.gold(self.config, split.name, split.examples)
        return compared(found, split.examples, sure, possible or None) if sure else {}

    def _signed(self, split: examples.Split) -> str:
        method = self.config.method
        told = {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "places": method.places, "join": method.join}
        return signature({**told, "split": split.name, "data": split.key[:8]})

    # --- the command line -----------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        return f'firth run {self.run.path} "TEXT ||| TRANSLATION"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The links of a line with two texts; or the translations of a word, either way."""
        asked = read_options(Asked, options)
        if asked.word:
            ways = {name: self.translations(asked.word, asked.count, name == "backward") for name in WAYS}
            if not any(ways.values()):
                raise FirthError(f"{asked.word!r} is in neither language", do="ask for a word of the training text")
            return {"word": asked.word, **{name: [list(pair) for pair in found] for name, found in ways.items()}}
        left, right = _cut(line)
        (found,) = self.align([(left, right)])
        return {"input": line, "links": [list(link) for link in found], "words": spelled(left, right, found)}

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person: Pharaoh's numbers, then the words; or words with their probabilities."""
        if "word" in answer:
            rows = [(sign, pair) for name, sign in WAYS.items() for pair in answer[name]]
            return "\n".join(f"{chance:.4f}\t{sign} {word}" for sign, (word, chance) in rows)
        words = "  ".join("–".join(pair) for pair in answer["words"])
        return " ".join(f"{i}-{j}" for i, j in answer["links"]) + f"\t{words}"

    def told(self, split: examples.Split, count: int) -> list[str]:
        """Some pairs for the report."""
        pairs = [(pair.left, pair.right) for pair in split.examples[:count]]
        rows = zip(pairs, self.align(pairs), strict=True)
        told = ("  ".join("–".join(words) for words in spelled(*pair, found)) for pair, found in rows)
        return [f"{left}\n{right}\n{line}" for (left, right), line in zip(pairs, told, strict=True)]


def spelled(left: str, right: str, found: Iterable[Link]) -> list[list[str]]:
    """Links as the words that they join."""
    lefts, rights = left.split(), right.split()
    return [[lefts[i], rights[j]] for i, j in found]


def _cut(line: str) -> tuple[str, str]:
    for separator in SEPARATORS:
        left, found, right = line.partition(separator)
        if found:
            return left, right
    raise FirthError("one text, where two belong together", do="write a text, a tab (or |||) and its translation")


def compared(
    found: Sequence[Sequence[Link]],
    pairs: Sequence[Pair],
    sure: Sequence[Sequence[Link]],
    possible: Sequence[Sequence[Link]] | None = None,
) -> dict[str, float | None]:
    """How well links agree with the right ones, beside those of the diagonal."""
    told = measures.agreement(found, sure, possible)
    level = [measures.diagonal(*_sizes(pair.left, pair.right)) for pair in pairs]
    return {
        "alignment_error_rate": told.error_rate,
        "link_precision": told.precision,
        "link_recall": told.recall,
        "diagonal_error_rate": measures.error_rate(level, sure, possible),
    }


def _sizes(left: str, right: str) -> tuple[int, int]:
    return len(left.split()), len(right.split())


def _kinds(found: measures.Fertility | None) -> dict[str, float | None]:
    """Shares of words that become none, one, two, more; of words that come from none; of links of two alone."""
    if found is None:
        return {}
    names = [f"fertility_{number}" for number in range(len(found.left) - 1)] + [f"fertility_{len(found.left) - 1}+"]
    return dict(zip(names, found.left, strict=True)) | {"spurious": found.spurious, "one_to_one": found.one_to_one}
