"""The rungs: presets with what is changed in them, the simplest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from firth.errors import FirthError, unknown
from firth.presets import PRESETS
from firth.runs.budget import Budget


@dataclass(frozen=True)
class Rung:
    """A preset on the ladder."""

    preset: str
    about: str  # what it can see, for a person
    settings: tuple[str, ...] = ()
    neural: bool = True  # takes as long as it is given, and comes in sizes
    pace: float = 1.0  # tokens that it reads in a second, for one that a recurrent network of its size reads
    dropouts: tuple[str, ...] = ("input.dropout", "backbone.dropout")


RUNGS = {
    "1-gram": Rung("ngram-lm", "frequencies of single tokens", ("method.order=1",), neural=False),
    "2-gram": Rung("ngram-lm", "counts of pairs of tokens", ("method.order=2",), neural=False),
    "3-gram": Rung("ngram-lm", "counts of up to three tokens", ("method.order=3",), neural=False),
    "4-gram": Rung("ngram-lm", "counts of up to four tokens", ("method.order=4",), neural=False),
    "5-gram": Rung("ngram-lm", "counts of up to five tokens", ("method.order=5",), neural=False),
    "6-gram": Rung("ngram-lm", "counts of up to six tokens", ("method.order=6",), neural=False),
    "window-lm": Rung("window-lm", "a network that sees the last five tokens"),
    "rnn-lm": Rung("rnn-lm", "a simple recurrent network"),
    "gru-lm": Rung("gru-lm", "a recurrent network with gates (GRU)"),
    "lstm-lm": Rung("lstm-lm", "a recurrent network with gates and a memory (LSTM)"),
    "gpt": Rung("gpt", "a Transformer", pace=0.2, dropouts=("backbone.dropout",)),
}
USUAL = ("1-gram", "2-gram", "5-gram", "window-lm", "rnn-lm", "gru-lm", "lstm-lm", "gpt")


@dataclass(frozen=True)
class Size:
    """A size of the neural presets, and from how much time and text on it pays."""

    name: str
    seconds: float  # of a recurrent network
    bytes: int  # of training text
    pace: float  # tokens that a recurrent network reads in a second, about


SIZES = (
    Size("medium", 7200.0, 2_000_000, 800),
    Size("small", 240.0, 200_000, 5_000),
    Size("tiny", 0.0, 0, 25_000),
)
# What is read often is learned by heart, unless parts of the network are left out now and then: epochs, dropout.
DROPOUTS = ((40.0, 0.4), (5.0, 0.2), (0.0, 0.0))


def require_known(names: Sequence[str]) -> None:
    """Refuse what is not on the ladder, or stands there twice."""
    if not names:
        raise FirthError("no rungs are named", where="--rungs", do=f"name some of {', '.join(RUNGS)}")
    for name in names:
        base, colon, size = name.partition(":")
        if base not in RUNGS:
            raise unknown("rung", base, RUNGS)
        if colon and not RUNGS[base].neural:
            raise FirthError(f"{base} has no sizes", where="--rungs", do=f"name {base} alone")
        if colon and size not in PRESETS[RUNGS[base].preset].sizes:
            raise unknown(f"size of {base}", size, PRESETS[RUNGS[base].preset].sizes)
        if names.count(name) > 1:
            raise FirthError(f"rung {name!r} is named twice", where="--rungs", do="name it once")


def in_order(names: Iterable[str]) -> list[str]:
    """From the simplest to the largest; n-grams come first, since the others share the time they leave."""
    sizes = [size.name for size in reversed(SIZES)]  # one that is not named follows from the time: after tiny

    def place(name: str) -> tuple[int, float]:
        base, _, size = name.partition(":")
        return list(RUNGS).index(base), sizes.index(size) if size else 0.5

    return sorted(names, key=place)


def is_neural(name: str) -> bool:
    """Whether a rung takes as long as it is given."""
    return RUNGS[name.partition(":")[0]].neural


def fitting_dropout(rung: Rung, epochs: float | None) -> tuple[str, ...]:
    """Settings of dropout for so many epochs; none where they are not known."""
    if epochs is None:
        return ()
    share = next(share for least, share in DROPOUTS if epochs >= least)
    return tuple(f"{name}={share}" for name in rung.dropouts)


def slower(size: str, than: str) -> float:
    """How many times as long a network of one size takes to read a text as one of another."""
    paces = {each.name: each.pace for each in SIZES}
    return paces[than] / paces[size]


def fitting_size(rung: Rung, budget: Budget, text_bytes: int) -> str:
    """The largest size that so much time and text are enough for; one that reads slowly needs more time."""
    if budget.unit != "seconds":
        return SIZES[-1].name
    return next(size.name for size in SIZES if budget.amount * rung.pace >= size.seconds and text_bytes >= size.bytes)
