"""Aligning languages: a turned copy is turned back; SciPy's Procrustes and CSLS written out as oracles."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from firth.data.records import Pair
from firth.errors import FirthError
from firth.vectors.alignment import (
    NEAR,
    Aligning,
    align,
    crowding,
    evaluate_dictionary,
    lexicon,
    procrustes,
)
from firth.vectors.store import WordVectors


def languages(count=200, width=12, noise=0.0, seed=0):
    """A language and the same turned, with noise, its words in another order."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, width)) + 0.3
    turn = np.linalg.qr(random.normal(size=(width, width)))[0]
    order = random.permutation(count)
    other = (rows @ turn + noise * random.normal(size=rows.shape))[order]
    names = [f"t{n}" for n in order]
    return WordVectors([f"s{n}" for n in range(count)], rows), WordVectors(names, other), turn


def test_procrustes_is_scipys_and_a_rotation():
    random = np.random.default_rng(0)
    one, other = random.normal(size=(30, 5)), random.normal(size=(30, 5))
    found = procrustes(one, other)
    assert np.allclose(found, orthogonal_procrustes(one, other)[0])
    assert np.allclose(found @ found.T, np.eye(5))
    with pytest.raises(FirthError, match="cannot be rotated"):
        procrustes(one, other[:3])


@pytest.mark.parametrize("centred", [True, False])
def test_a_turned_language_is_turned_back(centred):
    source, target, turn = languages()
    seeds = [(f"s{n}", f"t{n}") for n in range(30)]
    found = align(source, target, [*seeds, ("s1", "nowhere")], Aligning(rounds=0, centred=centred))
    assert found.pairs == (30,)
    assert np.allclose(found.matrix, turn, atol=1e-4)
    assert [each[0].word for each in found.translate(["s77", "s3"], 2)] == ["t77", "t3"]
    result = evaluate_dictionary(found, {f"s{n}": [f"t{n}"] for n in range(30, 200)})
    assert [score.value for score in result.scores] == [1.0, 1.0, 1.0]


def test_refinement_mends_what_few_seeds_leave_wrong():
    source, target, _ = languages(400, 12, noise=0.6, seed=4)
    seeds = [(f"s{n}", f"t{n}") for n in range(18)]  # fewer than 12 would leave it to the machine how to turn the rest
    gold = {f"s{n}": [f"t{n}"] for n in range(18, 400)}
    before = evaluate_dictionary(align(source, target, seeds, Aligning(rounds=0)), gold).value
    refined = align(source, target, seeds, Aligning(rounds=5))
    after = evaluate_dictionary(refined, gold).value
    assert len(refined.pairs) == 6 and refined.pairs[-1] > refined.pairs[0]
    assert after > before + 0.1


@pytest.mark.parametrize("how", ["csls", "nearest"])
def test_translations_are_those_of_all_cosines_written_out(how):
    source, target, _ = languages(90, 6, noise=1.0)
    found = align(source, target, [(f"s{n}", f"t{n}") for n in range(40)], Aligning(rounds=1, how=how))
    cosines = found.left.astype(np.float64) @ found.right.T
    if how == "csls":
        here = np.sort(cosines, 1)[:, -NEAR:].mean(1)
        there = np.sort(cosines, 0)[-NEAR:].mean(0)
        scores = 2 * cosines - here[:, None] - there
    else:
        scores = cosines
    translated = found.translate(list(source.words), 3)
    for n in range(90):
        best = np.argsort(-scores[n])[:3]
        assert [c.word for c in translated[n]] == [target.words[place] for place in best]
        assert np.allclose([c.score for c in translated[n]], scores[n, best], atol=1e-5)


def test_crowding_in_blocks(monkeypatch):
    random = np.random.default_rng(0)
    rows, others = random.normal(size=(20, 4)), random.normal(size=(7, 4))
    expected = crowding(rows, others)
    monkeypatch.setattr("firth.vectors.alignment.BLOCK", 15)
    assert np.allclose(crowding(rows, others), expected)
    assert np.allclose(expected, (rows @ others.T).mean(1))  # fewer others than neighbours: all of them


def test_the_mapped_words_lie_with_their_translations():
    source, target, _ = languages()
    found = align(source, target, [(f"s{n}", f"t{n}") for n in range(30)], Aligning(centred=False))
    mapped = found.mapped()
    assert np.allclose(mapped.vector("s5"), target.vector("t5") / np.linalg.norm(target.vector("t5")), atol=1e-4)


def test_dictionaries_are_counted_over_words_that_have_vectors():
    source, target, _ = languages()
    found = align(source, target, [(f"s{n}", f"t{n}") for n in range(30)])
    gold = {"s40": ["t40", "t41"], "s50": ["t7"], "s60": ["elsewhere"], "stranger": ["t1"]}
    result = evaluate_dictionary(found, gold, at=(1, 200))
    assert (result.asked, result.answered, result.unknown) == (4, 2, ("stranger",))
    assert [score.value for score in result.scores] == [0.5, 1.0]
    assert evaluate_dictionary(found, {}).value is None


def test_what_cannot_be_aligned():
    source, target, _ = languages()
    with pytest.raises(FirthError, match="none of the 1 seed pairs"):
        align(source, target, [("s1", "S1")])
    narrow = WordVectors(["t1"], np.ones((1, 3), np.float32))
    with pytest.raises(FirthError, match="width 12 and 3"):
        align(source, narrow, [("s1", "t1")])
    with pytest.raises(FirthError, match="rounds = -1"):
        Aligning(rounds=-1)


def test_a_lexicon_from_translated_sentences():
    words = {"cat": "chat", "dog": "chien", "house": "maison", "eats": "mange", "sees": "voit"}
    random = np.random.default_rng(0)
    pairs = []
    for _ in range(60):
        chosen = random.permutation(list(words))[:3]
        pairs.append(Pair(f"The {' '.join(chosen)}.", f"Le {' '.join(words[w] for w in chosen[::-1])} !"))
    pairs.append(Pair("rare", "rare"))
    found = lexicon(pairs)
    assert dict(found) == {**words, "the": "le"}
    assert found[0] == ("the", "le")  # the most frequent
    assert ("rare", "rare") in lexicon(pairs, least=1)
    assert lexicon([]) == []
