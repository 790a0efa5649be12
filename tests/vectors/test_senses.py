"""Senses: a word made of two others is taken apart again; contexts are means written out; the law is measured."""

import numpy as np
import pytest

from firth.data.records import Pair
from firth.errors import FirthError
from firth.vectors.asking import rarity, unit
from firth.vectors.contexts import evaluate_contexts, evaluate_wic
from firth.vectors.senses import Inducing, Senses, Surroundings, induce, law, split
from firth.vectors.store import WordVectors

WIDTH, TOPICS, EACH = 6, 3, 12


@pytest.fixture(scope="module")
def world():
    """Vectors of topics, sentences of one topic each, and a word "both" that stands in those of topics 0 (¾) and 1."""
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
    both = unit((0.75 * centres[0] + 0.25 * centres[1])[None])[0]
    vectors = WordVectors([*words, "both"], np.r_[rows, both[None]])
    return vectors, sentences


def test_contexts_are_weighted_means_around_a_word():
    random = np.random.default_rng(1)
    vectors = WordVectors([f"w{n}" for n in range(9)], random.normal(size=(9, 4)), counts=np.arange(9, 0, -1))
    around = Surroundings(vectors, 2)
    sentence = ["w3", "?", "w1", "W5", "w3", "w8", "w0"]
    found = around.means(around.ids(sentence))
    weights, units = rarity(vectors), unit(vectors.vectors)
    for place in range(7):
        near = [n for n in range(max(0, place - 2), min(7, place + 3)) if n != place and sentence[n] != "?"]
        ids = [vectors.index(sentence[n].lower()) for n in near]
        expected = sum(weights[i] * units[i] for i in ids) / sum(weights[i] for i in ids)
        assert np.allclose(found[place], expected, atol=1e-6)


def test_no_window_reaches_into_the_next_sentence():
    vectors = WordVectors(["a", "b", "c"], np.eye(3))
    around = Surroundings(vectors, 3)
    (ids,) = around.blocks([["a", "b"], ["c"], ["a"]])
    means = around.means(ids)
    assert means[ids == 0].tolist() == [[0, 1, 0], [0, 0, 0]]
    assert not means[ids == 2].any()
    assert len(list(around.blocks([["a", "b"]] * 5, size=4))) == 3


def test_a_word_of_two_topics_has_two_senses(world):
    vectors, sentences = world
    senses = induce(vectors, sentences, ["both", "t2w0"], Inducing(apart=0.6))
    found, shares = senses.of("both")
    assert len(found) == 2
    assert shares == pytest.approx([0.75, 0.25], abs=0.03)
    assert vectors.most_similar([found[0]], count=1)[0].word.startswith("t0")
    assert vectors.most_similar([found[1]], count=1)[0].word.startswith("t1")
    assert len(senses.of("t2w0")[0]) == 1
    around = Surroundings(vectors)
    context = around.means(around.ids(["t1w1", "t1w2", "both", "t1w3"]))[2]
    assert senses.chances("both", context).argmax() == 1
    assert senses.chances("both", np.zeros(WIDTH, np.float32)) == pytest.approx(shares)


def test_shares_and_senses_make_up_the_mean_of_all_contexts():
    contexts = np.random.default_rng(0).normal(size=(100, 5)).astype(np.float32)
    for apart in (-2.0, 0.0, 2.0):
        means, shares = split(contexts, Inducing(apart=apart, most=5))
        assert np.allclose(shares @ means, contexts.mean(0), atol=1e-5)
        assert shares.sum() == pytest.approx(1)
        assert np.all(np.diff(shares) <= 0)
        assert len(means) == {-2.0: 1, 0.0: len(means), 2.0: 5}[apart]
    assert len(split(np.ones((20, 2)), Inducing())[0]) == 1
    assert min(split(contexts, Inducing(apart=2.0, most=20, least=0.1))[1]) >= 0.1


def test_the_law_holds_where_vectors_are_made_by_it(world):
    """Vectors that are a fixed matrix times their mean context: the fit on other words finds the matrix."""
    _, sentences = world
    random = np.random.default_rng(4)
    words = sorted({word for sentence in sentences for word in sentence})
    start = WordVectors(words, random.normal(size=(len(words), 4)))
    around = Surroundings(start)
    (ids,) = around.blocks(sentences)
    means = around.means(ids)
    sums = np.stack([means[ids == n].mean(0) for n in range(len(words))])
    # the words asked are those whose vectors follow; all others stand for themselves in the contexts
    asked = [word for word in words if word.endswith(("w0", "w1", "both"))]
    senses = induce(start, sentences, asked, Inducing(others=0))
    assert np.array_equal(senses.transform, np.eye(4))  # nothing to fit it on: contexts as they are
    made = WordVectors(words, np.where(np.isin(words, asked)[:, None], sums, start.vectors))
    found = law(made, senses)
    assert found.weighted == pytest.approx(1.0, abs=1e-3)
    assert found.weighted >= found.equal and found.weighted >= found.largest
    assert found.chance < 0.9
    assert set(found.each) == set(asked)


def test_the_law_on_topics(world):
    vectors, sentences = world
    senses = induce(vectors, sentences, ["both", "t0w3", "t2w5"], Inducing(apart=0.6))
    found = law(vectors, senses)
    assert found.weighted > 0.85 > found.chance
    assert found.each["both"] > 0.9


def test_senses_come_back_from_their_file_and_are_the_same_twice(world, tmp_path):
    vectors, sentences = world
    few = Inducing(contexts=100, seed=3)
    senses = induce(vectors, iter(sentences), ["both", "t0w0"], few)
    again = induce(vectors, sentences, ["both", "t0w0"], few)
    assert senses.vectors.tobytes() == again.vectors.tobytes()
    assert senses.counts.tolist()[0] == sum("both" in sentence for sentence in sentences) > 100
    senses.save(path := tmp_path / "both.senses")
    back = Senses.load(path)
    assert (back.words, back.inducing) == (senses.words, senses.inducing)
    assert all(np.array_equal(*pair) for pair in zip(back.of("t0w0"), senses.of("t0w0"), strict=True))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FirthError, match=r"both\.senses: not a file with sense vectors, or cut short"):
        Senses.load(path)


def test_senses_tell_words_in_context_apart(world):
    vectors, sentences = world
    senses = induce(vectors, sentences, ["both"], Inducing(apart=0.6))
    random = np.random.default_rng(7)

    def context(topic):
        return " ".join(f"t{topic}w{n}" for n in random.integers(0, EACH, 4)) + " <b>both</b> t9"

    pairs = []
    for n in range(20):
        one, other = n % 2, (n // 2) % 2
        fields = (("left_context", context(one)), ("right_context", context(other)))
        pairs.append(Pair("both", "both", "T" if one == other else "F", float(one == other), n + 1, fields))
    found = evaluate_wic(vectors, pairs, senses)
    assert {score.name: score.value for score in found.scores}["accuracy (likeliest sense)"] == 1.0
    graded = {score.name: score.value for score in evaluate_contexts(vectors, pairs, senses).scores}
    assert graded["spearman (senses)"] > 0.8
    assert graded["spearman (likeliest sense)"] == pytest.approx(1.0)
    assert graded["spearman (word)"] is None  # the same word every time


def test_what_has_no_senses(world):
    vectors, sentences = world
    with pytest.raises(FirthError, match="the word 'bothe' has no vector"):
        induce(vectors, sentences, ["bothe"])
    with pytest.raises(FirthError, match="none of the words stands in the text"):
        induce(vectors, [["x", "y"]], ["both"])
    senses = induce(vectors, sentences, ["both"])
    with pytest.raises(FirthError, match="unknown word with senses 'boht'"):
        senses.of("boht")
    with pytest.raises(FirthError, match="window = 0"):
        Inducing(window=0)
