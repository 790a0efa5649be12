"""What a network that mends damaged texts is for: gaps filled, texts written anew."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from firth.errors import FirthError
from firth.families.order import read_options
from firth.families.writing import Row, Wanted, WritingModel
from firth.metrics.score import Score

MASK = "[MASK]"
_MARKS = re.compile(r"(\[MASK\]|<extra_id_\d+>)")
_SHOWN = ("The [MASK] is here.", "It is [MASK] of the [MASK].")  # in the report


class Filled(NamedTuple):
    """A text that was written, and how probable it is."""

    text: str  # marks of gaps in it
    filled: str  # the text that was read with its gaps filled, if what is missing was written; else the same as `text`
    log_probability: float


class DenoisingModel(WritingModel):
    """A trained network that mends texts: what `firth.load` gives for one."""

    kind = "denoising"

    def evaluate(
        self, text: str | Iterable[str] | None = None, split: str = "test", cache: Path | None = None
    ) -> list[Score]:
        """How well damaged texts are written anew, which are damaged in the same way each time."""
        return self.surprised(self.part(text, split, cache))

    # --- its verbs --------------------------------------------------------------------------------------------

    def generate(self, texts: Sequence[str], **how: Any) -> list[str]:
        """What is written for each text: the best found, or drawn (length, temperature, top_k, top_p, seed, beam)."""
        return [found[0].text for found in self.write(texts, **how)]

    def fill(self, text: str, **how: Any) -> str:
        """A text with its gaps, [MASK], filled."""
        return self.write([text], **how)[0][0].filled

    def write(self, texts: Sequence[str], **how: Any) -> list[list[Filled]]:
        """What is written for each text, `count` ways, the most probable first if they are searched for."""
        if isinstance(texts, str):
            raise FirthError("one text, where several are read", do="put it into a list: generate([text])")
        rows = [self._read(text) for text in texts]
        found = self.written(rows, read_options(Wanted, how))
        return [
            [self._told(row.ids, each.ids, each.log_probability) for each in ways]
            for row, ways in zip(rows, found, strict=True)
        ]

    def _read(self, text: str) -> Row:
        """The tokens of a text, its gaps marked as this model marks them."""
        special, ids, gap = self.tokenizer.special, [], 0
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
        return self.closed(ids)

    def _mark(self, name: str) -> int:
        found = self.tokenizer.id_of(name)
        if found is None or not self._gapped:
            raise FirthError(f"this model does not mark gaps by {name}", do=f"write {MASK}")
        return found

    def _told(self, read: Sequence[int], ids: Sequence[int], log_probability: float) -> Filled:
        """Tokens as text; gaps by their marks, and what was read with its gaps filled."""
        text = self._spelled(ids)
        if not self._gapped:
            return Filled(text, text, log_probability)
        marks, gaps, mark = {*self.tokenizer.sentinels}, {}, None
        for token in ids:
            if token in marks:
                mark = token
            elif mark is not None:
                gaps.setdefault(mark, []).append(token)
        return Filled(text, self._whole(read, gaps), log_probability)

    def _whole(self, read: Sequence[int], gaps: Mapping[int, Sequence[int]]) -> str:
        """What was read with what was written in its gaps; one for which nothing was written stays open."""
        marks, parts, run = {*self.tokenizer.sentinels}, [], []
        for token in read:
            if token in marks and token not in gaps:
                parts += [self.tokenizer.decode(run).strip(), MASK]
                run = []
            else:
                run += gaps[token] if token in marks else [token]
        return " ".join(part for part in [*parts, self.tokenizer.decode(run).strip()] if part)

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
    def _banned(self) -> list[int]:
        return sorted({*super()._banned} - ({*self.tokenizer.sentinels} if self._gapped else set()))

    # --- a look at it while it is trained ---------------------------------------------------------------------

    def sample(self) -> str:
        """What it would say now."""
        return self.fill(_SHOWN[0], length=40)

    def samples(self, seed: int) -> list[str]:
        """What it says in the report."""
        return [f"{text} → {self.fill(text, length=40)}" for text in _SHOWN]

    # --- the command line -------------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """What to try first."""
        return f'firth run {self.run.path} "{_SHOWN[0]}"'

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """What `firth run` says to a line."""
        found = self.write([line], **options)[0]
        told: dict[str, Any] = {"input": line, "texts": [each.text for each in found]}
        told["log_probabilities"] = [each.log_probability for each in found]
        return told | ({"filled": [each.filled for each in found]} if self._gapped else {})

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        return "\n---\n".join(answer.get("filled") or answer["texts"])
