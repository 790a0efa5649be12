"""Linear models beside scikit-learn, and by laws: gradients, merged columns, threads, naive Bayes as a limit."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from scipy.optimize import rosen, rosen_der
from scipy.sparse import csr_array, hstack
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from firth.config.schema import NBSVM, LogisticRegression, MajorityClass, NaiveBayes, RidgeRegression
from firth.linear import naive_bayes
from firth.linear.design_matrix import DesignMatrix
from firth.linear.lbfgs import minimise
from firth.linear.linear_model import LinearModel, softmax
from firth.linear.logistic_regression import LogisticTrainer, log_count_ratios
from firth.linear.model_selection import Texts, best, train
from firth.linear.penalised_loss import Problem, logistic_loss, softmax_loss, squared_loss
from firth.linear.ridge_regression import RidgeTrainer
from firth.linear.sparse_product import SparseProduct
from firth.linear.targets import MultiLabel, SingleLabel

EXACT = {"tolerance": 1e-10, "max_iterations": 5000, "threads": 1}


def data(labels, seed=0, rows=120, columns=60, dtype=np.float64):
    """A sparse matrix of counts, most of its columns with one entry, and labels that depend on it."""
    random = np.random.default_rng(seed)
    common = random.poisson(0.15, (rows, columns))
    single = np.zeros((rows, 2 * columns))
    single[random.integers(0, rows, 2 * columns), np.arange(2 * columns)] = random.integers(1, 3, 2 * columns)
    matrix = csr_array(np.concatenate([common, single], 1).astype(dtype))
    scores = matrix @ random.normal(size=(3 * columns, labels)) + random.normal(size=(rows, labels))
    return matrix, scores.argmax(1)


# --- optimisation ---------------------------------------------------------------------------------------------------


def test_lbfgs_finds_the_minimum():
    found = minimise(lambda x: (rosen(x), rosen_der(x)), np.full(30, -1.2), tolerance=1e-9)
    assert np.allclose(found.x, 1, atol=1e-7) and found.converged and found.evaluations < 1.5 * found.iterations
    stopped = minimise(lambda x: (rosen(x), rosen_der(x)), np.full(30, -1.2), tolerance=1e-9, max_iterations=5)
    assert stopped.iterations == 5 and not stopped.converged


def test_lbfgs_on_a_quadratic_with_a_bad_condition():
    scales = np.logspace(0, 3, 40)
    found = minimise(lambda x: (0.5 * float(scales @ (x - 1) ** 2), scales * (x - 1)), np.zeros(40), tolerance=1e-7)
    assert np.allclose(found.x, 1, atol=1e-5)


@pytest.mark.parametrize("width", [1, 4])
def test_products_are_exact_and_do_not_depend_on_the_threads(width):
    matrix, _ = data(2, dtype=np.float32)
    dense = np.random.default_rng(1).normal(size=(matrix.shape[1], width) if width > 1 else matrix.shape[1])
    one, three = SparseProduct(matrix, 1)(dense), SparseProduct(matrix, 3)(dense)
    assert np.allclose(one, matrix.toarray() @ dense) and np.array_equal(one, three)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ["logistic", "softmax", "squared"])
def test_gradients_are_finite_differences(name, scaled):
    matrix, labels = data(3)
    design, random = DesignMatrix(matrix), np.random.default_rng(2)
    width = 3 if name == "softmax" else 1
    losses = {"logistic": logistic_loss(labels == 1), "softmax": softmax_loss(labels), "squared": squared_loss(labels)}
    shape = (design.size, 3) if width > 1 else (design.size,)
    scale = random.normal(size=shape) if scaled else None
    problem = Problem(design, losses[name], random.random(len(labels)) + 0.5, width, scale)
    at, direction = random.normal(size=(2, design.size * width + width))
    value, gradient = problem.value(at, 0.7)
    above, below = (problem.value(at + step * direction, 0.7)[0] for step in (1e-5, -1e-5))
    assert (above - below) / 2e-5 == pytest.approx(float(gradient @ direction), rel=1e-6) and np.isfinite(value)


def test_merged_columns_have_the_same_model():
    """Single entries of one row are one column: the model is that without merging."""
    matrix, labels = data(3)
    design = DesignMatrix(matrix)
    assert design.size < matrix.shape[1] - 20
    weights = np.random.default_rng(0).normal(size=design.size)
    assert np.allclose(design.by_rows(weights), matrix @ design.expand(weights))
    assert np.sum(weights**2) == pytest.approx(np.sum(design.expand(weights) ** 2))
    empty = csr_array(hstack([matrix, csr_array((matrix.shape[0], 2))]))
    fit = LogisticTrainer(empty, labels, 3, LogisticRegression(**EXACT)).fit(1.0)
    assert not fit.weights[-2:].any()


# --- scikit-learn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("labels", [2, 3])
def test_coefficients_and_probabilities_are_those_of_scikit_learn(labels, balanced):
    matrix, gold = data(labels)
    method = LogisticRegression(**EXACT, class_weights="balanced" if balanced else "none")
    trainer = LogisticTrainer(matrix, gold, labels, method)
    for l2 in (5.0, 0.5):  # the second from where the first ended
        fit = trainer.fit(l2)
        model = theirs.LogisticRegression(
            C=1 / l2, tol=1e-10, max_iter=5000, class_weight="balanced" if balanced else None
        ).fit(matrix, gold)
        weights, intercept = model.coef_.T, model.intercept_
        if labels == 2:
            weights, intercept = fit.weights[:, 1:] * 2 - weights, fit.intercept[1] * 2 - intercept
        else:
            weights, intercept = fit.weights - weights, fit.intercept - intercept
        assert np.abs(weights).max() < 1e-5 and np.abs(intercept - intercept.mean()).max() < 1e-5
        probabilities = softmax(matrix @ fit.weights + fit.intercept)
        assert np.allclose(probabilities, model.predict_proba(matrix), atol=1e-5)


def test_the_same_model_with_any_number_of_threads():
    matrix, gold = data(3)
    one, three = (LogisticTrainer(matrix, gold, 3, LogisticRegression(threads=threads)).fit(1.0) for threads in (1, 3))
    assert np.array_equal(one.weights, three.weights) and np.array_equal(one.intercept, three.intercept)


def test_ridge_regression_is_that_of_scikit_learn():
    matrix, _ = data(2)
    values = matrix @ np.random.default_rng(5).normal(size=matrix.shape[1]) + 3
    fit = RidgeTrainer(matrix, values, RidgeRegression(**EXACT)).fit(2.0)
    model = theirs.Ridge(alpha=2.0, tol=1e-12, solver="lsqr").fit(matrix, values)
    assert np.allclose(fit.weights[:, 0], model.coef_, atol=1e-6) and fit.intercept[0] == pytest.approx(
        model.intercept_
    )


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize(
    ("event_model", "peer"), [("multinomial", MultinomialNB), ("bernoulli", BernoulliNB), ("complement", ComplementNB)]
)
def test_naive_bayes_is_that_of_scikit_learn(event_model, peer, labels):
    matrix, gold = data(labels)
    matrix = csr_array((matrix > 0).astype(np.float64))
    weights, intercept = naive_bayes.fit(matrix, gold, labels, event_model, 0.7)
    model = peer(alpha=0.7).fit(matrix, gold)
    others = csr_array((data(labels, seed=9)[0] > 0).astype(np.float64))
    assert np.allclose(softmax(others @ weights + intercept), model.predict_proba(others), atol=1e-9)


# --- NBSVM, by hand -------------------------------------------------------------------------------------------------


def test_log_count_ratios_are_those_of_the_paper():
    matrix, gold = data(2)
    positive, negative = (1 + matrix[gold == label].sum(0) for label in (1, 0))
    expected = np.log((positive / positive.sum()) / (negative / negative.sum()))
    ratios = log_count_ratios(matrix, gold, 2, 1.0)
    assert np.allclose(ratios[:, 1], expected) and np.allclose(ratios[:, 0], -expected)


def test_nbsvm_is_logistic_regression_on_scaled_features_interpolated():
    matrix, gold = data(2)
    ratios = log_count_ratios(matrix, gold, 2, 1.0)[:, 1]
    model = theirs.LogisticRegression(C=0.5, tol=1e-10, max_iter=5000).fit(matrix * ratios, gold)
    fit = LogisticTrainer(matrix, gold, 2, NBSVM(**EXACT, interpolation=1.0)).fit(2.0)
    assert np.allclose(2 * fit.weights[:, 1], model.coef_[0] * ratios, atol=1e-5)
    part = LogisticTrainer(matrix, gold, 2, NBSVM(**EXACT, interpolation=0.25)).fit(2.0)
    mean = np.abs(model.coef_[0]).mean()
    assert np.allclose(2 * part.weights[:, 1], ratios * (0.75 * mean + 0.25 * model.coef_[0]), atol=1e-5)


def test_nbsvm_of_many_labels_scales_the_weights_of_each():
    matrix, gold = data(3)
    fit = LogisticTrainer(matrix, gold, 3, NBSVM(**EXACT, interpolation=1.0)).fit(2.0)
    ratios = log_count_ratios(matrix, gold, 3, 1.0)
    # at the minimum: the derivative of the loss by a weight is its penalty, λ·w / r of the features' own weights
    residuals = softmax(matrix @ fit.weights + fit.intercept) - np.eye(3)[gold]
    assert np.allclose(ratios * (matrix.T @ residuals), -2.0 * fit.weights / ratios, atol=1e-5)


# --- choosing, calibrating, several labels ---------------------------------------------------------------------------


def texts(problem, labels, seed):
    matrix, gold = data(labels, seed)
    return Texts(matrix, gold)


def test_the_penalty_with_the_lowest_validation_loss_is_chosen():
    matrix, gold = data(3, rows=240)
    problem = SingleLabel(("a", "b", "c"))
    train_part, valid = Texts(matrix[::2], gold[::2]), Texts(matrix[1::2], gold[1::2])
    found = list(train(problem, train_part, valid, LogisticRegression(l2=(0.01, 100, 1), threads=1), False))
    assert [each.setting for each in found] == [100, 1, 0.01]
    assert best(found).loss == min(each.loss for each in found)
    assert found[0].train_loss > found[1].train_loss > found[2].train_loss


def test_the_temperature_makes_the_loss_smallest():
    problem, random = SingleLabel(("a", "b", "c")), np.random.default_rng(0)
    scores = random.normal(size=(400, 3))
    gold = np.array([random.choice(3, p=row) for row in softmax(scores)])
    temperature = problem.temperature(7 * scores, gold)
    losses = [problem.loss(7 * scores / (temperature * factor), gold) for factor in (0.9, 1, 1.1)]
    assert 5.5 < temperature < 9 and losses[1] == min(losses)
    assert problem.temperature(scores, np.full(400, -1)) == 1.0  # no label was seen in training
    assert problem.temperature(scores, scores.argmax(1)) == 1.0


@pytest.mark.parametrize("method", [LogisticRegression(l2=(1.0,), **EXACT), NaiveBayes(), MajorityClass()])
def test_several_labels_are_predicted_each_by_itself(method):
    matrix, _ = data(2)
    gold = np.random.default_rng(3).random((matrix.shape[0], 3)) < [0.5, 0.1, 1.1]  # the last is on every text
    (found,) = train(MultiLabel(("a", "b", "c")), Texts(matrix, gold), None, method, False)
    model = LinearModel(("a", "b", "c"), found.fit.weights, found.fit.intercept, "sigmoid")
    for label in (0, 1):
        (alone,) = train(SingleLabel(("no", "yes")), Texts(matrix, gold[:, label].astype(int)), None, method, False)
        expected = softmax(matrix @ alone.fit.weights + alone.fit.intercept)[:, 1]
        assert np.allclose(model.probabilities(matrix)[:, label], expected, atol=1e-6)
    assert (model.probabilities(matrix)[:, 2] > 0.9).all()
