"""scikit-learn estimators: every preset for labelled texts and tagged words, with `fit`, `predict` and `score`.

The only part of firth that imports scikit-learn (`pip install "firth[sklearn]"`)."""

from firth.errors import FirthError

try:
    import sklearn  # noqa: F401
except ImportError:
    raise FirthError("scikit-learn is not installed", do='pip install "firth[sklearn]"') from None

from firth.sklearn.sequence_tagger import SequenceTagger
from firth.sklearn.text_classifier import TextClassifier
from firth.sklearn.text_regressor import TextRegressor

__all__ = ["SequenceTagger", "TextClassifier", "TextRegressor"]
