"""Word sense induction: a word of two topics gets two senses; context vectors are means written out; superposition."""

from dataclasses import replace

import numpy as np
import pytest

from firth.datasets.records import Pair
from firth.embeddings.contextual_similarity import evaluate_contextual_similarity, evaluate_wic
from firth.embeddings.lookup import l2_normalise, sif_weights
from firth.embeddings.senses import (
    ContextVectors,
    InductionOptions,
    WordSenses,
    cluster_contexts,
    induce_senses,
    measure_superposition,
)
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError

WIDTH, TOPICS, EACH = 6, 3, 12


@pytest.fixture(scope="module")
def world():
    """Vectors of topics, sentences of one topic each, and a word "both" that occurs in topics 0 (¾) and 1."""
    random = np.random.default_rng(0)
    centres = 3 * np.eye(WIDTH)[:TOPICS]
    words = [f"t{topic}w{n}" for topic in range(TOPICS) for n in range(EACH)]
    rows = np.repeat(centres, EACH, 0) + 0.5 * random.normal(size=(len(words), WIDTH))
    sentences, topics = [], []
    for n in range(900):
        topic = (0, 0, 0, 1, 2)[n % 5]
        sentence = [f"t{topic}w{k}" for k in random.integers(0, EACH, 8)]
        if topic < 2:
            sentence[random.integers(0, 8)] = "both"
            topics.append(topic)
        sentences.append(sentence)
    both = l2_normalise((0.75 * centres[0] + 0.25 * centres[1])[None])[0]
    vectors = WordVectors([*words, "both"], np.r_[rows, both[None]])
    return vectors, sentences


def test_contexts_are_weighted_means_around_a_word():
    random = np.random.default_rng(1)
    vectors = WordVectors([f"w{n}" for n in range(9)], random.normal(size=(9, 4)), counts=np.arange(9, 0, -1))
    context_vectors = ContextVectors(vectors, 2)
    sentence = ["w3", "?", "w1", "W5", "w3", "w8", "w0"]
    means = context_vectors.means(context_vectors.ids(sentence))
    weights, units = sif_weights(vectors), l2_normalise(vectors.vectors)
    for position in range(7):
        window = range(max(0, position - 2), min(7, position + 3))
        ids = [vectors.index(sentence[n].lower()) for n in window if n != position and sentence[n] != "?"]
        expected = sum(weights[i] * units[i] for i in ids) / sum(weights[i] for i in ids)
        assert np.allclose(means[position], expected, atol=1e-6)


def test_no_window_reaches_into_the_next_sentence():
    vectors = WordVectors(["a", "b", "c"], np.eye(3))
    context_vectors = ContextVectors(vectors, 3)
    (ids,) = context_vectors.blocks([["a", "b"], ["c"], ["a"]])
    means = context_vectors.means(ids)
    assert means[ids == 0].tolist() == [[0, 1, 0], [0, 0, 0]]
    assert not means[ids == 2].any()
    assert len(list(context_vectors.blocks([["a", "b"]] * 5, size=4))) == 3


def test_a_word_of_two_topics_has_two_senses(world):
    vectors, sentences = world
    senses = induce_senses(vectors, sentences, ["both", "t2w0"], InductionOptions(merge_cosine=0.6))
    rows, priors = senses.senses_of("both")
    assert len(rows) == 2
    assert priors == pytest.approx([0.75, 0.25], abs=0.03)
    assert vectors.most_similar([rows[0]], topn=1)[0].word.startswith("t0")
    assert vectors.most_similar([rows[1]], topn=1)[0].word.startswith("t1")
    assert len(senses.senses_of("t2w0")[0]) == 1
    context_vectors = ContextVectors(vectors)
    context = context_vectors.means(context_vectors.ids(["t1w1", "t1w2", "both", "t1w3"]))[2]
    assert senses.probabilities("both", context).argmax() == 1
    assert senses.probabilities("both", np.zeros(WIDTH, np.float32)) == pytest.approx(priors)


def test_fractions_and_senses_make_up_the_mean_of_all_contexts():
    contexts = np.random.default_rng(0).normal(size=(100, 5)).astype(np.float32)
    for merge_cosine in (-2.0, 0.0, 2.0):
        means, fractions = cluster_contexts(contexts, InductionOptions(merge_cosine=merge_cosine, max_senses=5))
        assert np.allclose(fractions @ means, contexts.mean(0), atol=1e-5)
        assert fractions.sum() == pytest.approx(1)
        assert np.all(np.diff(fractions) <= 0)
        assert len(means) == {-2.0: 1, 0.0: len(means), 2.0: 5}[merge_cosine]
    assert len(cluster_contexts(np.ones((20, 2)), InductionOptions())[0]) == 1
    options = InductionOptions(merge_cosine=2.0, max_senses=20, min_fraction=0.1)
    assert min(cluster_contexts(contexts, options)[1]) >= 0.1


def test_superposition_is_exact_where_vectors_are_made_by_it(world):
    """The vectors of the target words are their mean context vectors."""
    _, sentences = world
    random = np.random.default_rng(4)
    words = sorted({word for sentence in sentences for word in sentence})
    start = WordVectors(words, random.normal(size=(len(words), 4)))
    context_vectors = ContextVectors(start)
    (ids,) = context_vectors.blocks(sentences)
    means = context_vectors.means(ids)
    mean_contexts = np.stack([means[ids == n].mean(0) for n in range(len(words))])
    targets = [word for word in words if word.endswith(("w0", "w1", "both"))]
    senses = induce_senses(start, sentences, targets, InductionOptions(fit_words=0))
    assert np.array_equal(senses.transform, np.eye(4))  # no words to fit it on
    vectors = WordVectors(words, np.where(np.isin(words, targets)[:, None], mean_contexts, start.vectors))
    result = measure_superposition(vectors, senses)
    assert result.weighted == pytest.approx(1.0, abs=1e-3)
    assert result.weighted >= result.unweighted and result.weighted >= result.dominant
    assert result.baseline < 0.9
    assert set(result.per_word) == set(targets)


def test_superposition_on_topics(world):
    vectors, sentences = world
    senses = induce_senses(vectors, sentences, ["both", "t0w3", "t2w5"], InductionOptions(merge_cosine=0.6))
    result = measure_superposition(vectors, senses)
    assert result.weighted > 0.85 > result.baseline
    assert result.per_word["both"] > 0.9


def test_senses_come_back_from_their_file_and_are_the_same_twice(world, tmp_path):
    vectors, sentences = world
    options = InductionOptions(max_contexts=100, seed=3)
    senses = induce_senses(vectors, iter(sentences), ["both", "t0w0"], options)
    again = induce_senses(vectors, sentences, ["both", "t0w0"], options)
    assert senses.vectors.tobytes() == again.vectors.tobytes()
    assert senses.counts.tolist()[0] == sum("both" in sentence for sentence in sentences) > 100
    senses.save(path := tmp_path / "both.senses")
    back = WordSenses.load(path)
    assert (back.words, back.options) == (senses.words, senses.options)
    assert all(np.array_equal(*pair) for pair in zip(back.senses_of("t0w0"), senses.senses_of("t0w0"), strict=True))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FirthError, match=r"both\.senses: not a file with sense vectors, or truncated"):
        WordSenses.load(path)


@pytest.mark.parametrize(
    "arrays",
    [{"first": [0, 9]}, {"first": [0, -1]}, {"priors": [1.0]}, {"counts": []}, {"vectors": [[float("nan")] * 2] * 2}],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays):
    """With a checksum that agrees."""
    rows = np.eye(2, dtype=np.float32)
    good = WordSenses(("a",), np.array([0, 2]), rows, rows[0], np.array([3]), rows, InductionOptions())
    good.save(path := tmp_path / "a.senses")
    assert WordSenses.load(path).senses_of("a")[0].shape == (2, 2)
    changed = {name: np.array(array, getattr(good, name).dtype) for name, array in arrays.items()}
    replace(good, **changed).save(path)
    with pytest.raises(FirthError, match=r"not a file with sense vectors|NaN or infinite"):
        WordSenses.load(path)


def test_senses_disambiguate_words_in_context(world):
    vectors, sentences = world
    senses = induce_senses(vectors, sentences, ["both"], InductionOptions(merge_cosine=0.6))
    random = np.random.default_rng(7)

    def context(topic):
        return " ".join(f"t{topic}w{n}" for n in random.integers(0, EACH, 4)) + " <b>both</b> t9"

    pairs = []
    for n in range(20):
        left, right = n % 2, (n // 2) % 2
        fields = (("left_context", context(left)), ("right_context", context(right)))
        pairs.append(Pair("both", "both", "T" if left == right else "F", float(left == right), n + 1, fields))
    result = evaluate_wic(vectors, pairs, senses)
    assert {score.name: score.value for score in result.scores}["accuracy (MaxSimC)"] == 1.0
    graded = {score.name: score.value for score in evaluate_contextual_similarity(vectors, pairs, senses).scores}
    assert graded["spearman (AvgSimC)"] > 0.8
    assert graded["spearman (MaxSimC)"] == pytest.approx(1.0)
    assert graded["spearman (word)"] is None  # the same word every time


def test_words_without_senses(world):
    vectors, sentences = world
    with pytest.raises(FirthError, match="the word 'bothe' has no vector"):
        induce_senses(vectors, sentences, ["bothe"])
    with pytest.raises(FirthError, match="none of the words occurs in the text"):
        induce_senses(vectors, [["x", "y"]], ["both"])
    senses = induce_senses(vectors, sentences, ["both"])
    with pytest.raises(FirthError, match="unknown word with senses 'boht'"):
        senses.senses_of("boht")
    with pytest.raises(FirthError, match="window = 0"):
        InductionOptions(window=0)
