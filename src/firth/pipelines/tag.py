"""Sequence tagging: tags for every word, the spans that they mark, and the exact probability of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from firth.arguments import as_list
from firth.config.core import bounded
from firth.datasets import labelled_dataset, tagged_sentences
from firth.datasets.examples import TaggedSentence
from firth.datasets.records import Record
from firth.display import Table
from firth.errors import FirthError, unknown
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.span_marginals import TagDistribution
from firth.generation.structured.tag_constraints import TagConstraints, restrict
from firth.generation.structured.viterbi import viterbi_ragged
from firth.metrics import tagging
from firth.metrics.error_analysis import ErrorAnalysis
from firth.metrics.score import Score, parse_signature, signature
from firth.pipelines.file_inputs import read_words
from firth.pipelines.label_errors import analyse_tags
from firth.pipelines.label_predictions import checked_examples, run_examples
from firth.runs.trained_model import TrainedModel, given_text, read_options

REPORT_SENTENCES = 12
Sentence = Sequence[str]  # its words


class Span(NamedTuple):
    """Words `start` up to, not including, `end`, their text, their label, and the probability that exactly they are a
    span with this label."""

    text: str
    start: int
    end: int
    label: str
    probability: float


@dataclass(frozen=True)
class TagOptions:
    """The options of `firth run` for taggers."""

    threshold: float = bounded(0.0, least=0.0, most=1.0)


class BaseTagger(TrainedModel, ABC):
    """A trained tagger: what each kind has to give is the scores of tags, and of neighbouring tags."""

    config: Any

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The tags of each layer, from frequent to rare."""
        return {layer: tuple(names) for layer, names in self.run.record.data["labels"].items()}

    @property
    def schemes(self) -> Mapping[str, str]:
        """The scheme of each layer whose tags mark spans."""
        return dict(self.run.record.data.get("schemes", {}))

    @property
    def layer(self) -> str:
        """The first layer of tags, which is meant where none is named."""
        return next(iter(self.labels))

    @abstractmethod
    def emissions(self, sentences: Sequence[Sentence]) -> list[Mapping[str, np.ndarray]]:
        """The score of each tag at each word by layer, (words, tags), for each sentence."""

    @abstractmethod
    def chain(self, layer: str) -> LinearChain:
        """The scores of neighbouring tags of a layer."""

    # --- tags and their probabilities -------------------------------------------------------------------------

    def tag(self, sentences: Any, layer: str = "", constraints: TagConstraints | None = None) -> Any:
        """The most probable tags of a sentence, a list of words or a text whose words blanks separate; of a list of
        sentences a list of these."""
        if is_sentence(sentences):
            return self.tag([sentences], layer, constraints)[0]
        words = [as_words(sentence) for sentence in as_list(sentences, "sentences")]
        layer = self._known(layer or self.layer)
        return self.decode(*self._constrained(words, self.emissions(words), layer, constraints))

    def predict_proba(self, sentences: Any, layer: str = "", constraints: TagConstraints | None = None) -> Any:
        """The probability of every tag at every word (words, tags), in the order of `labels`."""
        return self._each(sentences, layer, constraints, lambda words, result: result.marginals)

    def spans(
        self, sentences: Any, layer: str = "", threshold: float = 0.0, constraints: TagConstraints | None = None
    ) -> Any:
        """The spans of the most probable tagging with their probabilities; with a threshold all spans that have at
        least this probability, wherever they are."""

        def find(words: Sentence, result: TagDistribution) -> list[Span]:
            return _spans(words, result, threshold)

        return self._each(sentences, self._span_layer(layer), constraints, find)

    def distributions(
        self, sentences: Sequence[Sentence], layer: str = "", constraints: TagConstraints | None = None
    ) -> list[TagDistribution]:
        """The distribution over taggings of each sentence."""
        layer = self._known(layer or self.layer)
        return self._distributions(sentences, self.emissions(sentences), layer, constraints)

    def _distributions(
        self,
        sentences: Sequence[Sentence],
        scored: Sequence[Mapping[str, np.ndarray]],
        layer: str,
        constraints: TagConstraints | None = None,
    ) -> list[TagDistribution]:
        """The same of sentences whose tags have scores already."""
        return self.distribute(*self._constrained(sentences, scored, layer, constraints))

    def _constrained(
        self,
        sentences: Sequence[Sentence],
        scored: Sequence[Mapping[str, np.ndarray]],
        layer: str,
        constraints: TagConstraints | None,
    ) -> tuple[list[np.ndarray], str, LinearChain | None]:
        """The scores of a layer's tags, −inf for those that are not allowed; the layer; what never follows what."""
        emissions = [each[layer] for each in scored]
        if constraints is None:
            return emissions, layer, None
        tags = self.labels[layer]
        pairs = zip(sentences, emissions, strict=True)
        allowed = [restrict(scores, constraints.allowed(words, tags)) for words, scores in pairs]
        return allowed, layer, constraints.chain(tags)

    def distribute(
        self, emissions: Sequence[np.ndarray], layer: str, forbidden: LinearChain | None
    ) -> list[TagDistribution]:
        """The distribution over taggings of each sentence, from the scores of its tags; `forbidden` is −inf for each
        transition that never happens, else 0."""
        chain = self.chain(layer)
        chain = chain if forbidden is None else chain + forbidden
        return TagDistribution.of_sentences(emissions, chain, self.labels[layer])

    def decode(self, emissions: Sequence[np.ndarray], layer: str, forbidden: LinearChain | None) -> list[list[str]]:
        """The most probable tags of each sentence, from the scores of its tags; `forbidden` as in `distribute`."""
        if not emissions:
            return []
        chain, lengths = self.chain(layer), np.array(list(map(len, emissions)))
        chain = chain if forbidden is None else chain + forbidden
        tags = np.array(self.labels[layer], object)[viterbi_ragged(np.concatenate(emissions), lengths, chain)]
        edges = np.cumsum([0, *lengths]).tolist()
        return [tags[first:last].tolist() for first, last in pairwise(edges)]

    def _each(self, sentences: Any, layer: str, constraints: TagConstraints | None, find: Any) -> Any:
        if is_sentence(sentences):
            return self._each([sentences], layer, constraints, find)[0]
        words = [as_words(sentence) for sentence in as_list(sentences, "sentences")]
        result = self.distributions(words, layer, constraints)
        return [find(*pair) for pair in zip(words, result, strict=True)]

    def _known(self, layer: str) -> str:
        if layer not in self.labels:
            raise unknown("layer", layer, self.labels, where=self.run.path)
        return layer

    def _span_layer(self, layer: str) -> str:
        name = layer or next(iter(self.schemes), "")
        if name not in self.schemes:
            what = f"the tags of {name or self.layer} are of words, not of spans"
            raise FirthError(what, where=self.run.path, do="call tag, or train on entities or chunks")
        return name

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[TaggedSentence] | None = None, split: str = "test", **_: Any
    ) -> Table[Score]:
        """Accuracy of each layer of tags and, where they mark spans, precision, recall and F1 as conlleval counts, on a
        split of the run's own sentences, on a file or set, or on sentences from Python."""
        given = self.load_examples(text, split)
        return self.scores(given, self.tags_of(given))

    def load_examples(self, text: str | Iterable[TaggedSentence] | None, split: str) -> labelled_dataset.Split:
        """Sentences to score; those that are loaded already are returned."""
        if isinstance(text, labelled_dataset.Split):
            return text
        if text is None:
            return run_examples(self, split, self.read_splits)
        text = given_text(text)
        layers = tuple(self.labels)
        examples = tagged_sentences.read_named(text, self.config.data, layers) if isinstance(text, str) else text
        return labelled_dataset.make_split("given", checked_examples(examples, TaggedSentence))

    def read_splits(self, config: Any, seed: int) -> dict[str, labelled_dataset.Split]:
        """The splits of the run's own sentences."""
        return tagged_sentences.read(config, seed).splits

    def tags_of(self, split: labelled_dataset.Split) -> dict[str, list[list[str]]]:
        """The most probable tags of each sentence, by layer."""
        words = [sentence.words for sentence in split.examples]
        scored = self.emissions(words) if words else []
        return {layer: self.decode(*self._constrained(words, scored, layer, None)) for layer in self.labels}

    def scores(
        self, split: labelled_dataset.Split, predicted: Mapping[str, Sequence[Sequence[str]]]
    ) -> Table[Score]:
        """The scores of predicted tags."""
        if not split.examples:
            raise FirthError("no sentences to score", where=split.name, do="give at least one")
        result: list[Score] = []
        for number, layer in enumerate(self.labels):
            gold = [sentence.tags[number] for sentence in split.examples]
            prefix = f"{layer}_" if len(self.labels) > 1 else ""
            parts = [tagging.token_accuracy(gold, predicted[layer]).score()]
            if layer in self.schemes:
                counts = tagging.count_chunks(gold, predicted[layer])
                signed = signature(counts.fields)
                parts += [Score(name, value, signed) for name, value in _f1_first(counts.scores("micro"))]
            result += [replace(each, name=prefix + each.name, signature=self._signed(each, split)) for each in parts]
        return Table(result)

    def error_analysis(self, text: Any = None, split: str = "test") -> ErrorAnalysis:
        """Spans by type, scores by tag, confusion matrix, accuracy of known and unknown words and calibration of what
        `evaluate` scores, and its sentences by their loss."""
        given = self.load_examples(text, split)
        if not given.examples:
            raise FirthError("no sentences to score", where=given.name, do="give at least one")
        words = [sentence.words for sentence in given.examples]
        scored = self.emissions(words)
        layers = {layer: self._distributions(words, scored, layer) for layer in self.labels}
        return analyse_tags(given, layers, self.schemes, self._training_words())

    def _training_words(self) -> set[str] | None:
        """The words of the run's training sentences; None if they are not there any more."""
        try:
            train = run_examples(self, "train", self.read_splits)
        except FirthError:
            return None
        return {word for sentence in train.examples for word in sentence.words}

    def quality(self) -> Score:
        """What selects the best weights: F1 of spans, or accuracy, of the first layer on validation sentences."""
        scores = self.scores(self._validation, self.tags_of(self._validation))
        return scores[1] if self.layer in self.schemes else scores[0]

    @cached_property
    def _validation(self) -> labelled_dataset.Split:
        return run_examples(self, "valid", self.read_splits)

    def _signed(self, score: Score, split: labelled_dataset.Split) -> str:
        return signature({**self.signature_fields(), **parse_signature(score.signature), **split.signed_fields})

    @abstractmethod
    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""

    def sample(self) -> str:
        """Nothing: tags need a sentence."""
        return ""

    def samples(self, seed: int) -> list[str]:
        """Held-out sentences with their right tags where the predicted ones differ."""
        split = run_examples(self, "test" if "test" in self.run.record.data["splits"] else "valid", self.read_splits)
        shown = split.examples[:REPORT_SENTENCES]
        best = self.tag([each.words for each in shown])
        return [_marked(sentence, tags) for sentence, tags in zip(shown, best, strict=True)]

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f'firth run {self.run.path} "WORDS OF A SENTENCE"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """Words with the tag of each layer and its probability; spans where the tags mark some."""
        (answer,) = self.answer_inputs([line], options)
        return {"input": line} | answer

    def answer_inputs(self, inputs: Sequence[Any], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """The same of each sentence."""
        parsed = read_options(TagOptions, options)
        sentences = [list(as_words(each)) for each in inputs]
        answers: list[dict[str, Any]] = [{"words": words, "tags": {}} for words in sentences]
        scored = self.emissions(sentences)
        for layer, names in self.labels.items():
            results = self._distributions(sentences, scored, layer)
            for answer, result in zip(answers, results, strict=True):
                rows = zip(result.best_tags(), result.marginals, strict=True)
                answer["tags"][layer] = [[tag, float(row[names.index(tag)])] for tag, row in rows]
                if layer in self.schemes:
                    spans = _spans(answer["words"], result, parsed.threshold)
                    answer.setdefault("spans", {})[layer] = [each._asdict() for each in spans]
        return answers

    def read_input(self, record: Record, columns: Mapping[str, str]) -> Any:
        """A sentence to tag, from a record of a file."""
        return read_words(record, columns)

    def table_rows(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A row for each word of a sentence; its number begins anew with each sentence."""
        names = [name for layer in answer["tags"] for name in (layer, f"{layer}_probability")]
        rows = enumerate(self.column_rows(answer), 1)
        return [{"position": n, **dict(zip(["word", *names], row, strict=True))} for n, row in rows]

    def column_rows(self, answer: Mapping[str, Any]) -> list[list[Any]]:
        """A word of a sentence, its tag of each layer and the probability of that, for each word."""
        rows = zip(answer["words"], *answer["tags"].values(), strict=True)
        return [[word, *(cell for pair in tags for cell in pair)] for word, *tags in rows]

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """A word per line with its tags and their probabilities, then the spans."""
        columns = [[f"{tag}\t{probability:.4f}" for tag, probability in rows] for rows in answer["tags"].values()]
        lines = ["\t".join(row) for row in zip(answer["words"], *columns, strict=True)]
        spans = [span for result in answer.get("spans", {}).values() for span in result]
        return "\n".join([*lines, *(f"{each['probability']:.4f}\t{each['label']}\t{each['text']}" for each in spans)])


def is_sentence(given: Any) -> bool:
    """Whether this is one sentence (a text, or a list of words), not a list of sentences."""
    if isinstance(given, str):
        return True
    words = given if isinstance(given, Sequence) else ()
    return bool(words) and all(isinstance(word, str) and " " not in word for word in words)


def as_words(sentence: Any) -> list[str]:
    """The words of a sentence: those of a list, or of a text whose words blanks separate."""
    words = sentence.split() if isinstance(sentence, str) else list(sentence)
    if not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise FirthError("a sentence without words, or an empty word", do="give at least one word, and no empty one")
    return words


def _spans(words: Sentence, result: TagDistribution, threshold: float) -> list[Span]:
    spans = result.likely_spans(threshold) if threshold else result.best_spans()
    return [
        Span(" ".join(words[span.start : span.end]), span.start, span.end, span.label, probability)
        for span, probability in spans
    ]


def _f1_first(scores: Mapping[str, float | None]) -> list[tuple[str, float | None]]:
    return [(name, scores[name]) for name in ("f1", "precision", "recall")]


def _marked(sentence: TaggedSentence, tags: Sequence[str]) -> str:
    gold = sentence.tags[0]
    return " ".join(
        f"{word}/{tag}" if tag == right else f"{word}/{tag} (right: {right})"
        for word, tag, right in zip(sentence.words, tags, gold, strict=True)
    )
