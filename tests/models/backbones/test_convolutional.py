"""The convolutional backbone against windows cut by hand; a text does not depend on padding."""

import torch

from firth.config import schema
from firth.models.backbones.convolutional import ConvolutionalBackbone
from firth.types import Tokens

CONFIG = schema.Convolutional(filters=2, widths=(2, 3), init_range=0.5)


def encode(backbone, vectors, lengths):
    mask = torch.arange(vectors.shape[1]) < torch.tensor(lengths)[:, None]
    return backbone(vectors, Tokens(torch.zeros_like(mask, dtype=torch.long), mask))


def test_a_feature_is_a_filter_over_every_window_that_overlaps_the_text():
    torch.manual_seed(1)
    backbone, vectors = ConvolutionalBackbone(CONFIG, 4), torch.randn(1, 5, 4)
    encoded = encode(backbone, vectors, [5])
    assert encoded.states.shape == (1, 7, 4) and encoded.mask.all()
    for number, layer in enumerate(backbone.filters):
        width = layer.kernel_size[0]
        around = torch.cat([torch.zeros(width - 1, 4), vectors[0], torch.zeros(2, 4)])
        for at in range(7):
            window = around[at : at + width].T  # (input width, filter width)
            expected = ((layer.weight * window).sum((1, 2)) + layer.bias).relu()
            torch.testing.assert_close(encoded.states[0, at, 2 * number : 2 * number + 2], expected)


def test_padding_changes_nothing():
    torch.manual_seed(1)
    backbone, vectors, lengths = ConvolutionalBackbone(CONFIG, 4), torch.randn(3, 6, 4), [6, 1, 3]
    together = encode(backbone, vectors, lengths)
    for row, length in enumerate(lengths):
        alone = encode(backbone, vectors[row : row + 1, :length], [length])
        assert together.mask[row].sum() == length + 2
        torch.testing.assert_close(together.states[row, : length + 2], alone.states[0])
