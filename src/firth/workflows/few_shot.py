"""Zero-shot, one-shot and few-shot evaluation: in-context learning from k demonstrations (Brown et al. 2020)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from firth.config.core import bounded
from firth.datasets import prompt_templates
from firth.datasets.prompt_templates import Example, Template
from firth.datasets.records import Record
from firth.errors import FirthError, unknown
from firth.metrics.bootstrap import ConfidenceInterval, bootstrap_ratios, confidence_interval
from firth.metrics.score import Score
from firth.pipelines.answer_scores import SCORING
from firth.pipelines.language_model import LanguageModel
from firth.runs.atomic_files import digest
from firth.types import generator
from firth.workflows import prompt_answers
from firth.workflows.prompt_answers import GENERATION, FittedPrompts, Prompt, ScoringMethod

_MAX_LABELS = 200  # whose likelihoods are compared
Records = Iterable[Record | Mapping[str, str] | Example]


@dataclass(frozen=True)
class FewShotConfig:
    """Settings of a few-shot evaluation."""

    shots: tuple[int, ...] = bounded((0, 1, 4), least=0)  # demonstrations per prompt
    scoring: tuple[ScoringMethod, ...] = ()  # how answers are chosen; none: total, or generation without likelihoods
    separator: str = "\n\n"  # between demonstrations
    max_examples: int = bounded(0, least=0)  # a sample of the examples, by the seed; 0: all
    seed: int = bounded(0, least=0)


@dataclass(frozen=True)
class Outcome:
    """The accuracy of one number of shots and one scoring method."""

    shots: int
    scoring: str
    accuracy: Score
    interval: ConfidenceInterval  # 95 %, by bootstrap over the examples
    predictions: tuple[str | None, ...]  # the predicted label of each example; None: generated text that is no label


@dataclass(frozen=True)
class FewShotResult:
    """The outcomes of an evaluation, with the majority-class baseline."""

    gold: tuple[str, ...]  # the gold label of each example
    labels: tuple[str, ...]
    verbalizer: Mapping[str, str]  # the words for each label in prompts
    majority: tuple[str, float]  # the most frequent label and its accuracy
    outcomes: tuple[Outcome, ...]
    prompts: Mapping[int, str]  # for each number of shots, the first prompt as given to the model
    notes: tuple[str, ...]

    def confusion_matrix(self, outcome: Outcome) -> dict[str, dict[str | None, int]]:
        """How often each label (None: no label) was predicted for each gold label."""
        pairs = Counter(zip(self.gold, outcome.predictions, strict=True))
        columns = [*self.labels, *([None] if None in outcome.predictions else [])]
        return {gold: {predicted: pairs[gold, predicted] for predicted in columns} for gold in self.labels}


def evaluate(
    model: Any,
    template: str | Template,
    examples: Records,
    *,
    demonstrations: Records | None = None,
    columns: Mapping[str, str] | None = None,
    verbalizer: Mapping[str, str] | None = None,
    config: FewShotConfig = FewShotConfig(),
) -> FewShotResult:
    """Evaluate a model on examples (mappings from columns, or records of a file) that a template turns into prompts.

    Demonstrations are sampled from `demonstrations`, else from the other examples: never the test example itself.
    `verbalizer` maps labels to their words in the prompt.
    """
    form = prompt_templates.parse_template(template) if isinstance(template, str) else template
    test_examples = prompt_templates.examples(examples, form, columns, "examples")
    pool = (
        test_examples
        if demonstrations is None
        else prompt_templates.examples(demonstrations, form, columns, "demonstrations")
    )
    return _Evaluation(
        model, form, test_examples, pool, _complete_verbalizer(test_examples, pool, verbalizer or {}), config
    ).run()


def scoring_methods(model: Any, config: FewShotConfig) -> tuple[str, ...]:
    """The configured scoring methods, or the default for the model; an error if the model does not support one."""
    if not isinstance(model, LanguageModel) and not hasattr(model, "generate"):
        do = "use a language model or a sequence-to-sequence model, such as firth train transformer-lm"
        raise FirthError("this model does not generate text", where=model.run.path, do=do)
    prompt_answers.require_likelihoods(model, config.scoring)
    return config.scoring or ("total" if isinstance(model, LanguageModel) else GENERATION,)


def _complete_verbalizer(
    test_examples: Sequence[Example], pool: Sequence[Example], verbalizer: Mapping[str, str]
) -> dict[str, str]:
    """The words of every label; by default the label itself."""
    labels = sorted({example.label for example in (*test_examples, *pool)})
    for label, words in verbalizer.items():
        if label not in labels:
            raise unknown("label", label, labels)
        if not words.strip():
            raise FirthError(f"no words for the label {label!r}", do="write it as 1=positive")
    complete = {label: verbalizer.get(label, label) for label in labels}
    duplicate = next((words for words, count in Counter(complete.values()).items() if count > 1), None)
    if duplicate is not None:
        raise FirthError(f"two labels have the words {duplicate!r}", do="give each its own words")
    return complete


class _Evaluation:
    """One evaluation: the prompts of each number of shots, and the predictions for them."""

    def __init__(
        self,
        model: Any,
        template: Template,
        examples: Sequence[Example],
        pool: Sequence[Example],
        verbalizer: Mapping[str, str],
        config: FewShotConfig,
    ) -> None:
        self.model, self.template, self.pool, self.verbalizer, self.config = model, template, pool, verbalizer, config
        self.scoring, self.labels = scoring_methods(model, config), tuple(verbalizer)
        self.indices = _sample_indices(len(examples), config)
        self.examples = [examples[index] for index in self.indices]
        self.answers = [words + template.tail for words in verbalizer.values()]
        self.notes: list[str] = []
        if len(verbalizer) > _MAX_LABELS and any(method in SCORING for method in self.scoring):
            what = f"{len(verbalizer):,} labels are too many to compare their likelihoods (at most {_MAX_LABELS})"
            raise FirthError(what, do=f"use --scoring {GENERATION}")

    def run(self) -> FewShotResult:
        """Evaluate each number of shots with each scoring method."""
        gold = tuple(example.label for example in self.examples)
        label, count = Counter(gold).most_common(1)[0]
        outcomes, first_prompts = [], {}
        self._note_vocabulary()
        for shots in dict.fromkeys(self.config.shots):
            prompts = [self._prompt(*each, shots) for each in zip(self.indices, self.examples, strict=True)]
            for method, predictions, first in self._predict(prompts, shots):
                outcomes.append(self._outcome(shots, method, gold, predictions))
                first_prompts.setdefault(shots, first.text(self.config.separator))
        majority, notes = (label, count / len(gold)), tuple(self.notes)
        return FewShotResult(gold, self.labels, self.verbalizer, majority, tuple(outcomes), first_prompts, notes)

    def _prompt(self, index: int, example: Example, shots: int) -> Prompt:
        """The prompt of an example; the demonstrations of k shots are the first k of one random order."""
        order = generator(self.config.seed, "shots", index).permutation(len(self.pool)) if shots else ()
        others = (self.pool[at] for at in order if self.pool[at] != example)
        chosen = [each for each, _ in zip(others, range(shots))]  # noqa: B905
        if len(chosen) < shots:
            what = f"{shots} shots need {shots} demonstrations, and there {'is' if len(chosen) == 1 else 'are'}"
            raise FirthError(
                f"{what} {len(chosen)}", do="ask for fewer with --shots, or give more with --demonstrations"
            )
        demonstrations = tuple(self.template.with_label(each, self.verbalizer[each.label]) for each in chosen)
        return Prompt(demonstrations, self.template.prompt(example))

    def _predict(self, prompts: list[Prompt], shots: int) -> Iterable[tuple[str, list[str | None], Prompt]]:
        """Yield each scoring method with its predicted labels and the first prompt."""
        by_likelihood = [method for method in self.scoring if method in SCORING]
        if by_likelihood:
            fitted = prompt_answers.fit_prompts(self.model, prompts, self.config.separator, self.answers)
            self._note_truncation(fitted, shots)
            scores = prompt_answers.score_answers(self.model, fitted, self.answers, self.template.cue)
        for method in by_likelihood:
            best = SCORING[method](scores).argmax(1)
            yield method, [self.labels[index] for index in best], fitted.prompts[0]
        if GENERATION in self.scoring:
            yield GENERATION, *self._generate(prompts, shots, noted=bool(by_likelihood))

    def _generate(self, prompts: list[Prompt], shots: int, noted: bool) -> tuple[list[str | None], Prompt]:
        """Predict labels by free generation, and return them with the first prompt."""
        # A space before an answer belongs to the answer's first token in most tokenizers.
        prompts = [prompt._replace(query=prompt.query.rstrip(" ")) for prompt in prompts]
        length = prompt_answers.max_answer_tokens(self.model, self.answers)
        reserved = length if isinstance(self.model, LanguageModel) else 0  # a decoder has a context of its own
        fitted = prompt_answers.fit_prompts(self.model, prompts, self.config.separator, reserved=reserved)
        if not noted:
            self._note_truncation(fitted, shots)
        tokenizer, multiline = self.model.tokenizer, any("\n" in words for words in self.verbalizer.values())
        label_of = {
            tokenizer.decode(tokenizer.encode(words)).strip(): label for label, words in self.verbalizer.items()
        }
        texts = prompt_answers.generate_answers(self.model, fitted, self.config.separator, length)
        answers = (prompt_answers.extract_answer(text, self.template.tail, multiline) for text in texts)
        return [label_of.get(answer) for answer in answers], fitted.prompts[0]

    # --- outcomes and notes -----------------------------------------------------------------------------------------

    def _outcome(self, shots: int, method: str, gold: Sequence[str], predictions: Sequence[str | None]) -> Outcome:
        correct = np.array([predicted == label for predicted, label in zip(predictions, gold, strict=True)], np.float64)
        samples = bootstrap_ratios(correct[None], np.ones(len(correct)), self.config.seed)
        score = Score("accuracy", float(correct.mean()), self._signature(shots, method))
        return Outcome(shots, method, score, confidence_interval(samples[:, 0]), tuple(predictions))

    def _signature(self, shots: int, method: str) -> str:
        return self.model.signed(shots=shots, scoring=method, **self._digests, seed=self.config.seed)

    @cached_property
    def _digests(self) -> dict[str, str]:
        """Digests of everything the prompts are made of."""
        template = [self.template.parts, self.template.tail, self.config.separator, list(self.verbalizer.items())]
        pool = _digest(self.pool)
        return {"template": _digest(template), "data": _digest(self.examples), "demonstrations": pool}

    def _note_vocabulary(self) -> None:
        """Note labels that are out-of-vocabulary, and a tokenizer that cannot end an answer."""
        oov = {span for words in self.verbalizer.values() for span in self.model.tokenizer.oov_spans(words)}
        if oov:
            self._note(f"out-of-vocabulary words in labels, scored byte by byte: {', '.join(sorted(oov))}")
        if GENERATION in self.scoring and not self.template.tail.strip() and not self.model.tokenizer.lossless("a\na"):
            self._note("this tokenizer loses line breaks, so that answers have no end: write a mark after {label}")

    def _note_truncation(self, fitted: FittedPrompts, shots: int) -> None:
        """Note demonstrations that were dropped, and prompts that do not fit the context even without any."""
        context = f"longer than the model's context of {getattr(self.model, 'limit', 0):,} tokens"
        prompts = f"of {len(fitted.prompts):,} prompts with {shots} shot{'s' * (shots != 1)}"
        if fitted.truncated:
            dropped = f"the {fitted.dropped:,} oldest demonstration{'s' * (fitted.dropped != 1)} dropped"
            self._note(f"{fitted.truncated:,} {prompts} would be {context}: {dropped}")
        if fitted.overlong:
            self._note(
                f"{fitted.overlong:,} {prompts} are {context} even without demonstrations: truncated at the left"
            )

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _sample_indices(count: int, config: FewShotConfig) -> list[int]:
    """The indices of the examples to evaluate, in order."""
    if not config.max_examples or config.max_examples >= count:
        return list(range(count))
    return sorted(generator(config.seed, "tested").permutation(count)[: config.max_examples].tolist())


def _digest(value: Any) -> str:
    return digest(json.dumps(value, ensure_ascii=False).encode())[:8]
