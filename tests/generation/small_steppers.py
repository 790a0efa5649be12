"""Steppers with hand-set probabilities, and brute-force enumeration of texts: what decoding is tested with."""

import itertools
import math

import torch
from hypothesis import strategies as st

from firth.types import ALIGNMENT, Batch, State, Tokens

START, A, B, END = range(4)


class Table:
    """A stepper over hand-set probabilities of the next token after the last; its state holds all tokens so far.

    Its attention attention_weights over a source depend on the source token and the last token."""

    def __init__(self, rows):
        self.rows = torch.tensor([rows[n] for n in range(len(rows))], dtype=torch.float64).log()
        self.size, self.steps = len(rows), []

    def start(self, batch):
        ids, source = batch.streams["text"].ids, batch.streams.get("source")
        encoded = {} if source is None else {"source": source.ids, "mask": source.mask}
        return State({"input": ids[:, :1], **encoded}, {"ids": ids[:, :-1]})

    def step(self, last, state):
        inputs = state.source["input"]
        so_far = torch.cat([state.live["ids"], last[:, None]], 1)
        # The contract of a stepper: rows are hypotheses of the inputs in their order, equally many of each.
        beams = len(last) // len(inputs)
        assert torch.equal(so_far[:, :1], inputs.repeat_interleave(beams, 0))
        self.steps.append(len(last))
        live = {"ids": so_far}
        if "source" in state.source:
            source, mask = (state.source[name].repeat_interleave(beams, 0) for name in ("source", "mask"))
            live[ALIGNMENT] = attention_weights(last[:, None], source, mask)
        return self.rows[last], State(state.source, live)


def attention_weights(last, source, mask):
    scores = ((7 * last + 3 * source) % 5).double() * 0.4
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def prompts(*first, sources=None):
    """Prompts of one token each, and sources, padded."""
    ids = torch.tensor([[token] for token in first])
    streams = {"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}
    if sources is not None:
        width = max(map(len, sources))
        padded = torch.tensor([[*row, *[0] * (width - len(row))] for row in sources])
        mask = torch.tensor([[n < len(row) for n in range(width)] for row in sources])
        streams["source"] = Tokens(padded, mask)
    return Batch(streams, {})


def tables(size=4):
    """Probabilities after each token; many are equal."""
    row = st.lists(st.sampled_from([0.1, 0.25, 0.5, 1.0]), min_size=size, max_size=size)
    return st.lists(row, min_size=size, max_size=size).map(
        lambda rows: {i: [w / sum(row) for w in row] for i, row in enumerate(rows)}
    )


def texts(rows, length, first=START, allowed=lambda ids, ended: True):
    """(tokens, whether ended, log-probability) of all texts that end within the length or have it: brute force."""
    for size in range(length + 1):
        for ids in itertools.product([token for token in rows if token != END], repeat=size):
            ended = size < length
            probability = math.prod(rows[a][b] for a, b in itertools.pairwise([first, *ids, *([END] if ended else [])]))
            if probability > 0 and allowed(list(ids), ended):
                yield list(ids), ended, math.log(probability)


def has(ids, phrase):
    return any(tuple(ids[n : n + len(phrase)]) == tuple(phrase) for n in range(len(ids)))
