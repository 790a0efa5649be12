"""What every model that labels texts or pictures can do, whatever it is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firth.config.core import bounded
from firth.data import examples
from firth.errors import FirthError, unknown
from firth.families.order import read_options
from firth.metrics import classification
from firth.metrics.score import Score, signature
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer

Guesses = list[list[tuple[str, float]]]  # for each text the most probable labels


@dataclass(frozen=True)
class Asked:
    """How `firth run` is to answer."""

    count: int = bounded(1, least=1)
    threshold: float = bounded(0.0, least=0.0, most=1.0)


class Labeller(ABC):
    """A trained model that labels texts or pictures, with its run and its tokenizer."""

    run: Run
    tokenizer: Tokenizer | None
    config: Any

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """All that it can say, from frequent to rare."""

    @abstractmethod
    def predict(self, texts: Any, count: int = 1, threshold: float = 0.0) -> Guesses:
        """The `count` most probable labels of each text with their probabilities, none below the threshold."""

    # --- the yardstick ----------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[examples.Example] | None = None, split: str = "test", **_: Any
    ) -> list[Score]:
        """Signed scores on a split of the run's own examples, on a file or set, or on examples from Python."""
        return self.scores(self.given(text, split))

    def given(self, text: str | Iterable[examples.Example] | None, split: str) -> examples.Split:
        """Examples to score."""
        if text is None:
            return own_examples(self.run, split)
        found = examples.named(text, self.config.data) if isinstance(text, str) else text
        return examples.make("given", found)

    def scores(self, split: examples.Split) -> list[Score]:
        """How well the model labels these examples; one that may have several labels is judged by its first guess."""
        right = split.labels
        if not right:
            raise FirthError("no examples to score", where=split.name, do="give at least one")
        first = [[label for label, _ in guessed] for guessed in self.predict(self.inputs(split))]
        names = ["accuracy"] if all(len(labels) == 1 for labels in right) else ["precision@1", "recall@1"]
        values = [classification.precision(right, first), classification.recall(right, first)][: len(names)]
        told = self.signed(split)
        found = [Score(name, value, told) for name, value in zip(names, values, strict=True)]
        return [*found, Score("macro_f1", classification.macro_f1(right, first), told)]

    def inputs(self, split: examples.Split) -> list[Any]:
        """What is to be labelled: texts, or pairs of texts."""
        found = [examples.sides(example) for example in split.examples]
        return [text for (text,) in found] if found and len(found[0]) == 1 else found

    def signed(self, split: examples.Split, guess: str = "first") -> str:
        """The signature of a score."""
        told = {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "guess": guess}
        return signature({**told, "split": split.name, "data": split.key[:8]})

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        return f'firth run {self.run.path} "TEXT"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The labels of a text."""
        asked = read_options(Asked, options)
        (found,) = self.predict([self.heard(line)], asked.count, asked.threshold)
        return {"input": line, "labels": [[label, chance] for label, chance in found]}

    def heard(self, line: str) -> Any:
        """What a line of `firth run` gives to label."""
        return line

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        return "\n".join(f"{chance:.4f}\t{label}" for label, chance in answer["labels"])

    def told(self, split: examples.Split, count: int) -> list[str]:
        """Some examples for the report: what is right, what the model says, the text."""
        shown = examples.make(split.name, split.examples[:count])
        rows = zip(shown.examples, self.predict(self.inputs(shown)), strict=True)
        return [_told(example, guessed) for example, guessed in rows]


def own_examples(
    run: Run, split: str, read: Callable[[Any, int], dict[str, examples.Split]] = examples.read
) -> examples.Split:
    """A split of the examples that a run was trained with; refused if they have changed."""
    known, config = run.record.data["splits"], run.record.config
    if not known:
        raise FirthError("an imported model has no examples of its own", where=run.path, do="give some with --text")
    if split not in known:
        raise unknown("split", split, known)
    found = read(config.data, config.seed)[split]
    if found.key != known[split]:
        what, do = f"the {split} text has changed since this run began", "restore it, or choose another --out"
        raise FirthError(what, where=run.path, do=do)
    return found


def _told(example: examples.Example, guessed: Sequence[tuple[str, float]]) -> str:
    guesses = ", ".join(f"{label} {chance:.2f}" for label, chance in guessed)
    return f"{' '.join(examples.labels(example))} | {guesses} | {examples.title(example)[:300]}"
