"""Linear layers without gradients: weight formats against torch's own product."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from firth.nn.linear import (
    MAX_ROWS,
    WEIGHT_FORMATS,
    Linear,
    WeightCache,
    _single_thread,
    _with_threads,
    linear,
    quantize_weights,
)

WIDTH, OUT = 512, 520  # large enough for other weight formats
# half has 11 bits, int8 steps of 1/127 (and activations of 7 bits)
EXACT = {"numba": 1e-5, "mkldnn": 1e-5, "half": 3e-3, "int8": 0.1}


def plain(layer, x):
    return F.linear(x, layer.weight, layer.bias)


@pytest.mark.parametrize("weight_format", WEIGHT_FORMATS)
@pytest.mark.parametrize("rows", [1, 5, 33])
def test_each_weight_format_multiplies_as_torch_does(weight_format, rows):
    torch.manual_seed(0)
    layer, x = Linear(WIDTH, OUT), torch.randn(rows, WIDTH)
    with torch.no_grad():
        actual, expected = WeightCache().product(weight_format, x, layer.weight, layer.bias), plain(layer, x)
    assert (actual - expected).abs().max() < EXACT[weight_format] * expected.std()
    with torch.no_grad():
        bare = WeightCache().product(weight_format, x, layer.weight, None)
    assert (bare - F.linear(x, layer.weight)).abs().max() < EXACT[weight_format] * expected.std()


@pytest.mark.parametrize("weight_format", ["", "half", "int8"])
@pytest.mark.parametrize("rows", [1, MAX_ROWS])
def test_a_stored_format_follows_changes_of_the_weight(weight_format, rows):
    torch.manual_seed(0)
    layer, x = Linear(WIDTH, OUT), torch.randn(rows, 1, WIDTH)
    layer.weight_cache.quantization = weight_format
    assert layer.weight_cache.choose_format(rows, layer.weight)

    def alike():
        expected = plain(layer, x)
        return (layer(x) - expected).abs().max() < EXACT.get(weight_format, 1e-5) * expected.abs().max()

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


def test_quantized_weights_are_for_inference_only():
    """With gradients, in float64 and in autocast the product is torch's own."""
    layer, x = Linear(WIDTH, OUT), torch.randn(3, WIDTH)
    quantize_weights(layer, "int8")
    assert torch.equal(layer(x), plain(layer, x))
    with torch.no_grad():
        assert not torch.equal(layer(x), plain(layer, x))
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(layer(x), plain(layer, x))
        wide = layer.double()
        assert torch.equal(linear(x.double(), wide.weight, wide.bias, layer.weight_cache), plain(wide, x.double()))


def test_no_rows_give_no_rows():
    with torch.no_grad():
        assert Linear(WIDTH, OUT)(torch.zeros(0, 3, WIDTH)).shape == (0, 3, OUT)


def test_a_process_loads_the_numba_kernel_once_it_has_read_enough(monkeypatch):
    monkeypatch.setattr(WeightCache, "values_read", 0)
    monkeypatch.setattr("firth.nn.linear.NUMBA_AFTER", 2 * WIDTH * OUT)
    cache, matrix = WeightCache(), torch.zeros(OUT, WIDTH)
    assert [cache.choose_format(1, matrix) for _ in range(3)] == ["mkldnn", "mkldnn", "numba"]
    assert cache.choose_format(2, matrix) == "mkldnn" and not cache.choose_format(1, torch.zeros(8, 8))


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("out", [OUT, OUT + 1])
def test_threads_share_a_product_without_changing_a_bit(rows, out, monkeypatch):
    """Which of them computes it depends on the load, and results must not."""
    torch.manual_seed(0)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    matrix, x, bias = torch.randn(out, WIDTH).numpy(), torch.randn(rows, WIDTH).numpy(), torch.randn(out).numpy()
    actual = [np.empty((rows, out), np.float32) for _ in range(2)]
    _single_thread(matrix, x, bias, actual[0])
    _with_threads(matrix, x, bias, actual[1])
    assert np.array_equal(*actual)
