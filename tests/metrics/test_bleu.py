"""BLEU and chrF: the handbook's example, the definition written out, and sacrebleu's own scores."""

import math
from collections import Counter

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.errors import FirthError
from firth.metrics.bleu import (
    TOKENIZATIONS,
    MetricOptions,
    bleu,
    chrf,
    count_bleu,
    count_chrf,
    count_length,
    looks_tokenized,
    sentence_bleu,
    tokenize,
)
from firth.metrics.score import parse_signature

CANDIDATE = "the cat the cat on the mat"
FIRST, SECOND = "the cat is on the mat", "there is a cat on the mat"
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=9).map(" ".join)
CORPORA = st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=6)


def by_hand(hypotheses, references, order=4):
    """BLEU as Papineni et al. (2002) define it, without smoothing; 0 where a precision is 0 or has no n-grams."""
    matches, ngrams, length, reference_length = [0] * order, [0] * order, 0, 0
    for text, *several in zip(hypotheses, *references, strict=True):
        words, others = text.split(), [other.split() for other in several]
        length += len(words)
        reference_length += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for n in range(order):
            grams = [Counter(zip(*(each[k:] for k in range(n + 1)), strict=False)) for each in (words, *others)]
            clipped = {gram: min(count, max(other[gram] for other in grams[1:])) for gram, count in grams[0].items()}
            matches[n] += sum(clipped.values())
            ngrams[n] += sum(grams[0].values())
    if not all(matches):
        return 0.0
    mean = sum(math.log(m / r) for m, r in zip(matches, ngrams, strict=True)) / order
    return 100 * min(1.0, math.exp(1 - reference_length / length)) * math.exp(mean)


def test_the_handbooks_example_with_clipping():
    statistics = count_bleu([CANDIDATE], [[FIRST], [SECOND]])
    details = statistics.details(statistics.total)
    assert [details[f"p{n}"] / 100 for n in (1, 2, 3, 4)] == pytest.approx([5 / 7, 4 / 6, 2 / 5, 1 / 4])
    assert details["brevity_penalty"] == 1.0 and details["length"] == details["reference_length"] == 7
    assert statistics.score().value == pytest.approx(46.7138, abs=1e-4)
    pairs = bleu([CANDIDATE], [[FIRST], [SECOND]], MetricOptions(max_ngram_order=2))
    assert pairs.value == pytest.approx(69.0066, abs=1e-4) and parse_signature(pairs.signature)["order"] == "2"


def test_the_handbooks_example_against_one_reference_is_smoothed():
    assert bleu([CANDIDATE], [[FIRST]]).value == pytest.approx(30.74, abs=0.005)
    assert bleu([CANDIDATE], [[FIRST]], MetricOptions(smooth_method="none")).value == 0.0


@settings(max_examples=150, deadline=None)
@given(CORPORA, st.sampled_from([1, 2, 4]), st.booleans())
def test_unsmoothed_it_is_the_definition(corpus, order, both):
    hypotheses, *references = map(list, zip(*corpus, strict=True))
    references = references if both else references[:1]
    score = bleu(hypotheses, references, MetricOptions("none", max_ngram_order=order, smooth_method="none")).value
    assert score == pytest.approx(by_hand(hypotheses, references, order), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(CORPORA, st.sampled_from(["exp", "floor", "add-k"]), st.booleans())
def test_scores_and_signatures_are_those_of_sacrebleus_public_functions(corpus, smooth, lowercase):
    hypotheses, *references = map(list, zip(*corpus, strict=True))
    metric = sacrebleu.metrics.BLEU(tokenize="13a", smooth_method=smooth, lowercase=lowercase)
    score = bleu(hypotheses, references, MetricOptions(smooth_method=smooth, lowercase=lowercase))
    assert score.value == pytest.approx(metric.corpus_score(hypotheses, references).score, abs=1e-9)
    assert score.signature.startswith(f"{metric.get_signature().format()}|data:")
    metric = sacrebleu.metrics.CHRF(lowercase=lowercase)
    score = chrf(hypotheses, references, MetricOptions(lowercase=lowercase))
    assert score.value == pytest.approx(metric.corpus_score(hypotheses, references).score, abs=1e-9)
    assert score.signature.startswith(f"{metric.get_signature().format()}|data:")


@pytest.mark.parametrize("name", [name for name, extra in TOKENIZATIONS.items() if not extra])
def test_every_tokenisation_is_sacrebleus(name):
    texts, right = ["The cat's 3.5% «mat», 猫坐在垫子上。"], ["The cat’s mat, 猫坐在垫子。"]
    expected = sacrebleu.corpus_bleu(texts, [right], tokenize=name).score
    assert bleu(texts, [right], MetricOptions(name)).value == pytest.approx(expected)
    assert tokenize(["a, b"], MetricOptions("13a")) == [["a", ",", "b"]]


@settings(max_examples=30, deadline=None)
@given(CORPORA)
def test_a_part_of_the_texts_scores_what_it_scores_by_itself(corpus):
    hypotheses, *references = map(list, zip(*corpus, strict=True))
    chosen = [n for n in range(len(corpus)) if n % 2 == 0]
    part = [hypotheses[n] for n in chosen], [[texts[n] for n in chosen] for texts in references]
    for count, score in ((count_bleu, bleu), (count_chrf, chrf)):
        assert count(hypotheses, references).score_subset(chosen) == pytest.approx(score(*part).value)


def test_single_sentences_are_of_effective_order_and_say_so():
    score = sentence_bleu("the cat", ["the cat sat"])
    assert score.value == pytest.approx(100 * math.exp(1 - 3 / 2))  # both precisions are 1
    assert parse_signature(score.signature)["eff"] == "yes" and parse_signature(score.signature)["smooth"] == "exp"
    assert bleu(["the cat"], [["the cat sat"]]).value == 0.0  # there is no 4-gram


def test_the_length_ratio_is_to_the_closest_reference():
    statistics = count_length(count_bleu(["a b c", "a"], [["a b c d", "a b"], ["a b", "a b c d e"]]))
    assert statistics.score().value == pytest.approx(4 / (2 + 2))  # 2 and 4 are as near to 3: the shorter counts
    assert count_length(count_bleu(["a"], [[""]])).score().value is None


def test_other_references_give_another_signature():
    digests = {parse_signature(bleu(["a"], refs).signature)["data"] for refs in ([["a"]], [["b"]], [["a"], ["a"]])}
    assert len(digests) == 3


def test_tokenised_text_is_detected():
    cut, whole = ["a man walks ."] * 3 + ["a dog"], ["a man walks."] * 3
    assert looks_tokenized(cut, MetricOptions()) and not looks_tokenized(whole, MetricOptions())
    assert not looks_tokenized(cut, MetricOptions("none"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bleu(["a"], [["a", "b"]]),
            "texts and references differ in number: 1 and 2; give one reference",
        ),
        (lambda: bleu(["a"], []), "nothing to compare; give at least one text and one reference"),
        (lambda: bleu([], [[]]), "nothing to compare"),
        (lambda: bleu(["a"], [["a"]], MetricOptions("13b")), "unknown tokenisation '13b'; did you mean '13a'?"),
        (
            lambda: bleu(["a"], [["a"]], MetricOptions(smooth_method="zzz")),
            "unknown smoothing 'zzz'; known: add-k, exp, floor, none",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(FirthError) as caught:
        call()
    assert message in str(caught.value)


def test_a_tokenisation_whose_package_is_missing_names_it(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("not installed")

    monkeypatch.setattr(sacrebleu.metrics, "BLEU", fail)
    with pytest.raises(FirthError, match=r"ja-mecab needs another package; pip install \"sacrebleu\[ja\]\""):
        bleu(["a"], [["a"]], MetricOptions("ja-mecab"))
