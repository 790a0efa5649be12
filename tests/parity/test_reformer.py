"""Reformer against Hugging Face's with the same weights and the same random rotations."""

import pytest
import torch

from firth.config import schema
from firth.models.build import build
from firth.types import Batch, Target, Tokens
from transformer_options import transformer

transformers = pytest.importorskip("transformers")
KINDS = ("local", "lsh", "lsh", "local")
SEED, CHUNK, LENGTH, ROUNDS = 7, 8, 48, 3


def theirs(buckets, kinds, rounds):
    config = transformers.ReformerConfig(
        attn_layers=list(kinds), num_hidden_layers=len(kinds), vocab_size=50, hidden_size=32, num_attention_heads=4,
        attention_head_size=8, feed_forward_size=40, axial_pos_shape=(6, 8), axial_pos_embds_dim=(12, 20),
        hash_seed=SEED, lsh_attn_chunk_length=CHUNK, local_attn_chunk_length=CHUNK, num_hashes=rounds,
        num_buckets=buckets,
        is_decoder=True, hidden_dropout_prob=0.0, lsh_attention_probs_dropout_prob=0.0,
        local_attention_probs_dropout_prob=0.0, max_position_embeddings=LENGTH, initializer_range=0.3,
        hidden_act="relu", layer_norm_eps=1e-5, pad_token_id=0, eos_token_id=1, use_cache=False,
    )  # fmt: skip
    with torch.random.fork_rng():
        model = transformers.ReformerModelWithLMHead(config).eval()
    for module in model.modules():
        # The score of a token for itself stands for "below all others". Its -1e5 is so far from 0 that sums of
        # exponents near it, as of a token that layers only to itself, are half a percent off in float32.
        if hasattr(module, "self_mask_value_float32"):
            module.self_mask_value_float32.fill_(-100.0)
    return model


def ours(buckets, kinds, rounds):
    buckets = tuple(buckets) if isinstance(buckets, list) else (buckets,)
    backbone = transformer(
        width=32, depth=len(kinds), heads=4, feedforward_width=40, activation="relu", positions="axial", layers=kinds,
        axial=schema.AxialPositions(rows=6, columns=8, width=12), local=schema.Local(chunk=CHUNK), attention_bias=False,
        lsh=schema.LSH(rounds=rounds, buckets=buckets, chunk=CHUNK, across=True), residual="reversible", chunk=10,
    )  # fmt: skip
    head = schema.LMHead(tied=False, bias=False)
    return build(schema.Neural(batching=schema.Windows(length=LENGTH), backbone=backbone, head=head), 50).eval()


def copy(his, mine, kinds):
    positions, backbone = his.reformer.embeddings.position_embeddings.weights, mine.backbone
    mine.inputs["text"].weight.copy_(his.reformer.embeddings.word_embeddings.weight)
    backbone.positions.rows_weight.copy_(positions[0][:, 0])
    backbone.positions.columns_weight.copy_(positions[1][0])
    for kind, block, layer in zip(kinds, backbone.blocks, his.reformer.encoder.layers, strict=True):
        attention, sublayer = layer.attention.self_attention, block.attention.sublayer
        names = ("query_key", "value") if kind == "lsh" else ("query", "key", "value")
        sublayer.qkv_proj.weight.copy_(torch.cat([getattr(attention, name).weight for name in names]))
        sublayer.out_proj.weight.copy_(layer.attention.output.dense.weight)
        for part, other in (
            (block.attention.pre_norm, layer.attention.layer_norm),
            (block.feedforward.pre_norm, layer.feed_forward.layer_norm),
            (block.feedforward.sublayer.up_proj, layer.feed_forward.dense.dense),
            (block.feedforward.sublayer.down_proj, layer.feed_forward.output.dense),
        ):
            part.weight.copy_(other.weight)
            part.bias.copy_(other.bias)
        if kind == "lsh":  # Hugging Face samples them from one seed in every layer
            with torch.random.fork_rng():
                torch.manual_seed(SEED)
                sublayer.rotations.copy_(torch.randn(sublayer.rotations.shape))
    backbone.norm.weight.copy_(his.reformer.encoder.layer_norm.weight)
    backbone.norm.bias.copy_(his.reformer.encoder.layer_norm.bias)
    mine.head.weight.copy_(his.lm_head.decoder.weight)


@pytest.mark.parametrize(
    ("buckets", "kinds", "rounds"), [(4, KINDS, ROUNDS), ([2, 4], KINDS, ROUNDS), (6, ("lsh",), 1), (4, ("local",), 1)]
)
@pytest.mark.parametrize("time", [LENGTH, 20, 6])
def test_logits_and_loss_equal_hugging_faces(buckets, kinds, rounds, time):
    torch.manual_seed(1)
    his, mine = theirs(buckets, kinds, rounds), ours(buckets, kinds, rounds)
    with torch.no_grad():
        copy(his, mine, kinds)
        ids = torch.randint(2, 50, (3, time))
        mask = torch.arange(time) < torch.tensor([time, time - 3, time // 2])[:, None]
        expected = his(ids, attention_mask=mask.long()).logits.log_softmax(-1)
        text = Tokens(ids, mask)
        actual = mine.log_probabilities(mine.encode(Batch({"text": text}, {})).states)
        assert expected[mask].std() > 0.5
        torch.testing.assert_close(actual[mask], expected[mask], atol=1e-5, rtol=1e-5)
        whole = Tokens(ids, torch.ones_like(mask))
        weight = torch.ones(3, time)
        weight[:, -1] = 0
        (term,), _ = mine(Batch({"text": whole}, {"text": Target(ids.roll(-1, 1), weight)}))
        torch.testing.assert_close(term.sum / term.count, his(ids, labels=ids).loss, atol=1e-5, rtol=1e-5)


def test_gradients_equal_hugging_faces():
    """Its reversible layers train in their own way; without dropout and with one seed both must agree."""
    torch.manual_seed(2)
    his, mine = theirs(4, KINDS, ROUNDS), ours(4, KINDS, ROUNDS)
    with torch.no_grad():
        copy(his, mine, KINDS)
    his.train()
    ids, weight = torch.randint(2, 50, (2, LENGTH)), torch.ones(2, LENGTH)
    weight[:, -1] = 0
    his(ids, labels=ids).loss.backward()
    (term,), _ = mine(Batch({"text": Tokens(ids, ids >= 0)}, {"text": Target(ids.roll(-1, 1), weight)}))
    (term.sum / term.count).backward()
    layers = his.reformer.encoder.layers
    pairs = [
        (mine.inputs["text"].weight, his.reformer.embeddings.word_embeddings.weight),
        (mine.backbone.positions.rows_weight, his.reformer.embeddings.position_embeddings.weights[0]),
        (mine.backbone.blocks[0].feedforward.sublayer.up_proj.weight, layers[0].feed_forward.dense.dense.weight),
        (mine.backbone.blocks[3].attention.sublayer.out_proj.weight, layers[3].attention.output.dense.weight),
        (mine.backbone.blocks[1].attention.pre_norm.weight, layers[1].attention.layer_norm.weight),
    ]
    shared = mine.backbone.blocks[1].attention.sublayer.qkv_proj.weight.grad
    actual = layers[1].attention.self_attention
    torch.testing.assert_close(shared, torch.cat([actual.query_key.weight.grad, actual.value.weight.grad]), **NEAR)
    for parameter, other in pairs:
        torch.testing.assert_close(parameter.grad, other.grad.view_as(parameter), **NEAR)


NEAR = {"atol": 1e-5, "rtol": 1e-4}
