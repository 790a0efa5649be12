"""The results table and the recommended rung, on results with a known outcome."""

import numpy as np
import pytest
from ladder_samples import result, row, units

from firth.ladder.results_table import build_table, recommend, score_intervals


def test_rows_are_sorted_from_the_simplest_to_the_largest():
    rows = build_table([result("transformer-lm"), result("5-gram"), result("lstm-lm"), result("1-gram")], seed=1)
    assert [r.rung for r in rows] == ["1-gram", "5-gram", "lstm-lm", "transformer-lm"]
    assert rows[2].tokens_per_second == 500.0 and rows[2].bits.value == pytest.approx(2.0)


def test_paired_differences_are_certain_even_if_texts_differ_much():
    """Texts of one and of nine bits per byte: the scores vary, the difference does not."""
    hard = [1.0, 9.0] * 20
    own, behind = score_intervals([units(hard), units([b + 0.1 for b in hard])], seed=1)
    assert own[0].value == pytest.approx(5.0) and own[0].high - own[0].low > 1.0
    assert behind[0].value == behind[0].low == behind[0].high == 0.0
    np.testing.assert_allclose([behind[1].value, behind[1].low, behind[1].high], 0.1, atol=1e-9)


def test_units_are_weighted_by_their_size():
    (own,), _ = score_intervals([units([1.0, 3.0], sizes=(30.0, 10.0))], seed=1)
    assert own.value == pytest.approx(1.5)


@pytest.mark.parametrize(
    "rows, expected",
    [
        ([row("2-gram", 2.5, (0.5, 0.4, 0.6)), row("transformer-lm", 2.0)], "transformer-lm"),
        (
            [row("2-gram", 2.02, (0.02, -0.01, 0.05)), row("transformer-lm", 2.0)],
            "2-gram",
        ),  # not significant: the simpler
        (
            [row("2-gram", 2.02, (0.02, 0.01, 0.03)), row("transformer-lm", 2.0)],
            "transformer-lm",
        ),  # small, but significant
        (
            [row("2-gram", 2.2, (0.2, -0.1, 0.5)), row("transformer-lm", 2.0)],
            "transformer-lm",
        ),  # not significant, but large
        ([row("2-gram", 2.0), row("transformer-lm", 2.01, (0.01, -0.01, 0.02))], "2-gram"),
        (
            [row("rnn-lm", 2.03, (0.03, -1, 1)), row("gru-lm", 2.01, (0.01, -1, 1)), row("transformer-lm", 2.0)],
            "rnn-lm",
        ),
    ],
)
def test_the_simplest_of_tied_rungs_is_recommended(rows, expected):
    assert recommend(rows).rung == expected


def test_the_test_text_does_not_choose():
    rows = build_table([result("2-gram", valid=2.5, test=1.0), result("transformer-lm", valid=2.0, test=3.0)], seed=1)
    assert recommend(rows).rung == "transformer-lm" and rows[0].behind.value == 0.0
