"""What a model can do without being trained for it: prompts that show no, one or a few examples (Brown et al. 2020)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from firth.config.core import bounded
from firth.data import templates
from firth.data.randomness import generator
from firth.data.records import Record
from firth.data.templates import Example, Template
from firth.errors import FirthError, unknown
from firth.families.language import LanguageModel
from firth.metrics.bootstrap import Interval, interval, resampled
from firth.metrics.score import Score
from firth.runs.files import digest
from firth.uses import guessing
from firth.uses.guessing import RULES, WRITTEN, Fitted, Prompt, Rule

_MANY = 200  # answers whose likelihoods are compared
Records = Iterable[Record | Mapping[str, str] | Example]


@dataclass(frozen=True)
class Asked:
    """How to test a model."""

    shots: tuple[int, ...] = bounded((0, 1, 4), least=0)  # examples that a prompt shows
    by: tuple[Rule, ...] = ()  # how the answer is found; none: total, or generation where there are no likelihoods
    joint: str = "\n\n"  # between examples
    most: int = bounded(0, least=0)  # examples that are tested, drawn by the seed; 0: all
    seed: int = bounded(0, least=0)


@dataclass(frozen=True)
class Outcome:
    """How well a number of shots and a rule do."""

    shots: int
    by: str
    accuracy: Score
    interval: Interval  # 95 of 100 draws of the examples
    guesses: tuple[str | None, ...]  # the label of each example; None: what was written is no label


@dataclass(frozen=True)
class Tested:
    """What came out, and what would come out by always saying the same."""

    right: tuple[str, ...]  # the label of each example
    labels: tuple[str, ...]
    words: Mapping[str, str]  # what is said for each label
    majority: tuple[str, float]  # the most frequent label, and its share
    outcomes: tuple[Outcome, ...]
    prompts: Mapping[int, str]  # for each number of shots, the first prompt as the model sees it
    notes: tuple[str, ...]

    def confusion(self, outcome: Outcome) -> dict[str, dict[str | None, int]]:
        """For each right label how often each label was guessed; what is no label is None."""
        pairs = Counter(zip(self.right, outcome.guesses, strict=True))
        columns = [*self.labels, *([None] if None in outcome.guesses else [])]
        return {right: {guess: pairs[right, guess] for guess in columns} for right in self.labels}


def evaluate(
    model: Any,
    template: str | Template,
    examples: Records,
    *,
    pool: Records | None = None,
    columns: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
    asked: Asked = Asked(),
) -> Tested:
    """Test a model on examples (mappings from columns, or records of a file) that a template makes into prompts.

    The examples that are shown are drawn from the `pool`, else from the other examples: never the one that is asked.
    `words` says what to call a label in the prompt.
    """
    form = templates.template(template) if isinstance(template, str) else template
    tested = templates.examples(examples, form, columns, "examples")
    drawn_from = tested if pool is None else templates.examples(pool, form, columns, "examples to show")
    return _Test(model, form, tested, drawn_from, _words(tested, drawn_from, words or {}), asked).run()


def rules(model: Any, asked: Asked) -> tuple[str, ...]:
    """The rules that are asked for, or the one that suits the model; refused if it cannot answer by one."""
    if not isinstance(model, LanguageModel) and not hasattr(model, "generate"):
        do = "use a language model or a model that writes texts, such as firth train gpt"
        raise FirthError("this model neither continues nor writes texts", where=model.run.path, do=do)
    guessing.require_scores(model, asked.by)
    return asked.by or ("total" if isinstance(model, LanguageModel) else WRITTEN,)


def _words(tested: Sequence[Example], pool: Sequence[Example], given: Mapping[str, str]) -> dict[str, str]:
    """What is said for each label that there is."""
    labels = sorted({example.label for example in (*tested, *pool)})
    for label, words in given.items():
        if label not in labels:
            raise unknown("label", label, labels)
        if not words.strip():
            raise FirthError(f"no words for the label {label!r}", do="write it as 1=positive")
    found = {label: given.get(label, label) for label in labels}
    twice = next((words for words, count in Counter(found.values()).items() if count > 1), None)
    if twice is not None:
        raise FirthError(f"two labels are called {twice!r}", do="give each its own words")
    return found


class _Test:
    """One test: the prompts of each number of shots, and the answers to them."""

    def __init__(
        self, model: Any, form: Template, all_: Sequence[Example], pool: Sequence[Example], words: Mapping[str, str],
        asked: Asked,
    ) -> None:  # fmt: skip
        self.model, self.form, self.pool, self.words, self.asked = model, form, pool, words, asked
        self.rules, self.labels = rules(model, asked), tuple(words)
        self.places = _chosen(len(all_), asked)
        self.tested = [all_[place] for place in self.places]
        self.answers = [each + form.tail for each in words.values()]
        self.notes: list[str] = []
        if len(words) > _MANY and any(rule in RULES for rule in self.rules):
            what = f"{len(words):,} different labels, and the likelihoods of {_MANY} are compared at most"
            raise FirthError(what, do=f"use --by {WRITTEN}")

    def run(self) -> Tested:
        right = tuple(example.label for example in self.tested)
        label, count = Counter(right).most_common(1)[0]
        outcomes, seen = [], {}
        self._tell_of_words()
        for shots in dict.fromkeys(self.asked.shots):
            asked = [self._prompt(*each, shots) for each in zip(self.places, self.tested, strict=True)]
            for rule, guesses, first in self._guesses(asked, shots):
                outcomes.append(self._outcome(shots, rule, right, guesses))
                seen.setdefault(shots, first.text(self.asked.joint))
        majority = label, count / len(right)
        return Tested(right, self.labels, self.words, majority, tuple(outcomes), seen, tuple(self.notes))

    def _prompt(self, place: int, example: Example, shots: int) -> Prompt:
        """The prompt of an example. More shots go on from fewer: all are the first of one order."""
        order = generator(self.asked.seed, "shots", place).permutation(len(self.pool)) if shots else ()
        others = (self.pool[at] for at in order if self.pool[at] != example)
        shown = tuple(self.form.whole(each, self.words[each.label]) for each, _ in zip(others, range(shots)))  # noqa: B905
        if len(shown) < shots:
            what = f"{shots} shots, and there {'is' if len(shown) == 1 else 'are'} {len(shown)} other examples to show"
            raise FirthError(what, do="ask for fewer with --shots, or give more with --from")
        return Prompt(shown, self.form.before(example))

    def _guesses(self, asked: list[Prompt], shots: int) -> Iterable[tuple[str, list[str | None], Prompt]]:
        """The guessed labels by each rule, and the first prompt."""
        likely = [rule for rule in self.rules if rule in RULES]
        if likely:
            fitted = guessing.fit(self.model, asked, self.asked.joint, self.answers)
            self._tell_of_length(fitted, shots)
            found = guessing.scores(self.model, fitted, self.answers, self.form.cue)
        for rule in likely:
            best = RULES[rule](found).argmax(1)
            yield rule, [self.labels[number] for number in best], fitted.prompts[0]
        if WRITTEN in self.rules:
            yield WRITTEN, *self._written(asked, shots, told=bool(likely))

    def _written(self, asked: list[Prompt], shots: int, told: bool) -> tuple[list[str | None], Prompt]:
        """The labels that the model writes out itself."""
        # A space before an answer belongs to the answer's first token in most tokenizers.
        asked = [each._replace(asks=each.asks.rstrip(" ")) for each in asked]
        length = guessing.room(self.model, self.answers)
        room = length if isinstance(self.model, LanguageModel) else 0  # others write elsewhere than they read
        fitted = guessing.fit(self.model, asked, self.asked.joint, room=room)
        if not told:
            self._tell_of_length(fitted, shots)
        tokenizer, lines = self.model.tokenizer, any("\n" in words for words in self.words.values())
        meant = {tokenizer.decode(tokenizer.ids(words)).strip(): label for label, words in self.words.items()}
        texts = guessing.write(self.model, fitted, self.asked.joint, length)
        return [meant.get(guessing.said(text, self.form.tail, lines)) for text in texts], fitted.prompts[0]

    # --- what came out --------------------------------------------------------------------------------------------

    def _outcome(self, shots: int, rule: str, right: Sequence[str], guesses: Sequence[str | None]) -> Outcome:
        hits = np.array([guess == label for guess, label in zip(guesses, right, strict=True)], np.float64)
        draws = resampled(hits[None], np.ones(len(hits)), self.asked.seed)
        score = Score("accuracy", float(hits.mean()), self._signature(shots, rule))
        return Outcome(shots, rule, score, interval(draws[:, 0]), tuple(guesses))

    def _signature(self, shots: int, rule: str) -> str:
        return self.model.signed(shots=shots, by=rule, **self._keys, seed=self.asked.seed)

    @cached_property
    def _keys(self) -> dict[str, str]:
        """Digests of what the prompts are made of."""
        form = [self.form.parts, self.form.tail, self.asked.joint, list(self.words.items())]
        return {"template": _key(form), "data": _key(self.tested), "from": _key(self.pool)}

    def _tell_of_words(self) -> None:
        lost = {span for words in self.words.values() for span in self.model.tokenizer.unknown_spans(words)}
        if lost:
            self._tell(f"the vocabulary does not have {', '.join(sorted(lost))}: spelled out byte by byte")
        if WRITTEN in self.rules and not self.form.tail.strip() and not self.model.tokenizer.lossless("a\na"):
            self._tell("this tokenizer loses line ends, so that answers have no end: write a mark after {label}")

    def _tell_of_length(self, fitted: Fitted, shots: int) -> None:
        reach = f"longer than the {getattr(self.model, 'limit', 0):,} tokens that the model looks at"
        of = f"of {len(fitted.prompts):,} prompts with {shots} shot{'s' * (shots != 1)}"
        if fitted.lessened:
            left = f"{fitted.dropped:,} oldest example{'s' * (fitted.dropped != 1)} left out"
            self._tell(f"{fitted.lessened:,} {of} would be {reach}: {left}")
        if fitted.overlong:
            self._tell(f"{fitted.overlong:,} {of} are {reach} even without examples: their beginnings do not count")

    def _tell(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _chosen(count: int, asked: Asked) -> list[int]:
    """The places of the examples that are tested, in their order."""
    if not asked.most or asked.most >= count:
        return list(range(count))
    return sorted(generator(asked.seed, "tested").permutation(count)[: asked.most].tolist())


def _key(value: Any) -> str:
    return digest(json.dumps(value, ensure_ascii=False).encode())[:8]
