"""Sliding-window attention: the banded kernel equals dense attention with a mask, at a lower cost."""

import itertools
from dataclasses import replace

import pytest
import torch

from firth.errors import FirthError
from firth.models.backbones.transformer import TransformerBackbone
from firth.nn.attention import mask as masks
from firth.nn.attention import sliding_window
from firth.nn.attention.global_attention import GlobalTokens
from firth.types import Tokens
from transformer_options import transformer

TIME, WINDOW = 29, 3
SMALL = transformer(
    width=16, depth=2, heads=4, feedforward_width=16, positions="rotary", window=WINDOW, context=TIME, init_std=0.4
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that short sequences have several."""
    monkeypatch.setattr(sliding_window, "MAX_BLOCK", 4)


def texts(padding=False, documents=False, is_global=False):
    mask = torch.ones(3, TIME, dtype=torch.bool)
    if padding:
        mask[1, 17:], mask[2, 1:] = False, False
    document = torch.arange(TIME) // torch.tensor([[8], [11], [5]]) + 1
    global_attention = torch.zeros(3, TIME, dtype=torch.bool)
    global_attention[0, [2, 20]], global_attention[1, 9] = True, True
    return Tokens(
        torch.zeros(3, TIME, dtype=torch.long),
        mask,
        document * mask if documents else None,
        global_attention=global_attention & mask if is_global else None,
    )


def states_and_gradients(config, x, tokens):
    """States, and gradients of the input and of all weights."""
    torch.manual_seed(3)
    backbone = TransformerBackbone(config, x.shape[2]).train(False)
    x = x.clone().requires_grad_()
    states = backbone(x, tokens).states
    (states * torch.linspace(-1, 1, states.numel()).view_as(states)).sum().backward()
    gradients = {name: each.grad for name, each in backbone.named_parameters()}
    return states.detach(), x.grad, gradients


FLAGS = list(itertools.product([False, True], repeat=3))


@pytest.mark.parametrize(("padding", "documents", "global_attention"), FLAGS)
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"dilation": (1, 2)},
        {"dilation": (3,), "dilated_heads": 2},
        {"global_tokens": "first", "global_projections": True},
        {"global_projections": True, "dilation": (2, 1), "dilated_heads": 1},
    ],
)
@pytest.mark.parametrize("pattern", ["causal", "bidirectional"])
def test_banded_equals_dense_with_a_mask(pattern, change, padding, documents, global_attention):
    config = transformer(SMALL, mask=pattern, **change)
    tokens, x = texts(padding, documents, global_attention), torch.randn(3, TIME, 16)
    expected, mine = (
        states_and_gradients(transformer(config, kernel=kernel), x, tokens) for kernel in ("dense", "banded")
    )
    torch.testing.assert_close(mine, expected, atol=2e-5, rtol=1e-5)


def test_the_banded_kernel_is_what_runs(monkeypatch):
    """Else the law above would compare dense with dense."""

    def refused(*_):
        raise AssertionError

    monkeypatch.setattr(sliding_window, "dense_attention", refused)
    x = torch.randn(3, TIME, 16)
    states_and_gradients(transformer(SMALL, kernel="banded"), x, texts())
    with pytest.raises(AssertionError):  # where the window is nearly all of the text, dense is as good
        states_and_gradients(
            transformer(SMALL, kernel="banded"), x[:, :6], Tokens(torch.zeros(3, 6), torch.ones(3, 6) > 0)
        )


@pytest.mark.parametrize("time", [7, 8, 13, 28])
def test_any_length_is_split_right(time):
    x, tokens = torch.randn(2, time, 16), Tokens(torch.zeros(2, time, dtype=torch.long), torch.ones(2, time) > 0)
    config = transformer(SMALL, mask="bidirectional", dilation=(2,), dilated_heads=3)
    expected, mine = (
        states_and_gradients(transformer(config, kernel=kernel), x, tokens) for kernel in ("dense", "banded")
    )
    torch.testing.assert_close(mine, expected, atol=2e-5, rtol=1e-5)


def test_a_mask_written_out():
    """Window 1, dilation 2 in the first head; token 4 has global attention."""
    config = transformer(heads=2, window=1, dilation=(2,), dilated_heads=1, mask="bidirectional", width=8)
    global_attention = torch.tensor([[False] * 4 + [True] + [False] * 2])
    tokens = Tokens(torch.zeros(1, 7, dtype=torch.long), torch.ones(1, 7) > 0, global_attention=global_attention)
    window = masks.LayerWindow.of_layer(config, 0)
    mask = masks.attention_mask(config, tokens).with_window(window.size, window.dilations).boolean_mask
    assert mask.shape == (1, 2, 7, 7)
    assert mask[0, 0].int().tolist() == [
        [1, 0, 1, 0, 1, 0, 0],
        [0, 1, 0, 1, 1, 0, 0],
        [1, 0, 1, 0, 1, 0, 0],
        [0, 1, 0, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [0, 0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 1, 0, 1],
    ]
    assert mask[0, 1, 0].int().tolist() == [1, 1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("pattern", ["causal", "bidirectional"])
def test_a_query_that_attends_to_nothing_gives_zeros(pattern):
    mask = torch.tensor([[True], [False]]).repeat(1, 12)
    attention_mask = masks.attention_mask(transformer(SMALL, mask=pattern), Tokens(torch.zeros(2, 12), mask))
    info = attention_mask.keys._replace(document=torch.tensor([[1], [0]]).repeat(1, 12))
    attention_mask = replace(attention_mask, queries=info._replace(document=torch.ones(2, 12)), keys=info)
    parts = [torch.randn(2, 2, 12, 4, requires_grad=True) for _ in range(3)]
    states = sliding_window.banded_attention(*parts, attention_mask, None, 0.0, 0.5)
    assert (states[1] == 0).all() and (states[0] != 0).all()
    states.sum().backward()
    assert all(part.grad.isfinite().all() and (part.grad[1] == 0).all() for part in parts)


def test_dropout_is_of_the_attention_weights():
    attention_mask = masks.attention_mask(transformer(SMALL, mask="bidirectional"), texts())
    parts = [torch.randn(3, 2, TIME, 4) for _ in range(3)]
    torch.manual_seed(0)
    mean = sum(sliding_window.banded_attention(*parts, attention_mask, None, 0.3, 0.5) for _ in range(200)) / 200
    whole = sliding_window.banded_attention(*parts, attention_mask, None, 0.0, 0.5)
    assert not torch.allclose(sliding_window.banded_attention(*parts, attention_mask, None, 0.3, 0.5), whole)
    torch.testing.assert_close(mean, whole, atol=0.3, rtol=0)


def test_global_tokens_are_gathered_and_scattered():
    marked = torch.tensor([[False, True, False, True], [False, False, False, True], [False] * 4])
    tokens = GlobalTokens.from_mask(marked)
    assert tokens.positions.shape == (3, 2) and tokens.valid.tolist() == [[True, True], [True, False], [False, False]]
    x = torch.randn(3, 2, 4, 5)
    assert torch.equal(tokens.scatter(x, tokens.gather(x)), x)
    new = tokens.scatter(x, torch.zeros(3, 2, 2, 5))
    assert (new.transpose(1, 2)[marked] == 0).all() and torch.equal(
        new.transpose(1, 2)[~marked], x.transpose(1, 2)[~marked]
    )


@pytest.mark.parametrize("change", [{}, {"dilation": (2,), "dilated_heads": 2}, {"global_tokens": "first"}])
def test_cached_equals_uncached(change):
    """The past is longer than the window, and so are the new tokens of one step."""
    torch.manual_seed(1)
    config = transformer(SMALL, kernel="banded", global_projections="central" in change, **change)
    backbone = TransformerBackbone(config, 16).eval()
    x, mask = torch.randn(2, TIME, 16), torch.ones(2, TIME) > 0
    with torch.no_grad():
        whole = backbone(x, Tokens(mask.long(), mask)).states
        state, parts = backbone.start(2), []
        for first, last in ((0, 1), (1, 9), (9, 10), (10, 28), (28, 29)):
            piece = Tokens(mask[:, first:last].long(), mask[:, first:last])
            encoded = backbone(x[:, first:last], piece, state)
            parts.append(encoded.states)
            state = encoded.state
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-5)


def test_weights_on_request_add_up_to_the_states():
    config = transformer(
        SMALL, mask="bidirectional", global_tokens="first", global_projections=True, dilation=(2,), depth=1
    )
    backbone, x, tokens = TransformerBackbone(config, 16).eval(), torch.randn(3, TIME, 16), texts(is_global=True)
    weights = backbone.attention_weights(x, tokens, 0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4, TIME))
    assert (weights[0, 0, 10] > 0).nonzero().flatten().tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 20]
    assert (weights[0, :, [0, 2, 20]] > 0).all() and not (weights[1, 0, 20] > 0)[10:13:2].any()


def test_the_window_grows_with_the_sequence_length_in_training():
    config = transformer(SMALL, window=8, scale_window=True, context=64, mask="bidirectional", depth=1)
    backbone = TransformerBackbone(config, 16)
    tokens = Tokens(torch.zeros(1, 32, dtype=torch.long), torch.ones(1, 32) > 0)
    for training, count in ((True, 9), (False, 17)):
        mask = backbone.train(training).attention_weights(torch.randn(1, 32, 16), tokens, 0)[0, 0, 16] > 0
        assert int(mask.sum()) == count


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": (), "kernel": "banded"}, "no window is given"),
        ({"dilated_heads": 5}, "a layer has 4 heads"),
        ({"kernel": "banded", "positions": "alibi"}, "choose other positions"),
        ({"kernel": "banded", "positions": "t5"}, "choose other positions"),
        ({"kernel": "banded", "mask": "prefix"}, "does not support backbone.mask = prefix"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    with pytest.raises(FirthError, match=message):
        TransformerBackbone(transformer(SMALL, **change), 16)


def test_global_attention_is_refused_with_a_kv_cache():
    backbone = TransformerBackbone(SMALL, 16)
    tokens = Tokens(torch.zeros(1, 2), torch.ones(1, 2) > 0, global_attention=torch.ones(1, 2) > 0)
    with pytest.raises(FirthError, match="at once"):
        backbone(torch.randn(1, 2, 16), tokens, backbone.start(1))


def test_half_precision_is_near():
    config = transformer(SMALL, mask="bidirectional", global_tokens="first", global_projections=True, kernel="banded")
    x, tokens = torch.randn(3, TIME, 16), texts(padding=True, documents=True)
    whole = states_and_gradients(config, x, tokens)[0]
    with torch.autocast("cpu", torch.bfloat16):
        half = states_and_gradients(config, x, tokens)[0]
    assert half.dtype == torch.float32 and not torch.equal(half, whole)
    torch.testing.assert_close(half, whole, atol=0.15, rtol=0.05)
