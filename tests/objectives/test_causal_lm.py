"""Laws of causal language modelling."""

from types import SimpleNamespace

import numpy as np
import torch

from firth.config import schema
from firth.models.heads.lm_head import LMHead
from firth.objectives.causal_lm import CausalLMObjective
from firth.types import Batch, Encoded, Target, Tokens


def example(batch_size=4, time=5):
    rng = np.random.default_rng(0)
    ids, values = rng.integers(0, 9, (2, batch_size, time))
    weight = (rng.random((batch_size, time)) < 0.7).astype(np.float32)
    return Batch({"text": Tokens(ids, np.ones((batch_size, time), bool))}, {"text": Target(values, weight)})


def test_counts_are_the_weights_of_numpy_and_of_torch_arrays():
    objective, batch = CausalLMObjective(schema.Neural(), 6), example()
    expected = {"tokens": float(batch.targets["text"].weight.sum())}
    assert objective.counts(batch) == objective.counts(batch.to()) == expected


def test_two_micro_batches_are_one_batch():
    objective, batch = CausalLMObjective(schema.Neural(), 6), example().to()
    head = LMHead(schema.LMHead(tied=False), 9, 6, 6)
    states = torch.randn(4, 5, 6)

    def terms(start, stop):
        part = batch.slice_batch(start, stop)
        encoded = Encoded(states[start:stop], None)
        system = SimpleNamespace(encode=lambda *_: encoded, lm_head=head, embedding_weight=None)
        return objective.terms(system, part, None)[0]

    (whole,), (first,), (second,) = terms(0, 4), terms(0, 1), terms(1, 4)
    assert (whole.name, whole.weight) == ("tokens", 1.0)
    assert whole.count == first.count + second.count == objective.counts(batch)["tokens"]
    torch.testing.assert_close(whole.sum, first.sum + second.sum)
