"""Opening what must be a language model."""

from __future__ import annotations

from pathlib import Path

from firth import api
from firth.errors import FirthError
from firth.families.language import LanguageModel


def require_probabilities(model: LanguageModel, what: object) -> None:
    """Refuse scores that do not add up to one, which cannot be compared with others' (stupid backoff)."""
    if not model.normalised:
        do = "train it with another smoothing"
        raise FirthError("its scores are no probabilities", where=what, do=do)


def language_model(path: str | Path) -> LanguageModel:
    """The trained language model of a run folder; another model is refused."""
    model = api.load(path)
    if not isinstance(model, LanguageModel):
        do = "train one, such as firth train ngram-lm --text FILE"
        raise FirthError("not a language model", where=path, do=do)
    return model
