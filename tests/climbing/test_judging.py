"""The table and the choice, on results whose outcome is plain."""

import numpy as np
import pytest
from ladder_samples import result, row, units

from firth.climbing.judging import recommended, spreads, table


def test_rows_stand_from_the_simplest_to_the_largest():
    rows = table([result("gpt"), result("5-gram"), result("lstm-lm"), result("1-gram")], seed=1)
    assert [r.rung for r in rows] == ["1-gram", "5-gram", "lstm-lm", "gpt"]
    assert rows[2].tokens_per_second == 500.0 and rows[2].bits.value == pytest.approx(2.0)


def test_what_is_always_behind_is_behind_for_sure_even_if_texts_differ_much():
    """Texts of one and of nine bits a byte: the scores vary, the difference does not."""
    hard = [1.0, 9.0] * 20
    own, behind = spreads([units(hard), units([b + 0.1 for b in hard])], seed=1)
    assert own[0].value == pytest.approx(5.0) and own[0].high - own[0].low > 1.0
    assert behind[0].value == behind[0].low == behind[0].high == 0.0
    np.testing.assert_allclose([behind[1].value, behind[1].low, behind[1].high], 0.1, atol=1e-9)


def test_longer_texts_count_for_more():
    (own,), _ = spreads([units([1.0, 3.0], sizes=(30.0, 10.0))], seed=1)
    assert own.value == pytest.approx(1.5)


@pytest.mark.parametrize(
    "rows, wanted",
    [
        ([row("2-gram", 2.5, (0.5, 0.4, 0.6)), row("gpt", 2.0)], "gpt"),
        ([row("2-gram", 2.02, (0.02, -0.01, 0.05)), row("gpt", 2.0)], "2-gram"),  # may be chance: the simpler
        ([row("2-gram", 2.02, (0.02, 0.01, 0.03)), row("gpt", 2.0)], "gpt"),  # little, but sure
        ([row("2-gram", 2.2, (0.2, -0.1, 0.5)), row("gpt", 2.0)], "gpt"),  # may be chance, but much
        ([row("2-gram", 2.0), row("gpt", 2.01, (0.01, -0.01, 0.02))], "2-gram"),
        ([row("rnn-lm", 2.03, (0.03, -1, 1)), row("gru-lm", 2.01, (0.01, -1, 1)), row("gpt", 2.0)], "rnn-lm"),
    ],
)
def test_of_those_that_cannot_be_told_apart_the_simplest_is_chosen(rows, wanted):
    assert recommended(rows).rung == wanted


def test_the_test_text_has_no_say():
    rows = table([result("2-gram", valid=2.5, test=1.0), result("gpt", valid=2.0, test=3.0)], seed=1)
    assert recommended(rows).rung == "gpt" and rows[0].behind.value == 0.0
