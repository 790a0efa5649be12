"""The hyperparameter study: each configuration once, fractions of a text, and resuming after a stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firth.embeddings import hyperparameter_study
from firth.embeddings.analogies import Question
from firth.embeddings.training_text import Corpus
from firth.embeddings.word2vec_kernels import END
from firth.errors import FirthError

WORDS = ["man", "woman", "king", "queen", "he", "she", "rules", "walks"]
SMALL = hyperparameter_study.Study(
    widths=(4, 6), windows=(1, 2), contexts=("symmetric", "left"), fractions=(0.5, 1.0), epochs=2, restrict_vocab=0
)


def corpus(documents=200):
    random = np.random.default_rng(0)
    rows = [random.integers(0, len(WORDS), 8) for _ in range(documents)]
    tokens = np.concatenate([np.append(row, len(WORDS)) for row in rows]).astype(np.uint16)
    row_of = np.append(np.arange(len(WORDS), dtype=np.int32), np.int32(END))
    counts = np.bincount(tokens, minlength=9)[:8].astype(np.int64)
    return Corpus(tokens, np.arange(0, len(tokens) + 1, 9), row_of, WORDS, counts)


def test_each_configuration_is_trained_once_and_a_stop_loses_none():
    configurations = SMALL.configurations()
    count = 1 + 1 + 3 + 1  # base, width, windows and contexts, fraction
    assert len(configurations) == len(set(configurations)) == count
    questions = [Question("family", "man", "woman", "king", ("queen",))]
    questions.append(Question("gram1", "he", "she", "man", ("woman",)))
    seen = []
    rows = hyperparameter_study.run(corpus(), questions, SMALL, on_row=seen.append)
    assert rows == seen and len(rows) == len(configurations) and {row["answered"] for row in rows} == {2}
    assert {row["words"] for row in rows} == {800, 1600}
    new, wider = [], replace(SMALL, widths=(3, 6))
    again = hyperparameter_study.run(corpus(), questions, wider, previous=rows, on_row=new.append)
    assert [row["width"] for row in new] == [3] and again[: len(rows)] == rows


def test_rows_of_other_questions_are_not_taken_for_these():
    questions = [Question("family", "man", "woman", "king", ("queen",))]
    study = replace(SMALL, widths=(4,), windows=(1,))
    rows = hyperparameter_study.run(corpus(), questions, study)
    for changed in ((questions * 2, study), (questions, replace(study, restrict_vocab=4))):
        new = hyperparameter_study.run(corpus(), *changed, previous=rows)
        assert len(new) == len(rows) and not any(row in rows for row in new)


def test_a_fraction_of_a_text_is_its_first_documents():
    whole = corpus()
    half = hyperparameter_study.first_fraction(whole, 0.5)
    assert half.starts[-1] == len(half.tokens) == 900 and half.size == 800 and half.words == whole.words
    assert np.array_equal(half.counts, np.bincount(half.tokens, minlength=9)[:8])
    assert hyperparameter_study.first_fraction(whole, 1.0) is whole


def test_a_fraction_is_above_0_and_at_most_1():
    with pytest.raises(FirthError, match="above 0 and at most 1"):
        hyperparameter_study.Study(fractions=(0.0, 1.0))
    with pytest.raises(FirthError, match="at least one width"):
        hyperparameter_study.Study(widths=())
    with pytest.raises(FirthError, match="1 or more"):
        hyperparameter_study.Study(widths=(-3, 5))
