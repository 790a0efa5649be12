"""ROUGE: Lin's own examples, all common subsequences tried, and the scores of `rouge-score`."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from firth.metrics.bleu import MetricOptions
from firth.metrics.rouge import count_rouge, lcs_positions, rouge_l, rouge_lsum, rouge_n, rouge_words
from firth.metrics.score import parse_signature

WORDS = st.lists(st.sampled_from("abcd"), max_size=8)
SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=6), min_size=1, max_size=4)
KINDS = {"ROUGE-1": "rouge1", "ROUGE-2": "rouge2", "ROUGE-L": "rougeL"}


def test_lins_examples():
    """Lin 2004, sections 3.1 and 3.2."""
    reference = ["police", "killed", "the", "gunman"]
    assert rouge_l(["police", "kill", "the", "gunman"], reference).recall == 3 / 4
    assert rouge_l(["the", "gunman", "kill", "police"], reference).recall == 2 / 4
    assert rouge_l(["the", "gunman", "police", "killed"], reference).recall == 2 / 4
    rouge = rouge_lsum(
        [["w1", "w2", "w6", "w7", "w8"], ["w1", "w3", "w8", "w9", "w5"]], [["w1", "w2", "w3", "w4", "w5"]]
    )
    assert rouge.recall == 4 / 5 and rouge.precision == 4 / 10


@given(WORDS, WORDS)
def test_the_longest_common_subsequence_is_one_and_none_is_longer(text, reference):
    positions = lcs_positions(text, reference)
    rest = iter(text)
    assert positions == sorted(set(positions)) and all(reference[position] in rest for position in positions)
    for longer in combinations(reference, min(len(positions) + 1, len(reference) + 1)):
        rest = iter(text)
        assert len(longer) <= len(positions) or not all(word in rest for word in longer)


@given(WORDS, WORDS, st.integers(1, 3))
def test_swapping_the_sides_swaps_precision_and_recall(text, reference, order):
    for rouge in (lambda a, b: rouge_n(a, b, order), rouge_l):
        one, two = rouge(text, reference), rouge(reference, text)
        assert (one.precision, one.recall) == (two.recall, two.precision) and one.f1 == pytest.approx(two.f1)
        whole = rouge(text, text)
        assert whole in ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))  # zero where there are no n-grams


@settings(max_examples=200, deadline=None)
@given(SENTENCES, SENTENCES)
def test_summary_level_is_that_of_rouge_score(text, reference):
    scorer = RougeScorer(["rougeLsum"])
    expected = scorer.score(*("\n".join(map(" ".join, each)) for each in (reference, text)))["rougeLsum"]
    assert rouge_lsum(text, reference) == pytest.approx((expected.precision, expected.recall, expected.fmeasure))


TEXTS = [
    "The cat sat on the mat, didn't it? It's 3,000 years old.",
    "A DOG — barked_loudly at 5%!",
    "nothing alike",
    "",
]
FIRST = ["It sat on a mat for 3,000 years; the cat did.", "a dog barked loudly at 6%", "of this", "x"]
SECOND = ["On the mat sat the cat. It didn't move.", "dogs bark", "is here", "y"]


def test_corpora_score_as_with_rouge_score():
    scorer = RougeScorer([*KINDS.values(), "rougeLsum"], split_summaries=False)
    statistics = {each.name: each for each in count_rouge(TEXTS, [FIRST, SECOND])}
    rows = [scorer.score_multi(list(right), text) for text, *right in zip(TEXTS, FIRST, SECOND, strict=True)]
    for name, theirs in KINDS.items():
        expected = [
            100 * sum(row[theirs].fmeasure for row in rows) / 4,
            100 * sum(row[theirs].recall for row in rows) / 4,
        ]
        details = statistics[name].details(statistics[name].total)
        assert [statistics[name].score().value, details["recall"]] == pytest.approx(expected)
    signature = parse_signature(statistics["ROUGE-L"].signature)
    assert signature["stem"] == "no" and signature["nrefs"] == "2" and signature["tok"] == "words"


def test_summaries_are_cut_into_sentences():
    right, text = ["One two three. Four five six."], ["Four five six. One two three."]
    scores = {each.name: each.score().value for each in count_rouge(text, [right])}
    assert scores["ROUGE-Lsum"] == 100.0 and scores["ROUGE-L"] == 50.0
    assert scores == {each.name: each.score().value for each in count_rouge(text, [["One two three.\nFour five six."]])}


def test_words_of_all_scripts_count():
    assert rouge_words("Straße, naïve_x 3.5") == ["straße", "naïve", "x", "3", "5"]
    assert rouge_words("कुत्ता भौंका। 猫は") == ["कुत्ता", "भौंका", "猫", "は"]
    assert count_rouge(["猫坐"], [["坐猫"]])[0].score().value == 100.0


def test_another_tokenisation_can_be_chosen():
    text, right = ["good-bye x"], ["good bye x"]
    assert count_rouge(text, [right])[0].score().value == 100.0
    statistics = count_rouge(text, [right], MetricOptions("none"))[0]
    assert (
        statistics.score().value == pytest.approx(100 * 2 / 5)
        and parse_signature(statistics.signature)["tok"] == "none"
    )
