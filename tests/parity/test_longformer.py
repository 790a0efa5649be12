"""Longformer against Hugging Face's, with the same weights: padding, global attention, sequence lengths."""

import pytest
import torch

from firth.config import schema
from firth.models.build import build
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

transformers = pytest.importorskip("transformers")

PAD, SIDE, LAYERS = 1, 4, 2  # SIDE: window on each side; Hugging Face counts both


@pytest.fixture(scope="module")
def theirs():
    torch.manual_seed(0)
    config = transformers.LongformerConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=66,
        attention_window=[2 * SIDE] * LAYERS,
        type_vocab_size=2,
        pad_token_id=PAD,
        layer_norm_eps=1e-5,
        initializer_range=0.2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return transformers.LongformerForMaskedLM(config).eval()


def longformer(kernel):
    config = schema.Neural(
        batching=schema.SegmentPairs(length=64),
        inputs=schema.Inputs(text=schema.TokenInput(segments=2)),
        backbone=transformer(
            width=32,
            depth=LAYERS,
            heads=4,
            feedforward_width=64,
            activation="gelu",
            norm_placement="post",
            norm_embeddings=True,
            mask="bidirectional",
            window=SIDE,
            global_projections=True,
            kernel=kernel,
        ),
        head=schema.LMHead(transform=True, norm_epsilon=1e-5),
        objective=schema.MaskedLM(),
    )
    return build(config, 60).eval()


def copy_linear(mine, *his):
    mine.weight.copy_(torch.cat([each.weight for each in his]))
    mine.bias.copy_(torch.cat([each.bias for each in his]))


@torch.no_grad()
def copy_longformer(theirs, ours):
    body, head = theirs.longformer, theirs.lm_head
    ours.inputs["text"].weight.copy_(body.embeddings.word_embeddings.weight)
    ours.inputs["text"].segments.copy_(body.embeddings.token_type_embeddings.weight)
    ours.backbone.positions.weight.copy_(body.embeddings.position_embeddings.weight[PAD + 1 :])  # positions begin there
    copy_linear(ours.backbone.input_norm, body.embeddings.LayerNorm)
    for block, his in zip(ours.backbone.blocks, body.encoder.layer, strict=True):
        attention, own = block.attention.sublayer, his.attention.self
        copy_linear(attention.qkv_proj, own.query, own.key, own.value)
        copy_linear(attention.global_projections.qkv_proj, own.query_global, own.key_global, own.value_global)
        copy_linear(attention.out_proj, his.attention.output.dense)
        copy_linear(block.attention.post_norm, his.attention.output.LayerNorm)
        copy_linear(block.feedforward.sublayer.up_proj, his.intermediate.dense)
        copy_linear(block.feedforward.sublayer.down_proj, his.output.dense)
        copy_linear(block.feedforward.post_norm, his.output.LayerNorm)
    copy_linear(ours.head.projection.dense, head.dense)
    copy_linear(ours.head.projection.norm, head.layer_norm)
    ours.head.bias.copy_(head.bias)


@pytest.mark.parametrize("kernel", ["dense", "banded"])
@pytest.mark.parametrize("time", [48, 29])  # the second is no multiple of the window
@pytest.mark.parametrize("positions", [[], [0], [0, 3, 17]])
def test_logits_and_loss_equal_hugging_faces(theirs, kernel, time, positions):
    ours = longformer(kernel)
    copy_longformer(theirs, ours)
    ids = torch.randint(2, 60, (3, time))
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[1, time - 7 :], mask[2, 20:] = False, False
    ids[~mask] = PAD
    global_attention = torch.zeros_like(mask)
    global_attention[:, positions] = True
    global_attention[1, 5] = bool(positions)  # sequences may have different numbers of them
    segment = (torch.arange(time) > 9).long().expand(3, -1)
    predicted = mask & (torch.rand(3, time) < 0.3)
    with torch.no_grad():
        actual = theirs(
            ids,
            attention_mask=mask.long(),
            global_attention_mask=global_attention.long(),
            token_type_ids=segment,
            labels=ids.masked_fill(~predicted, -100),
        )
        tokens = Tokens(ids, mask, segment=segment, global_attention=global_attention if positions else None)
        batch = Batch({"text": tokens}, {"text": Target(ids, predicted.float())})
        mine = ours.log_probabilities(ours.encode(batch).states)
        (term,) = ours(batch)[0]
    torch.testing.assert_close(mine[mask], actual.logits.log_softmax(-1)[mask], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(term.sum / term.count, actual.loss, atol=1e-5, rtol=1e-5)
