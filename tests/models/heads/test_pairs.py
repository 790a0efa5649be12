"""Pairs of texts in one sequence, in one each, and in both orders."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firth.config import schema
from firth.datasets.collators.sentence_pairs import build_input_sequence, pad_examples, sequences_of
from firth.errors import FirthError
from firth.models.build import build
from firth.tokenizers.special_tokens import SpecialTokens
from firth.types import Batch, Sizes
from transformer_options import transformer

SPECIAL = SpecialTokens(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)
CONFIG = schema.Neural(
    data=schema.TaskExamples(),
    batching=schema.SentencePairs(length=24),
    backbone=transformer(width=16, depth=2, heads=2, mask="bidirectional"),
    head=schema.ClassificationHead(pooling="mean", dropout=0.0),
    objective=schema.Supervised(),
)
PAIRS = [([10, 11, 12], [20, 21]), ([13], [22, 23, 24, 25]), ([14, 15], [14, 15])]


def network(pair_encoding, combine):
    batching, head = replace(CONFIG.batching, pair_encoding=pair_encoding), replace(CONFIG.head, combine=combine)
    return build(replace(CONFIG, batching=batching, head=head), Sizes(40, labels={"label": 3})).eval()


@torch.no_grad()
def logits(system, pairs, pair_encoding):
    config = replace(CONFIG.batching, pair_encoding=pair_encoding)
    examples = [
        [build_input_sequence(texts, config, SPECIAL) for texts in sequences_of(list(pair), config)] for pair in pairs
    ]
    return system.head(system.encode(Batch({"text": pad_examples(examples, SPECIAL)}, {}).to()))


def vector(system, text):
    sequence = build_input_sequence([text], CONFIG.batching, SPECIAL)
    encoded = system.encode(Batch({"text": pad_examples([[sequence]], SPECIAL)}, {}).to())
    return encoded.states[0].mean(0)


@torch.no_grad()
def test_a_siamese_network_reads_each_text_by_itself():
    system = network("siamese", "difference")
    found = logits(system, PAIRS, "siamese")
    for (left, right), row in zip(PAIRS, found, strict=True):
        u, v = vector(system, left), vector(system, right)
        hidden = torch.tanh(system.head.pooler(torch.cat([u, v, (u - v).abs()])))
        torch.testing.assert_close(row, system.head.classifier(hidden), atol=1e-5, rtol=1e-5)


def test_both_orders_give_the_same_answer_for_swapped_texts():
    system = network("both-orders", "sum")
    swapped = [(right, left) for left, right in PAIRS]
    torch.testing.assert_close(
        logits(system, PAIRS, "both-orders"), logits(system, swapped, "both-orders"), atol=1e-5, rtol=1e-5
    )
    one = network("cross", "none")
    assert not np.allclose(logits(one, PAIRS[:1], "cross"), logits(one, swapped[:1], "cross"), atol=1e-4)


@pytest.mark.parametrize(("pair_encoding", "combine"), [("siamese", "none"), ("cross", "sum")])
def test_head_and_batches_fit_together(pair_encoding, combine):
    with pytest.raises(FirthError, match=r"does not fit head\.combine"):
        network(pair_encoding, combine)
