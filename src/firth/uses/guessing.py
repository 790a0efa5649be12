"""How a model answers a prompt: with the words that are most likely after it, or with what it writes itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from firth.errors import FirthError
from firth.families.language import LanguageModel, prompts

Rule = Literal["total", "token", "byte", "relative", "generation"]
WRITTEN = "generation"
_AT_ONCE = 32  # prompts of one length that are continued together
_SPARE = 4  # tokens that may be written beyond the longest answer

Tokens = list[int]


class Prompt(NamedTuple):
    """Examples that are shown, the oldest first, and the text that asks."""

    shown: tuple[str, ...]
    asks: str

    def text(self, joint: str) -> str:
        """All of it."""
        return joint.join((*self.shown, self.asks))


class Scores(NamedTuple):
    """What a model finds of each answer after each prompt."""

    totals: np.ndarray  # (prompts, answers): log-probability in nats, what is unknown spelled out byte by byte
    tokens: np.ndarray  # (prompts, answers)
    sizes: np.ndarray  # (answers,): bytes
    alone: np.ndarray  # (answers,): log-probability after the cue alone


# Likelihoods that can be compared between answers: longer ones are less probable, all else equal, and so are rare ones.
RULES: dict[str, Callable[[Scores], np.ndarray]] = {
    "total": lambda found: found.totals,
    "token": lambda found: found.totals / np.maximum(found.tokens, 1),
    "byte": lambda found: found.totals / found.sizes,
    # Brown et al. 2020: by how much the prompt makes an answer more probable than "Answer:" does
    "relative": lambda found: found.totals - np.where(np.isneginf(found.totals), 0.0, found.alone),
}


class Fitted(NamedTuple):
    """Prompts that a model can look at as a whole, as far as leaving examples out can bring that about."""

    prompts: list[Prompt]
    rows: list[list[Tokens]]  # of each prompt: its own tokens, then those of it with each ending
    dropped: int  # examples left out
    lessened: int  # prompts that lack some
    overlong: int  # prompts that do not fit even without any


def fit(model: Any, asked: Sequence[Prompt], joint: str, endings: Sequence[str] = (), room: int = 0) -> Fitted:
    """Leave the oldest examples of a prompt out until it fits with each ending and `room` more tokens."""
    found, rows = list(asked), [[] for _ in asked]
    waiting, overlong = list(range(len(asked))), 0
    while waiting:
        for at, tokens in zip(waiting, _encoded(model, [found[at] for at in waiting], joint, endings), strict=True):
            rows[at] = tokens
        limit = getattr(model, "limit", 0)
        long = [at for at in waiting if limit and max(map(len, rows[at])) + room > limit]
        waiting = [at for at in long if found[at].shown]
        overlong += len(long) - len(waiting)
        for at in waiting:
            found[at] = found[at]._replace(shown=found[at].shown[1:])
    lost = [len(before.shown) - len(after.shown) for before, after in zip(asked, found, strict=True)]
    return Fitted(found, rows, sum(lost), sum(map(bool, lost)), overlong)


def _encoded(model: Any, asked: Sequence[Prompt], joint: str, endings: Sequence[str]) -> Iterable[list[Tokens]]:
    texts = [text + ending for text in (each.text(joint) for each in asked) for ending in ("", *endings)]
    ids, each = model.tokenizer.encode_batch(texts), 1 + len(endings)
    return (ids[start : start + each] for start in range(0, len(ids), each))


# --- by likelihood ------------------------------------------------------------------------------------------------


def scores(model: LanguageModel, fitted: Fitted, answers: Sequence[str], cue: str) -> Scores:
    """The likelihood of each answer after each prompt, which was fitted with the answers as its endings."""
    totals, tokens = _likelihoods(model, fitted.rows, answers)
    alone, _ = _likelihoods(model, fit(model, [Prompt((), cue)], "", answers).rows, answers)
    return Scores(totals, tokens, np.array([len(answer.encode()) for answer in answers]), alone[0])


def _likelihoods(
    model: LanguageModel, rows: Sequence[list[Tokens]], answers: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of the answers and how many tokens were scored, both (prompts, answers)."""
    skipped = [_shared(each) for each in rows]
    flat = [row for _, *each in rows for row in each]
    found = iter(model.id_scores(flat))
    spelled = np.array(model.spelling_costs(answers))
    sums, counts = np.empty((len(rows), len(answers))), np.empty((len(rows), len(answers)))
    for at, skip in enumerate(skipped):
        for number in range(len(answers)):
            row = next(found)[skip:]
            sums[at, number], counts[at, number] = row.sum(dtype=np.float64), len(row)
    return sums - spelled, counts


def _shared(rows: Sequence[Tokens]) -> int:
    """How many first tokens all rows share: a tokenizer may join the end of a prompt to the answer."""
    count, shortest = 0, min(map(len, rows))
    while count < shortest and len({row[count] for row in rows}) == 1:
        count += 1
    return count


# --- by what it writes --------------------------------------------------------------------------------------------


def write(model: Any, fitted: Fitted, joint: str, length: int) -> list[str]:
    """What a model writes after each prompt, the most probable token each time."""
    if isinstance(model, LanguageModel):
        return _continued(model, [tokens for tokens, *_ in fitted.rows], length)
    return model.generate([each.text(joint) for each in fitted.prompts], length=length)


def _continued(model: LanguageModel, rows: Sequence[Tokens], length: int) -> list[str]:
    from firth.decoding.sample import Sampling, generate

    (end, never), start = model.marks, model.tokenizer.special.start
    groups, found = defaultdict(list), [""] * len(rows)
    for at, row in enumerate(rows):
        groups[len(row)].append(at)
    for members in (each[n : n + _AT_ONCE] for each in groups.values() for n in range(0, len(each), _AT_ONCE)):
        read = prompts([[start, *rows[at]] for at in members])
        made = generate(model.stepper, read, length, Sampling(temperature=0.0), 0, end=end, banned=never)
        for at, each in zip(members, made, strict=True):
            before = model.tokenizer.decode(rows[at])
            found[at] = model.tokenizer.decode([*rows[at], *each.ids])[len(before) :]
    return found


def room(model: Any, answers: Sequence[str]) -> int:
    """Tokens that the longest answer takes, and some to spare."""
    return max(map(len, model.tokenizer.encode_batch([f" {answer}" for answer in answers]))) + _SPARE


def said(text: str, tail: str, lines: bool) -> str:
    """The answer in what was written: up to the template's tail, or to the end of the line if answers have one line."""
    text = text.strip()
    if tail.strip():
        text = text.partition(tail.strip())[0]
    return (text if lines else text.partition("\n")[0]).strip()


def require_scores(model: Any, rules: Iterable[str]) -> None:
    """Refuse a rule that the model cannot answer by."""
    for rule in rules:
        if rule != WRITTEN and not isinstance(model, LanguageModel):
            what = f"this model writes texts and gives no likelihoods, so --by {rule} has no answer"
            raise FirthError(what, do=f"use --by {WRITTEN}")
