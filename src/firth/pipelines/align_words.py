"""Word alignment with IBM models or HMM: links between the words of sentence pairs, translations of words, scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth import alignment
from firth.arguments import as_text
from firth.config import schema
from firth.config.core import bounded
from firth.datasets import gold_alignments, labelled_dataset, seq2seq_dataset
from firth.datasets.records import Pair
from firth.display import Table
from firth.errors import FirthError
from firth.metrics import alignment_error_rate as metrics
from firth.metrics.perplexity import perplexity
from firth.metrics.score import Score, signature
from firth.pipelines.label_predictions import checked_examples, run_examples
from firth.runs.run_folder import Run
from firth.runs.trained_model import TrainedModel, given_text, read_options
from firth.tokenizers.tokenizer import Tokenizer
from firth.training import pass_loop

Link = tuple[int, int]
DIRECTIONS = {"forward": "→", "backward": "←"}
SEPARATORS = ("\t", " ||| ")  # between the two texts of a line


@dataclass(frozen=True)
class AlignOptions:
    """The options of `firth run` for word alignment."""

    word: str = ""
    count: int = bounded(10, least=1)


class WordAligner(TrainedModel):
    """A trained word alignment model of both directions: what `firth.load` returns for a run of one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, model: alignment.BidirectionalModel) -> None:
        self.run, self.tokenizer, self.model = run, tokenizer, model
        self.config: schema.AlignmentModel = run.record.config

    # --- links ----------------------------------------------------------------------------------------------------

    def align(self, pairs: Sequence[tuple[str, str]], symmetrisation: str = "") -> list[list[Link]]:
        """The links (left, right) of each pair of texts, words counted between blanks, from 0.

        `symmetrisation` says how both directions are combined; as trained by default."""
        heuristic = symmetrisation or self.config.method.symmetrisation
        threads = pass_loop.thread_count(self.config.train)
        return self.model.align(alignment.encode(pairs, self.tokenizer), heuristic, threads)

    def posteriors(self, left: str, right: str, backward: bool = False) -> np.ndarray:
        """Alignment probabilities (right tokens, 1 + left tokens): of NULL (column 0) and of each left token.

        Backward: (left tokens, 1 + right tokens)."""
        bitext = alignment.encode([(left, right)], self.tokenizer)
        model, bitext = (self.model.backward, bitext.reversed) if backward else (self.model.forward, bitext)
        if not bitext.usable().all():
            return np.empty((len(bitext.target.ids), 1 + len(bitext.source.ids)))
        return model.posteriors(model.index(bitext))[0]

    def translations(self, word: str, count: int = 10, backward: bool = False) -> list[tuple[str, float]]:
        """The most probable translations of a left word (backward: of a right word); none for an unknown word."""
        ids = self.tokenizer.encode(as_text(word, "word"))
        if len(ids) != 1:
            raise FirthError(f"{word!r} is {len(ids)} words", do="give one word at a time")
        targets, probabilities = (self.model.backward if backward else self.model.forward).table.row(ids[0])
        order = np.lexsort((targets, -probabilities))[:count]
        return [(self.tokenizer.id_to_token(int(targets[n])), float(probabilities[n])) for n in order]

    def fertility(self, pairs: Iterable[Pair]) -> metrics.Fertility | None:
        """How many words have no link, one, two or more."""
        texts = [(pair.left, pair.right) for pair in pairs]
        return metrics.fertility(self.align(texts), [_lengths(*pair) for pair in texts])

    # --- evaluation -----------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Pair] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Signed scores on a split of the run's own pairs, on a file or set, or on pairs from Python.

        Alignment error rate, precision and recall where gold links are known."""
        if text is None:
            return self.scores(run_examples(self, split, seq2seq_dataset.read_pairs))
        text = given_text(text)
        examples = labelled_dataset.read_named(text, self.config.data) if isinstance(text, str) else text
        pairs = seq2seq_dataset.to_source_target(checked_examples(examples, Pair))
        return self.scores(labelled_dataset.make_split("given", pairs))

    def scores(self, split: labelled_dataset.Split) -> list[Score]:
        """Perplexity of both directions, alignment error rate where gold links are known, and fertility."""
        pairs = [(pair.left, pair.right) for pair in split.examples]
        if not any(left.split() and right.split() for left, right in pairs):
            raise FirthError("no pairs to score", where=split.name, do="give at least one")
        losses = self.model.losses(alignment.encode(pairs, self.tokenizer))
        values: dict[str, float | None] = {
            name: perplexity(loss.total, loss.count)
            for name, loss in zip(("perplexity", "perplexity_backward"), losses, strict=True)
        }
        links = self.align(pairs)
        values |= self._gold_scores(links, split)
        values |= _fertility_scores(metrics.fertility(links, [_lengths(*pair) for pair in pairs]))
        signed = self._signature(split)
        return Table(Score(name, value, signed) for name, value in values.items())

    def _gold_scores(self, links: list[list[Link]], split: labelled_dataset.Split) -> dict[str, float | None]:
        sure, possible = gold_alignments.gold_links(self.config, split.name, split.examples)
        return alignment_scores(links, split.examples, sure, possible or None) if sure else {}

    def _signature(self, split: labelled_dataset.Split) -> str:
        method, tokenizer = self.config.method, f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}"
        fields = {"tok": tokenizer, "distortion": method.distortion, "symmetrisation": method.symmetrisation}
        return signature({**fields, **split.signed_fields})

    # --- the command line -----------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f'firth run {self.run.path} "TEXT ||| TRANSLATION"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The links of a line with two texts; or the translations of a word, in both directions."""
        parsed = read_options(AlignOptions, options)
        if parsed.word:
            translations = {
                name: self.translations(parsed.word, parsed.count, name == "backward") for name in DIRECTIONS
            }
            if not any(translations.values()):
                raise FirthError(f"{parsed.word!r} is in neither language", do="give a word of the training text")
            return {
                "word": parsed.word,
                **{name: [list(pair) for pair in words] for name, words in translations.items()},
            }
        left, right = _split_line(line)
        (links,) = self.align([(left, right)])
        return {"input": line, "links": [list(link) for link in links], "words": linked_words(left, right, links)}

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text: links in Pharaoh format, then the words; or words with their probabilities."""
        if "word" in answer:
            rows = [(arrow, pair) for name, arrow in DIRECTIONS.items() for pair in answer[name]]
            return "\n".join(f"{probability:.4f}\t{arrow} {word}" for arrow, (word, probability) in rows)
        words = "  ".join("–".join(pair) for pair in answer["words"])
        return " ".join(f"{i}-{j}" for i, j in answer["links"]) + f"\t{words}"

    def report_examples(self, split: labelled_dataset.Split, count: int) -> list[str]:
        """Some pairs with their links for the report."""
        pairs = [(pair.left, pair.right) for pair in split.examples[:count]]
        aligned = zip(pairs, self.align(pairs), strict=True)
        lines = ("  ".join("–".join(words) for words in linked_words(*pair, links)) for pair, links in aligned)
        return [f"{left}\n{right}\n{line}" for (left, right), line in zip(pairs, lines, strict=True)]


def linked_words(left: str, right: str, links: Iterable[Link]) -> list[list[str]]:
    """The pairs of words that links join."""
    lefts, rights = left.split(), right.split()
    return [[lefts[i], rights[j]] for i, j in links]


def _split_line(line: str) -> tuple[str, str]:
    for separator in SEPARATORS:
        left, matched, right = line.partition(separator)
        if matched:
            return left, right
    raise FirthError("one text, where two belong together", do="write a text, a tab (or |||) and its translation")


def alignment_scores(
    links: Sequence[Sequence[Link]],
    pairs: Sequence[Pair],
    sure: Sequence[Sequence[Link]],
    possible: Sequence[Sequence[Link]] | None = None,
) -> dict[str, float | None]:
    """Alignment error rate, precision and recall against gold links, beside those of the diagonal (a baseline)."""
    counts = metrics.count_links(links, sure, possible)
    diagonal = [metrics.diagonal_alignment(*_lengths(pair.left, pair.right)) for pair in pairs]
    return {
        "alignment_error_rate": counts.error_rate,
        "link_precision": counts.precision,
        "link_recall": counts.recall,
        "diagonal_error_rate": metrics.alignment_error_rate(diagonal, sure, possible),
    }


def _lengths(left: str, right: str) -> tuple[int, int]:
    return len(left.split()), len(right.split())


def _fertility_scores(fertility: metrics.Fertility | None) -> dict[str, float | None]:
    """Fractions of words with fertility 0, 1, 2 and more, of spurious words, and of one-to-one links."""
    if fertility is None:
        return {}
    last = len(fertility.source) - 1
    names = [f"fertility_{number}" for number in range(last)] + [f"fertility_{last}+"]
    fractions = dict(zip(names, fertility.source, strict=True))
    return fractions | {"spurious": fertility.spurious, "one_to_one": fertility.one_to_one}
