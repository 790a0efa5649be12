"""No file, however wrong, makes a reader do anything but give records or say one clear line."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import CASES, PLAIN, Case, alone

from firth.datasets import numbered_lines
from firth.datasets.readers import FORMATS
from firth.datasets.records import Series
from firth.errors import FirthError

QUICK = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
# What tends to break readers: depth, huge numbers, odd digits, halves of things, marks of the formats.
NASTY = [
    b"[" * 3000, b"(" * 3000, b"{" + b'"a":{' * 3000, b"9" * 5000, b"1e999", b"NaN", b"-1", "²".encode(), "１".encode(),
    b"\xff", b"\0", b"\r", b"\r\n", b"\t" * 50, b'"', b'"\n"', b"\\ud800", b"\xef\xbb\xbf", b"1-2\t", b"0", b"</DOC>",
    b"<DOC>", b".I ", b"__label__", b": ", b"\x1f\x8b", b"0-0", b"_", "\u2028".encode(), b"4294967295", b"\x00\xff\xff",
]  # fmt: skip


def read(case: Case, content: bytes, folder: Path) -> list | str:
    """All records, or the line that says what is wrong."""
    try:
        return list(case.format.read(case.lay(folder, content)))
    except FirthError as error:
        assert str(error) and "\n" not in str(error)
        return str(error)


def mutated(draw, good: bytes) -> bytes:
    """The good file after one to four cuts, repetitions and insertions."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(good)))
        end = draw(st.integers(start, min(len(good), start + 20)))
        middle = draw(st.sampled_from(NASTY) | st.binary(max_size=4) | st.just(good[start:end] * 2))
        good = good[:start] + middle + good[end:]
    return good


def test_every_format_is_fuzzed():
    assert {name.partition(":")[0] for name in CASES} == set(FORMATS)


@pytest.mark.parametrize("name", CASES)
def test_the_good_file_is_read(name, tmp_path):
    assert isinstance(result := read(CASES[name], CASES[name].good, tmp_path), list), result
    assert result


@pytest.mark.parametrize("name", CASES)
def test_a_changed_file_gives_records_or_one_line(name, tmp_path):
    @QUICK
    @given(st.data())
    def check(data):
        read(CASES[name], mutated(data.draw, CASES[name].good), tmp_path)

    check()


@pytest.mark.parametrize("name", CASES)
def test_any_text_or_bytes_give_records_or_one_line(name, tmp_path):
    @settings(QUICK, max_examples=10)
    @given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode) | st.sampled_from(NASTY))
    def check(content):
        read(CASES[name], content, tmp_path)

    check()


# Cases whose records are written as one file of text: not those of several files, and a table says nothing of pixels.
WRITTEN = [
    name
    for name, case in CASES.items()
    if case.lay is alone and hasattr(case.format, "rows") and not hasattr(case.format, "save")
]


def without_lines(records: list) -> list:
    """The records, wherever they stand; series, whose arrays have no truth, as text."""
    return [
        repr(record) if isinstance(record, Series) else record._replace(line=0) if hasattr(record, "line") else record
        for record in records
    ]


def test_what_is_not_written_is_named():
    assert set(CASES) - set(WRITTEN) == {
        "images", "idx", "idx: labels", "idx: packed", "images: table", "parallel: files", "image-folder: PPM",
        "image-folder: table", "class-folders", "wic: labels",
    }  # fmt: skip


LOST = {  # what the bytes of a good file lose, and docs/formats.md tells
    "jsonl": "escapes",
    "trees": "the layout",
    "squad": "the layout",
    "similarity": "the header",
    "trec": "blanks around texts, and that a topic is one",
    "passages": "that a line was in columns",
    "series": "how numbers are written",
}


@pytest.mark.parametrize("name", [name for name in WRITTEN if name in PLAIN])
def test_good_files_come_back_byte_for_byte(name, tmp_path):
    case, again = CASES[name], tmp_path / "again"
    path = case.lay(tmp_path, case.good)
    numbered_lines.save_lines(again, case.format.rows(case.format.read(path)), numbered_lines.detect_line_format(path))
    assert (again.read_bytes() == case.good) == (name not in LOST)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_was_read_is_written_and_read_again(name, tmp_path):
    """A file that can be read comes back with the same records, or is refused when it is written."""
    case, again = CASES[name], tmp_path / "again"
    again.mkdir()

    @QUICK
    @given(st.data())
    def check(data):
        result = read(case, mutated(data.draw, case.good), tmp_path)
        if isinstance(result, str) or not result:
            return
        try:
            numbered_lines.save_lines(
                again / "file", case.format.rows(result)
            )  # some records have the name of their file
        except FirthError as error:
            assert str(error) and "\n" not in str(error)
            return
        assert without_lines(list(case.format.read(again / "file"))) == without_lines(result)

    check()
