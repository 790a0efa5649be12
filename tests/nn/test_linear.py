"""Products without gradients: the forms that a matrix is kept in against torch's own product."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from firth.nn.linear import FORMS, SOME, Kept, Linear, _alone, _together, lighten, linear

WIDTH, OUT = 512, 520  # as many numbers as pay to be kept otherwise
# half has 11 bits and int8 steps of 1/127 (and 7 bits of what the matrix is multiplied with)
EXACT = {"dots": 1e-5, "blocks": 1e-5, "half": 3e-3, "int8": 0.1}


def plain(layer, x):
    return F.linear(x, layer.weight, layer.bias)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", [1, 5, 33])
def test_each_form_multiplies_as_torch_does(form, rows):
    torch.manual_seed(0)
    layer, x = Linear(WIDTH, OUT), torch.randn(rows, WIDTH)
    with torch.no_grad():
        found, right = Kept().product(form, x, layer.weight, layer.bias), plain(layer, x)
    assert (found - right).abs().max() < EXACT[form] * right.std()
    with torch.no_grad():
        bare = Kept().product(form, x, layer.weight, None)
    assert (bare - F.linear(x, layer.weight)).abs().max() < EXACT[form] * right.std()


@pytest.mark.parametrize("form", ["", "half", "int8"])
@pytest.mark.parametrize("rows", [1, SOME])
def test_a_form_does_not_outlive_its_values(form, rows):
    torch.manual_seed(0)
    layer, x = Linear(WIDTH, OUT), torch.randn(rows, 1, WIDTH)
    layer.kept.lighter = form
    assert layer.kept.form(rows, layer.weight)

    def alike():
        right = plain(layer, x)
        return (layer(x) - right).abs().max() < EXACT.get(form, 1e-5) * right.abs().max()

    with torch.no_grad():
        for _ in range(2):
            assert alike()
            layer.weight.mul_(1.5)
            assert alike()
            layer.bias.add_(7.0)
        assert alike()
        layer.load_state_dict(Linear(WIDTH, OUT).state_dict())
        assert alike()
        layer.weight.data = torch.randn(OUT, WIDTH)
        assert alike()


def test_lighter_weights_are_for_reading_only():
    """With gradients, in float64 and in autocast the product is torch's own."""
    layer, x = Linear(WIDTH, OUT), torch.randn(3, WIDTH)
    lighten(layer, "int8")
    assert torch.equal(layer(x), plain(layer, x))
    with torch.no_grad():
        assert not torch.equal(layer(x), plain(layer, x))
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(layer(x), plain(layer, x))
        wide = layer.double()
        assert torch.equal(linear(x.double(), wide.weight, wide.bias, layer.kept), plain(wide, x.double()))


def test_no_rows_give_no_rows():
    with torch.no_grad():
        assert Linear(WIDTH, OUT)(torch.zeros(0, 3, WIDTH)).shape == (0, 3, OUT)


def test_a_process_takes_up_the_compiled_loop_once_it_has_read_enough(monkeypatch):
    monkeypatch.setattr(Kept, "read", 0)
    monkeypatch.setattr("firth.nn.linear.PAYS", 2 * WIDTH * OUT)
    kept, matrix = Kept(), torch.zeros(OUT, WIDTH)
    assert [kept.form(1, matrix) for _ in range(3)] == ["blocks", "blocks", "dots"]
    assert kept.form(2, matrix) == "blocks" and not kept.form(1, torch.zeros(8, 8))


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("out", [OUT, OUT + 1])
def test_threads_share_a_product_without_changing_a_bit(rows, out, monkeypatch):
    """Which of them works it out depends on the moment, and texts must not."""
    torch.manual_seed(0)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    matrix, x, bias = torch.randn(out, WIDTH).numpy(), torch.randn(rows, WIDTH).numpy(), torch.randn(out).numpy()
    found = [np.empty((rows, out), np.float32) for _ in range(2)]
    _alone(matrix, x, bias, found[0])
    _together(matrix, x, bias, found[1])
    assert np.array_equal(*found)
