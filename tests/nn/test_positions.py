"""Schemes of positions against their papers' definitions, written out by hand."""

import math

import pytest
import torch

from firth.config import schema
from firth.nn.positions import POSITIONS, Alibi, Bucketed, slopes


def test_alibis_slopes_are_those_of_the_paper():
    assert slopes(8).tolist() == [2.0**-n for n in range(1, 9)]
    twelve = slopes(12).tolist()
    assert twelve[:8] == [2.0**-n for n in range(1, 9)]
    assert twelve[8:] == pytest.approx([2 ** -(n / 2) for n in (1, 3, 5, 7)])


@pytest.mark.parametrize("queries", [1, 3, 7])
def test_alibi_falls_with_distance(queries):
    config = schema.Transformer(heads=4, positions="alibi")
    at = torch.arange(7)
    found = Alibi(config, 8).prepare(at, queries)
    for head, slope in enumerate(slopes(4).tolist()):
        for row, q in enumerate(range(7 - queries, 7)):
            assert found[head, row].tolist() == pytest.approx([-slope * abs(q - k) for k in range(7)])


@pytest.mark.parametrize("sees", ["left", "all"])
def test_ranges_of_distances_are_single_near_by_and_logarithmic_far_away(sees):
    scheme = Bucketed(schema.Transformer(heads=2, positions="t5", sees=sees), 8)
    count = scheme.BUCKETS // (2 if sees == "all" else 1)
    near = count // 2

    def wanted(distance):
        first = count if distance > 0 and sees == "all" else 0
        away = abs(distance) if sees == "all" else max(0, -distance)
        if away < near:
            return first + away
        return first + min(count - 1, near + int(math.log(away / near) / math.log(scheme.FAR / near) * (count - near)))

    distances = torch.arange(-300, 301)
    assert scheme.ranges(distances).tolist() == [wanted(d) for d in distances.tolist()]


@pytest.mark.parametrize("name", ["alibi", "t5"])
def test_places_of_packed_documents_have_biases_of_their_own(name):
    scheme = POSITIONS[name](schema.Transformer(heads=2, positions=name, spread=1.0), 8)
    rows = torch.tensor([[0, 1, 2, 0, 1], [0, 1, 2, 3, 4]])
    together = scheme.prepare(rows, 5)
    assert together.shape == (2, 2, 5, 5)
    for row, at in enumerate(rows):
        torch.testing.assert_close(together[row], scheme.prepare(at, 5))
