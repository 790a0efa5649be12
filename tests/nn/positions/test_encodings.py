"""Position encodings against their papers' definitions, computed by hand."""

import math

import pytest
import torch

from firth.nn.positions import POSITION_ENCODINGS
from firth.nn.positions.encodings import AlibiPositions, RotaryPositions, T5Positions, alibi_slopes
from transformer_options import transformer


def test_alibis_slopes_are_those_of_the_paper():
    assert alibi_slopes(8).tolist() == [2.0**-n for n in range(1, 9)]
    twelve = alibi_slopes(12).tolist()
    assert twelve[:8] == [2.0**-n for n in range(1, 9)]
    assert twelve[8:] == pytest.approx([2 ** -(n / 2) for n in (1, 3, 5, 7)])


@pytest.mark.parametrize("queries", [1, 3, 7])
def test_alibi_decreases_with_distance(queries):
    config = transformer(heads=4, positions="alibi")
    at = torch.arange(7)
    actual = AlibiPositions(config, 8).prepare(at, queries)
    for head, gradient in enumerate(alibi_slopes(4).tolist()):
        for row, q in enumerate(range(7 - queries, 7)):
            assert actual[head, row].tolist() == pytest.approx([-gradient * abs(q - k) for k in range(7)])


@pytest.mark.parametrize("pattern", ["causal", "bidirectional"])
def test_t5_buckets_are_exact_near_by_and_logarithmic_far_away(pattern):
    scheme = T5Positions(transformer(heads=2, positions="t5", mask=pattern), 8)
    count = scheme.BUCKETS // (2 if pattern == "bidirectional" else 1)
    near = count // 2

    def expected(distance):
        first = count if distance > 0 and pattern == "bidirectional" else 0
        away = abs(distance) if pattern == "bidirectional" else max(0, -distance)
        if away < near:
            return first + away
        return first + min(
            count - 1, near + int(math.log(away / near) / math.log(scheme.MAX_DISTANCE / near) * (count - near))
        )

    distances = torch.arange(-300, 301)
    assert scheme.bucket(distances).tolist() == [expected(d) for d in distances.tolist()]


@pytest.mark.parametrize("name", ["alibi", "t5"])
def test_positions_of_packed_documents_have_biases_of_their_own(name):
    config = transformer(heads=2, positions=name, init_std=1.0)
    scheme = POSITION_ENCODINGS[type(config.positions)](config, 8)
    rows = torch.tensor([[0, 1, 2, 0, 1], [0, 1, 2, 3, 4]])
    together = scheme.prepare(rows, 5)
    assert together.shape == (2, 2, 5, 5)
    for row, at in enumerate(rows):
        torch.testing.assert_close(together[row], scheme.prepare(at, 5))


def test_rotary_keeps_lengths_and_its_dot_products_depend_on_the_distance_alone():
    config = transformer(width=16, heads=2, positions="rotary")
    scheme, layer = RotaryPositions(config, 16), RotaryPositions.layer_encoding(config)
    query, key = torch.randn(2, 8).unbind(0)
    rotated = layer.rotate(query.expand(1, 1, 9, 8), key.expand(1, 1, 9, 8), scheme.prepare(torch.arange(9), 9))
    queries, keys = (part[0, 0] for part in rotated)
    torch.testing.assert_close(queries.norm(dim=-1), query.norm().expand(9))
    scores = queries @ keys.T
    torch.testing.assert_close(scores[1:, 1:], scores[:-1, :-1])
    assert not torch.allclose(scores[0, :-1], scores[0, 1:])
