"""Ranking against sums of the model's own scores."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.data.world import World
from firth.errors import FirthError
from firth.uses.ranking import join, rank, softmax

TRUE, *_ = World().documents(1, start=9000)


def test_shares_and_bits_follow_from_the_log_probabilities(world):
    texts = [TRUE, TRUE[::-1], TRUE + " " + TRUE]
    found = rank(world, texts)
    scores = dict(zip(texts, world.score(texts), strict=True))
    assert found[0].text == TRUE
    assert [each.log_probability for each in found] == sorted(scores.values(), reverse=True)
    total = sum(math.exp(score) for score in scores.values())
    for each in found:
        assert each.log_probability == pytest.approx(scores[each.text])
        assert each.bits == pytest.approx(-scores[each.text] / math.log(2))
        assert each.share == pytest.approx(math.exp(scores[each.text]) / total)
        assert each.tokens == len(world.tokenizer.ids(each.text)) + 1
        assert each.per_token == pytest.approx(each.log_probability / each.tokens)


def test_a_prefix_need_not_end(world):
    half = TRUE[: len(TRUE) // 2]
    (whole,), (prefix,) = rank(world, [half]), rank(world, [half], whole=False)
    assert prefix.log_probability > whole.log_probability and prefix.tokens == whole.tokens - 1
    assert whole.share == prefix.share == 1.0


def test_a_context_is_what_stands_before(world):
    first, rest = TRUE.split(" ", 1)
    (found,) = rank(world, [rest], context=first)
    expected = world.score([TRUE])[0] - world.score([first], whole=False)[0]
    assert found.log_probability == pytest.approx(expected)
    (alone,) = rank(world, [rest])
    assert alone.log_probability != pytest.approx(expected)


def test_a_context_that_the_tokenizer_joins_to_the_texts_counts_for_all_alike(world):
    """Cut in mid-word: the differences are those of the whole texts."""
    cut = TRUE.index(" ") + 3
    a, b = TRUE[cut:], "x" + TRUE[cut:]
    found = {each.text: each.log_probability for each in rank(world, [" " + a, " " + b], context=TRUE[:cut])}
    whole = world.score([f"{TRUE[:cut]} {a}", f"{TRUE[:cut]} {b}"])
    assert found[" " + a] - found[" " + b] == pytest.approx(whole[0] - whole[1], abs=1e-6)


def test_unknown_words_are_told_and_charged(words):
    known, strange = TRUE, TRUE.replace(" ", " zqxj ", 1)
    first, second = rank(words, [strange, known])
    assert (first.text, second.text) == (known, strange)
    assert second.unknown == ("zqxj",) and first.unknown == ()
    plain = words.score([strange])[0]
    assert (
        second.log_probability == pytest.approx(plain - words.spelling_costs([strange])[0])
        and plain > second.log_probability
    )
    longer = rank(words, [strange, strange.replace("zqxj", "zqxjzqxj")])[0]
    assert longer.text == strange  # the longer unknown word costs more


def test_an_empty_text_has_no_mean(world):
    (empty,) = rank(world, [""], whole=False)
    assert (empty.log_probability, empty.tokens, empty.per_token) == (0.0, 0, None)
    with pytest.raises(FirthError, match="no texts to rank; give at least one"):
        rank(world, [])


@pytest.mark.parametrize(
    ("context", "text", "joined"),
    [("a", "b", "a b"), ("a ", "b", "a b"), ("a", " b", "a b"), ("", "b", "b"), ("a", "", "a"), ("我", "b", "我b")],
)
def test_a_space_stands_between_where_one_belongs(context, text, joined):
    assert join(context, text) == joined


@given(st.lists(st.floats(-1e4, 0), min_size=1, max_size=9))
def test_shares_sum_to_one(scores):
    assert sum(softmax(scores)) == pytest.approx(1.0)


def test_shares_of_impossible_texts_are_equal():
    assert softmax([-math.inf, -math.inf]) == [0.5, 0.5]
