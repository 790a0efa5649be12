"""Problem types of the classification head against torch's losses and scikit-learn's definitions."""

import pytest
import torch
from torch.nn import functional as F

from firth.config import schema
from firth.models.heads.sequence_classification import ClassificationHead
from firth.models.heads.task_head import METRIC
from firth.types import Encoded, Target

STATES, MASK = torch.randn(5, 4, 6, generator=torch.Generator().manual_seed(1)), torch.ones(5, 4, dtype=torch.bool)
ENCODED = Encoded(STATES, MASK)
WEIGHT = torch.tensor([1.0, 1.0, 0.0, 2.0, 0.5])


def head(**options):
    torch.manual_seed(2)
    made = ClassificationHead(schema.ClassificationHead(pooling="mean", dropout=0.0, **options), {"label": 3}, 6, 6)
    with torch.no_grad():
        made.classifier.weight.mul_(30)
    return made


def terms(made, values):
    found = {term.name: term for term in made.loss(ENCODED, {"label": Target(values, WEIGHT)})}
    assert {term.count for term in found.values()} == {4.5} and found[METRIC].weight == 0.0
    return found["label"].sum, found[METRIC].sum


def test_one_label():
    made, labels = head(), torch.tensor([0, 1, 2, 0, 1])
    loss, hits = terms(made, labels)
    torch.testing.assert_close(loss, (F.cross_entropy(made(ENCODED), labels, reduction="none") * WEIGHT).sum())
    torch.testing.assert_close(hits, ((made(ENCODED).argmax(1) == labels) * WEIGHT).sum())
    torch.testing.assert_close(made.scores(ENCODED)["label"], made(ENCODED).softmax(1))


def test_several_labels():
    made = head(problem_type="multi-label")
    labels = torch.tensor([[0, 1, 1], [0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0]])
    loss, hits = terms(made, labels.float())
    each = F.binary_cross_entropy_with_logits(made(ENCODED), labels.float(), reduction="none").sum(1)
    torch.testing.assert_close(loss, (each * WEIGHT).sum())
    predicted = made.scores(ENCODED)["label"] > 0.5
    torch.testing.assert_close(hits, ((predicted == labels.bool()).all(1) * WEIGHT).sum())


@pytest.mark.parametrize("activation", ["none", "sigmoid"])
def test_regression(activation):
    made = head(problem_type="regression", output_activation=activation)
    made.classifier = torch.nn.Linear(6, 1)
    values = torch.tensor([0.1, 0.9, 0.5, 0.3, 0.0])
    loss, error = terms(made, values)
    torch.testing.assert_close(loss, ((made.scores(ENCODED)["label"][:, 0] - values).square() * WEIGHT).sum())
    torch.testing.assert_close(error, loss.detach())


def test_the_norm_of_weights_is_limited_in_use():
    made = head(max_norm=1.0, pooler=False)
    assert made.classifier.weight.norm(dim=1).max() > 1
    with torch.no_grad():
        limited = made.classifier.weight * (1 / made.classifier.weight.norm(dim=1, keepdim=True)).clamp(max=1)
    torch.testing.assert_close(made(ENCODED), F.linear(STATES.mean(1), limited, made.classifier.bias))
