"""XLNet against Hugging Face's, with the same weights: orders, targets, segments, memory and padding."""

from dataclasses import replace

import pytest
import torch

from firth.build import build
from firth.config import schema
from firth.objectives.permuted import select
from firth.presets import preset
from firth.types import Batch, State, Target, Tokens

transformers = pytest.importorskip("transformers")
WIDTH, HEADS, DEPTH, VOCABULARY, BATCH = 32, 4, 2, 50, 3


def theirs():
    torch.manual_seed(0)
    config = transformers.XLNetConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, n_layer=DEPTH, n_head=HEADS, d_inner=64, dropout=0, summary_last_dropout=0
    )
    found = transformers.XLNetLMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.normal_(std=0.2)
    return found


def ours(memory=64):
    backbone = schema.Transformer(
        width=WIDTH, depth=DEPTH, heads=HEADS, inner=64, activation="gelu", norm_at="post", epsilon=1e-12,
        positions="xl", sees="permuted", memory=memory, relative_segments=True, attention_bias=False,
    )  # fmt: skip
    config = schema.Neural(batching=schema.Contiguous(length=16), backbone=backbone, objective=schema.Permuted())
    return build(config, VOCABULARY).eval()


@torch.no_grad()
def copy(his, mine):
    body = his.transformer
    mine.input.weight.copy_(body.word_embedding.weight)
    mine.head.bias.copy_(his.lm_loss.bias)
    mine.backbone.query.copy_(body.mask_emb.flatten())
    for block, layer in zip(mine.backbone.blocks, body.layer, strict=True):
        attention, other, feedforward = block.attention.inner, layer.rel_attn, block.feedforward
        attention.inputs.weight.copy_(torch.cat([part.flatten(1).T for part in (other.q, other.k, other.v)]))
        attention.output.weight.copy_(other.o.flatten(1))
        attention.relation.distance.weight.copy_(other.r.flatten(1).T)
        attention.relation.content_bias.copy_(other.r_w_bias)
        attention.relation.distance_bias.copy_(other.r_r_bias)
        attention.kinds.bias.copy_(other.r_s_bias)
        attention.kinds.weight.copy_(other.seg_embed)
        pairs = [(feedforward.inner.input, layer.ff.layer_1), (feedforward.inner.output, layer.ff.layer_2),
                 (block.attention.sum, other.layer_norm), (feedforward.sum, layer.ff.layer_norm)]  # fmt: skip
        for part, his_part in pairs:
            part.weight.copy_(his_part.weight)
            part.bias.copy_(his_part.bias)
    return mine


@pytest.fixture(scope="module")
def both():
    his = theirs()
    return his, copy(his, ours())


def rows(time, padded):
    """Rows with segments and, if asked, padding; an order, and the last of it as targets."""
    ids = torch.randint(VOCABULARY, (BATCH, time))
    mask = torch.ones(BATCH, time, dtype=torch.bool)
    if padded:
        mask[1, time - 3 :] = mask[2, time - 1 :] = False
    segment = (torch.arange(time) > torch.tensor([[2], [time // 2], [time]])).long()
    rank = torch.stack([torch.randperm(time) for _ in range(BATCH)])
    rank = rank.masked_fill(~mask, time).argsort(1).argsort(1)  # padding last
    told = mask & (rank >= mask.sum(1, keepdim=True) - 2)
    return Tokens(ids, mask, segment=segment, rank=rank), told


def his_inputs(text, told):
    """The order as Hugging Face wants it: 1 where i does not see j; and a row for each target."""
    hidden = (text.rank[:, :, None] <= text.rank[:, None, :]).float()
    place = told.int().argsort(dim=1, descending=True, stable=True)[:, :2]
    mapping = torch.nn.functional.one_hot(place, text.ids.shape[1]).float()
    return {"perm_mask": hidden, "target_mapping": mapping, "token_type_ids": text.segment,
            "attention_mask": text.mask.float()}  # fmt: skip


def memories(count):
    return [torch.randn(count, BATCH, WIDTH) for _ in range(DEPTH)]


def carried(mems):
    return State(source={}, live={"memory": torch.stack([part.transpose(0, 1) for part in mems], 1)})


@pytest.mark.parametrize("remembered", [0, 5])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("time", [7, 16])
def test_targets_are_predicted_alike(both, time, padded, remembered):
    his, mine = both
    torch.manual_seed(time)
    text, told = rows(time, padded)
    mems = memories(remembered) if remembered else None
    asked, _ = select(text, Target(text.ids, told.float()))
    with torch.no_grad():
        wanted = his(text.ids, mems=mems, use_mems=True, **his_inputs(text, told))
        encoded = mine.backbone.ask(mine.input(text), text, asked, carried(mems) if mems else None)
        found = mine.log_probabilities(encoded.states)
    torch.testing.assert_close(found, wanted.logits.log_softmax(-1), atol=1e-5, rtol=1e-5)
    kept = torch.stack([part.transpose(0, 1) for part in wanted.mems], 1)
    real = torch.cat([torch.ones(BATCH, remembered, dtype=torch.bool), text.mask], 1)
    torch.testing.assert_close(
        encoded.state.live["memory"].movedim(1, 2)[real], kept.movedim(1, 2)[real], atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("padded", [False, True])
def test_the_loss_and_its_gradients_are_alike(both, padded):
    his, mine = both
    torch.manual_seed(1)
    text, told = rows(11, padded)
    place = told.int().argsort(dim=1, descending=True, stable=True)[:, :2]
    wanted = his(text.ids, labels=text.ids.gather(1, place), **his_inputs(text, told)).loss
    ((term,), _) = mine(Batch({"text": text}, {"text": Target(text.ids, told.float())}))
    torch.testing.assert_close(term.sum / term.count, wanted, atol=1e-5, rtol=1e-5)
    his.zero_grad()
    mine.zero_grad()
    wanted.backward()
    (term.sum / term.count).backward()
    for block, layer in zip(mine.backbone.blocks, his.transformer.layer, strict=True):
        inner, other = block.attention.inner, layer.rel_attn
        for part, his_part in (
            (inner.relation.distance.weight.grad, other.r.grad.flatten(1).T),
            (inner.relation.content_bias.grad, other.r_w_bias.grad),
            (inner.kinds.weight.grad, other.seg_embed.grad),
            (inner.output.weight.grad, other.o.grad.flatten(1)),
        ):
            torch.testing.assert_close(part, his_part, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(mine.backbone.query.grad, his.transformer.mask_emb.grad.flatten(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("time", [7, 16])
def test_texts_are_read_alike_both_ways(both, time):
    """Without an order every token sees every other, as for fine-tuning."""
    his, mine = both
    text, _ = rows(time, padded=True)
    text = replace(text, rank=None)
    with torch.no_grad():
        wanted = his.transformer(
            text.ids, attention_mask=text.mask.float(), token_type_ids=text.segment
        ).last_hidden_state
        found = mine.encode(Batch({"text": text}, {})).states
    torch.testing.assert_close(found[text.mask], wanted[text.mask], atol=1e-5, rtol=1e-5)


def test_presets_have_the_sizes_of_the_paper():
    """XLNet-large, number by number."""
    with torch.device("meta"):
        wanted = transformers.XLNetLMHeadModel(transformers.XLNetConfig())
        found = build(preset("xlnet:large"), 32_000)
    assert sum(p.numel() for p in found.parameters()) == sum(p.numel() for p in wanted.parameters())
