"""What a language model is for: perplexity, scoring and generation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from firth.config import from_dict
from firth.data.cache import Split, byte_histogram
from firth.errors import FirthError
from firth.families import answering
from firth.families.texts import TextModel
from firth.metrics.language import ByteModel, bits_per_byte, perplexity
from firth.metrics.score import Score
from firth.runs.folder import Run
from firth.text.special import Special
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Stepper, Target, Tokens

if TYPE_CHECKING:  # late: they import torch, which scoring need not have
    from torch import Tensor

    from firth.decoding.beam import Hypothesis
    from firth.decoding.sample import Generated, Sampling
    from firth.decoding.words import Completion
    from firth.text.spelling import Spelling

_TOKENS_AT_ONCE = 4096  # scored together, padding counted
_SAMPLE = 40  # tokens that are generated after each evaluation


class Engine(Protocol):
    """What a family must bring to be a language model."""

    stepper: Stepper
    precision: str
    limit: int  # tokens that it can look at at once; 0: any number

    def surprises(self, split: Split) -> np.ndarray:
        """-log p of every token of a split (tokens,), its documents one after the other."""

    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Of each target given all before it (batch, time); rows stand alone."""


class LanguageModel(TextModel):
    """A trained language model: what `firth.load` gives for one."""

    metric = "perplexity"

    def __init__(self, run: Run, tokenizer: Tokenizer, engine: Engine, context: str) -> None:
        super().__init__(run, tokenizer, context, engine.precision)
        self._engine = engine

    # --- the yardstick ----------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and bits per byte: of a split of the run's own text, or of other text (a name or documents)."""
        part = self.part(text, split, cache)
        nats = float(self.surprises(part).sum(dtype=np.float64))
        signed = self._signature(part)
        return [
            Score("perplexity", perplexity(nats, part.tally.tokens), signed),
            Score("bits_per_byte", self._bits_per_byte(nats, part), signed),
        ]

    def surprises(self, part: Split) -> np.ndarray:
        """-log p in nats of every token of a split, [END] of each document included."""
        return self._engine.surprises(part)

    def perplexity(self, text: str | Iterable[str] | None = None, split: str = "test") -> float:
        """Per token, [END] counted."""
        return self.evaluate(text, split)[0].value

    def bits_per_byte(self, text: str | Iterable[str] | None = None, split: str = "test") -> float | None:
        """Of the original text; None where the tokenizer loses some of it."""
        return self.evaluate(text, split)[1].value

    def _bits_per_byte(self, nats: float, part: Split) -> float | None:
        replaced = self.config.data.errors == "replace" and all(
            part.tally.histogram[byte] for byte in "\ufffd".encode()
        )
        if replaced or not part.tally.lossless:
            return None
        spelling = ByteModel(self.run.record.data["byte_counts"])
        extra = spelling.nats(part.tally.unknown, part.tally.unknown_count)
        return bits_per_byte(nats + extra, part.tally.bytes)

    @property
    def normalised(self) -> bool:
        """Whether what it says of all texts adds up to one."""
        return True

    @property
    def limit(self) -> int:
        """Tokens that it can look at at once; 0: any number."""
        return self._engine.limit

    # --- scoring ----------------------------------------------------------------------------------------------

    def score(self, texts: Sequence[str], *, whole: bool = True) -> list[float]:
        """Log-probability of each text in nats: as a whole document with its ending, or as a prefix of one."""
        return [float(row.sum(dtype=np.float64)) for row in self.token_scores(texts, whole=whole)]

    def token_scores(self, texts: Sequence[str], *, whole: bool = True) -> list[np.ndarray]:
        """Log-probability of each token of each text (and of [END], if whole)."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are scored", do="put it into a list: score([text])")
        end = [self.tokenizer.special.end] if whole else []
        return self.id_scores([[*ids, *end] for ids in self.tokenizer.encode_batch(list(texts))])

    def id_scores(self, rows: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Log-probability of each token of rows of tokens, each from the start of a document."""
        found: list[np.ndarray] = [np.zeros(0)] * len(rows)
        for members in _groups([len(row) for row in rows]):
            scores = self._engine.log_probabilities(_padded([rows[i] for i in members], self.tokenizer.special))
            for index, row in zip(members, scores, strict=True):
                found[index] = row[: len(rows[index])]
        return found

    def spelling_costs(self, texts: Sequence[str]) -> list[float]:
        """Nats for spelling out what is unknown in each text, as bits per byte charge it: 0 where all is known."""
        model = ByteModel(self.run.record.data["byte_counts"])
        found = self.tokenizer.account_batch(list(texts))
        return [model.nats(byte_histogram([each.unknown]), each.unknown_count) for each in found]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """A vector for each text (texts, width): the mean of its tokens' states, [START] included."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are given vectors", do="put it into a list: embed([text])")
        states = getattr(self._engine, "states", None)
        if states is None:
            raise FirthError("this model has no vectors of texts", where=self.run.path, do="use a neural one")
        return states([self._prompt(text) for text in texts])

    # --- generation -------------------------------------------------------------------------------------------

    def generate(
        self,
        prompt: str = "",
        *,
        length: int = 100,
        count: int = 1,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        beam: int = 0,
        length_penalty: float = 0.0,
    ) -> list[str]:
        """Continuations of a prompt, the prompt included: drawn, or with `beam` the most probable that it finds."""
        if beam:
            found = self.beams(prompt, length, beam, count, length_penalty)
        else:
            found = self.continuations(prompt, length, count, self.sampling(temperature, top_k, top_p), seed)
        return self.texts(prompt, [each.ids for each in found])

    def sampling(self, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Sampling:
        """How to draw tokens, checked."""
        from firth.decoding.sample import Sampling

        return from_dict(Sampling, {"temperature": temperature, "top_k": top_k, "top_p": top_p})

    def continuations(self, prompt: str, length: int, count: int, how: Sampling, seed: int) -> list[Generated]:
        """Continuations as tokens with their log-probabilities."""
        from firth.decoding.sample import generate

        end, never = self.marks
        return generate(self.stepper, self._prompts(prompt, count), length, how, seed, end=end, banned=never)

    def beams(self, prompt: str, length: int, width: int, count: int = 1, penalty: float = 0.0) -> list[Hypothesis]:
        """The most probable continuations that a beam search finds, best first, as tokens."""
        from firth.decoding.beam import Beam, search

        how = from_dict(Beam, {"width": width, "count": count, "penalty": penalty})
        end, never = self.marks
        return search(self.stepper, self._prompts(prompt), length, how, end=end, banned=never)[0]

    def texts(self, prompt: str, continued: Iterable[Sequence[int]]) -> list[str]:
        """A prompt followed by the text of tokens, for each row of tokens."""
        read = self.tokenizer.ids(prompt)
        shown = self.tokenizer.decode(read)  # what the model saw of the prompt: unknown text is not in it
        texts = (self.tokenizer.decode([*read, *ids]) for ids in continued)
        return [prompt + text[len(shown) :] if text.startswith(shown) else text for text in texts]

    # --- what comes next --------------------------------------------------------------------------------------

    def next_tokens(self, prefix: str, count: int = 5) -> list[Completion]:
        """The most probable next tokens after a text, and their probabilities; the end of the text is [END]."""
        from firth.decoding.words import Completion

        row = self._after(prefix)
        chances, tokens = row.double().exp().topk(min(count, len(row)))
        before, hidden = self.tokenizer.ids(prefix), self.tokenizer.special.ids
        size = len(self.tokenizer.decode(before))
        texts = (
            self.tokenizer.piece(n) if n in hidden else self.tokenizer.decode([*before, n])[size:]
            for n in tokens.tolist()
        )
        return [Completion(text, chance) for text, chance in zip(texts, chances.tolist(), strict=True)]

    def gap(self, text: str) -> np.ndarray:
        """Log-probability of every token (vocabulary,) as the next one after a text."""
        return self._after(text).double().numpy()

    def _after(self, text: str) -> Tensor:
        stepper, read = self.stepper, self._prompts(text)
        rows, _ = stepper.step(read.streams["text"].ids[:, -1], stepper.start(read))
        return rows[0]

    def complete(self, prefix: str, count: int = 5) -> list[Completion]:
        """The most probable words that a text goes on with; if it stops in mid-word, words that begin so.

        The text is read up to that word, which is then spelled anew: so it does not matter how a tokenizer would have
        cut the half word.
        """
        from firth.decoding import words
        from firth.text.spelling import stopped

        seen = self.tokenizer.decode(self.tokenizer.ids(prefix))
        before, begun = stopped(seen if seen.casefold() == prefix.casefold() else prefix)  # as small letters, if it is
        read = self._prompt(before)
        if self._spelling.spaced:
            begun = begun.lstrip() if len(read) == 1 else " " + begun.lstrip()
        end = self.tokenizer.special.end
        return words.complete(self.stepper, read, begun, count, self._spelling, end=end)

    @cached_property
    def _spelling(self) -> Spelling:
        from firth.text.spelling import spelling

        return spelling(self.tokenizer)

    @property
    def stepper(self) -> Stepper:
        """The model as step-wise decoding sees it."""
        return self._engine.stepper

    @property
    def marks(self) -> tuple[int, list[int]]:
        """[END], and the special tokens that no text has."""
        special = self.tokenizer.special
        return special.end, sorted(special.ids - {special.end})

    def _prompts(self, text: str, count: int = 1) -> Batch:
        return prompts([self._prompt(text)] * count)

    def _prompt(self, text: str) -> list[int]:
        return [self.tokenizer.special.start, *self.tokenizer.ids(text)]

    # --- a look at it while it is trained ---------------------------------------------------------------------

    def sample(self) -> str:
        """What it would say now."""
        return self.generate(length=_SAMPLE, temperature=0.8)[0]

    def samples(self, seed: int) -> list[str]:
        """What it says in the report."""
        return self.generate(length=60, count=3, temperature=0.8, seed=seed)

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        return f'firth run {self.run.path} "a prompt"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """What `firth run` says to a line."""
        return answering.answer(self, line, options)

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        return answering.shown(answer)


def prompts(rows: Sequence[Sequence[int]]) -> Batch:
    """Rows of tokens (all of one length, [START] first) as decoding takes them."""
    ids = np.array(rows, np.int64)
    return Batch({"text": Tokens(ids, np.ones(ids.shape, bool))}, {}).to("cpu")


def _groups(lengths: Sequence[int]) -> list[list[int]]:
    """Indices of rows to score together: of similar length, within a budget."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not groups or (len(groups[-1]) + 1) * lengths[index] > _TOKENS_AT_ONCE:
            groups.append([])
        groups[-1].append(index)
    return groups


def _padded(rows: Sequence[Sequence[int]], special: Special) -> Batch:
    """Rows as a batch: [START] before each, padding after it."""
    width = max(1, *map(len, rows))
    values = np.full((len(rows), width), special.padding, np.int64)
    mask = np.zeros(values.shape, bool)
    for index, row in enumerate(rows):
        values[index, : len(row)], mask[index, : len(row)] = row, True
    inputs = np.where(mask, np.roll(values, 1, axis=1), special.padding)
    inputs[:, 0] = special.start
    return Batch({"text": Tokens(inputs, mask)}, {"text": Target(values, mask.astype(np.float32))})
