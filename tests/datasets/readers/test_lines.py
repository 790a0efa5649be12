"""Lines in and out: encodings, what is no file, and files that appear whole or not at all."""

import gzip
import lzma
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.datasets import numbered_lines
from firth.datasets.readers import FORMATS, guess
from firth.datasets.readers.parallel import Parallel
from firth.errors import FirthError

OTHERS = [name for name in FORMATS if name not in ("parallel", "wic", "images", "idx", "image-folder")]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1254", "utf-16"])
def test_a_path_carries_its_encoding(tmp_path, encoding):
    (tmp_path / "a.txt").write_text("boat\tgemi \u00e9\n", encoding=encoding)
    path = numbered_lines.with_encoding(tmp_path / "a.txt", encoding)
    assert (
        list(numbered_lines.lines(path)) == [(1, "boat\tgemi \u00e9")]
        and numbered_lines.read_whole(path) == "boat\tgemi \u00e9\n"
    )
    assert str(path) == str(tmp_path / "a.txt") and type(guess(path)) is type(FORMATS["tsv"])
    assert [pair.right for pair in Parallel().read(path)] == ["gemi \u00e9"]


def test_an_unknown_encoding_is_refused():
    with pytest.raises(FirthError, match="unknown encoding 'latn-1'"):
        numbered_lines.with_encoding("a", "latn-1")


@pytest.mark.parametrize("read", [lambda path: list(numbered_lines.lines(path)), numbered_lines.read_whole])
def test_a_byte_of_another_encoding_names_its_line(tmp_path, read):
    (tmp_path / "a").write_bytes(b"fine\nna\xefve\n")
    with pytest.raises(FirthError) as error:
        read(tmp_path / "a")
    assert str(error.value) == (
        f"{tmp_path / 'a'}:2: byte 0xef at offset 7 is not valid utf-8; "
        "save it as UTF-8, or name its encoding: --encoding latin-1, or another"
    )


def test_a_line_without_end_names_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr("firth.datasets.text_files.LONG_LINE", 1000)
    (tmp_path / "a").write_text("x" * 2000 + "\nfine\n")
    with pytest.raises(FirthError, match=r"a:1: the line is longer than .*; split it$"):
        list(numbered_lines.lines(tmp_path / "a"))


@pytest.mark.parametrize("name", OTHERS)
def test_several_files_are_too_many(name, tmp_path):
    for part in "ab":
        (tmp_path / part).write_text("x\n")
    reported = []
    with pytest.raises(FirthError, match="2 files, but this format is read from one"):
        list(FORMATS[name].read((tmp_path / "a", tmp_path / "b"), reported.append))
    assert not reported


def test_several_files_are_parallel(tmp_path):
    assert guess((tmp_path / "a", tmp_path / "b")) == FORMATS["parallel"]
    assert guess((tmp_path / "a.tsv",)) == FORMATS["tsv"]


def test_what_is_no_file_says_what_it_is(tmp_path):
    for path, what in ((tmp_path, "a folder, not a file"), ("/dev/null", "a device or a pipe, not a file")):
        with pytest.raises(FirthError, match=what):
            list(numbered_lines.lines(path))


row = st.text(st.characters(blacklist_categories=["Cs", "Cc"]) | st.sampled_from("\r\t"), max_size=5)


@settings(max_examples=100, deadline=None)
@given(st.lists(row), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from(["a", "a.gz", "a.xz"]))
def test_lines_come_back(tmp_path_factory, rows, newline, mark, name):
    path = tmp_path_factory.getbasetemp() / name
    try:
        numbered_lines.save_lines(path, iter(rows), numbered_lines.LineFormat(newline, True, mark))
    except FirthError:
        assert rows[0].endswith("\r") and newline == "\n"
        return
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)
    content = unpack(path.read_bytes()).decode()
    assert content.endswith("".join(line + newline for line in rows))
    if any(rows):
        assert [line for _, line in numbered_lines.lines(path)] == rows
        assert numbered_lines.detect_line_format(path)[:2] == (newline, True)


@pytest.mark.parametrize("name", ["a", "a.gz", "a.xz"])
def test_a_file_appears_whole_or_not_at_all(tmp_path, name):
    def rows():
        yield "x" * 100_000
        raise FirthError("no more")

    numbered_lines.save_lines(tmp_path / name, ["old"])
    before = (tmp_path / name).read_bytes()
    with pytest.raises(FirthError, match="no more"):
        numbered_lines.save_lines(tmp_path / name, rows())
    assert (tmp_path / name).read_bytes() == before and [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_a_large_file_is_not_held_in_memory(tmp_path, name):
    tracemalloc.start()
    numbered_lines.save_lines(tmp_path / name, ("x" * 1000 for _ in range(20_000)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000
    assert sum(len(line) for _, line in numbered_lines.lines(tmp_path / name)) == 20_000_000
