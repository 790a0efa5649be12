"""Text classifiers against Hugging Face's, with the same weights; pooling against a loop."""

import numpy as np
import pytest
import torch
from copying import put, put_block

from firth.config import schema
from firth.models.build import build
from firth.nn.pooling import POOLINGS
from firth.types import Batch, Sizes, Target, Tokens
from transformer_options import transformer

transformers = pytest.importorskip("transformers")


def classifier(pool="first", layer=True, frame="first", **backbone):
    shape = {
        "width": 32,
        "depth": 2,
        "heads": 4,
        "mask": "bidirectional",
        "norm_placement": "post",
        "norm_embeddings": True,
    }
    config = schema.Neural(
        data=schema.TaskExamples(),
        batching=schema.SentencePairs(length=24, layout=frame),
        inputs=schema.Inputs(text=schema.TokenInput(segments=2)),
        backbone=transformer(**{**shape, "epsilon": 1e-12, "activation": "gelu", **backbone}),
        head=schema.ClassificationHead(pooling=pool, pooler=layer, dropout=0.0),
        objective=schema.Supervised(),
    )
    return build(config, Sizes(50, labels={"label": 3})).eval()


@torch.no_grad()
def copy_bert(his, mine):
    embeddings = his.bert.embeddings
    mine.inputs["text"].weight.copy_(embeddings.word_embeddings.weight)
    mine.inputs["text"].segments.copy_(embeddings.token_type_embeddings.weight)
    mine.backbone.positions.weight.copy_(embeddings.position_embeddings.weight)
    put(mine.backbone.input_norm, embeddings.LayerNorm)
    for block, layer in zip(mine.backbone.blocks, his.bert.encoder.layer, strict=True):
        put_block(block, layer)
    put(mine.head.pooler, his.bert.pooler.dense)
    put(mine.head.classifier, his.classifier)


@pytest.mark.parametrize("time", [9, 24])
def test_logits_and_loss_equal_berts(time):
    torch.manual_seed(time)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, num_labels=3,
        max_position_embeddings=24, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
    )  # fmt: skip
    his, mine = transformers.BertForSequenceClassification(config).eval(), classifier()
    with torch.no_grad():
        for parameter in his.parameters():
            parameter.normal_(std=0.3)
    copy_bert(his, mine)
    ids = torch.randint(7, 50, (4, time))
    mask = torch.arange(time) < torch.tensor([time, time - 3, time - 1, 3])[:, None]
    segment = (torch.arange(time) >= 4).long().expand(4, -1)
    target = torch.tensor([0, 2, 1, 2])
    actual = his(ids, mask, segment, labels=target)
    batch = Batch({"text": Tokens(ids, mask, segment=segment)}, {"label": Target(target, torch.ones(4))})
    encoded = mine.encode(batch, keep_layers=True)
    torch.testing.assert_close(mine.head(encoded), actual.logits, atol=1e-5, rtol=1e-5)
    layers = his(ids, mask, segment, output_hidden_states=True).hidden_states
    for one, other in zip(encoded.layers[1:], layers[1:], strict=True):  # the first is the input, before its norm
        torch.testing.assert_close(one[mask], other[mask], atol=1e-5, rtol=1e-5)
    nll, hits = mine(batch)[0]
    torch.testing.assert_close(nll.sum / nll.count, actual.loss, atol=1e-5, rtol=1e-5)
    assert (float(hits.sum), hits.weight) == (float((actual.logits.argmax(1) == target).sum()), 0.0)


@pytest.mark.parametrize("pooling", ["first", "mean", "last"])
def test_pooling_equals_a_loop_over_real_tokens(pooling):
    states, lengths = torch.randn(4, 7, 5), [7, 1, 4, 6]
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    for row, length, actual in zip(states, lengths, POOLINGS[pooling](5)(states, mask), strict=True):
        real = row[:length].numpy()
        expected = {"first": real[0], "mean": real.mean(0), "last": real[-1]}[pooling]
        np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_logits_do_not_depend_on_padding_or_on_other_sequences():
    causal = classifier("last", False, "last", mask="causal", norm_placement="pre", norm_embeddings=False)
    for system in (classifier("mean"), causal):
        ids, lengths = torch.randint(7, 50, (3, 20)), (20, 5, 11)
        mask = torch.arange(20) < torch.tensor(lengths)[:, None]
        encoded = system.encode(Batch({"text": Tokens(ids, mask)}, {}))
        together = system.head(encoded)
        for row, length in enumerate(lengths):
            text = Tokens(ids[row : row + 1, :length], mask[row : row + 1, :length])
            alone = system.encode(Batch({"text": text}, {}))
            torch.testing.assert_close(system.head(alone)[0], together[row], atol=1e-5, rtol=1e-5)
