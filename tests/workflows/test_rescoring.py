"""Rescoring against the exact posterior of the world, and by hand."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from firth.datasets.readers.nbest_lists import NBestLists
from firth.datasets.records import Hypothesis, NBest
from firth.datasets.world import default_world
from firth.datasets.world.gold import records
from firth.errors import FirthError
from firth.pipelines.continuations import ExactLanguageModel, Likelihoods
from firth.workflows.rescoring import RescoringConfig, rescore

WORLD = default_world()
EXACT = {"world": ExactLanguageModel(WORLD)}
LISTS = list(records(WORLD, "nbest", 60, 21_000))
PREFIX = RescoringConfig(whole=False)


class Lengths:
    """A model whose log-probability is minus the number of characters, after a context minus its own too."""

    def continuation_scores(self, groups, *, whole=False):
        for context, texts in groups:
            scores = np.array([-float(len(text)) - len(context) for text in texts])
            yield Likelihoods(scores, np.ones(len(texts)))


class List(Lengths):
    """The same, as a list."""

    def continuation_scores(self, groups, *, whole=False):
        return list(super().continuation_scores(groups, whole=whole))


def nbest(name, reference, *hypotheses):
    return NBest(name, tuple(Hypothesis(text, (score,)) for text, score in hypotheses), reference)


def test_with_the_true_model_and_weight_1_the_posterior_decides():
    """The order is that of the exact posterior: log P(typed | text) + log P(text | scene)."""
    result = rescore(EXACT, LISTS, config=replace(PREFIX, weights=(1.0,)))
    for before, after in zip(LISTS, result.lists, strict=True):
        number, at = map(int, before.id.split("-"))
        scene = WORLD.story(number).scene
        texts = {h.text: h.text.replace(".", " .").replace(",", " ,").split() for h in before.hypotheses}
        scores = {h.text: h.scores[0] + WORLD.sentence_log_probability(scene, texts[h.text], opening=at == 0)
                  for h in before.hypotheses}  # fmt: skip
        possible = [h.text for h in after.hypotheses if np.isfinite(scores[h.text])]
        assert possible == sorted(possible, key=lambda text: -scores[text])
        assert [h.text for h in after.hypotheses][: len(possible)] == possible


def test_the_gain_is_what_the_posterior_promises():
    """Among lists that have the reference, the best reading is right as often as its posterior says."""
    result = rescore(EXACT, LISTS, config=replace(PREFIX, weights=(1.0,)), add_scores=True)
    right, promised = [], []
    for each in result.lists:
        totals = np.array([hypothesis.scores[-1] for hypothesis in each.hypotheses])
        if each.reference in [hypothesis.text for hypothesis in each.hypotheses]:
            right.append(each.hypotheses[0].text == each.reference)
            promised.append(1 / np.exp(totals - totals[0]).sum())
    assert abs(np.mean(right) - np.mean(promised)) < 4 * np.sqrt(np.mean(promised) * (1 - np.mean(promised)) / 60)
    word, sentence, _ = result.rates
    assert word.oracle.value <= word.after.value < word.before.value / 2
    assert sentence.test.interval.high < 0 and sentence.test.p_value < 0.01


def test_fitted_weights_are_near_the_bayes_optimal_one():
    result = rescore(EXACT, LISTS, dev=list(records(WORLD, "nbest", 80, 500)), config=PREFIX)
    assert 0.5 < result.weights["world"] < 2 and result.fitted == "fitted on 80 development lists"
    best = rescore(EXACT, LISTS, config=replace(PREFIX, weights=(1.0,)))
    assert result.rates[0].after.value <= best.rates[0].after.value + 0.01


def test_the_weight_has_the_fewest_errors_of_all():
    """Against a dense grid of weights, each tried by rescoring."""
    dev = LISTS[:30]
    fitted = rescore(EXACT, dev, dev=dev, config=PREFIX)
    grid = [
        rescore(EXACT, dev, config=replace(PREFIX, weights=(w,))) for w in (0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 3.0, 10.0)
    ]
    assert fitted.rates[0].after.value <= min(each.rates[0].after.value for each in grid)
    assert grid[0].rates[0].after.value == grid[0].rates[0].before.value and grid[0].changed == 0


def test_cross_validation_scores_no_list_with_weights_fitted_on_it():
    """The only list that asks for a negative weight is scored with the others' positive one."""
    good = [nbest(f"good{n}", "a", ("aaa", 0.0), ("a", -1.0)) for n in range(4)]
    bad = nbest("bad", "aaa", ("aaa", 0.0), ("a", -1.0))
    result = rescore({"short": List()}, [*good, bad], config=RescoringConfig(folds=5))
    assert [each.hypotheses[0].text for each in result.lists] == ["a"] * 5
    assert len(result.fold_weights) == 5 and result.fitted == "fitted by 5-fold cross-validation on these lists"
    assert result.rates[1].before.value == 0.8 and result.rates[1].after.value == 0.2


def test_ensembles_and_length_bonus_have_weights_of_their_own():
    lists = [nbest(str(n), "b b", ("a", 0.0), ("b b", -1.0), ("c c c c", -4.5)) for n in range(3)]
    config = RescoringConfig(weights=(0.0,), length_bonus="auto")
    result = rescore({"one": List(), "two": List()}, lists, dev=lists, config=config)
    assert result.rates[0].after.value == 0 and 1 < result.weights["length"] < 1.75
    assert list(result.weights) == ["score", "one", "two", "length"]


def test_context_and_costs():
    lists = [nbest("1", None, ("aaa", 1.0), ("a", 2.0))]
    for costs, first in ((False, "a"), (True, "aaa")):
        given = rescore({"m": List()}, lists, config=RescoringConfig(weights=(0.0,), costs=costs))
        assert given.lists[0].hypotheses[0].text == first and given.rates == ()
    with_context = [lists[0]._replace(context="before")]
    seen = rescore({"m": List()}, with_context, config=RescoringConfig(weights=(1.0,)), add_scores=True)
    unseen = rescore(
        {"m": List()}, with_context, config=RescoringConfig(weights=(1.0,), context=False), add_scores=True
    )
    assert [each.lists[0].hypotheses[0].scores for each in (seen, unseen)] == [(2.0, -7.0, -5.0), (2.0, -1.0, 1.0)]


def test_what_is_written_is_read_again(tmp_path):
    result = rescore(EXACT, LISTS, config=replace(PREFIX, weights=(1.0,)), add_scores=True)
    path = tmp_path / "out.nbest"
    path.write_text("\n".join(NBestLists().rows(result.lists)) + "\n")
    again = list(NBestLists().read(path))
    assert [each._replace(line=0) for each in again] == list(result.lists)
    assert again[0].names == ("score", "world", "total")
    plain = rescore(EXACT, LISTS, config=replace(PREFIX, weights=(1.0,)))
    for before, after in zip(LISTS, plain.lists, strict=True):
        assert after.names == before.names and sorted(after.hypotheses) == sorted(before.hypotheses)


def test_a_trained_model_lowers_the_error_rate(world):
    result = rescore({"ngram": world}, LISTS, config=PREFIX)
    assert result.rates[0].after.value < result.rates[0].before.value
    assert 0.2 < result.weights["ngram"] < 2


def test_lists_of_only_unknown_words_are_noted(words):
    unknown = [nbest("u1", "zzzq", ("zzzq", 0.0), ("qqqy", -1.0))] * 2
    result = rescore({"words": words}, unknown, config=RescoringConfig(weights=(1.0,)))
    assert any("only unknown words" in note and "'u1'" in note for note in result.notes)


def test_exact_probabilities_of_continuations():
    """They multiply to that of the document, and to 1 over the number of sentences."""
    text = next(WORLD.documents(1, 7))
    sentences = [f"{part}." for part in text.removesuffix(".").split(". ")]
    total = WORLD.continuation_log_probability("", sentences[0], whole=len(sentences) == 1)
    for at in range(1, len(sentences)):
        whole = at == len(sentences) - 1
        total += WORLD.continuation_log_probability(" ".join(sentences[:at]), sentences[at], whole)
    assert total == pytest.approx(WORLD.log_probability(text))
    assert exp(WORLD.continuation_log_probability("", "Xyz abc.")) == 0
    assert exp(WORLD.continuation_log_probability("Xyz abc.", sentences[0])) == 0


ONE = nbest("u7", "a", ("a", 0.0), ("b", -1.0))


@pytest.mark.parametrize(
    ("lists", "config", "message"),
    [
        ([], {}, "no n-best lists"),
        ([ONE], {}, "a single n-best list: weights cannot be fitted and scored on it"),
        ([ONE, ONE._replace(reference=None)], {}, "n-best list 'u7' has no reference to fit weights on"),
        ([nbest("u7", "a", ("a", 0.0))] * 3, {}, "list u7: every list has a single hypothesis"),
        ([ONE, ONE._replace(names=("acoustic",))], {}, "list u7: scores acoustic, where others have score"),
        ([ONE._replace(names=("m",))], {}, "a model has the name of a score: m"),
        ([ONE, ONE], {"weights": (1.0, 2.0)}, "2 weights for 1 language model; give one for each"),
    ],
)
def test_bad_input(lists, config, message):
    with pytest.raises(FirthError) as error:
        rescore({"m": List()}, lists, config=RescoringConfig(**config))
    assert message in str(error.value)
