"""Objectives on whole sequences: the contrastive loss against brute force, and what they refuse."""

import math
from dataclasses import replace

import pytest
import torch

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import build
from firth.types import Batch, Tokens


def config(**change):
    plain = schema.Neural(
        data=schema.TaskExamples(),
        batching=schema.TwoTowers(length=16),
        backbone=schema.Transformer(width=16, depth=1, heads=2, mask="bidirectional"),
        head=schema.PoolingHead(),
        objective=schema.Contrastive(temperature=0.1),
    )
    return replace(plain, **change)


def tokens(texts):
    width = max(map(len, texts))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in texts])
    return Tokens(ids, torch.arange(width) < torch.tensor([len(row) for row in texts])[:, None])


def vectors(system, texts):
    """Sentence embeddings of length 1, each text encoded alone."""
    actual = []
    for row in texts:
        encoded = system.encode(Batch({"text": tokens([row])}, {}))
        mean = encoded.states[0].mean(0)
        actual.append(mean / mean.norm())
    return actual


@torch.no_grad()
def test_the_loss_is_that_of_both_directions():
    torch.manual_seed(0)
    system = build(config(), 30).eval()
    left = [[5, 8, 9, 6], [5, 7, 6], [5, 20, 21, 22, 6], [5, 11, 6]]
    right = [[5, 8, 6], [5, 7, 7, 6], [5, 25, 6], [5, 12, 13, 6]]
    batch = Batch({"left": tokens(left), "right": tokens(right)}, {})
    (term, hits), _ = system(batch)
    one, two = vectors(system, left), vectors(system, right)
    total, actual = 0.0, 0
    for i in range(4):
        forth = [float(one[i] @ two[j]) / 0.1 for j in range(4)]
        back = [float(one[j] @ two[i]) / 0.1 for j in range(4)]
        for scores in (forth, back):
            total -= (scores[i] - math.log(sum(map(math.exp, scores)))) / 2
        actual += forth[i] == max(forth)
    assert float(term.sum) == pytest.approx(total, rel=1e-4)
    assert (term.count, float(hits.sum), hits.weight) == (4.0, actual, 0.0)


@torch.no_grad()
def test_a_duplicate_is_no_negative():
    """Of the pairs a-c, a-c, b-d d alone is a negative of each a, and two copies of c are negatives of b."""
    torch.manual_seed(1)
    system = build(config(), 30).eval()
    a, b, c, d = [5, 8, 9, 6], [5, 7, 6], [5, 20, 21, 6], [5, 11, 6]
    term, _ = system(Batch({"left": tokens([a, a, b]), "right": tokens([c, c, d])}, {}))[0]
    one, two = torch.stack(vectors(system, [a, b])), torch.stack(vectors(system, [c, d]))
    (ac, ad), (bc, bd) = one @ two.T / 0.1
    of_a = [torch.stack([ac, ad]), torch.stack([ac, bc])]  # the positive first, then the negatives
    of_b = [torch.stack([bd, bc, bc]), torch.stack([bd, ad, ad])]
    expected = -sum(row.log_softmax(0)[0] for row in (*of_a, *of_a, *of_b)) / 2
    torch.testing.assert_close(term.sum, expected, atol=1e-4, rtol=1e-4)


LEFT = schema.Transformer(width=16, depth=1, heads=2, mask="causal")
SUPERVISED = {
    "objective": schema.Supervised(),
    "head": schema.ClassificationHead(),
    "batching": schema.SentencePairs(length=16),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": schema.Train(gradient_accumulation=2)}, "gradients cannot be accumulated"),
        ({"data": schema.Text()}, "without it a text encoded twice gives the same vector"),
        ({"head": schema.ClassificationHead()}, "does not train the head classification; set head.kind=pooling"),
        ({"batching": schema.SentencePairs(length=16)}, "gives labels; set batching.kind=two-towers"),
        ({**SUPERVISED, "head": schema.LMHead()}, "does not train the head lm; set head.kind=classification"),
        ({**SUPERVISED, "backbone": LEFT}, "the first token attends to nothing of the text"),
    ],
)
def test_what_does_not_belong_together_is_refused(change, message):
    with pytest.raises(FirthError, match=message):
        build(config(**change), 30)


def test_dropout_makes_a_text_its_own_pair():
    noisy = replace(LEFT, mask="bidirectional", dropout=0.2)
    system = build(config(data=schema.Text(), backbone=noisy), 30).train()
    rows = tokens([[5, 8, 9, 6], [5, 7, 6]])
    one, two = (system.objective._embed(system, rows) for _ in range(2))
    assert not torch.equal(one, two)
    system.eval()
    torch.testing.assert_close(*(system.objective._embed(system, rows) for _ in range(2)))
