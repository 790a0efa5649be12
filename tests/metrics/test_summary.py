"""ROUGE: Lin's own examples, all common subsequences tried, and the scores of `rouge-score`."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from firth.metrics.score import parts
from firth.metrics.summary import common, count_rouge, rouge_l, rouge_l_summary, rouge_n, words
from firth.metrics.translation import Manner

WORDS = st.lists(st.sampled_from("abcd"), max_size=8)
SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=6), min_size=1, max_size=4)
KINDS = {"ROUGE-1": "rouge1", "ROUGE-2": "rouge2", "ROUGE-L": "rougeL"}


def test_lins_examples():
    """Lin 2004, sections 3.1 and 3.2."""
    reference = ["police", "killed", "the", "gunman"]
    assert rouge_l(["police", "kill", "the", "gunman"], reference).recall == 3 / 4
    assert rouge_l(["the", "gunman", "kill", "police"], reference).recall == 2 / 4
    assert rouge_l(["the", "gunman", "police", "killed"], reference).recall == 2 / 4
    found = rouge_l_summary(
        [["w1", "w2", "w6", "w7", "w8"], ["w1", "w3", "w8", "w9", "w5"]], [["w1", "w2", "w3", "w4", "w5"]]
    )
    assert found.recall == 4 / 5 and found.precision == 4 / 10


@given(WORDS, WORDS)
def test_the_longest_common_subsequence_is_one_and_none_is_longer(text, reference):
    places = common(text, reference)
    rest = iter(text)
    assert places == sorted(set(places)) and all(reference[place] in rest for place in places)
    for longer in combinations(reference, min(len(places) + 1, len(reference) + 1)):
        rest = iter(text)
        assert len(longer) <= len(places) or not all(word in rest for word in longer)


@given(WORDS, WORDS, st.integers(1, 3))
def test_turned_around_precision_is_recall(text, reference, order):
    for agree in (lambda a, b: rouge_n(a, b, order), rouge_l):
        one, two = agree(text, reference), agree(reference, text)
        assert (one.precision, one.recall) == (two.recall, two.precision) and one.f == pytest.approx(two.f)
        whole = agree(text, text)
        assert whole in ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))  # nothing, where there are no runs


@settings(max_examples=200, deadline=None)
@given(SENTENCES, SENTENCES)
def test_summary_level_is_that_of_rouge_score(text, reference):
    scorer = RougeScorer(["rougeLsum"])
    wanted = scorer.score(*("\n".join(map(" ".join, each)) for each in (reference, text)))["rougeLsum"]
    assert rouge_l_summary(text, reference) == pytest.approx((wanted.precision, wanted.recall, wanted.fmeasure))


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
    found = {each.name: each for each in count_rouge(TEXTS, [FIRST, SECOND])}
    rows = [scorer.score_multi(list(right), text) for text, *right in zip(TEXTS, FIRST, SECOND, strict=True)]
    for name, theirs in KINDS.items():
        wanted = [
            100 * sum(row[theirs].fmeasure for row in rows) / 4,
            100 * sum(row[theirs].recall for row in rows) / 4,
        ]
        details = found[name].details(found[name].total)
        assert [found[name].score().value, details["recall"]] == pytest.approx(wanted)
    told = parts(found["ROUGE-L"].signature)
    assert told["stem"] == "no" and told["nrefs"] == "2" and told["tok"] == "words"


def test_summaries_are_cut_into_sentences():
    right, text = ["One two three. Four five six."], ["Four five six. One two three."]
    found = {each.name: each.score().value for each in count_rouge(text, [right])}
    assert found["ROUGE-Lsum"] == 100.0 and found["ROUGE-L"] == 50.0
    assert found == {each.name: each.score().value for each in count_rouge(text, [["One two three.\nFour five six."]])}


def test_words_of_all_scripts_count():
    assert words("Straße, naïve_x 3.5") == ["straße", "naïve", "x", "3", "5"]
    assert words("कुत्ता भौंका। 猫は") == ["कुत्ता", "भौंका", "猫", "は"]
    assert count_rouge(["猫坐"], [["坐猫"]])[0].score().value == 100.0


def test_another_tokenisation_can_be_asked_for():
    text, right = ["good-bye x"], ["good bye x"]
    assert count_rouge(text, [right])[0].score().value == 100.0
    cut = count_rouge(text, [right], Manner("none"))[0]
    assert cut.score().value == pytest.approx(100 * 2 / 5) and parts(cut.signature)["tok"] == "none"
