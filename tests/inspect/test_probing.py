"""Linear probes, control tasks and selectivity, on states whose content is known."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from firth.errors import FirthError
from firth.inspect.linear_probe import ProbeTraining, _MixProblem, fit_probe, fit_scalar_mix
from firth.inspect.probing import MIX, Probed, Words, probe_layers
from firth.linear.dense_matrix import DenseMatrix, standardise

RANDOM = np.random.default_rng(1)
TYPES = [f"w{number}" for number in range(40)]
KINDS = ("N", "V", "D", "A")


def sentences(count, length=8):
    """Words whose tags depend on the word and, of every fourth word, on the word before."""
    result = []
    for _ in range(count):
        ids = RANDOM.integers(len(TYPES), size=length)
        tags = [KINDS[(n % 4 + (0 if n % 8 else ids[at - 1])) % 4] for at, n in enumerate(ids)]
        result.append(([TYPES[n] for n in ids], tags))
    return result


TRAIN, TEST = sentences(120), sentences(60)


def tags_of(part):
    return [tag for _, tags in part for tag in tags]


def test_a_probe_is_scikit_learns_logistic_regression():
    x, held_out = RANDOM.normal(size=(200, 5)), RANDOM.normal(size=(80, 5))
    labels = (x @ RANDOM.normal(size=(5, 3)) + RANDOM.normal(size=(200, 3))).argmax(1)
    theirs = LogisticRegression(C=1 / 3.0, tol=1e-8, max_iter=1000).fit(x, labels).predict(held_out)
    assert np.array_equal(fit_probe(x, labels, held_out, 3, ProbeTraining(l2=3.0, tolerance=1e-8)), theirs)


def test_the_gradient_of_a_mix():
    layers = [DenseMatrix(RANDOM.normal(size=(20, 3))) for _ in range(3)]
    problem = _MixProblem(layers, RANDOM.integers(4, size=20), 4, 0.7)
    start = RANDOM.normal(size=problem.size)
    assert check_grad(lambda x: problem.value(x)[0], lambda x: problem.value(x)[1], start) < 1e-5


def test_a_mix_finds_the_layer_that_knows():
    labels = RANDOM.integers(3, size=300)
    layers = [RANDOM.normal(size=(300, 3)), np.eye(3)[labels] + 0.1 * RANDOM.normal(size=(300, 3))]
    predicted, shares = fit_scalar_mix(layers, labels, layers, 3, ProbeTraining(l2=0.1))
    assert (predicted == labels).all() and shares[1] > 0.8 and shares.sum() == pytest.approx(1.0)


def test_standardised():
    x = np.c_[RANDOM.normal(3, 2, size=50), np.full(50, 7.0)].astype(np.float32)
    train, other = standardise(x, x[:3])
    assert np.allclose(train.mean(0), 0, atol=1e-6) and np.allclose(train.std(0), [1, 0], atol=1e-6)
    assert np.array_equal(train[:3], other)


def states(*kinds):
    """Layers by what they know: the word type, its tag in the sentence, or nothing."""
    known = {id(part): part for part in (TRAIN, TEST)}

    def of(words):
        part = next(each for each in known.values() if [own for own, _ in each] == list(words))
        types = np.eye(len(TYPES))[[TYPES.index(word) for own, _ in part for word in own]]
        tags = np.eye(len(KINDS))[[KINDS.index(tag) for tag in tags_of(part)]]
        layers = {"type": types, "tag": np.pad(tags, [(0, 0), (0, 36)]), "nothing": np.zeros((len(types), 40))}
        return [layers[kind].astype(np.float32) for kind in kinds]

    return of


@pytest.fixture(scope="module")
def result():
    training = ProbeTraining(l2=0.01)
    return probe_layers(states("type", "tag", "nothing"), TRAIN, TEST, {"task": "made up"}, training)


def test_selectivity_of_layers_that_know_words_and_of_layers_that_know_tags(result):
    types, tags, nothing, mix = result.layers
    assert [layer.layer for layer in result.layers] == ["embeddings", "1", "2", MIX]
    assert types.control_accuracy > 0.99 and types.selectivity < 0  # a lookup of words learns any labels of words
    assert types.accuracy == pytest.approx(result.word_type, abs=0.02)
    assert tags.accuracy == 1.0 and tags.selectivity > 0.4
    assert nothing.accuracy == pytest.approx(result.majority)
    assert mix.accuracy > 0.99 and sum(result.mix_weights.values()) == pytest.approx(1.0)
    assert result.best is tags


def test_intervals_hold_their_values(result):
    for layer in result.layers:
        low, high = layer.accuracy_interval
        assert low <= layer.accuracy <= high
        low, high = layer.selectivity_interval
        assert low <= layer.selectivity <= high
        assert layer.selectivity == pytest.approx(layer.accuracy - layer.control_accuracy)


def test_baselines_by_hand():
    train = [(["a", "b", "a"], ["X", "Y", "X"]), (["b", "c"], ["Y", "X"])]
    test = [(["a", "b", "d", "c"], ["X", "X", "X", "Z"])]
    data = Probed(Words.of(train), Words.of(test))
    assert data.majority() == 0.75  # X of X X X Z
    assert data.word_type() == 0.5  # a: X right, b: Y wrong, d: unknown, X right, c: X wrong
    assert data.gold(data.test).tolist() == [0, 0, 0, -1]  # Z cannot be predicted


def test_control_tasks_are_of_types_and_as_frequent_as_the_tags():
    data = Probed(Words.of(TRAIN), Words.of(TEST), 3)
    own: dict[str, set[int]] = {}
    for part in (data.train, data.test):
        for word, label in zip(part.words, data.control(part).tolist(), strict=True):
            own.setdefault(word, set()).add(label)
    assert all(len(labels) == 1 for labels in own.values())
    other = Probed(Words.of(TRAIN), Words.of(TEST), 4)
    assert not np.array_equal(other.control(other.train), data.control(data.train))
    assert np.array_equal(Probed(data.train, data.test, 3).control(data.train), data.control(data.train))
    words = [f"t{number}" for number in range(20_000)]
    many = Probed(Words.of([(words, ["A"] * 15_000 + ["B"] * 5_000)]), data.test)
    assert (many.control(many.train) == 0).mean() == pytest.approx(0.75, abs=0.02)


def test_nothing_to_probe_is_refused():
    with pytest.raises(FirthError, match="all training words have the tag 'A'"):
        probe_layers(states("type"), [(["w1"], ["A"])], TEST, {})
    with pytest.raises(FirthError, match="no sentences"):
        probe_layers(states("type"), [], TEST, {})
