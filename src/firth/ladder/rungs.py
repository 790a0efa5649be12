"""The rungs of the ladder: presets with changed settings, the simplest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from firth.errors import FirthError, unknown
from firth.presets import PRESETS
from firth.runs.progress import Budget


@dataclass(frozen=True)
class Rung:
    """A preset on the ladder."""

    preset: str
    description: str  # in plain words
    settings: tuple[str, ...] = ()
    neural: bool = True  # trains for any budget, and has sizes
    relative_speed: float = 1.0  # training speed (tokens/s) relative to a recurrent network of the same size
    dropouts: tuple[str, ...] = ("inputs.text.dropout", "backbone.dropout")


RUNGS = {
    "1-gram": Rung("ngram-lm", "a unigram model", ("method.order=1",), neural=False),
    "2-gram": Rung("ngram-lm", "a bigram model", ("method.order=2",), neural=False),
    "3-gram": Rung("ngram-lm", "a trigram model", ("method.order=3",), neural=False),
    "4-gram": Rung("ngram-lm", "a 4-gram model", ("method.order=4",), neural=False),
    "5-gram": Rung("ngram-lm", "a 5-gram model", ("method.order=5",), neural=False),
    "6-gram": Rung("ngram-lm", "a 6-gram model", ("method.order=6",), neural=False),
    "window-lm": Rung("window-lm", "a feedforward network over the last five tokens"),
    "rnn-lm": Rung("rnn-lm", "a simple (Elman) recurrent network"),
    "gru-lm": Rung("gru-lm", "a gated recurrent network (GRU)"),
    "lstm-lm": Rung("lstm-lm", "a long short-term memory network (LSTM)"),
    "transformer-lm": Rung(
        "transformer-lm", "a decoder-only Transformer", relative_speed=0.2, dropouts=("backbone.dropout",)
    ),
}
DEFAULT_RUNGS = ("1-gram", "2-gram", "5-gram", "window-lm", "rnn-lm", "gru-lm", "lstm-lm", "transformer-lm")


@dataclass(frozen=True)
class Size:
    """A size of the neural presets, with the least time and text for which it pays."""

    name: str
    min_seconds: float  # of a recurrent network
    min_bytes: int  # of training text
    tokens_per_second: float  # of a recurrent network, about


SIZES = (
    Size("medium", 7200.0, 2_000_000, 800),
    Size("small", 240.0, 200_000, 5_000),
    Size("tiny", 0.0, 0, 25_000),
)
# Each held-out split is as large as all networks can score in this part of the budget, or as this many bytes.
_SCORING_PART, _MIN_SCORED = 0.2, 60_000
_SCORED_PER_SECOND = 50_000  # bytes, by a recurrent network, about
# Dropout against overfitting: from so many epochs on, this probability.
DROPOUTS = ((40.0, 0.4), (5.0, 0.2), (0.0, 0.0))


def validate_rungs(names: Sequence[str]) -> None:
    """Raise an error for unknown, repeated or missing rungs."""
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


def sort_rungs(names: Iterable[str]) -> list[str]:
    """Sort rungs from the simplest to the largest; n-grams come first, since the others divide the remaining time."""
    sizes = [size.name for size in reversed(SIZES)]  # a size chosen by the budget sorts after tiny

    def key(name: str) -> tuple[int, float]:
        base, _, size = name.partition(":")
        return list(RUNGS).index(base), sizes.index(size) if size else 0.5

    return sorted(names, key=key)


def is_neural(name: str) -> bool:
    """Whether a rung is a neural network."""
    return RUNGS[name.partition(":")[0]].neural


def scoring_time(name: str) -> float:
    """How long a network takes to score a text, relative to a recurrent one; 0: no network."""
    return 1 / RUNGS[name.partition(":")[0]].relative_speed if is_neural(name) else 0.0


def scorable_bytes(names: Iterable[str], seconds: float) -> int:
    """The bytes of each of two held-out splits that all networks can score in a part of the time."""
    networks = sum(map(scoring_time, names))
    return int(max(_MIN_SCORED, _SCORING_PART * seconds * _SCORED_PER_SECOND / (2 * networks)))


def dropout_settings(rung: Rung, epochs: float | None) -> tuple[str, ...]:
    """Dropout settings for a number of epochs; none if it is not known."""
    if epochs is None:
        return ()
    dropout = next(dropout for min_epochs, dropout in DROPOUTS if epochs >= min_epochs)
    return tuple(f"{name}={dropout}" for name in rung.dropouts)


def slowdown(size: str, than: str) -> float:
    """How many times slower a network of one size trains than one of another."""
    speeds = {each.name: each.tokens_per_second for each in SIZES}
    return speeds[than] / speeds[size]


def choose_size(rung: Rung, budget: Budget, text_bytes: int) -> str:
    """The largest size for which the time and the text suffice; a slower architecture needs more time."""
    if budget.unit != "seconds":
        return SIZES[-1].name
    return next(
        size.name
        for size in SIZES
        if budget.amount * rung.relative_speed >= size.min_seconds and text_bytes >= size.min_bytes
    )
