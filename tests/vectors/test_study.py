"""The study: each setting once, parts of a text, and going on after a stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firth.errors import FirthError
from firth.vectors import study
from firth.vectors.analogies import Question
from firth.vectors.corpus import Corpus
from firth.vectors.kernels import END

WORDS = ["man", "woman", "king", "queen", "he", "she", "rules", "walks"]
SMALL = study.Study(widths=(4, 6), windows=(1, 2), sides=("both", "left"), shares=(0.5, 1.0), epochs=2, words=0)


def corpus(documents=200):
    random = np.random.default_rng(0)
    rows = [random.integers(0, len(WORDS), 8) for _ in range(documents)]
    tokens = np.concatenate([np.append(row, len(WORDS)) for row in rows]).astype(np.uint16)
    row_of = np.append(np.arange(len(WORDS), dtype=np.int32), np.int32(END))
    counts = np.bincount(tokens, minlength=9)[:8].astype(np.int64)
    return Corpus(tokens, np.arange(0, len(tokens) + 1, 9), row_of, WORDS, counts)


def test_each_setting_is_trained_once_and_a_stop_loses_none():
    settings = SMALL.settings()
    assert len(settings) == len(set(settings)) == 1 + 1 + 3 + 1  # start, width, windows and sides, share
    asked = [Question("family", "man", "woman", "king", ("queen",)), Question("gram1", "he", "she", "man", ("woman",))]
    seen = []
    rows = study.run(corpus(), asked, SMALL, done=seen.append)
    assert rows == seen and len(rows) == len(settings) and {row["answered"] for row in rows} == {2}
    assert {row["words"] for row in rows} == {800, 1600}
    more = []
    again = study.run(corpus(), asked, replace(SMALL, widths=(3, 6)), known=rows, done=more.append)
    assert [row["width"] for row in more] == [3] and again[: len(rows)] == rows


def test_rows_of_other_questions_are_not_taken_for_these():
    asked, one = [Question("family", "man", "woman", "king", ("queen",))], replace(SMALL, widths=(4,), windows=(1,))
    rows = study.run(corpus(), asked, one)
    for questions, other in ((asked * 2, one), (asked, replace(one, words=4))):
        found = study.run(corpus(), questions, other, known=rows)
        assert len(found) == len(rows) and not any(row in rows for row in found)


def test_a_part_of_a_text_is_its_first_documents():
    whole = corpus()
    half = study.first_part(whole, 0.5)
    assert half.starts[-1] == len(half.tokens) == 900 and half.size == 800 and half.words == whole.words
    assert np.array_equal(half.counts, np.bincount(half.tokens, minlength=9)[:8])
    assert study.first_part(whole, 1.0) is whole


def test_a_share_must_be_a_share():
    with pytest.raises(FirthError, match="above 0 and at most 1"):
        study.Study(shares=(0.0, 1.0))
    with pytest.raises(FirthError, match="at least one width"):
        study.Study(widths=())
    with pytest.raises(FirthError, match="1 or more"):
        study.Study(widths=(-3, 5))
