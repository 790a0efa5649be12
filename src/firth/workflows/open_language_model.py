"""Loading a run that must be a language model."""

from __future__ import annotations

from pathlib import Path

from firth import api
from firth.errors import FirthError
from firth.pipelines.language_model import LanguageModel


def require_probabilities(model: LanguageModel, what: object) -> None:
    """Raise an error for a model whose scores are not probabilities (stupid backoff): they are not comparable."""
    if not model.normalised:
        do = "train it with another smoothing, such as modified-kneser-ney"
        raise FirthError("its scores are not probabilities", where=what, do=do)


def load_language_model(path: str | Path) -> LanguageModel:
    """Load the language model of a run folder; any other model is an error."""
    model = api.load(path)
    if not isinstance(model, LanguageModel):
        do = "train one, such as firth train ngram-lm --text FILE"
        raise FirthError("not a language model", where=path, do=do)
    return model
