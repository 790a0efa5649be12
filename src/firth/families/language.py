"""What a language model is for: perplexity, scoring and generation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from firth.config import from_dict, schema
from firth.config.core import bounded
from firth.data.cache import Split, default_cache, tokenised
from firth.data.corpus import Documents, documents
from firth.data.sources import kept, open_source
from firth.decoding.sample import Generated, Sampling, generate
from firth.errors import FirthError, unknown
from firth.families.order import read_options
from firth.metrics.language import ByteModel, bits_per_byte, perplexity
from firth.metrics.score import Score, signature
from firth.runs.folder import Run
from firth.text.special import Special
from firth.text.tokenizer import Tokenizer
from firth.types import Batch, Stepper, Target, Tokens

_TOKENS_AT_ONCE = 4096  # scored together, padding counted


@dataclass(frozen=True)
class Asked:
    """How `firth run` is to answer."""

    score: bool = False
    prefix: bool = False
    length: int = bounded(100, least=1)
    count: int = bounded(1, least=1)
    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0
    seed: int = bounded(0, least=0)


class Engine(Protocol):
    """What a family must bring to be a language model."""

    stepper: Stepper
    precision: str

    def nats(self, split: Split) -> float:
        """The negative log-likelihood of a split, its documents one after the other."""

    def log_probabilities(self, batch: Batch) -> np.ndarray:
        """Of each target given all before it (batch, time); rows stand alone."""


class LanguageModel:
    """A trained language model: what `firth.load` gives for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, engine: Engine, context: str) -> None:
        self.run, self.tokenizer, self._engine, self._context = run, tokenizer, engine, context
        self.config: schema.Neural = run.record.config

    # --- the yardstick ----------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """Perplexity and bits per byte: of a split of the run's own text, or of other text (a name or documents)."""
        cache = cache or default_cache()
        part = self._split(split, cache) if text is None else self._other(text, cache)
        nats = self._engine.nats(part)
        signed = signature(self._signature(part))
        return [
            Score("perplexity", perplexity(nats, part.tally.tokens), signed),
            Score("bits_per_byte", self._bits_per_byte(nats, part), signed),
        ]

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

    def _signature(self, part: Split) -> dict[str, object]:
        return {
            "tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}",
            "ctx": self._context,
            "split": part.name,
            "data": part.key[:8],
            "prec": self._engine.precision,
        }

    def _split(self, name: str, cache: Path) -> Split:
        known = self.run.record.data["splits"]
        if name not in known:
            raise unknown("split", name, known)
        found = documents(self.config.data, self.config.seed, cache)[name]
        part = tokenised(cache, name, found.key, found, self.tokenizer, account=True)
        if part.key != known[name]:
            raise FirthError(
                "the text has changed since the run was trained",
                where=found.source.describe(),
                do="restore it, or score the new text with --text",
            )
        return part

    def _other(self, text: str | Iterable[str], cache: Path) -> Split:
        names = str(text).split(",") if isinstance(text, (str, Path)) else (kept(text, cache / "spool"),)
        source = open_source(names, self.config.data, cache / "spool")
        return tokenised(cache, "given", Documents(source).key, source, self.tokenizer, account=True)

    # --- scoring ----------------------------------------------------------------------------------------------

    def score(self, texts: Sequence[str], *, whole: bool = True) -> list[float]:
        """Log-probability of each text in nats: as a whole document with its ending, or as a prefix of one."""
        return [float(row.sum(dtype=np.float64)) for row in self.token_scores(texts, whole=whole)]

    def token_scores(self, texts: Sequence[str], *, whole: bool = True) -> list[np.ndarray]:
        """Log-probability of each token of each text (and of [END], if whole)."""
        special = self.tokenizer.special
        rows = [[*ids, special.end][: None if whole else -1] for ids in self.tokenizer.encode_batch(list(texts))]
        found: list[np.ndarray] = [np.zeros(0)] * len(rows)
        for members in _groups([len(row) for row in rows]):
            scores = self._engine.log_probabilities(_padded([rows[i] for i in members], special))
            for index, row in zip(members, scores, strict=True):
                found[index] = row[: len(rows[index])]
        return found

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
    ) -> list[str]:
        """Continuations of a prompt, the prompt included."""
        how = from_dict(Sampling, {"temperature": temperature, "top_k": top_k, "top_p": top_p})
        read = self.tokenizer.ids(prompt)
        shown = self.tokenizer.decode(read)  # what the model saw of the prompt: unknown text is not in it
        texts = (self.tokenizer.decode([*read, *g.ids]) for g in self.continuations(prompt, length, count, how, seed))
        return [prompt + text[len(shown) :] if text.startswith(shown) else text for text in texts]

    def continuations(self, prompt: str, length: int, count: int, how: Sampling, seed: int) -> list[Generated]:
        """Continuations as tokens with their log-probabilities."""
        special = self.tokenizer.special
        ids = np.array([self._prompt(prompt)] * count, np.int64)
        batch = Batch({"text": Tokens(ids, np.ones(ids.shape, bool))}, {}).to("cpu")
        never = sorted(special.ids - {special.end})
        return generate(self._engine.stepper, batch, length, how, seed, end=special.end, banned=never)

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        return f'firth run {self.run.path} "a prompt"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """What `firth run` says to a line."""
        asked = read_options(Asked, options)
        if asked.score:
            return {"input": line, "log_probability": self.score([line], whole=not asked.prefix)[0]}
        names = ("length", "count", "temperature", "top_k", "top_p", "seed")
        return {"input": line, "texts": self.generate(line, **{name: getattr(asked, name) for name in names})}

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        if "texts" in answer:
            return "\n---\n".join(answer["texts"])
        return f"{answer['log_probability']:.4f}\t{answer['input']}"

    def _prompt(self, text: str) -> list[int]:
        return [self.tokenizer.special.start, *self.tokenizer.ids(text)]


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
    values = np.full((len(rows), width), special.pad, np.int64)
    mask = np.zeros(values.shape, bool)
    for index, row in enumerate(rows):
        values[index, : len(row)], mask[index, : len(row)] = row, True
    inputs = np.where(mask, np.roll(values, 1, axis=1), special.pad)
    inputs[:, 0] = special.start
    return Batch({"text": Tokens(inputs, mask)}, {"text": Target(values, mask.astype(np.float32))})
