"""Laws of masked language modelling with next sentence prediction."""

from types import SimpleNamespace

import torch

from firth.config import schema
from firth.models.heads.lm_head import LMHead
from firth.objectives.masked_lm import MaskedLMObjective
from firth.types import Batch, Encoded, Target, Tokens

CONFIG = schema.Neural(
    batching=schema.SegmentPairs(pairs="next-sentence"), objective=schema.MaskedLM(next_sentence=True)
)


def example(labels):
    ids = torch.arange(12).reshape(3, 4) % 9
    at_cls = torch.zeros(3, 4)
    at_cls[:, 0] = 1.0
    masked = Target(ids, torch.tensor([[0.0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]))
    following = Target(torch.tensor(labels)[:, None].expand(3, 4), at_cls)
    return Batch({"text": Tokens(ids, ids >= 0)}, {"text": masked, "next": following})


def test_each_term_is_the_cross_entropy_of_its_own_targets():
    torch.manual_seed(0)
    objective, head, states = (
        MaskedLMObjective(CONFIG, 6),
        LMHead(schema.LMHead(tied=False), 9, 6, 6),
        torch.randn(3, 4, 6),
    )
    system = SimpleNamespace(encode=lambda *_: Encoded(states, None), lm_head=head, embedding_weight=None)
    logs = objective.next_sentence(states[:, 0]).log_softmax(-1)
    sums = []
    for labels in ([0, 1, 1], [1, 0, 0]):
        batch = example(labels)
        (tokens, following), state = objective.terms(system, batch, None)
        assert (tokens.count, following.count, state) == (3.0, 3.0, None)
        assert objective.counts(batch) == {"tokens": 3.0, "next": 3.0}
        expected = -sum(logs[row, label] for row, label in enumerate(labels))
        torch.testing.assert_close(following.sum, expected)
        sums.append(float(following.sum.detach()))
        picked = head.log_probabilities(states, None).gather(-1, batch.targets["text"].values[..., None]).squeeze(-1)
        torch.testing.assert_close(tokens.sum, -(picked * batch.targets["text"].weight).sum())
    assert sums[0] != sums[1]
