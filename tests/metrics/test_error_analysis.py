"""Tables behind the scores: they add up to the totals, agree with scikit-learn, and fit the terminal."""

import numpy as np
import pytest

from firth.metrics.error_analysis import calibration_tables, format_tables, label_tables, tag_tables
from sklearn import metrics as oracle

LABELS = ["good", "bad", "neither"]


def examples(count=200, seed=0, labels=LABELS):
    random = np.random.default_rng(seed)
    probabilities = random.dirichlet(np.ones(len(labels)), count)
    gold = [(labels[at],) for at in random.integers(0, len(labels), count)]
    predicted = [[labels[at]] for at in probabilities.argmax(1)]
    return gold, predicted, probabilities


def test_tables_add_up_to_the_number_of_examples():
    gold, predicted, probabilities = examples()
    tables = label_tables(gold, predicted, probabilities, LABELS)
    classes = [row for row in tables["classes"] if not row["label"].endswith(" average")]
    assert sum(row["support"] for row in classes) == 200
    matrix = np.array([[row[label] for label in sorted(LABELS)] for row in tables["confusion matrix"]])
    right = sum(true[0] == guess[0] for true, guess in zip(gold, predicted, strict=True))
    assert matrix.sum() == 200 and np.trace(matrix) == right
    assert sum(row["count"] for row in tables["confusions"]) == 200 - right
    assert matrix.sum(1).tolist() == [row["support"] for row in classes]
    assert sum(row["count"] for row in tables["reliability"]) == tables["calibration"][0]["predictions"] == 200


def test_scores_by_class_are_scikit_learns():
    gold, predicted, probabilities = examples()
    flat = [[label for (label,) in side] for side in (gold, predicted)]
    wanted = oracle.classification_report(*flat, output_dict=True)
    for row in label_tables(gold, predicted, probabilities, LABELS)["classes"]:
        if row["label"] in wanted:
            assert row["f1"] == pytest.approx(wanted[row["label"]]["f1-score"])
            assert row["support"] == wanted[row["label"]]["support"]


def test_a_gold_label_that_cannot_be_predicted_counts_as_wrong_and_certain():
    (row,) = calibration_tables(np.array([[1.0, 0.0]]), np.array([-1]))["calibration"]
    assert row["ECE"] == 1.0 and row["Brier score"] == 2.0


def test_independent_labels_have_no_confusion_matrix():
    probabilities = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]])
    tables = label_tables([("good", "bad"), ("neither",)], [["good", "bad"], ["bad", "neither"]], probabilities,
                          LABELS, independent=True)  # fmt: skip
    assert set(tables) == {"classes", "calibration", "reliability"}
    assert tables["calibration"][0]["predictions"] == 6  # a decision for each label of each text
    truth = np.array([[1, 1, 0], [0, 0, 1]])
    wanted = 2 * np.mean([oracle.brier_score_loss(truth[:, at], probabilities[:, at]) for at in range(3)])
    assert tables["calibration"][0]["Brier score"] == pytest.approx(wanted)


def test_known_and_unknown_words_add_up():
    gold, best = [["A", "B", "A"], ["B"]], [["A", "A", "A"], ["B"]]
    marginals = [np.array([[0.7, 0.3]] * 3), np.array([[0.4, 0.6]])]
    tables = tag_tables(gold, best, marginals, ["A", "B"], known=[[True, False, True], [False]])
    rows = {row["words"]: (row["count"], row["correct"], row["accuracy"]) for row in tables["words"]}
    assert rows == {"known": (2, 2, 1.0), "unknown": (2, 1, 0.5), "all": (4, 3, 0.75)}


@pytest.mark.parametrize("count", [3, 40, 150])
def test_nothing_is_wider_than_the_terminal(count):
    labels = [f"a rather long label of the class number {at}" for at in range(count)]
    gold, predicted, probabilities = examples(labels=labels)
    tables = label_tables(gold, predicted, probabilities, labels)
    lines = format_tables(tables)
    assert max(map(len, lines)) <= 80
    shown = [line for line in lines if line.startswith(("confusion matrix", "confusions"))]
    assert len(shown) == 1 and shown[0].startswith("confusions")  # labels that are equal when cut would be one column
    assert ("confusion matrix" in tables) == (count <= 100)


def test_a_matrix_that_fits_is_shown():
    gold, predicted, probabilities = examples()
    lines = format_tables(label_tables(gold, predicted, probabilities, LABELS))
    assert "confusion matrix" in lines and "confusions" not in lines
