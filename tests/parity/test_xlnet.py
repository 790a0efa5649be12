"""XLNet against Hugging Face's, with the same weights: factorisation orders, targets, segments, memory and padding."""

from dataclasses import replace

import pytest
import torch

from firth.config import schema
from firth.models.build import build
from firth.objectives.permutation_lm import select_targets
from firth.presets import preset
from firth.types import Batch, State, Target, Tokens
from transformer_options import transformer

transformers = pytest.importorskip("transformers")
WIDTH, HEADS, DEPTH, VOCABULARY, BATCH = 32, 4, 2, 50, 3


def theirs():
    torch.manual_seed(0)
    config = transformers.XLNetConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, n_layer=DEPTH, n_head=HEADS, d_inner=64, dropout=0, summary_last_dropout=0
    )
    actual = transformers.XLNetLMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in actual.parameters():
            parameter.normal_(std=0.2)
    return actual


def ours(memory=64):
    backbone = transformer(
        width=WIDTH, depth=DEPTH, heads=HEADS, feedforward_width=64, activation="gelu", norm_placement="post",
        epsilon=1e-12,
        positions="xl", mask="permutation", memory=memory, relative_segments=True, attention_bias=False,
    )  # fmt: skip
    config = schema.Neural(batching=schema.Contiguous(length=16), backbone=backbone, objective=schema.PermutationLM())
    return build(config, VOCABULARY).eval()


@torch.no_grad()
def copy(his, mine):
    body = his.transformer
    mine.inputs["text"].weight.copy_(body.word_embedding.weight)
    mine.head.bias.copy_(his.lm_loss.bias)
    mine.backbone.query_embedding.copy_(body.mask_emb.flatten())
    for block, layer in zip(mine.backbone.blocks, body.layer, strict=True):
        attention, other, feedforward = block.attention.sublayer, layer.rel_attn, block.feedforward
        attention.qkv_proj.weight.copy_(torch.cat([part.flatten(1).T for part in (other.q, other.k, other.v)]))
        attention.out_proj.weight.copy_(other.o.flatten(1))
        attention.position_encoding.distance.weight.copy_(other.r.flatten(1).T)
        attention.position_encoding.content_bias.copy_(other.r_w_bias)
        attention.position_encoding.distance_bias.copy_(other.r_r_bias)
        attention.segment_encoding.bias.copy_(other.r_s_bias)
        attention.segment_encoding.weight.copy_(other.seg_embed)
        pairs = [(feedforward.sublayer.up_proj, layer.ff.layer_1), (feedforward.sublayer.down_proj, layer.ff.layer_2),
                 (block.attention.post_norm, other.layer_norm),
                 (feedforward.post_norm, layer.ff.layer_norm)]  # fmt: skip
        for part, his_part in pairs:
            part.weight.copy_(his_part.weight)
            part.bias.copy_(his_part.bias)
    return mine


@pytest.fixture(scope="module")
def both():
    his = theirs()
    return his, copy(his, ours())


def texts(time, padded):
    """Sequences with segments, a factorisation order, and the last tokens of it as targets; optionally padded."""
    ids = torch.randint(VOCABULARY, (BATCH, time))
    mask = torch.ones(BATCH, time, dtype=torch.bool)
    if padded:
        mask[1, time - 3 :] = mask[2, time - 1 :] = False
    segment = (torch.arange(time) > torch.tensor([[2], [time // 2], [time]])).long()
    rank = torch.stack([torch.randperm(time) for _ in range(BATCH)])
    rank = rank.masked_fill(~mask, time).argsort(1).argsort(1)  # padding last
    predicted = mask & (rank >= mask.sum(1, keepdim=True) - 2)
    return Tokens(ids, mask, segment=segment, rank=rank), predicted


def his_inputs(text, predicted):
    """The order as Hugging Face wants it: 1 where i does not attend to j; and a row for each target."""
    hidden = (text.rank[:, :, None] <= text.rank[:, None, :]).float()
    position = predicted.int().argsort(dim=1, descending=True, stable=True)[:, :2]
    mapping = torch.nn.functional.one_hot(position, text.ids.shape[1]).float()
    return {"perm_mask": hidden, "target_mapping": mapping, "token_type_ids": text.segment,
            "attention_mask": text.mask.float()}  # fmt: skip


def memories(count):
    return [torch.randn(count, BATCH, WIDTH) for _ in range(DEPTH)]


def carried(mems):
    return State(source={}, live={"memory": torch.stack([part.transpose(0, 1) for part in mems], 1)})


@pytest.mark.parametrize("memory_length", [0, 5])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("time", [7, 16])
def test_targets_are_predicted_alike(both, time, padded, memory_length):
    his, mine = both
    torch.manual_seed(time)
    text, predicted = texts(time, padded)
    mems = memories(memory_length) if memory_length else None
    query_stream, _ = select_targets(text, Target(text.ids, predicted.float()))
    with torch.no_grad():
        expected = his(text.ids, mems=mems, use_mems=True, **his_inputs(text, predicted))
        encoded = mine.backbone.forward_two_stream(
            mine.embed("text", text), text, query_stream, carried(mems) if mems else None
        )
        actual = mine.log_probabilities(encoded.states)
    torch.testing.assert_close(actual, expected.logits.log_softmax(-1), atol=1e-5, rtol=1e-5)
    expected_memory = torch.stack([part.transpose(0, 1) for part in expected.mems], 1)
    real = torch.cat([torch.ones(BATCH, memory_length, dtype=torch.bool), text.mask], 1)
    torch.testing.assert_close(
        encoded.state.live["memory"].movedim(1, 2)[real], expected_memory.movedim(1, 2)[real], atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("padded", [False, True])
def test_the_loss_and_its_gradients_are_alike(both, padded):
    his, mine = both
    torch.manual_seed(1)
    text, predicted = texts(11, padded)
    position = predicted.int().argsort(dim=1, descending=True, stable=True)[:, :2]
    expected = his(text.ids, labels=text.ids.gather(1, position), **his_inputs(text, predicted)).loss
    ((term,), _) = mine(Batch({"text": text}, {"text": Target(text.ids, predicted.float())}))
    torch.testing.assert_close(term.sum / term.count, expected, atol=1e-5, rtol=1e-5)
    his.zero_grad()
    mine.zero_grad()
    expected.backward()
    (term.sum / term.count).backward()
    for block, layer in zip(mine.backbone.blocks, his.transformer.layer, strict=True):
        inner, other = block.attention.sublayer, layer.rel_attn
        for part, his_part in (
            (inner.position_encoding.distance.weight.grad, other.r.grad.flatten(1).T),
            (inner.position_encoding.content_bias.grad, other.r_w_bias.grad),
            (inner.segment_encoding.weight.grad, other.seg_embed.grad),
            (inner.out_proj.weight.grad, other.o.grad.flatten(1)),
        ):
            torch.testing.assert_close(part, his_part, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(
        mine.backbone.query_embedding.grad, his.transformer.mask_emb.grad.flatten(), atol=1e-5, rtol=1e-4
    )


@pytest.mark.parametrize("time", [7, 16])
def test_bidirectional_states_equal_theirs(both, time):
    """Without an order every token attends to every other, as for fine-tuning."""
    his, mine = both
    text, _ = texts(time, padded=True)
    text = replace(text, rank=None)
    with torch.no_grad():
        expected = his.transformer(
            text.ids, attention_mask=text.mask.float(), token_type_ids=text.segment
        ).last_hidden_state
        actual = mine.encode(Batch({"text": text}, {})).states
    torch.testing.assert_close(actual[text.mask], expected[text.mask], atol=1e-5, rtol=1e-5)


def test_presets_have_the_sizes_of_the_paper():
    """XLNet-large, number by number."""
    with torch.device("meta"):
        expected = transformers.XLNetLMHeadModel(transformers.XLNetConfig())
        actual = build(preset("xlnet:large"), 32_000)
    assert sum(p.numel() for p in actual.parameters()) == sum(p.numel() for p in expected.parameters())
