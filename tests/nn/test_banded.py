"""Attention within a window: the banded kernel gives what dense attention with a mask gives, at a lower cost."""

import itertools
from dataclasses import replace

import pytest
import torch

from firth.backbones.transformer import TransformerBackbone
from firth.config import schema
from firth.errors import FirthError
from firth.nn import banded, patterns
from firth.nn.central import Chosen
from firth.types import Tokens

TIME, WINDOW = 29, 3
SMALL = schema.Transformer(
    width=16, depth=2, heads=4, inner=16, positions="rotary", window=WINDOW, context=TIME, spread=0.4
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that short rows have several."""
    monkeypatch.setattr(banded, "BLOCK", 4)


def rows(padding=False, documents=False, central=False):
    mask = torch.ones(3, TIME, dtype=torch.bool)
    if padding:
        mask[1, 17:], mask[2, 1:] = False, False
    marks = torch.arange(TIME) // torch.tensor([[8], [11], [5]]) + 1
    found = torch.zeros(3, TIME, dtype=torch.bool)
    found[0, [2, 20]], found[1, 9] = True, True
    return Tokens(
        torch.zeros(3, TIME, dtype=torch.long),
        mask,
        marks * mask if documents else None,
        central=found & mask if central else None,
    )


def found(config, x, tokens, weights=None):
    """States, and gradients of the input and of all weights."""
    torch.manual_seed(3)
    backbone = TransformerBackbone(config, x.shape[2]).train(False)
    x = x.clone().requires_grad_()
    states = backbone(x, tokens).states
    (states * torch.linspace(-1, 1, states.numel()).view_as(states)).sum().backward()
    gradients = {name: each.grad for name, each in backbone.named_parameters()}
    return states.detach(), x.grad, gradients


MARKS = list(itertools.product([False, True], repeat=3))


@pytest.mark.parametrize(("padding", "documents", "central"), MARKS)
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"dilation": (1, 2)},
        {"dilation": (3,), "dilated_heads": 2},
        {"central": "first", "central_projections": True},
        {"central_projections": True, "dilation": (2, 1), "dilated_heads": 1},
    ],
)
@pytest.mark.parametrize("sees", ["left", "all"])
def test_banded_equals_dense_with_a_mask(sees, change, padding, documents, central):
    config = replace(SMALL, sees=sees, **change)
    tokens, x = rows(padding, documents, central), torch.randn(3, TIME, 16)
    wanted, mine = (found(replace(config, kernel=kernel), x, tokens) for kernel in ("dense", "banded"))
    torch.testing.assert_close(mine, wanted, atol=2e-5, rtol=1e-5)


def test_the_banded_kernel_is_what_runs(monkeypatch):
    """Else the law above would compare dense with dense."""

    def refused(*_):
        raise AssertionError

    monkeypatch.setattr(banded, "dense", refused)
    x = torch.randn(3, TIME, 16)
    found(replace(SMALL, kernel="banded"), x, rows())
    with pytest.raises(AssertionError):  # where the window is nearly all of the text, dense is as good
        found(replace(SMALL, kernel="banded"), x[:, :6], Tokens(torch.zeros(3, 6), torch.ones(3, 6) > 0))


@pytest.mark.parametrize("time", [7, 8, 13, 28])
def test_any_length_is_cut_right(time):
    x, tokens = torch.randn(2, time, 16), Tokens(torch.zeros(2, time, dtype=torch.long), torch.ones(2, time) > 0)
    config = replace(SMALL, sees="all", dilation=(2,), dilated_heads=3)
    wanted, mine = (found(replace(config, kernel=kernel), x, tokens) for kernel in ("dense", "banded"))
    torch.testing.assert_close(mine, wanted, atol=2e-5, rtol=1e-5)


def test_a_mask_written_out():
    """Window 1, steps of 2 in the first head; token 4 sees all and is seen by all."""
    config = schema.Transformer(heads=2, window=1, dilation=(2,), dilated_heads=1, sees="all", width=8)
    central = torch.tensor([[False] * 4 + [True] + [False] * 2])
    tokens = Tokens(torch.zeros(1, 7, dtype=torch.long), torch.ones(1, 7) > 0, central=central)
    seen = replace(patterns.view(config, tokens), steps=patterns.head_steps(config, 0)).seen
    assert seen.shape == (1, 2, 7, 7)
    assert seen[0, 0].int().tolist() == [
        [1, 0, 1, 0, 1, 0, 0],
        [0, 1, 0, 1, 1, 0, 0],
        [1, 0, 1, 0, 1, 0, 0],
        [0, 1, 0, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [0, 0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 1, 0, 1],
    ]
    assert seen[0, 1, 0].int().tolist() == [1, 1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("sees", ["left", "all"])
def test_a_row_that_sees_nothing_gives_zeros(sees):
    mask = torch.tensor([[True], [False]]).repeat(1, 12)
    view = patterns.view(replace(SMALL, sees=sees), Tokens(torch.zeros(2, 12), mask))
    marks = view.keys._replace(document=torch.tensor([[1], [0]]).repeat(1, 12))
    view = replace(view, queries=marks._replace(document=torch.ones(2, 12)), keys=marks)
    parts = [torch.randn(2, 2, 12, 4, requires_grad=True) for _ in range(3)]
    states = banded.banded(*parts, view, None, 0.0, 0.5)
    assert (states[1] == 0).all() and (states[0] != 0).all()
    states.sum().backward()
    assert all(part.grad.isfinite().all() and (part.grad[1] == 0).all() for part in parts)


def test_dropped_weights_are_dropped():
    view = patterns.view(replace(SMALL, sees="all"), rows())
    parts = [torch.randn(3, 2, TIME, 4) for _ in range(3)]
    torch.manual_seed(0)
    mean = sum(banded.banded(*parts, view, None, 0.3, 0.5) for _ in range(200)) / 200
    whole = banded.banded(*parts, view, None, 0.0, 0.5)
    assert not torch.allclose(banded.banded(*parts, view, None, 0.3, 0.5), whole)
    torch.testing.assert_close(mean, whole, atol=0.3, rtol=0)


def test_few_tokens_are_gathered_and_put_back():
    marked = torch.tensor([[False, True, False, True], [False, False, False, True], [False] * 4])
    who = Chosen.of(marked)
    assert who.places.shape == (3, 2) and who.real.tolist() == [[True, True], [True, False], [False, False]]
    x = torch.randn(3, 2, 4, 5)
    assert torch.equal(who.put(x, who.take(x)), x)
    new = who.put(x, torch.zeros(3, 2, 2, 5))
    assert (new.transpose(1, 2)[marked] == 0).all() and torch.equal(
        new.transpose(1, 2)[~marked], x.transpose(1, 2)[~marked]
    )


@pytest.mark.parametrize("change", [{}, {"dilation": (2,), "dilated_heads": 2}, {"central": "first"}])
def test_reading_bit_by_bit_equals_reading_at_once(change):
    """The past is longer than the window, and so is what is read at once."""
    torch.manual_seed(1)
    config = replace(SMALL, kernel="banded", central_projections="central" in change, **change)
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
    config = replace(SMALL, sees="all", central="first", central_projections=True, dilation=(2,), depth=1)
    backbone, x, tokens = TransformerBackbone(config, 16).eval(), torch.randn(3, TIME, 16), rows(central=True)
    weights = backbone.attention(x, tokens, 0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4, TIME))
    assert (weights[0, 0, 10] > 0).nonzero().flatten().tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 20]
    assert (weights[0, :, [0, 2, 20]] > 0).all() and not (weights[1, 0, 20] > 0)[10:13:2].any()


def test_the_window_grows_with_the_rows_of_training():
    config = replace(SMALL, window=8, window_grows=True, context=64, sees="all", depth=1)
    backbone = TransformerBackbone(config, 16)
    tokens = Tokens(torch.zeros(1, 32, dtype=torch.long), torch.ones(1, 32) > 0)
    for training, count in ((True, 9), (False, 17)):
        seen = backbone.train(training).attention(torch.randn(1, 32, 16), tokens, 0)[0, 0, 16] > 0
        assert int(seen.sum()) == count


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 0, "kernel": "banded"}, "set backbone.window"),
        ({"window": 0, "dilation": (2,)}, "set backbone.window"),
        ({"dilated_heads": 5}, "a layer has 4 heads"),
        ({"kernel": "banded", "positions": "alibi"}, "choose other positions"),
        ({"kernel": "banded", "positions": "t5"}, "choose other positions"),
        ({"kernel": "banded", "sees": "prefix"}, "reaches beyond a band"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    with pytest.raises(FirthError, match=message):
        TransformerBackbone(replace(SMALL, **change), 16)


def test_marks_are_refused_where_a_text_is_read_bit_by_bit():
    backbone = TransformerBackbone(SMALL, 16)
    tokens = Tokens(torch.zeros(1, 2), torch.ones(1, 2) > 0, central=torch.ones(1, 2) > 0)
    with pytest.raises(FirthError, match="at once"):
        backbone(torch.randn(1, 2, 16), tokens, backbone.start(1))


def test_half_precision_is_near():
    config = replace(SMALL, sees="all", central="first", central_projections=True, kernel="banded")
    x, tokens = torch.randn(3, TIME, 16), rows(padding=True, documents=True)
    whole = found(config, x, tokens)[0]
    with torch.autocast("cpu", torch.bfloat16):
        half = found(config, x, tokens)[0]
    assert half.dtype == torch.float32 and not torch.equal(half, whole)
    torch.testing.assert_close(half, whole, atol=0.15, rtol=0.05)
