"""The recogniser of the world: an exact channel, an exact n-best search, and the best use of a language model."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from firth.datasets.world import World
from firth.datasets.world.gold import records
from firth.datasets.world.noisy_channel import (
    ERROR_RATE,
    KEYS,
    SYMBOLS,
    Recogniser,
    channel_probabilities,
    encode,
    nbest_list,
    neighbours,
)
from firth.datasets.world.vocabulary_size import resize_lexicon
from firth.errors import FirthError

WORLD = World(seed=7)
LISTS = list(records(WORLD, "nbest", 60))
RECOGNISER = Recogniser(WORLD.lexicon)


def test_neighbours_touch_each_other():
    assert set(neighbours("g")) == set("ftyhbv") and set(neighbours("a")) == set("qwsz")
    assert all(key in neighbours(other) for key in KEYS for other in neighbours(key))


def test_the_channel_has_the_error_rate_and_its_rows_sum_to_one():
    table = channel_probabilities(0.3)
    assert np.allclose(table.sum(1), 1) and (table >= 0).all()
    assert np.allclose(np.diag(table)[:-1], 0.7) and table[-1, -1] == 1
    rng = np.random.default_rng(1)
    text = "the quick dog saw a fox" * 40
    wrong = (RECOGNISER.type(text, rng) != encode(text)).mean()
    assert abs(wrong - ERROR_RATE) < 4 * sqrt(ERROR_RATE * (1 - ERROR_RATE) / len(text))


def test_scores_are_the_exact_log_probabilities_of_what_was_typed():
    typed = RECOGNISER.type("The dogs saw Rome", np.random.default_rng(3))
    table = channel_probabilities(ERROR_RATE)
    for text, score in RECOGNISER.nbest(typed, 20):
        rows = [SYMBOLS.index(sign) for sign in text.removesuffix(".")]
        assert score == pytest.approx(sum(log(table[row, sign]) for row, sign in zip(rows, typed, strict=True)))
        assert score == pytest.approx(RECOGNISER.log_probability(typed, text.removesuffix(".")))


def readings(words, size):
    """Every sequence of words with this many letters and spaces."""
    for word in words:
        if len(word) == size:
            yield word
        elif len(word) + 2 <= size:
            yield from (f"{word} {rest}" for rest in readings(words, size - len(word) - 1))


def test_the_search_finds_the_best_of_all_readings():
    recogniser = Recogniser(resize_lexicon(60), 0.5)
    for seed, text in enumerate(("He saw", "Two", "A big")):
        typed = recogniser.type(text, np.random.default_rng(seed))
        texts = [line[:1].upper() + line[1:] for line in readings(recogniser.words, len(text))]
        scores = [recogniser.log_probability(typed, line) for line in texts]
        found = [score for _, score in recogniser.nbest(typed, 12)]
        assert found == pytest.approx(sorted(filter(np.isfinite, scores), reverse=True)[:12])


def test_lists_are_sorted_and_have_no_reading_twice():
    for each in LISTS:
        scores = [hypothesis.scores[0] for hypothesis in each.hypotheses]
        assert scores == sorted(scores, reverse=True) and len(scores) == 20
        assert len({hypothesis.text for hypothesis in each.hypotheses}) == 20
        story = next(WORLD.documents(1, int(each.id.partition("-")[0])))
        assert story.startswith(f"{each.context} {each.reference}".strip())


def test_every_sentence_can_be_recognised():
    words = set(RECOGNISER.words)
    for story in WORLD.annotated_documents(150):
        for sentence in story.sentences:
            first, *rest = sentence.text.removesuffix(".").split(" ")
            assert {first, first[0].lower() + first[1:]} & words and set(rest) <= words


def posterior(each):
    """The exact posterior of the hypotheses, by the world's own probability of each sentence."""
    number, at = map(int, each.id.split("-"))
    words = [h.text.replace(".", " .").replace(",", " ,").split() for h in each.hypotheses]
    scene = WORLD.story(number).scene
    prior = np.array([WORLD.sentence_log_probability(scene, row, opening=at == 0) for row in words])
    logs = prior + [hypothesis.scores[0] for hypothesis in each.hypotheses]
    return np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()


def test_with_the_true_language_model_the_posterior_is_calibrated():
    """Among lists that have the reference, the most probable reading is right as often as its probability says."""
    best, right = [], []
    for each in LISTS:
        texts = [hypothesis.text for hypothesis in each.hypotheses]
        if each.reference in texts:
            probabilities = posterior(each)
            best.append(float(probabilities.max()))
            right.append(texts[int(probabilities.argmax())] == each.reference)
    deviation = sqrt(sum(p * (1 - p) for p in best)) / len(best)
    assert len(best) > 45 and abs(np.mean(right) - np.mean(best)) < 4 * deviation
    alone = np.mean([each.hypotheses[0].text == each.reference for each in LISTS])
    assert np.mean(right) > alone + 0.1


def test_a_list_depends_on_seed_and_number_alone():
    assert nbest_list(World(seed=7), 5) == LISTS[5] and nbest_list(World(seed=8), 5) != LISTS[5]
    assert exp(LISTS[5].hypotheses[0].scores[0]) < 1


def test_an_impossible_error_rate():
    with pytest.raises(FirthError, match=r"error rate 1\.5; use one between 0 and 1"):
        Recogniser(WORLD.lexicon, 1.5)
