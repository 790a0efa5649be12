"""Cross-lingual alignment: a rotated copy is rotated back; SciPy's Procrustes and CSLS written out as oracles."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from firth.datasets.records import Pair
from firth.embeddings.cross_lingual import (
    CSLS_NEIGHBOURS,
    AlignmentOptions,
    align,
    evaluate_dictionary,
    induce_lexicon,
    neighbourhood_similarity,
    procrustes,
)
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError


def languages(count=200, width=12, noise=0.0, seed=0):
    """A language and the same rotated, with noise, its words in another order."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, width)) + 0.3
    rotation = np.linalg.qr(random.normal(size=(width, width)))[0]
    order = random.permutation(count)
    rotated = (rows @ rotation + noise * random.normal(size=rows.shape))[order]
    names = [f"t{n}" for n in order]
    return WordVectors([f"s{n}" for n in range(count)], rows), WordVectors(names, rotated), rotation


def test_procrustes_is_scipys_and_a_rotation():
    random = np.random.default_rng(0)
    source, target = random.normal(size=(30, 5)), random.normal(size=(30, 5))
    mapping = procrustes(source, target)
    assert np.allclose(mapping, orthogonal_procrustes(source, target)[0])
    assert np.allclose(mapping @ mapping.T, np.eye(5))
    with pytest.raises(FirthError, match="cannot be rotated"):
        procrustes(source, target[:3])


@pytest.mark.parametrize("center", [True, False])
def test_a_rotated_language_is_rotated_back(center):
    source, target, rotation = languages()
    seeds = [(f"s{n}", f"t{n}") for n in range(30)]
    aligned = align(source, target, [*seeds, ("s1", "nowhere")], AlignmentOptions(refinement_rounds=0, center=center))
    assert aligned.pair_counts == (30,)
    assert np.allclose(aligned.mapping, rotation, atol=1e-4)
    assert [candidates[0].word for candidates in aligned.translate(["s77", "s3"], 2)] == ["t77", "t3"]
    result = evaluate_dictionary(aligned, {f"s{n}": [f"t{n}"] for n in range(30, 200)})
    assert [score.value for score in result.scores] == [1.0, 1.0, 1.0]


def test_refinement_corrects_what_few_seeds_leave_wrong():
    source, target, _ = languages(400, 12, noise=0.6, seed=4)
    seeds = [(f"s{n}", f"t{n}") for n in range(18)]  # fewer than 12 would leave part of the rotation undetermined
    gold = {f"s{n}": [f"t{n}"] for n in range(18, 400)}
    before = evaluate_dictionary(align(source, target, seeds, AlignmentOptions(refinement_rounds=0)), gold).value
    refined = align(source, target, seeds, AlignmentOptions(refinement_rounds=5))
    after = evaluate_dictionary(refined, gold).value
    assert len(refined.pair_counts) == 6 and refined.pair_counts[-1] > refined.pair_counts[0]
    assert after > before + 0.1


@pytest.mark.parametrize("retrieval", ["csls", "nearest"])
def test_translations_are_those_of_all_cosines_written_out(retrieval):
    source, target, _ = languages(90, 6, noise=1.0)
    options = AlignmentOptions(refinement_rounds=1, retrieval=retrieval)
    aligned = align(source, target, [(f"s{n}", f"t{n}") for n in range(40)], options)
    cosines = aligned.source_vectors.astype(np.float64) @ aligned.target_vectors.T
    if retrieval == "csls":
        of_source = np.sort(cosines, 1)[:, -CSLS_NEIGHBOURS:].mean(1)
        of_target = np.sort(cosines, 0)[-CSLS_NEIGHBOURS:].mean(0)
        scores = 2 * cosines - of_source[:, None] - of_target
    else:
        scores = cosines
    translated = aligned.translate(list(source.words), 3)
    for n in range(90):
        best = np.argsort(-scores[n])[:3]
        assert [c.word for c in translated[n]] == [target.words[index] for index in best]
        assert np.allclose([c.score for c in translated[n]], scores[n, best], atol=1e-5)


def test_neighbourhood_similarity_in_blocks(monkeypatch):
    random = np.random.default_rng(0)
    rows, others = random.normal(size=(20, 4)), random.normal(size=(7, 4))
    expected = neighbourhood_similarity(rows, others)
    monkeypatch.setattr("firth.embeddings.cross_lingual.COSINE_BLOCK", 15)
    assert np.allclose(neighbourhood_similarity(rows, others), expected)
    assert np.allclose(expected, (rows @ others.T).mean(1))  # fewer others than neighbours: all of them


def test_the_mapped_words_lie_with_their_translations():
    source, target, _ = languages()
    aligned = align(source, target, [(f"s{n}", f"t{n}") for n in range(30)], AlignmentOptions(center=False))
    mapped = aligned.mapped_source()
    assert np.allclose(mapped.vector("s5"), target.vector("t5") / np.linalg.norm(target.vector("t5")), atol=1e-4)


def test_dictionaries_are_counted_over_words_that_have_vectors():
    source, target, _ = languages()
    aligned = align(source, target, [(f"s{n}", f"t{n}") for n in range(30)])
    gold = {"s40": ["t40", "t41"], "s50": ["t7"], "s60": ["elsewhere"], "stranger": ["t1"]}
    result = evaluate_dictionary(aligned, gold, ks=(1, 200))
    assert (result.total, result.answered, result.oov_words) == (4, 2, ("stranger",))
    assert [score.value for score in result.scores] == [0.5, 1.0]
    assert evaluate_dictionary(aligned, {}).value is None


def test_what_cannot_be_aligned():
    source, target, _ = languages()
    with pytest.raises(FirthError, match="none of the 1 seed pairs"):
        align(source, target, [("s1", "S1")])
    narrow = WordVectors(["t1"], np.ones((1, 3), np.float32))
    with pytest.raises(FirthError, match="width 12 and 3"):
        align(source, narrow, [("s1", "t1")])
    with pytest.raises(FirthError, match="refinement_rounds = -1"):
        AlignmentOptions(refinement_rounds=-1)


def test_a_lexicon_from_translated_sentences():
    words = {"cat": "chat", "dog": "chien", "house": "maison", "eats": "mange", "sees": "voit"}
    random = np.random.default_rng(0)
    pairs = []
    for _ in range(60):
        chosen = random.permutation(list(words))[:3]
        pairs.append(Pair(f"The {' '.join(chosen)}.", f"Le {' '.join(words[w] for w in chosen[::-1])} !"))
    pairs.append(Pair("rare", "rare"))
    lexicon = induce_lexicon(pairs)
    assert dict(lexicon) == {**words, "the": "le"}
    assert lexicon[0] == ("the", "le")  # the most frequent
    assert ("rare", "rare") in induce_lexicon(pairs, min_count=1)
    assert induce_lexicon([]) == []
