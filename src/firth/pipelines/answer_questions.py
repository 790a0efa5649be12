"""Extractive question answering: the span of a context that answers a question, or that there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from firth.arguments import as_list
from firth.config.core import bounded
from firth.datasets import labelled_dataset
from firth.datasets.collators.question_context import Row, Window, make_rows
from firth.datasets.collators.sentence_pairs import pad_sequences
from firth.datasets.question_dataset import TokenisedContext, tokenise_context
from firth.datasets.records import Question, Record
from firth.display import Table
from firth.errors import FirthError
from firth.metrics import question_answering
from firth.metrics.error_analysis import ErrorAnalysis
from firth.metrics.score import Score, parse_signature, signature
from firth.models.build import System
from firth.pipelines.answer_errors import ANALYSED_ANSWERS, analyse_answers, gold_probability
from firth.pipelines.encode_texts import group_by_length
from firth.pipelines.file_inputs import read_question
from firth.pipelines.label_predictions import checked_examples, run_examples
from firth.pipelines.temperature_scaling import TemperatureScaling, best_temperature
from firth.runs.run_folder import Run
from firth.runs.trained_model import given_text, read_options
from firth.tokenizers.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch

SEPARATOR = "\t"  # between question and context in one line
MAX_ANSWER_TOKENS = 30
REPORT_QUESTIONS = 12
THRESHOLD = "no_answer_threshold"  # the score that a run stores: chosen on validation questions


@dataclass(frozen=True)
class AnswerOptions:
    """The options of `firth run` for question answering."""

    count: int = bounded(1, least=1)
    threshold: float = bounded(-1.0, least=-1.0, most=1.0)


class AnswerSpan(NamedTuple):
    """An answer: its text, its characters in the context, and its probability; an empty text: there is none."""

    text: str
    start: int
    end: int
    probability: float


class Candidates(NamedTuple):
    """The answers of a question, the best first, and the probability that there is none."""

    answers: list[AnswerSpan]
    no_answer: float


class QuestionAnswerer(TemperatureScaling):
    """A trained model of extractive question answering: what `firth.load` returns for one."""

    metric = "span_accuracy"

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        self.run, self.tokenizer, self.system = run, tokenizer, system
        self.config = run.record.config

    @staticmethod
    def metric_value(total: float, count: float) -> float:
        """The metric that is logged during training, from its sum and count."""
        return total / count

    # --- answers ----------------------------------------------------------------------------------------------

    def find_answers(
        self, question: str, context: str, count: int = 1, threshold: float | None = None
    ) -> list[AnswerSpan]:
        """The most probable answers; if no answer is more probable than the threshold (by default the run's), an empty
        one first."""
        (results,) = self.candidates([(question, context)], count)
        return self._with_threshold(results, count, threshold)

    def _with_threshold(self, results: Candidates, count: int, threshold: float | None) -> list[AnswerSpan]:
        limit = self.threshold if threshold is None else threshold
        if results.no_answer > limit:
            return [AnswerSpan("", 0, 0, results.no_answer), *results.answers][:count]
        return results.answers

    @torch.no_grad()
    def candidates(self, questions: Sequence[tuple[str, str]], count: int = 1) -> list[Candidates]:
        """The answers of each question about its context."""
        contexts, rows = self._rows(questions)
        return self._candidates(questions, contexts, [*self._logits(rows)], count, self.temperature())

    def _rows(self, questions: Sequence[tuple[str, str]]) -> tuple[dict[str, TokenisedContext], list[Row]]:
        """The tokens of the contexts, and the windows of each question about its own."""
        contexts = {text: tokenise_context(text, self.tokenizer) for text in dict.fromkeys(c for _, c in questions)}
        return contexts, [
            row
            for number, (question, context) in enumerate(questions)
            for row in make_rows(
                number,
                np.array(self.tokenizer.encode(question), np.int64),
                contexts[context].ids,
                self.config.batching,
                self.tokenizer.special,
            )
        ]

    def _candidates(
        self,
        questions: Sequence[tuple[str, str]],
        contexts: Mapping[str, TokenisedContext],
        rows: Sequence[tuple[Row, np.ndarray]],
        count: int,
        temperature: float,
    ) -> list[Candidates]:
        """The answers by the logits of rows, divided by the temperature."""
        spans: list[list[_Spans]] = [[] for _ in questions]
        for row, logits in rows:
            window = row.window
            spans[window.question].append(_best_spans(logits / temperature, window, max(count, ANALYSED_ANSWERS)))
        return [
            _choose(results, context, contexts[context], count)
            for results, (_, context) in zip(spans, questions, strict=True)
        ]

    @torch.no_grad()
    def fit_temperatures(self, split: labelled_dataset.Split) -> dict[str, float]:
        """The temperature that makes the gold answers (or none, where there is none) most likely."""
        questions = [(each.text, each.context) for each in split.examples]
        contexts, rows = self._rows(questions)
        scored, references = [*self._logits(rows)], _references(split)

        def loss(temperature: float) -> float:
            results = self._candidates(questions, contexts, scored, ANALYSED_ANSWERS, temperature)
            pairs = zip(results, references, strict=True)
            return float(np.mean([-np.log(max(gold_probability(each, own), 1e-12)) for each, own in pairs]))

        return {"": best_temperature(loss)}

    def _logits(self, rows: Sequence[Row]) -> Iterable[tuple[Row, np.ndarray]]:
        """Logits of start and end (2, time) of every row."""
        for indices in group_by_length([len(row.sequence.ids) for row in rows]):
            part = [rows[index] for index in indices]
            text = pad_sequences([row.sequence for row in part], self.tokenizer.special, segments=True)
            with autocast(self.config.train):
                logits = self.system.head(self.system.encode(Batch({"text": text}, {}).to())).numpy()
            for number, row in enumerate(part):
                yield row, logits[:, number, : len(row.sequence.ids)]

    @cached_property
    def threshold(self) -> float:
        """The probability of no answer from which on a question is left unanswered: chosen on validation questions; 1
        if all training questions have answers."""
        chosen = [score["value"] for score in self.run.scores() if score["name"] == THRESHOLD]
        if not chosen:
            return 1.0
        if chosen[-1] is None or not 0 <= chosen[-1] <= 1:
            what, do = "damaged (the threshold is no probability)", "delete it; firth eval writes it anew"
            raise FirthError(what, where=self.run.path / "scores.json", do=do)
        return float(chosen[-1])

    # --- evaluation -------------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Question] | None = None, split: str = "test", **_: Any
    ) -> Table[Score]:
        """Exact match and F1 (SQuAD) on a split of the run's own questions, on a file or set, or on questions from
        Python; with unanswerable questions also the threshold, chosen on the validation split."""
        questions, chosen = self.load_examples(text, split), []
        if self.run.record.data.get("unanswerable") and not any(s["name"] == THRESHOLD for s in self.run.scores()):
            chosen = [self._choose_threshold()]
            self.__dict__["threshold"] = chosen[0].value
        results = self.candidates([(each.text, each.context) for each in questions.examples])
        scores, no_answer = _score(results, questions)
        scores = question_answering.apply_threshold(scores, no_answer, self.threshold)
        signed = signature({**self.signature_fields(), **parse_signature(scores.signature), **questions.signed_fields})
        return Table([*(replace(each.score(), signature=signed) for each in scores.statistics()), *chosen])

    def error_analysis(self, text: Any = None, split: str = "test") -> ErrorAnalysis:
        """Scores of questions with and without an answer, calibration, and the questions by their loss."""
        questions = self.load_examples(text, split)
        if not questions.examples:
            raise FirthError("no questions to score", where=questions.name, do="give at least one")
        results = self.candidates([(each.text, each.context) for each in questions.examples], ANALYSED_ANSWERS)
        return analyse_answers(questions, results, _references(questions), self.threshold)

    def _choose_threshold(self) -> Score:
        valid = run_examples(self, "valid")
        scores, no_answer = _score(self.candidates([(each.text, each.context) for each in valid.examples]), valid)
        best = question_answering.best_threshold(scores.f1, scores.answerable, no_answer)
        value = max(best.value, 0.0)
        return Score(THRESHOLD, value, signature({**self.signature_fields(), **valid.signed_fields}))

    def load_examples(self, text: Any, split: str) -> labelled_dataset.Split:
        """Questions to score; those that are loaded already are returned."""
        if isinstance(text, labelled_dataset.Split):
            return text
        if text is None:
            return run_examples(self, split)
        text = given_text(text)
        examples = labelled_dataset.read_named(text, self.config.data) if isinstance(text, str) else text
        return labelled_dataset.make_split("given", checked_examples(examples, Question))

    def signature_fields(self) -> dict[str, object]:
        """The tokenizer and context, for signatures."""
        batching = self.config.batching
        context = f"windows/{batching.length}/{batching.stride}"
        return {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "ctx": context}

    def sample(self) -> str:
        """Nothing: an answer needs a question."""
        return ""

    def samples(self, seed: int) -> list[str]:
        """Held-out questions with their right and given answers."""
        split = run_examples(self, "test" if "test" in self.run.record.data["splits"] else "valid")
        shown = replace(split, examples=split.examples[:REPORT_QUESTIONS])
        results = self.candidates([(each.text, each.context) for each in shown.examples])
        return [
            f"{each.text} | {' / '.join(references) or '(none)'} | {best.answers[0].text if best.answers else '(none)'}"
            for each, references, best in zip(shown.examples, _references(shown), results, strict=True)
        ]

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f"firth run {self.run.path} $'QUESTION\\tCONTEXT'"

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The answers to a question about a context, with a tab between them."""
        (answer,) = self.answer_inputs([tuple(line.split(SEPARATOR, 1))], options)
        return {"input": line, "answers": answer["answers"]}

    def answer_inputs(self, inputs: Sequence[Any], options: Mapping[str, object]) -> list[dict[str, Any]]:
        """The answers to each question about its context."""
        parsed = read_options(AnswerOptions, options)
        if any(len(each) < 2 or not each[1].strip() for each in inputs):
            raise FirthError("a question without a context", do="give the question, a tab, and the text to search")
        threshold = None if parsed.threshold < 0 else parsed.threshold
        rows = zip(inputs, self.candidates(inputs, parsed.count), strict=True)
        return [
            {"question": question, "context": context,
             "answers": [each._asdict() for each in self._with_threshold(results, parsed.count, threshold)]}
            for (question, context), results in rows
        ]  # fmt: skip

    def read_input(self, record: Record, columns: Mapping[str, str]) -> Any:
        """A question and its context, from a record of a file."""
        return read_question(record, columns)

    def table_rows(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A row for each answer to a question; an empty one: there is none."""
        names = {"text": "answer", "start": "start", "end": "end", "probability": "probability"}
        return [{"question": answer["question"]} | {name: each[key] for key, name in names.items()}
                for each in answer["answers"]]  # fmt: skip

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answers as text."""
        return "\n".join(f"{each['probability']:.4f}\t{each['text'] or '(no answer)'}" for each in answer["answers"])


def _score(
    results: Sequence[Candidates], split: labelled_dataset.Split
) -> tuple[question_answering.AnswerScores, np.ndarray]:
    """The scores of the best answers, and the probabilities that there is none."""
    answers = [each.answers[0].text if each.answers else "" for each in results]
    no_answer = np.array([each.no_answer for each in results])
    return question_answering.score_answers(answers, _references(split)), no_answer


def _references(split: labelled_dataset.Split) -> list[list[str]]:
    return [[answer.text for answer in as_list(each.answers)] for each in split.examples]


# --- from logits to spans -----------------------------------------------------------------------------------------


class _Spans(NamedTuple):
    """The best spans of a window in tokens of the context, their scores, the logarithm of the sum of all spans'
    exponentials, and the score of no answer."""

    spans: np.ndarray  # (spans, 2)
    scores: np.ndarray
    total: float
    no_answer: float


def _best_spans(logits: np.ndarray, window: Window, count: int) -> _Spans:
    """All spans of at most MAX_ANSWER_TOKENS tokens within the window, scored by the sum of their ends' logits."""
    size = window.last - window.first
    start, end = logits[:, window.offset : window.offset + size].astype(np.float64)
    lengths = np.arange(min(MAX_ANSWER_TOKENS, max(size, 1)))
    ends = np.arange(size)[:, None] + lengths  # (size, lengths)
    padded = np.append(end, np.full(len(lengths), -np.inf))
    scores = start[:, None] + padded[ends]
    flat = scores.ravel()
    best = np.argsort(-flat, kind="stable")[:count]
    best = best[np.isfinite(flat[best])]
    first, length = np.divmod(best, scores.shape[1])
    spans = np.stack([first, first + length], 1) + window.first
    total = float(np.logaddexp.reduce(flat)) if len(flat) else -np.inf
    return _Spans(spans, flat[best], total, float(logits[0, 0] + logits[1, 0]))


def _choose(windows: Sequence[_Spans], context: str, tokens: TokenisedContext, count: int) -> Candidates:
    """The best answers of all windows; there is none if no window has one, so the least score of no answer counts."""
    none = min(window.no_answer for window in windows)
    total = float(np.logaddexp.reduce([none, *(window.total for window in windows)]))
    results: dict[tuple[int, int], float] = {}
    for window in windows:
        for span, score in zip(window.spans.tolist(), window.scores.tolist(), strict=True):
            key = (span[0], span[1])
            results[key] = float(np.logaddexp(results.get(key, -np.inf), score))
    best = sorted(results.items(), key=lambda item: (-item[1], item[0]))[:count]
    answers = []
    for (first, last), score in best:
        start, end = int(tokens.offsets[first, 0]), int(tokens.offsets[last, 1])
        answers.append(AnswerSpan(context[start:end], start, end, float(np.exp(score - total))))
    return Candidates(answers, float(np.exp(none - total)))
