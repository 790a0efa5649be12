"""Taggers without networks beside enumeration of all taggings, finite differences and counting by hand."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array

from firth.config.schema import ConditionalRandomField, HiddenMarkovModel, MostFrequentTag
from firth.datasets.readers.tag_schemes import tags_to_spans
from firth.errors import FirthError
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.tag_constraints import TagConstraints
from firth.linear import tag_ngrams
from firth.linear.crf_training import CRFTrainer, sentence_batches
from firth.linear.state_weights import TagPattern
from firth.linear.tag_features import TagFeatures, templates
from firth.linear.tag_lexicon import TagLexicon
from firth.linear.tagger_models import MODELS
from firth.linear.trigram_distribution import TrigramDistribution, decode, with_chain
from firth.linear.word_attributes import attributes

SENTENCES = [
    ["the", "old", "man", "sleeps"],
    ["the", "old", "man", "the", "boats"],
    ["Man", "sleeps"],
    ["boats", "sleep"],
]
TAGS = [[0, 1, 2, 3], [0, 2, 3, 0, 2], [2, 3], [2, 3]]
ARRAYS = [np.array(row) for row in TAGS]
EXACT = {"tolerance": 1e-9, "delta": 0.0, "max_iterations": 2000, "threads": 1}


# --- trigrams of tags, beside all taggings ---------------------------------------------------------------------------


def all_taggings(emissions, transitions):
    """Every tagging and its score, from the definition."""
    time, count = emissions.shape
    for tagging in itertools.product(range(count), repeat=time):
        padded = [count, count, *tagging, count]
        score = sum(emissions[at, tag] for at, tag in enumerate(tagging))
        yield tagging, score + sum(transitions[tuple(padded[at : at + 3])] for at in range(time + 1))


@pytest.mark.parametrize("time", range(1, 6))
def test_trigrams_are_those_of_all_taggings(time):
    random = np.random.default_rng(time)
    names = ["B-X", "I-X", "O"]
    emissions, transitions = random.normal(size=(time, 3)) * 2, random.normal(size=(4, 4, 4))
    if time > 1:
        emissions[1, 0] = -np.inf
    taggings, scores = zip(*all_taggings(emissions, transitions), strict=True)
    probabilities = np.exp(np.array(scores) - np.logaddexp.reduce(scores))
    result = TrigramDistribution(emissions, transitions, names)
    assert tuple(decode(emissions, transitions)) == taggings[int(np.argmax(scores))]
    for at, tag in itertools.product(range(time), range(3)):
        expected = sum(p for p, tags in zip(probabilities, taggings, strict=True) if tags[at] == tag)
        assert result.marginals[at, tag] == pytest.approx(expected, abs=1e-12)
    for tagging, score in zip(taggings, scores, strict=True):
        expected = score - np.logaddexp.reduce(scores)
        assert result.log_probability([names[tag] for tag in tagging]) == pytest.approx(expected, abs=1e-9)
    spans = Counter()
    for probability, tagging in zip(probabilities, taggings, strict=True):
        for span in tags_to_spans([names[tag] for tag in tagging]):
            spans[span] += probability
    for span, probability in spans.items():
        assert result.span_probability(span) == pytest.approx(probability, abs=1e-9)
    assert {each.span for each in result.likely_spans(0.2)} == {span for span, p in spans.items() if p >= 0.2}


def test_constraints_of_two_tags_hold_in_trigrams():
    random = np.random.default_rng(0)
    emissions, transitions = random.normal(size=(5, 3)), random.normal(size=(4, 4, 4))
    forbidden = TagConstraints(forbidden=[("a", "b"), ("<edge>", "c")]).chain(["a", "b", "c"])
    table = with_chain(transitions, forbidden)
    allowed = [
        (t, s) for t, s in all_taggings(emissions, transitions) if (0, 1) not in itertools.pairwise(t) and t[0] != 2
    ]
    assert tuple(decode(emissions, table)) == max(allowed, key=lambda each: each[1])[0]
    with pytest.raises(FirthError, match="no tagging that the constraints allow"):
        decode(np.full((2, 3), -np.inf), table)


# --- counting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_tag_ngrams_are_counted_and_interpolated(order):
    counts = tag_ngrams.count_ngrams(TAGS, 4, order)
    expected = Counter()
    for row in TAGS:
        padded = [4] * order + row + [4]
        expected.update(tuple(padded[at : at + order + 1]) for at in range(len(row) + 1))
    assert {tuple(map(int, key)): int(counts[tuple(key)]) for key in np.argwhere(counts)} == expected
    probabilities = np.exp(tag_ngrams.log_transitions(counts))
    seen = counts.sum(-1) > 0
    assert np.allclose(probabilities[seen].sum(-1), 1)  # after contexts that occur
    assert (probabilities[seen] > 0).all()  # every tag is possible, by its own frequency


def test_deleted_interpolation_by_hand():
    """Of the bigrams ab, ab, ac, bc, bc, bd one each is left out: ab is predicted by the other one, 1 of 2 after a,
    better than by b alone, 1 of 5; ac not after a, but by c alone, 2 of 5; bc by both, 1 of 2 and 2 of 5."""
    bigrams = np.zeros((4, 4))
    bigrams[0, 1], bigrams[0, 2], bigrams[1, 2], bigrams[1, 3] = 2, 1, 2, 1
    weights = tag_ngrams.deleted_interpolation([bigrams, bigrams.sum(0)])
    assert np.allclose(weights, [6 / 8, 2 / 8])  # bd by neither: a tie, for the longer


def test_the_lexicon_is_brants_suffix_model():
    lexicon = TagLexicon.fit(SENTENCES, TAGS, 4, 3, 10, 0.0)
    prior = np.array([3, 1, 5, 4]) / 13
    assert np.allclose(np.exp(lexicon.log_priors), prior)
    assert np.allclose(np.exp(lexicon.log_probabilities(["man"]))[0], [0, 0, 0.5, 0.5]) and lexicon.knows("man")
    theta = np.std(prior, ddof=1)
    lower = np.array([3, 1, 4, 4]) / 12  # of the words that begin with a small letter
    expected = (lower + theta * prior) / (1 + theta)
    ends_in_s = np.array([0, 0, 2, 2]) / 4  # boats, sleeps
    expected = (ends_in_s + theta * expected) / (1 + theta)
    assert not lexicon.knows("xs") and np.allclose(np.exp(lexicon.log_probabilities(["xs"]))[0], expected)
    smooth = TagLexicon.fit(SENTENCES, TAGS, 4, 3, 10, 0.5)
    assert (np.exp(smooth.log_probabilities(["man"])) > 0).all()


def test_the_most_frequent_tag():
    tagger = MODELS[MostFrequentTag].fit(SENTENCES, ARRAYS, 4, MostFrequentTag())
    (scores,) = tagger.emissions([["the", "sleeps", "boats", "xyzzy"]])
    assert tagger.decode(scores)[:3] == [0, 3, 2]


def test_a_hidden_markov_model_of_bigrams_is_a_chain():
    """p(words, tags) of the definition: transitions, and emissions but for a factor of the words."""
    method = HiddenMarkovModel(order=1, pseudo_count=0.0)
    tagger = MODELS[HiddenMarkovModel].fit(SENTENCES, ARRAYS, 4, method)
    words = ["the", "old", "man", "sleeps"]
    (scores,) = tagger.emissions([words])
    expected = np.array([sum(w == word and t == tag for s, r in zip(SENTENCES, TAGS, strict=True)
                             for w, t in zip(s, r, strict=True)) / sum(r.count(tag) for r in TAGS)
                         for word in words for tag in range(4)]).reshape(4, 4)  # fmt: skip
    ratio = np.exp(scores)[expected > 0] / expected[expected > 0]
    words_of = np.argwhere(expected > 0)[:, 0]
    assert all(np.ptp(ratio[words_of == at]) < 1e-9 for at in range(4)) and (np.exp(scores)[expected == 0] == 0).all()
    result = tagger.distribution(scores, list("abcd"))
    assert np.allclose(result.marginals.sum(1), 1) and [
        result.tags.index(t) for t in result.best_tags()
    ] == tagger.decode(scores)


# --- features --------------------------------------------------------------------------------------------------------


def test_attributes_of_words():
    known = attributes(2)
    assert {name: function("Nov-12") for name, function in known.items()} == {
        "word": "Nov-12", "lower": "nov-12", "shape": "Xxx-00", "short-shape": "Xx-0", "casing": "with digits",
        "prefix-1": "N", "prefix-2": "No", "suffix-1": "2", "suffix-2": "12",
    }  # fmt: skip
    assert known["prefix-2"]("a") == "" and known["shape"]("日本") == "cc"
    given = attributes(1, given=2)
    assert (
        given["word"]("a|b|NN|O") == "a|b" and given["given-1"]("a|NN|O") == "NN" and given["given-2"]("a|NN|O") == "O"
    )
    with pytest.raises(FirthError, match=r"'a' is not a word with 1 given tag; write word\|tag"):
        attributes(1, given=1)["word"]("a")


def test_features_are_those_of_the_definition():
    features = TagFeatures.fit(SENTENCES, 1, 3, 1)
    matrix, names, functions = features.transform(SENTENCES).toarray(), list(features.names()), attributes(3)
    assert matrix.shape == (13, features.size) and len({*names}) == len(names)
    row = 0
    for sentence in SENTENCES:
        for at in range(len(sentence)):
            expected = set()
            for template in templates(1, 3):
                inside = [(name, functions[name](sentence[at + d]) if 0 <= at + d < len(sentence) else "(edge)", d)
                          for name, d in template]  # fmt: skip
                if all(value for _, value, _ in inside):
                    expected.add(" ".join(f"{name}[{d:+d}]={value}" for name, value, d in inside))
            assert {names[column] for column in np.flatnonzero(matrix[row])} == expected
            row += 1
    unknown = features.transform([["xyzzy"], ["the"]])
    shown = {names[column] for column in unknown[[0]].indices}
    assert "lower[-1]=(edge)" in shown and not any("xyzzy" in name for name in shown)
    rare = TagFeatures.fit(SENTENCES, 1, 3, 3)
    assert {*rare.names()} == {name for name, count in zip(names, matrix.sum(0), strict=True) if count >= 3}


# --- conditional random fields ---------------------------------------------------------------------------------------


def trainer(weights="all", **more):
    features = TagFeatures.fit(SENTENCES, 1, 2, 1)
    method = ConditionalRandomField(**{**EXACT, "weights": weights, **more})
    return CRFTrainer(features.transform(SENTENCES), ARRAYS, 4, method), features


def negative_log_likelihood(weights, chain, features):
    """From the definition, all taggings enumerated."""
    total, row, scores = 0.0, 0, features.transform(SENTENCES) @ weights
    for tags in TAGS:
        emissions = scores[row : row + len(tags)]
        row += len(tags)

        def score(tagging, emissions=emissions):
            inner = sum(chain.transitions[pair] for pair in itertools.pairwise(tagging))
            return (
                emissions[np.arange(len(tagging)), list(tagging)].sum()
                + inner
                + chain.start[tagging[0]]
                + chain.end[tagging[-1]]
            )

        every = [score(tagging) for tagging in itertools.product(range(4), repeat=len(tags))]
        total += np.logaddexp.reduce(every) - score(tuple(tags))
    return total


def test_the_loss_is_that_of_all_taggings():
    training, features = trainer()
    fit = training.fit(0.3)
    weights = fit.weights.toarray()
    penalty = 0.15 * (np.sum(weights**2) + sum(np.sum(part**2) for part in vars(fit.chain).values()))
    expected = (negative_log_likelihood(weights, fit.chain, features) + penalty) / 13
    value, gradient = training.value(training._start, 0.3)
    assert value == pytest.approx(expected, rel=1e-7) and np.abs(gradient).max() < 1e-7
    for seed in range(5):  # a minimum: no other weights near it are better
        noise = np.random.default_rng(seed).normal(size=weights.shape) * 0.01
        other = 0.15 * np.sum((weights + noise) ** 2) + penalty - 0.15 * np.sum(weights**2)
        assert negative_log_likelihood(weights + noise, fit.chain, features) + other > 13 * expected


@pytest.mark.parametrize("weights", ["seen", "all"])
def test_the_gradient_is_that_of_finite_differences(weights):
    training, _ = trainer(weights)
    random = np.random.default_rng(1)
    at, direction = random.normal(size=(2, training.pattern.size + 4 * 6))
    gradient = training.value(at, 0.3)[1]
    above, below = (training.value(at + step * direction, 0.3)[0] for step in (1e-5, -1e-5))
    assert (above - below) / 2e-5 == pytest.approx(float(gradient @ direction), rel=1e-6)


def test_threads_change_nothing():
    one, three = (trainer(threads=threads)[0].fit(1.0) for threads in (1, 3))
    assert np.array_equal(one.weights.toarray(), three.weights.toarray())
    assert np.array_equal(one.chain.transitions, three.chain.transitions)


def test_seen_weights_are_of_the_tags_that_a_feature_has():
    matrix = csr_array(np.array([[1, 0], [1, 1], [0, 1]], np.float32))
    pattern = TagPattern.seen(matrix, np.array([2, 0, 2]), 3)
    assert pattern.tags.tolist() == [0, 2, 0, 2] and pattern.starts.tolist() == [0, 2, 4]
    training, features = trainer("seen")
    fit, together = training.fit(1.0), features.transform(SENTENCES).T @ np.eye(4)[np.concatenate(TAGS)]
    assert ((fit.weights.toarray() != 0) <= (together > 0)).all()


def test_every_word_is_in_one_batch():
    lengths = np.random.default_rng(0).integers(1, 90, 300)
    batches = sentence_batches(lengths)
    words = np.concatenate([batch.words[batch.real] for batch in batches])
    assert sorted(words.tolist()) == list(range(lengths.sum())) and len(batches) > 3
    assert all(batch.real.size <= 4096 for batch in batches)


@pytest.mark.parametrize("method", [MostFrequentTag(), HiddenMarkovModel(order=1), HiddenMarkovModel()])
def test_files_keep_everything(method):
    tagger = MODELS[type(method)].fit(SENTENCES, ARRAYS, 4, method)
    again = MODELS[type(method)].from_arrays(tagger.arrays(), 4, method)
    others = [["the", "xyzzy"], ["Boats"]]
    for one, other in zip(tagger.emissions(others), again.emissions(others), strict=True):
        assert np.array_equal(one, other) and tagger.decode(one) == again.decode(other)
    with pytest.raises(ValueError):
        MODELS[type(method)].from_arrays(tagger.arrays(), 5, method)


def test_too_many_tags_for_trigrams():
    with pytest.raises(FirthError, match=r"300 tags are too many for trigrams; set method.order=1"):
        MODELS[HiddenMarkovModel].fit(SENTENCES, ARRAYS, 300, HiddenMarkovModel())


def test_a_chain_of_independent_tags():
    assert not LinearChain.independent(3).transitions.any()
