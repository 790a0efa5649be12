"""Laws of the causal objective."""

from types import SimpleNamespace

import numpy as np
import torch

from firth.config import schema
from firth.heads.language import LanguageHead
from firth.objectives.causal import Causal
from firth.types import Batch, Encoded, Target, Tokens


def example(rows=4, time=5):
    draw = np.random.default_rng(0)
    ids, values = draw.integers(0, 9, (2, rows, time))
    weight = (draw.random((rows, time)) < 0.7).astype(np.float32)
    return Batch({"text": Tokens(ids, np.ones((rows, time), bool))}, {"text": Target(values, weight)})


def test_counts_are_the_weights_of_numpy_and_of_torch_arrays():
    objective, batch = Causal(schema.Neural(), 6), example()
    expected = {"tokens": float(batch.targets["text"].weight.sum())}
    assert objective.counts(batch) == objective.counts(batch.to()) == expected


def test_two_micro_batches_are_one_batch():
    objective, batch = Causal(schema.Neural(), 6), example().to()
    head = LanguageHead(schema.LanguageHead(tied=False), 9, 6, 6)
    states = torch.randn(4, 5, 6)

    def terms(start, stop):
        part = batch.rows(start, stop)
        system = SimpleNamespace(encode=lambda *_: Encoded(states[start:stop], None), head=head, table=None)
        return objective.terms(system, part, None)[0]

    (whole,), (first,), (second,) = terms(0, 4), terms(0, 1), terms(1, 4)
    assert (whole.name, whole.weight) == ("tokens", 1.0)
    assert whole.count == first.count + second.count == objective.counts(batch)["tokens"]
    torch.testing.assert_close(whole.sum, first.sum + second.sum)
