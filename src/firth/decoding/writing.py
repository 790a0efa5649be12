"""One call for all ways of writing: greedy, drawn, searched for. Which of them, the options say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from firth.config.core import bounded
from firth.decoding.beam import Searched, search
from firth.decoding.rules import Rules, Words
from firth.decoding.sample import Generated, Sampling, generate
from firth.decoding.scoring import NORMS, Beam, Hypothesis
from firth.types import Batch, Stepper


@dataclass(frozen=True)
class Search:
    """How texts are to be written: always the most probable token, unless it is searched for or drawn."""

    count: int = bounded(1, least=1)  # texts for each input
    beam: int = bounded(1, least=1)  # hypotheses kept; above 1 it is searched, whatever the temperature
    temperature: float = bounded(0.0, least=0.0, most=1e6)  # above 0: tokens are drawn
    top_k: int = bounded(0, least=0)
    top_p: float = bounded(1.0, above=0.0, most=1.0)
    seed: int = bounded(0, least=0)
    length_penalty: float = bounded(0.0, least=0.0, most=10.0)
    normalise: Literal["none", "mean", "gnmt"] = "gnmt"
    coverage: float = bounded(0.0, least=0.0, most=100.0)
    stop: Literal["completed", "best", "length"] = "completed"
    groups: int = bounded(1, least=1)
    diversity: float = bounded(0.5, least=0.0, most=100.0)
    shortest: int = bounded(0, least=0)
    no_repeat: int = bounded(0, least=0)
    repetition: float = bounded(1.0, least=1.0, most=100.0)

    @property
    def sampling(self) -> Sampling:
        """As sampling takes it."""
        return Sampling(self.temperature, self.top_k, self.top_p)

    @property
    def search(self) -> Beam:
        """As beam search takes it."""
        ranked = (self.normalise, self.coverage, self.stop, self.groups, self.diversity)
        return Beam(self.beam, self.length_penalty, self.count, *ranked)

    def rules(self, words: Words = (), begun: Words = (), required: Words = ()) -> Rules:
        """With words as tokens."""
        return Rules(self.shortest, self.no_repeat, self.repetition, words, begun, required)


def decode(
    stepper: Stepper,
    batch: Batch,
    length: int,
    how: Search,
    *,
    end: int,
    banned: Sequence[int] = (),
    banned_words: Words = (),
    begun: Words = (),
    required: Words = (),
    return_tree: bool = False,
) -> list[list[Hypothesis]] | Searched:
    """`count` texts for each input (prompts of one length), of `length` tokens at most; a search's best come first."""
    marks = {"end": end, "banned": banned}
    drawn = how.temperature > 0 and how.beam == 1 and not return_tree
    if not drawn and (how.search.width > 1 or return_tree):
        rules = how.rules(banned_words, begun, required)
        return search(stepper, batch, length, how.search, **marks, rules=rules, return_tree=return_tree)
    if how.count > 1:  # each text is a row of its own, and so is what it reads
        batch = batch.over(lambda array: array.repeat_interleave(how.count, 0))
        begun = tuple(row for row in begun for _ in range(how.count)) if len(begun) > 1 else begun
    rules = how.rules(banned_words, begun, required)
    made = generate(stepper, batch, length, how.sampling, how.seed, **marks, rules=rules)
    found = [_hypothesis(each, how) for each in made]
    return [found[first : first + how.count] for first in range(0, len(found), how.count)]


def _hypothesis(made: Generated, how: Search) -> Hypothesis:
    norm = NORMS[how.normalise](max(1, len(made.ids) + made.ended), how.length_penalty)
    return Hypothesis(made.ids, made.log_probability, made.ended, made.log_probability / norm, made.alignment)
