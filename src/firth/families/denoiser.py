"""What a network that reads one text and writes another is for: gaps filled, damaged texts mended, texts for texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from firth.build import System
from firth.config import from_dict, schema
from firth.config.core import bounded
from firth.data import examples
from firth.data.batching import batches, context
from firth.data.cache import Split, default_cache
from firth.data.corrupt import corrupted
from firth.data.corrupt.denoising import padded
from firth.data.material import tokenise
from firth.data.written import pairs, written
from firth.decoding.beam import Beam, search
from firth.decoding.sample import Sampling, generate
from firth.errors import FirthError
from firth.families.labels import own_examples
from firth.families.order import read_options
from firth.families.texts import TextModel
from firth.families.writer import Writer
from firth.metrics.language import perplexity
from firth.metrics.score import Score
from firth.runs.folder import Run
from firth.text.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Tokens

MASK = "[MASK]"
_MARKS = re.compile(r"(\[MASK\]|<extra_id_\d+>)")
_AT_ONCE = 32  # texts
_SHOWN = ("The [MASK] is here.", "It is [MASK] of the [MASK].")  # in the report


@dataclass(frozen=True)
class Asked:
    """How texts are to be written: always the most probable token, unless it is drawn or searched for."""

    length: int = bounded(100, least=1)
    count: int = bounded(1, least=1)
    temperature: float = bounded(0.0, least=0.0)
    top_k: int = bounded(0, least=0)
    top_p: float = bounded(1.0, above=0.0, most=1.0)
    seed: int = bounded(0, least=0)
    beam: int = bounded(0, least=0)
    length_penalty: float = bounded(0.0, least=0.0)


class Written(NamedTuple):
    """A text that was written, and how probable it is."""

    text: str  # marks of gaps in it
    filled: str  # the text that was read with its gaps filled, if what is missing was written; else the same as `text`
    log_probability: float


class TextToTextModel(TextModel):
    """A trained network that reads and writes: what `firth.load` gives for one."""

    def __init__(self, run: Run, tokenizer: Tokenizer, system: System) -> None:
        config = run.record.config
        self.paired = isinstance(config.data, schema.TaskTexts)
        self._kind = "writing" if self.paired else "denoising"
        self.metric = f"{self._kind}_perplexity"
        super().__init__(run, tokenizer, context(config.batching), config.train.precision)
        self.system, self.stepper = system, Writer(system, tokenizer.size)

    @property
    def limit(self) -> int:
        """Tokens of a text that it can read at once, without the marks at its ends."""
        return self.system.backbone.encoder.limit - 1 - self._opened

    # --- the yardstick ----------------------------------------------------------------------------------------

    def evaluate(
        self, text: str | Iterable[Any] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """How well damaged texts are written anew, which are damaged in the same way each time; or how well texts are
        written for others, and how often exactly as they should be. Of a split of the run's own, or of others."""
        if not self.paired:
            return self._surprised(self.part(text, split, cache))
        part = own_examples(self.run, split, pairs) if text is None else self._given(text)
        found = self._surprised(tokenise(part, self.tokenizer, (), cache or default_cache()))
        said = self.generate([pair.left for pair in part.examples], length=self.system.backbone.limit)
        wanted = [self.tokenizer.decode(self.tokenizer.ids(pair.right)).strip() for pair in part.examples]
        right = sum(one.strip() == other for one, other in zip(said, wanted, strict=True))
        return [*found, Score("exact_match", right / len(wanted), found[0].signature)]

    def _given(self, text: str | Iterable[Any]) -> examples.Split:
        named = isinstance(text, (str, Path))
        return examples.make("given", written(list(examples.named(str(text), self.config.data) if named else text)))

    @torch.no_grad()
    def _surprised(self, part: Split) -> list[Score]:
        config = self.config
        whole = batches(config.batching, part, self.tokenizer.special, 0)
        nats, right, count = 0.0, 0, 0
        for batch in corrupted(whole, config.objective, self.tokenizer, 0).once():
            tensors = batch.to("cpu")
            told = tensors.targets["target"].weight > 0
            with autocast(config.train):
                chances = self.system.log_probabilities(self.system.encode(tensors).states[told])
            values = tensors.targets["target"].values[told]
            nats -= float(chances.gather(1, values[:, None]).double().sum())
            right += int((chances.argmax(1) == values).sum())
            count += len(values)
        signed = self._signature(part)
        return [
            Score(self.metric, perplexity(nats, count), signed),
            Score(f"{self._kind}_accuracy", right / count, signed),
        ]

    # --- its verbs --------------------------------------------------------------------------------------------

    def generate(self, texts: Sequence[str], **how: Any) -> list[str]:
        """What is written for each text: the best found, or drawn (length, temperature, top_k, top_p, seed, beam)."""
        return [found[0].text for found in self.write(texts, **how)]

    def fill(self, text: str, **how: Any) -> str:
        """A text with its gaps, [MASK], filled."""
        return self.write([text], **how)[0][0].filled

    def write(self, texts: Sequence[str], **how: Any) -> list[list[Written]]:
        """What is written for each text, `count` ways, the most probable first if they are searched for."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are read", do="put it into a list: generate([text])")
        asked, rows = read_options(Asked, how), [self._read(text) for text in texts]
        order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
        found: list[list[Written]] = [[]] * len(rows)
        for first in range(0, len(rows), _AT_ONCE):
            members = order[first : first + _AT_ONCE]
            for index, ways in zip(members, self._written([rows[i] for i in members], asked), strict=True):
                found[index] = [self._told(rows[index], each.ids, each.log_probability) for each in ways]
        return found

    def _written(self, rows: Sequence[Sequence[int]], asked: Asked) -> list[list[Any]]:
        special = self.tokenizer.special
        opening = [special.start] if self._opened else []
        begun = [getattr(special, self._first), *opening]
        length = min(asked.length, self.system.backbone.limit - len(begun) + 1)
        copies = 1 if asked.beam else asked.count
        source, seen = padded([row for row in rows for _ in range(copies)], special.padding)
        prompts = np.tile(begun, (len(source), 1))
        streams = {"source": Tokens(source, seen), "text": Tokens(prompts, prompts >= 0)}
        batch, marks = Batch(streams, {}).to("cpu"), {"end": special.end, "banned": self._banned}
        if asked.beam:
            how = from_dict(Beam, {"width": asked.beam, "count": asked.count, "penalty": asked.length_penalty})
            return search(self.stepper, batch, length, how, **marks)
        drawn = from_dict(Sampling, {name: getattr(asked, name) for name in ("temperature", "top_k", "top_p")})
        found = generate(self.stepper, batch, length, drawn, asked.seed, **marks)
        return [found[first : first + copies] for first in range(0, len(found), copies)]

    def _read(self, text: str) -> list[int]:
        """The tokens of a text, its gaps marked as this model marks them."""
        special, ids = self.tokenizer.special, [self.tokenizer.special.start] if self._opened else []
        gap = 0
        for part in _MARKS.split(text):
            if part == MASK:
                if self._gapped and gap == len(self.tokenizer.sentinels):
                    what = f"more than {gap} gaps, and the tokenizer has no more tokens that mark them"
                    raise FirthError(what, do=f"use fewer {MASK}")
                ids.append(self.tokenizer.sentinels[gap] if self._gapped else special.mask)
                gap += 1
            elif _MARKS.fullmatch(part):
                ids.append(self._mark(part))
            else:
                ids += self.tokenizer.ids(part)
        ids, limit = [*ids, special.end], self.system.backbone.encoder.limit
        if len(ids) > limit:
            what = f"{len(ids):,} tokens, and this model reads at most {limit:,} at once"
            raise FirthError(what, do="give a shorter text")
        return ids

    def _mark(self, name: str) -> int:
        found = self.tokenizer.id_of(name)
        if found is None or not self._gapped:
            raise FirthError(f"this model does not mark gaps by {name}", do=f"write {MASK}")
        return found

    def _told(self, read: Sequence[int], ids: Sequence[int], log_probability: float) -> Written:
        """Tokens as text; gaps by their marks, and what was read with its gaps filled."""
        text = self._spelled(ids)
        if not self._gapped:
            return Written(text, text, log_probability)
        marks, gaps, mark = {*self.tokenizer.sentinels}, {}, None
        for token in ids:
            if token in marks:
                mark = token
            elif mark is not None:
                gaps.setdefault(mark, []).append(token)
        whole = [piece for token in read for piece in (gaps.get(token, ()) if token in marks else [token])]
        return Written(text, self.tokenizer.decode(whole), log_probability)

    def _spelled(self, ids: Sequence[int]) -> str:
        """The text of tokens, with the marks of gaps in it."""
        marks, parts, run = {*self.tokenizer.sentinels}, [], []
        for token in ids:
            if token in marks:
                parts += [self.tokenizer.decode(run).strip(), self.tokenizer.piece(token)]
                run = []
            else:
                run.append(token)
        if not parts:
            return self.tokenizer.decode(run)
        return " ".join(part for part in [*parts, self.tokenizer.decode(run).strip()] if part)

    @property
    def _gapped(self) -> bool:
        """Whether gaps have marks of their own, and what fills them is written."""
        return bool({"sentinels", "spans"} & {*getattr(self.config.objective, "noise", ())})

    @property
    def _first(self) -> str:
        return self.config.objective.first

    @property
    def _opened(self) -> bool:
        return self.config.objective.opened

    @property
    def _banned(self) -> list[int]:
        """Special tokens that no text has."""
        special, marks = self.tokenizer.special, () if self._gapped else self.tokenizer.sentinels
        return sorted({*special.ids, *marks} - {special.end})

    # --- a look at it while it is trained ---------------------------------------------------------------------

    def sample(self) -> str:
        """What it would say now."""
        return self.fill(self._asked[0], length=40)

    def samples(self, seed: int) -> list[str]:
        """What it says in the report."""
        return [f"{text} → {self.fill(text, length=40)}" for text in self._asked]

    @property
    def _asked(self) -> tuple[str, ...]:
        prefix = next(iter(getattr(self.config.data, "prefixes", ())), "")
        return (f"{prefix} The man sleeps.".strip(),) if self.paired else _SHOWN

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        return f'firth run {self.run.path} "{self._asked[0]}"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """What `firth run` says to a line."""
        found = self.write([line], **options)[0]
        told: dict[str, Any] = {"input": line, "texts": [each.text for each in found]}
        told["log_probabilities"] = [each.log_probability for each in found]
        return told | ({"filled": [each.filled for each in found]} if self._gapped else {})

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        return "\n---\n".join(answer.get("filled") or answer["texts"])
