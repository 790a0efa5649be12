"""Token by token: what can come after a context. A state is one number, the longest known context."""

from __future__ import annotations

import numpy as np

from firth.counts.ngram import walking
from firth.counts.ngram.model import Model
from firth.errors import FirthError


def begin(model: Model, rows: int) -> np.ndarray:
    """States at the start of a document."""
    return np.full(rows, model.begin, np.int32)


def advance(model: Model, states: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The states after one more token each; a token below 0 changes nothing, and an end begins a new document."""
    states = _checked(model, states).copy()
    told = (model.size, model.words, model.nodes, model.leaves, model.slots, model.marks.start, model.marks.end)
    if not walking.advance(states, np.ascontiguousarray(tokens, np.int64), *told):
        raise FirthError(f"a token's id is not below {model.size}", do="encode the text with the model's vocabulary")
    return states


def locate(model: Model, contexts: np.ndarray) -> np.ndarray:
    """States after contexts (rows, tokens), oldest first; places before the first token are below 0."""
    contexts = np.atleast_2d(contexts)
    states = np.full(len(contexts), -1, np.int32)
    for column in contexts.T:
        states = advance(model, states, column)
    return states


def next_logprobs(model: Model, states: np.ndarray) -> np.ndarray:
    """Log-probabilities of every token after each state, (rows, size) float32: exactly what scoring gives."""
    states = _checked(model, states)
    out = np.empty((len(states), model.size), np.float32)
    numbers = (model.nodes.view(np.float32), model.leaves.view(np.float32))
    walking.distribute(states, model.words, model.nodes, *numbers, out)
    return out


def distribution(model: Model, contexts: np.ndarray) -> np.ndarray:
    """Log-probabilities of every token after contexts (rows, tokens) that begin with the start or in mid-document."""
    return next_logprobs(model, locate(model, contexts))


def _checked(model: Model, states: np.ndarray) -> np.ndarray:
    states = np.ascontiguousarray(states, np.int32)
    if len(states) and not -1 <= states.min() <= states.max() < len(model.nodes) - 1 + (model.order == 1):
        raise FirthError("not a state of this model", do="take states from begin, advance or locate")
    return states
