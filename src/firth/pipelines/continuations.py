"""Log-likelihoods of texts that continue a context, under any language model: alternatives, hypotheses, choices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from firth.tokenizers.regexes import IDEOGRAPHS

if TYPE_CHECKING:
    from firth.datasets.world import World
    from firth.pipelines.language_model import LanguageModel

_NO_SPACE = re.compile(f"[\\s{IDEOGRAPHS}]")
Group = tuple[str, Sequence[str]]  # a context, and the texts that may continue it


class Likelihoods(NamedTuple):
    """The texts of one group: log-likelihoods given the context, in nats, and numbers of scored tokens."""

    log_likelihoods: np.ndarray  # (texts,); out-of-vocabulary text is scored byte by byte
    token_counts: np.ndarray  # (texts,)


class ContinuationScorer(Protocol):
    """Whatever scores texts: a causal or masked language model, an n-gram model, the world's exact one."""

    def continuation_scores(self, groups: Sequence[Group], *, whole: bool = False) -> list[Likelihoods]:
        """The likelihoods of each group; with `whole`, of texts after which the document ends."""


def join_context(context: str, text: str) -> str:
    """Append a text to its context, with a space between unless one is there or the script has none."""
    if not context or not text or _NO_SPACE.match(text[0]) or _NO_SPACE.match(context[-1]):
        return context + text
    return f"{context} {text}"


def common_prefix(context: Sequence[int], rows: Sequence[Sequence[int]]) -> int:
    """The number of leading tokens that all share: a tokenizer may merge the context's end with a text."""
    count = 0
    while count < len(context) and all(row[: count + 1] == context[: count + 1] for row in rows):
        count += 1
    return count


def likelihoods(model: LanguageModel, groups: Sequence[Group], whole: bool = False) -> list[Likelihoods]:
    """The likelihoods of each group under a causal model: those of its tokens after the ones all of a group share."""
    joined = [[join_context(context, text) for text in texts] for context, texts in groups]
    texts = list(dict.fromkeys(text for row in joined for text in row))
    contexts = dict.fromkeys(context for context, _ in groups)
    distinct = list(dict.fromkeys([*texts, *contexts]))
    ids = dict(zip(distinct, model.tokenizer.encode_batch(distinct), strict=True))
    oov_nll = dict(zip(distinct, model.oov_nll(distinct), strict=True))
    end = [model.tokenizer.special.end] if whole else []
    scores = dict(zip(texts, model.id_scores([[*ids[text], *end] for text in texts]), strict=True))
    results = []
    for (context, _), row in zip(groups, joined, strict=True):
        start = common_prefix(ids[context], [ids[text] for text in row]) if context else 0
        sums = [float(scores[text][start:].sum(dtype=np.float64)) - oov_nll[text] + oov_nll[context] for text in row]
        counts = [len(scores[text]) - start for text in row]
        results.append(Likelihoods(np.array(sums), np.array(counts)))
    return results


class ExactLanguageModel:
    """The world's grammar as a language model: the exact probability of each text, the best that any model can do."""

    def __init__(self, world: World) -> None:
        self.world = world

    def continuation_scores(self, groups: Sequence[Group], *, whole: bool = False) -> list[Likelihoods]:
        """The log-likelihoods of each group, −∞ of what the grammar does not generate; tokens are words."""
        results = []
        for context, texts in groups:
            logs = [self.world.continuation_log_probability(context, text, whole) for text in texts]
            results.append(Likelihoods(np.array(logs), np.array([len(text.split()) for text in texts])))
        return results
