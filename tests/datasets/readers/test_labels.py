"""Label lines: bytes in and out, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers.fasttext_labels import Labels
from firth.datasets.records import Labelled
from firth.errors import FirthError

GOOD = "__label__sport __label__news The match is on .\n__label__food  Bread\tand butter\n__label__none\n"


def read(path, text, form=Labels()):  # noqa: B008
    path.write_bytes(text.encode())
    return list(form.read(path))


def test_bytes_come_back(tmp_path):
    result = read(tmp_path / "a", GOOD)
    numbered_lines.save_lines(tmp_path / "b", Labels().rows(result), numbered_lines.detect_line_format(tmp_path / "a"))
    assert (tmp_path / "b").read_text() == GOOD
    assert result[0] == Labelled("The match is on .", ("sport", "news"), 1)
    assert result[1].text == " Bread\tand butter" and result[2] == Labelled("", ("none",), 3)


def test_the_first_word_is_the_label_where_there_is_no_prefix(tmp_path):
    form = Labels(prefix="", between=":")
    result = read(tmp_path / "a", "NUM:date When ?\nDESC:def What is it ?\n", form)
    assert [record.labels for record in result] == [("NUM", "date"), ("DESC", "def")]
    assert list(form.rows(result)) == ["NUM:date When ?", "DESC:def What is it ?"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__label__a x\nno label\n", ":2: no label"),
        ("__label__ x\n", ":1: an empty label"),
        ("__label__a\n\n", ":2: no label"),
    ],
)
def test_bad_input_names_its_line(tmp_path, text, message):
    with pytest.raises(FirthError) as error:
        read(tmp_path / "a", text)
    assert message in str(error.value) and "begin the line with __label__NAME" in str(error.value)


@pytest.mark.parametrize(
    "record",
    [
        Labelled("x", ("a b",)),
        Labelled("x", ()),
        Labelled("x\ny", ("a",)),
        Labelled("__label__b", ("a",)),
        Labelled("x", ("",)),
    ],
)
def test_what_could_not_be_read_again_is_not_written(record):
    with pytest.raises(FirthError):
        list(Labels().rows([record]))


words = st.text(alphabet="abé_-:", min_size=1, max_size=5)


texts = st.text(alphabet="ab \té", max_size=8)
records = st.builds(Labelled, texts, st.lists(words, min_size=1, max_size=3).map(tuple), st.just(0))


@settings(max_examples=80, deadline=None)
@given(st.lists(records, min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, given):
    path = tmp_path_factory.getbasetemp() / "labels.txt"
    numbered_lines.save_lines(path, Labels().rows(given))
    assert [record._replace(line=0) for record in Labels().read(path)] == given


@settings(max_examples=50, deadline=None)
@given(
    st.binary(max_size=100) | st.text(alphabet="_label \n\t", max_size=80).map(str.encode),
    st.sampled_from(["__label__", "", "_"]),
)
def test_only_errors_meant_for_users(tmp_path_factory, content, prefix):
    path = tmp_path_factory.getbasetemp() / "fuzz.txt"
    path.write_bytes(content)
    try:
        assert all(record.labels and all(record.labels) for record in Labels(prefix=prefix).read(path))
    except FirthError as error:
        assert "\n" not in str(error)
