"""The scikit-learn estimators: scikit-learn's own checks and tools, and equality with the models underneath."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import sklearn.utils.estimator_checks as checks
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

import firth
from firth.errors import FirthError
from firth.sklearn import SequenceTagger, TextClassifier, TextRegressor

GOOD, BAD = ["good", "nice", "lovely", "fine"], ["bad", "awful", "poor", "sad"]
NOUNS = ["film", "day", "song", "meal", "house"]
TEXTS = [f"a {word} {noun}" for noun in NOUNS for pair in zip(GOOD, BAD, strict=True) for word in pair]
LABELS = ["good" if text.split()[1] in GOOD else "bad" for text in TEXTS]
SENTENCES = [[name, verb, other] for name in ("Ann", "Bob", "Eve") for verb in ("sees", "hears")
             for other in ("Tom", "rain", "music")]  # fmt: skip
TAGS = [["B-PER", "O", "B-PER" if words[2] == "Tom" else "O"] for words in SENTENCES]
ESTIMATORS = [TextClassifier(), TextRegressor(), SequenceTagger()]
# The checks of scikit-learn that hand over no array; all others are made of matrices of numbers, and the tag
# `input_tags.two_d_array = False` says that these estimators take texts.
WITHOUT_ARRAYS = [
    checks.check_estimator_cloneable,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_mixin_order,
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_check_estimator(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that checks with matrices are skipped
        results = checks.check_estimator(clone(estimator), on_fail="raise")
    assert results and all(result["status"] == "passed" for result in results)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("check", WITHOUT_ARRAYS, ids=lambda each: each.__name__)
def test_checks_without_arrays(check, estimator):
    check(type(estimator).__name__, clone(estimator))


class NumberClassifier(TextClassifier):
    """The same classifier for rows of numbers, each written as a text, so that all of scikit-learn's checks apply."""

    def __init__(self, preset="logistic-regression", *, size=None, out=None, random_state=None, progress="quiet"):
        super().__init__(preset, size=size, out=out, random_state=random_state, progress=progress, method__l2=0.01)

    def fit(self, X, y):
        X = validate_data(self, X, ensure_min_samples=2)
        if y is not None:
            y = np.asarray(y)
            y = column_or_1d(y, warn=True) if y.ndim < 2 or y.shape[1] == 1 else y
            if y.dtype.kind == "f":
                assert_all_finite(y)
        self._edges = np.quantile(X, np.linspace(0, 1, 12)[1:-1], axis=0)
        return super().fit(self._written(X), y)

    def predict_proba(self, X):
        check_is_fitted(self)
        return super().predict_proba(self._written(validate_data(self, X, reset=False)))

    def get_params(self, deep=True):
        params = super().get_params(deep)
        params.pop("method__l2")
        return params

    def _written(self, X):
        rows = np.stack([np.searchsorted(edges, column) for edges, column in zip(self._edges.T, X.T, strict=True)], 1)
        return [" ".join(f"f{column}v{value}" for column, value in enumerate(row)) for row in rows]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


def test_all_checks_on_numbers_written_as_texts():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(NumberClassifier(), on_fail=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"}
    assert len(results) > 40
    assert failed == {}


# --- classifiers ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classifier():
    return TextClassifier("naive-bayes").fit(TEXTS, LABELS)


def test_a_classifier_answers_as_its_run_does(classifier):
    model = firth.load(classifier.run_.path)
    order = [model.labels.index(name) for name in classifier.classes_]
    assert np.array_equal(classifier.predict_proba(TEXTS), model.predict_proba(TEXTS)[:, order])
    assert classifier.predict(TEXTS).tolist() == [labels[0][0] for labels in model.predict(TEXTS)]
    assert classifier.score(TEXTS, LABELS) == accuracy_score(LABELS, classifier.predict(TEXTS)) == 1.0


@pytest.mark.parametrize("labels", [[1, 0], [2.0, 1.0], [True, False], ["two words", "ç\t"], ["1", "b"]])
def test_labels_of_any_type_come_back(labels):
    own = [labels[0] if label == "good" else labels[1] for label in LABELS]
    fitted = TextClassifier("naive-bayes").fit(TEXTS, own)
    assert fitted.predict(TEXTS).tolist() == own
    assert fitted.classes_.dtype == np.asarray(labels).dtype


@pytest.mark.parametrize("make", [list, np.array, lambda each: np.array(each, object)[:, None], tuple, iter])
def test_texts_in_any_container(classifier, make):
    assert np.array_equal(classifier.predict(make(TEXTS)), classifier.predict(TEXTS))


def test_text_pairs_and_any_characters():
    pairs = [(f"{noun}\n\t“{word}”", word if number % 2 else "other") for number, (noun, word) in
             enumerate((noun, word) for noun in NOUNS for word in (*GOOD, *BAD))]  # fmt: skip
    same = np.array([number % 2 for number in range(len(pairs))])
    fitted = TextClassifier("logistic-regression", method__l2=0.01).fit(pairs, same)
    assert fitted.score(pairs, same) == 1.0
    assert np.array_equal(fitted.predict(np.array(pairs)), fitted.predict(pairs))


def test_several_labels_per_text():
    classes = np.stack([[label == "good" for label in LABELS], ["film" in text for text in TEXTS]], 1).astype(int)
    assert not classes.any(1).all()  # some texts have none
    fitted = TextClassifier("logistic-regression", method__l2=0.01).fit(TEXTS, classes)
    assert np.array_equal(fitted.predict(TEXTS), classes)
    assert fitted.predict_proba(TEXTS).shape == classes.shape and fitted.classes_.tolist() == [0, 1]
    assert fitted.score(TEXTS, classes) == 1.0


def test_a_class_with_one_text_is_trained_on():
    fitted = TextClassifier("naive-bayes").fit([*TEXTS, "an odd thing"], [*LABELS, "odd"])
    assert fitted.predict(["an odd thing"]).tolist() == ["odd"]


def test_a_network_from_its_short_and_full_names():
    fitted = TextClassifier("text-cnn", size="tiny", budget="40 steps", threads=1, backbone__filters=8, random_state=3)
    assert fitted.fit(TEXTS, LABELS).run_.record.config.backbone.filters == 8
    assert fitted.run_.record.config.seed == 3
    again = clone(fitted).fit(TEXTS, LABELS)
    assert np.array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert np.allclose(pickle.loads(pickle.dumps(fitted)).predict_proba(TEXTS), fitted.predict_proba(TEXTS), atol=1e-6)


# --- in scikit-learn's tools ----------------------------------------------------------------------------------------


def test_grid_search_and_cross_validation():
    search = GridSearchCV(TextClassifier(), {"method__l2": [0.01, 1e6], "preset": ["logistic-regression"]}, cv=2)
    search.fit(TEXTS, LABELS)
    assert search.best_params_["method__l2"] == 0.01 and search.best_estimator_.predict(["a sad meal"]) == ["bad"]
    assert len(cross_val_score(TextClassifier("naive-bayes"), TEXTS, LABELS, cv=3)) == 3


def test_in_a_pipeline_with_its_settings():
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = Pipeline([("lower", lower), ("label", TextClassifier("naive-bayes"))])
    pipeline.set_params(label__method__alpha=0.5, label__word_ngrams=2)
    assert pipeline.fit([text.upper() for text in TEXTS], LABELS).score(TEXTS, LABELS) == 1.0
    config = pipeline.named_steps["label"].run_.record.config
    assert config.method.alpha == (0.5,) and config.features.word_ngrams == 2


def test_unfitted_and_unknown():
    with pytest.raises(NotFittedError):
        TextClassifier().predict(["a"])
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        TextClassifier().set_params(colour=1)
    with pytest.raises(FirthError, match=r"no setting|unknown"):
        TextClassifier(backbone__width=3).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("estimator", "X", "y", "message"),
    [
        (TextClassifier(), "one text", ["a"], "X: str, not texts; give a list of strings"),
        (TextClassifier(), ["a", None], ["a", "b"], "X: text 1 is a missing value; give strings"),
        (TextClassifier(), ["a", 7], ["a", "b"], "X: text 1 is a value of type int"),
        (TextClassifier(), ["a", ("b", "c")], ["a", "b"], "X: some are single texts and some are pairs"),
        (TextClassifier(), ["a", "b"], ["a"], "X has 2 and y 1: inconsistent numbers"),
        (TextClassifier(), ["a", "b"], ["a", "a"], "y has one class: 'a'; give texts of at least two classes"),
        (TextClassifier(), ["a", "b"], ["a", " "], "y: an empty label; give it a name"),
        (TextClassifier(), ["a", "b"], ["a", None], "y: a missing label"),
        (TextClassifier(), [], [], "X: no texts; give at least one"),
        (TextClassifier(), [("a", "b")] * 4, np.eye(4, dtype=int), "y: several labels for each text pair"),
        (TextClassifier("lstm-lm"), TEXTS, LABELS, "lstm-lm is not trained on labelled texts; choose one of"),
        (TextClassifier("ridge-regression"), TEXTS, LABELS, "ridge-regression is not trained on labelled texts"),
        (TextRegressor("crf-tagger"), TEXTS, LABELS, "y: values that are no numbers"),
        (TextRegressor("crf-tagger"), TEXTS, [1.0] * 40, "crf-tagger is not trained on texts with values"),
        (TextRegressor("ridge-regression"), TEXTS, [1.0] * 40, "ridge regression takes text pairs"),
        (SequenceTagger(), ["a text"], [["A"]], "X: sentence 0 is str; give each as a list of words"),
        (SequenceTagger(), [["a"]] * 3, [["A"], ["A", "B"], ["A"]], "y: sentence 1 has 1 words and 2 tags"),
        (SequenceTagger(), [["a", ""]], [["A", "B"]], "X: sentence 0 has no words, an empty one"),
        (SequenceTagger(), [["a"]], [["A"]], "n_samples=1; give at least three sentences"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_a_value_error(estimator, X, y, message):
    with pytest.raises(FirthError) as caught:
        estimator.fit(X, y)
    assert str(caught.value).startswith(message) or message in str(caught.value)
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)


# --- regressors and taggers -----------------------------------------------------------------------------------------


def test_a_regressor_of_texts_and_of_pairs(tmp_path):
    values = [1.0 if label == "good" else -1.0 for label in LABELS]
    fitted = TextRegressor("averaged-vectors", size="tiny", budget="60 steps", threads=1).fit(TEXTS, values)
    assert is_regressor(fitted) and fitted.score(TEXTS, values) > 0.8
    assert np.allclose(TextRegressor.load(fitted.save(tmp_path / "saved")).predict(TEXTS), fitted.predict(TEXTS))
    pairs = [(text, text if value > 0 else "nothing alike") for text, value in zip(TEXTS, values, strict=True)]
    assert TextRegressor("ridge-regression").fit(pairs, values).score(pairs, values) > 0.9


@pytest.mark.parametrize("preset", ["hmm-tagger", "crf-tagger"])
def test_a_tagger(preset, tmp_path):
    fitted = SequenceTagger(preset).fit(SENTENCES, TAGS)
    predicted = fitted.predict(SENTENCES)
    assert fitted.score(SENTENCES, TAGS) == 1.0 and [*predicted] == TAGS
    assert fitted.classes_.tolist() == ["B-PER", "O"] and not is_classifier(fitted)
    for words, marginals, tags in zip(SENTENCES, fitted.predict_proba(SENTENCES), TAGS, strict=True):
        assert marginals.shape == (len(words), 2) and np.allclose(marginals.sum(1), 1.0)
        assert fitted.classes_[marginals.argmax(1)].tolist() == tags
    for other in (copy.deepcopy(fitted), SequenceTagger.load(fitted.save(tmp_path / "saved"))):
        assert [*other.predict(SENTENCES)] == TAGS and other.classes_.tolist() == fitted.classes_.tolist()


def test_a_tagger_in_cross_validation():
    import seqeval.metrics

    predicted = cross_val_predict(SequenceTagger("hmm-tagger"), SENTENCES, TAGS, cv=3)
    assert seqeval.metrics.f1_score(TAGS, predicted.tolist()) > 0.5
    scores = cross_val_score(SequenceTagger("hmm-tagger"), SENTENCES, TAGS, cv=3)
    assert len(scores) == 3 and np.isfinite(scores).all()


def test_the_score_of_a_tagger_is_f1_of_spans_or_accuracy():
    import seqeval.metrics

    tagger = SequenceTagger("most-frequent-tag").fit(SENTENCES, TAGS)
    wrong = [["O", "O", tags[2]] for tags in TAGS]
    predicted = [*tagger.predict(SENTENCES)]
    assert tagger.score(SENTENCES, wrong) == pytest.approx(seqeval.metrics.f1_score(wrong, predicted))
    plain = [["N", "V", "N"] for _ in TAGS]
    assert SequenceTagger("most-frequent-tag").fit(SENTENCES, plain).score(SENTENCES, [["N", "V", "V"]] * 18) == (
        pytest.approx(2 / 3)
    )


# --- files ----------------------------------------------------------------------------------------------------------


def test_saved_and_loaded(classifier, tmp_path):
    path = classifier.save(tmp_path / "saved")
    loaded = TextClassifier.load(path)
    assert np.array_equal(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    assert loaded.get_params() == classifier.get_params() and loaded.classes_.tolist() == classifier.classes_.tolist()
    assert firth.load(path).predict(TEXTS[0])[0][0] == classifier.predict(TEXTS[:1])[0]
    with pytest.raises(FirthError, match=r"saved from|not trained on"):
        SequenceTagger.load(path)
    (path / "estimator.json").write_text("{")
    with pytest.raises(FirthError, match=r"estimator.json: damaged"):
        TextClassifier.load(path)


def test_a_run_of_the_command_line_is_an_estimator(tmp_path):
    (tmp_path / "x.tsv").write_text("".join(f"{t}\t{y}\n" for t, y in zip(TEXTS, LABELS, strict=True)))
    firth.train("naive-bayes", text=tmp_path / "x.tsv", out=tmp_path / "run")
    loaded = TextClassifier.load(tmp_path / "run")
    assert loaded.classes_.tolist() == ["bad", "good"] and loaded.predict(["a nice day"]).tolist() == ["good"]


def test_a_pickle_has_a_run_folder_of_its_own(classifier):
    other = pickle.loads(pickle.dumps(classifier))
    assert other.run_.path != classifier.run_.path
    assert np.array_equal(other.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    path = other.run_.path
    del other
    assert not path.exists()


def test_training_in_a_named_folder(tmp_path):
    fitted = TextClassifier("naive-bayes", out=tmp_path / "run").fit(TEXTS, LABELS)
    assert fitted.run_.path == tmp_path / "run"
    assert firth.load(tmp_path / "run").predict(TEXTS[0])[0][0] == LABELS[0]


def test_scikit_learn_is_imported_by_this_part_alone():
    code = "import firth, firth.api, sys; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys; sys.modules['sklearn'] = None\ntry: import firth.sklearn\nexcept Exception as e: print(e)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == 'scikit-learn is not installed; pip install "firth[sklearn]"'
