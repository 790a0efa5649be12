"""Local and LSH attention against dense attention and against loops over the paper's definition."""

import itertools

import pytest
import torch

from firth.config import schema
from firth.nn.attention.local import LocalAttention
from firth.nn.attention.lsh import LSHAttention, factorise_buckets, hash_vectors
from firth.nn.attention.mask import attention_mask
from firth.nn.attention.multi_head import AttentionContext, MultiHeadAttention
from firth.types import Tokens
from transformer_options import transformer

HEADS, WIDTH = 2, 16
TIME = 22


def text(batch=3, time=TIME, ragged=True, documents=False):
    """Sequences of several lengths, or of several documents."""
    ids = torch.randint(9, (batch, time))
    lengths = torch.tensor([time, time - 3, time // 2][:batch] if ragged else [time] * batch)
    mask = torch.arange(time) < lengths[:, None]
    document = (1 + torch.arange(time) // 9).expand(batch, time).contiguous() if documents else None
    return Tokens(ids, mask, document)


def layer(kind, pattern="causal", **change):
    config = transformer(width=WIDTH, heads=HEADS, mask=pattern, context=TIME, positions="none", **change)
    made = kind(config, 0).eval()
    for weight in made.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return config, made


def context(config, tokens):
    return AttentionContext(attention_mask(config, tokens), None)


def shared_dense(made, config, x, tokens):
    """Dense attention with keys of the queries' directions; a token attends to itself only if to nothing else."""
    queries, values = made.split_heads(made.qkv_proj(x), 2)
    keys = queries / (queries.square().mean(-1, keepdim=True) + 1e-6).sqrt() / (WIDTH // HEADS) ** 0.5
    mask = attention_mask(config, tokens).boolean_mask.expand(len(x), 1, *x.shape[1:2] * 2)
    itself = torch.eye(x.shape[1], dtype=torch.bool)
    others = (mask & ~itself).any(-1, keepdim=True)
    scores = (queries @ keys.transpose(-1, -2)).masked_fill(~(mask & (~itself | ~others)), -torch.inf)
    return made.merge_heads(torch.softmax(scores, -1).nan_to_num(0.0) @ values)


@pytest.mark.parametrize(
    ("pattern", "rounds", "across", "documents"),
    list(itertools.product(["causal", "bidirectional"], [1, 3], [False, True], [False, True])),
)
def test_one_bucket_and_one_chunk_are_dense_attention(pattern, rounds, across, documents):
    torch.manual_seed(1)
    settings = schema.LSH(rounds=rounds, buckets=(1,), chunk=TIME, after=1, across=across)
    config, made = layer(LSHAttention, pattern, lsh=settings)
    tokens, x = text(documents=documents), torch.randn(3, TIME, WIDTH)
    mine, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    actual, expected = made(mine, context(config, tokens)), shared_dense(made, config, other, tokens)
    real = tokens.mask
    torch.testing.assert_close(actual[real], expected[real], atol=1e-5, rtol=1e-5)
    direction = torch.randn(actual[real].shape)
    gradients = torch.autograd.grad((actual[real] * direction).sum(), (mine, *made.parameters()))
    expected_gradients = torch.autograd.grad((expected[real] * direction).sum(), (other, *made.parameters()))
    for one, two in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(one, two, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("pattern", "before", "after"),
    [("causal", 1, 0), ("causal", 2, 0), ("bidirectional", 1, 1), ("bidirectional", 2, 1)],
)
def test_buckets_hold_the_last_tokens_of_the_same_hash(pattern, before, after):
    """By loops: in each round, the tokens of the same bucket not too far in it; rounds add up."""
    torch.manual_seed(2)
    settings = schema.LSH(rounds=3, buckets=(2, 2), chunk=4, before=before, after=after)
    config, made = layer(LSHAttention, pattern, lsh=settings)
    tokens, x = text(documents=True), torch.randn(3, TIME, WIDTH)
    queries, values = made.split_heads(made.qkv_proj(x), 2)
    buckets = made.hash_buckets(queries, context(config, tokens))
    visible = attention_mask(config, tokens).boolean_mask.expand(3, 1, TIME, TIME)
    expected = torch.zeros_like(values)
    for b, h, i in itertools.product(range(3), range(HEADS), range(TIME)):
        taken = []
        for bucket in buckets[b, h]:
            alike = [j for j in range(TIME) if bucket[j] == bucket[i] and tokens.mask[b, j]]
            if tokens.mask[b, i]:
                here = alike.index(i)
                alike = alike[max(0, here - 4 * before) : here + 4 * after + 1]
            taken += [j for j in alike if visible[b, 0, i, j] and j != i]
        query = queries[b, h, i]
        scores = torch.stack([query @ queries[b, h, j] / queries[b, h, j].norm() for j in taken]) if taken else None
        expected[b, h, i] = values[b, h, i] if scores is None else torch.softmax(scores, 0) @ values[b, h, taken]
    actual = made(x, context(config, tokens))
    torch.testing.assert_close(actual[tokens.mask], made.merge_heads(expected)[tokens.mask], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("across", [False, True])
def test_attention_weights_times_values_are_the_output(across):
    torch.manual_seed(3)
    settings = schema.LSH(rounds=2, buckets=(4,), chunk=5, across=across)
    config, made = layer(LSHAttention, lsh=settings)
    tokens, x = text(ragged=False), torch.randn(3, TIME, WIDTH)
    _, values = made.split_heads(made.qkv_proj(x), 2)
    weights = made.weights(x, context(config, tokens))
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, HEADS, TIME))
    assert not weights.triu(1).any()
    torch.testing.assert_close(
        made.merge_heads(weights @ values), made(x, context(config, tokens)), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("kind", [LSHAttention, LocalAttention])
def test_neither_padding_nor_later_tokens_nor_other_documents_nor_the_batch_change_a_token(kind):
    torch.manual_seed(4)
    config, made = layer(kind, lsh=schema.LSH(rounds=2, buckets=(4,), chunk=4), local=schema.Local(chunk=4))
    tokens, x = text(), torch.randn(3, TIME, WIDTH)
    whole = made(x, context(config, tokens))
    short = Tokens(tokens.ids[2:, :11], tokens.mask[2:, :11])
    torch.testing.assert_close(whole[2:, :11], made(x[2:, :11], context(config, short)), atol=1e-5, rtol=1e-5)
    start = Tokens(tokens.ids[:, :7], tokens.mask[:, :7])
    torch.testing.assert_close(whole[:, :7], made(x[:, :7], context(config, start)), atol=1e-5, rtol=1e-5)


def test_packed_documents_attend_only_within_themselves():
    torch.manual_seed(5)
    config, made = layer(LSHAttention, lsh=schema.LSH(rounds=2, buckets=(4,), chunk=4))
    tokens, x = text(documents=True, ragged=False), torch.randn(3, TIME, WIDTH)
    together = made(x, context(config, tokens))
    alone = Tokens(tokens.ids[:, 9:18], tokens.mask[:, 9:18])
    torch.testing.assert_close(together[:, 9:18], made(x[:, 9:18], context(config, alone)), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [LSHAttention, LocalAttention])
def test_a_query_that_attends_to_nothing_gives_zeros(kind):
    config, made = layer(
        kind,
        "bidirectional",
        lsh=schema.LSH(buckets=(2,), chunk=4),
        local=schema.Local(chunk=4, after=1),
        attention_bias=False,
    )
    tokens = text()
    tokens.mask[1] = False
    x = torch.randn(3, TIME, WIDTH, requires_grad=True)
    actual = made(x, context(config, tokens))
    assert not actual[1].any() and actual[0].all()
    actual.sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize(
    ("pattern", "before", "after", "documents"),
    [("causal", 1, 0, False), ("causal", 2, 0, True), ("bidirectional", 1, 1, True)],
)
def test_local_attention_is_dense_attention_with_a_mask(pattern, before, after, documents):
    torch.manual_seed(6)
    config, made = layer(LocalAttention, pattern, local=schema.Local(chunk=4, before=before, after=after))
    _, full = layer(MultiHeadAttention, pattern)
    full.double().load_state_dict(made.double().state_dict())
    tokens, x = text(documents=documents), torch.randn(3, TIME, WIDTH, dtype=torch.float64)
    chunk = torch.arange(TIME) // 4
    apart = chunk[:, None] - chunk
    mask = attention_mask(config, tokens).boolean_mask & (apart <= before) & (apart >= -after)

    def dense(x):
        queries, keys, values = full.split_heads(full.qkv_proj(x), 3)
        return full.merge_heads(torch.nn.functional.scaled_dot_product_attention(queries, keys, values, mask))

    mine, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    actual, expected = made(mine, context(config, tokens)), dense(other)
    torch.testing.assert_close(actual[tokens.mask], expected[tokens.mask])
    actual[tokens.mask].square().sum().backward()
    expected[tokens.mask].square().sum().backward()
    torch.testing.assert_close(mine.grad, other.grad)
    weights = made.weights(x, context(config, tokens))
    _, _, values = made.split_heads(made.qkv_proj(x), 3)
    torch.testing.assert_close(made.merge_heads(weights @ values)[tokens.mask], actual[tokens.mask])


def test_a_bucket_is_the_largest_rotated_coordinate():
    vectors = torch.randn(2, HEADS, 30, 4)
    rotations = torch.randn(HEADS, 4, 3, 5)
    actual = hash_vectors(vectors, rotations, (4, 1, 6))  # two and three directions and their opposites
    for b, h, t, r in itertools.product(range(2), range(HEADS), range(30), range(3)):
        along = vectors[b, h, t] @ rotations[h, :, r]
        first, second = torch.cat([along[:2], -along[:2]]), torch.cat([along[2:], -along[2:]])
        assert actual[b, h, r, t] == first.argmax() + 4 * second.argmax()
    twice = hash_vectors(vectors * 7.0, rotations, (4, 1, 6))
    assert torch.equal(actual, twice)  # length does not matter


def test_rotations_are_sampled_in_training_and_fixed_in_evaluation():
    config, made = layer(LSHAttention, lsh=schema.LSH(rounds=2, buckets=(8,), chunk=4))
    again = LSHAttention(config, 0).eval()
    again.load_state_dict(made.state_dict())
    tokens, x = text(), torch.randn(3, TIME, WIDTH)
    with torch.no_grad():
        before = torch.get_rng_state()
        assert torch.equal(made(x, context(config, tokens)), again(x, context(config, tokens)))
        assert torch.equal(before, torch.get_rng_state())
        made.train()
        torch.manual_seed(1)
        one = made(x, context(config, tokens))
        two = made(x, context(config, tokens))
        torch.manual_seed(1)
        assert torch.equal(one, made(x, context(config, tokens)))
    assert not torch.allclose(one, two)
    assert not torch.equal(LSHAttention(config, 1).rotations, made.rotations)


@pytest.mark.parametrize(("context", "expected"), [(64, (2,)), (512, (16,)), (500, (8,)), (65_536, (32, 64))])
def test_there_are_two_buckets_for_each_chunk(context, expected):
    assert factorise_buckets(schema.LSH(chunk=64), context) == expected
