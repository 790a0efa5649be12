"""Ranking against sums of the model's own log-probabilities."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.datasets.world import World
from firth.errors import FirthError
from firth.pipelines.continuations import join_context
from firth.workflows.rank import rank, softmax

TRUE, *_ = World().documents(1, start=9000)


def test_fractions_and_bits_follow_from_the_log_probabilities(world):
    texts = [TRUE, TRUE[::-1], TRUE + " " + TRUE]
    ranked = rank(world, texts)
    scores = dict(zip(texts, world.score(texts), strict=True))
    assert ranked[0].text == TRUE
    assert [each.log_probability for each in ranked] == sorted(scores.values(), reverse=True)
    total = sum(math.exp(score) for score in scores.values())
    for each in ranked:
        assert each.log_probability == pytest.approx(scores[each.text])
        assert each.bits == pytest.approx(-scores[each.text] / math.log(2))
        assert each.relative_probability == pytest.approx(math.exp(scores[each.text]) / total)
        assert each.tokens == len(world.tokenizer.encode(each.text)) + 1
        assert each.per_token == pytest.approx(each.log_probability / each.tokens)


def test_a_prefix_need_not_end(world):
    half = TRUE[: len(TRUE) // 2]
    (whole,), (prefix,) = rank(world, [half]), rank(world, [half], whole=False)
    assert prefix.log_probability > whole.log_probability and prefix.tokens == whole.tokens - 1
    assert whole.relative_probability == prefix.relative_probability == 1.0


def test_scores_are_conditional_on_the_context(world):
    first, rest = TRUE.split(" ", 1)
    (ranked,) = rank(world, [rest], context=first)
    expected = world.score([TRUE])[0] - world.score([first], whole=False)[0]
    assert ranked.log_probability == pytest.approx(expected)
    (alone,) = rank(world, [rest])
    assert alone.log_probability != pytest.approx(expected)


def test_a_context_that_the_tokenizer_merges_with_the_texts_counts_equally_for_all(world):
    """Split in mid-word: the differences are those of the whole texts."""
    cut = TRUE.index(" ") + 3
    a, b = TRUE[cut:], "x" + TRUE[cut:]
    log_probabilities = {
        each.text: each.log_probability for each in rank(world, [" " + a, " " + b], context=TRUE[:cut])
    }
    whole = world.score([f"{TRUE[:cut]} {a}", f"{TRUE[:cut]} {b}"])
    assert log_probabilities[" " + a] - log_probabilities[" " + b] == pytest.approx(whole[0] - whole[1], abs=1e-6)


def test_out_of_vocabulary_words_are_listed_and_scored(words):
    known, strange = TRUE, TRUE.replace(" ", " zqxj ", 1)
    first, second = rank(words, [strange, known])
    assert (first.text, second.text) == (known, strange)
    assert second.oov == ("zqxj",) and first.oov == ()
    plain = words.score([strange])[0]
    assert (
        second.log_probability == pytest.approx(plain - words.oov_nll([strange])[0]) and plain > second.log_probability
    )
    longer = rank(words, [strange, strange.replace("zqxj", "zqxjzqxj")])[0]
    assert longer.text == strange  # the longer unknown word costs more


def test_an_empty_text_has_no_mean(world):
    (empty,) = rank(world, [""], whole=False)
    assert (empty.log_probability, empty.tokens, empty.per_token) == (0.0, 0, None)
    with pytest.raises(FirthError, match="no texts to rank; give at least one text"):
        rank(world, [])


@pytest.mark.parametrize(
    ("context", "text", "joined"),
    [("a", "b", "a b"), ("a ", "b", "a b"), ("a", " b", "a b"), ("", "b", "b"), ("a", "", "a"), ("我", "b", "我b")],
)
def test_a_space_stands_between_where_one_belongs(context, text, joined):
    assert join_context(context, text) == joined


@given(st.lists(st.floats(-1e4, 0), min_size=1, max_size=9))
def test_fractions_sum_to_one(scores):
    assert sum(softmax(scores)) == pytest.approx(1.0)


def test_fractions_of_impossible_texts_are_equal():
    assert softmax([-math.inf, -math.inf]) == [0.5, 0.5]
