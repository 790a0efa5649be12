"""Incremental n-gram scoring, token by token: a state is one integer, the trie node of the longest known context."""

from __future__ import annotations

import numpy as np

from firth.errors import FirthError
from firth.ngram import scoring_kernels
from firth.ngram.ngram_model import Model


def initial_states(model: Model, batch_size: int) -> np.ndarray:
    """Return the state at the start of a document for each sequence of the batch."""
    return np.full(batch_size, model.initial_state, np.int32)


def advance(model: Model, states: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Return the states after one more token each; a negative token (padding) is skipped, an end token resets."""
    states = _validate_states(model, states).copy()
    arrays = (model.words, model.nodes, model.leaves, model.slots)
    special = (model.special_ids.start, model.special_ids.end)
    if not scoring_kernels.advance(states, np.ascontiguousarray(tokens, np.int64), model.size, *arrays, *special):
        raise FirthError(f"a token id is not below {model.size}", do="encode the text with the model's tokenizer")
    return states


def get_states(model: Model, contexts: np.ndarray) -> np.ndarray:
    """Return the states after contexts (batch, time), oldest token first; left padding is negative."""
    contexts = np.atleast_2d(contexts)
    states = np.full(len(contexts), -1, np.int32)
    for column in contexts.T:
        states = advance(model, states, column)
    return states


def next_logprobs(model: Model, states: np.ndarray) -> np.ndarray:
    """Next-token log-probabilities after each state, (batch, vocabulary) float32: identical to those of `score`."""
    states = _validate_states(model, states)
    logprobs = np.empty((len(states), model.size), np.float32)
    numbers = (model.nodes.view(np.float32), model.leaves.view(np.float32))
    scoring_kernels.distribute(states, model.words, model.nodes, *numbers, logprobs)
    return logprobs


def distribution(model: Model, contexts: np.ndarray) -> np.ndarray:
    """Next-token log-probabilities after contexts (batch, time), which begin with the start token or mid-document."""
    return next_logprobs(model, get_states(model, contexts))


def _validate_states(model: Model, states: np.ndarray) -> np.ndarray:
    states = np.ascontiguousarray(states, np.int32)
    if len(states) and not -1 <= states.min() <= states.max() < len(model.nodes) - 1 + (model.order == 1):
        raise FirthError("not a state of this model", do="use states from initial_states, advance or get_states")
    return states
