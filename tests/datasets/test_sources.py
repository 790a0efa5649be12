"""Sources: documents as a plain reading of the whole text would cut them, and one-line errors for all else."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import sys
import tempfile
import tracemalloc
from itertools import groupby
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.config.schema import Text
from firth.datasets import text_files
from firth.datasets.sources import BUILT_IN, keep_documents, open_source
from firth.errors import FirthError

PACK = {"plain": bytes, "gz": gzip.compress, "xz": lzma.compress}
PIECES = ["\n", "\n\n", "\r\n", "\r", " ", "\t", "a", "wörd", "日本", "𝄞", "\x0b", "\u2028", "\x85", "."]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
UNITS = ("file", "paragraph", "line")


def write(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def read(name: str, folder: Path, **config) -> list[str]:
    return list(open_source((name,), Text(**config), folder / "spool"))


def refused(match: str):
    """An error of one line: where, what, and what to do."""
    return pytest.raises(FirthError, match=match)


def expected(text: str, unit: str) -> list[str]:
    """The documents of a whole text, cut the slow way."""
    text = re.sub("\r\n|\r", "\n", text)
    if unit == "file":
        result = [text.strip("\n")]
    else:
        blocks = [list(rows) for _, rows in groupby(text.split("\n"), key=lambda row: bool(row.strip()))]
        result = [document for rows in blocks for document in (["\n".join(rows)] if unit == "paragraph" else rows)]
    return [document for document in result if document.strip()]


# --- documents ----------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(TEXTS, st.sampled_from(UNITS), st.sampled_from(sorted(PACK)), st.integers(4, 12),
       st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]))  # fmt: skip
def test_documents_are_those_of_the_whole_text_whatever_the_block(text, unit, packing, block, encoding):
    wanted = expected(text, unit)
    with tempfile.TemporaryDirectory() as folder, patch.object(text_files, "BLOCK", block):
        name = write(Path(folder, "x.txt"), PACK[packing](text.encode(encoding)))
        if wanted:
            source = open_source((name,), Text(document=unit, encoding=encoding), Path(folder))
            assert list(source) == list(source) == wanted
        else:
            with refused("no text in it; give a file|the file is empty; give"):
                read(name, Path(folder), document=unit, encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_obeyed_and_dropped(tmp_path, encoding):
    name = write(tmp_path / "x", "wörd\nzwei".encode(encoding))
    assert read(name, tmp_path, document="line") == ["wörd", "zwei"]


@given(st.lists(st.sampled_from(["a", "bc ", " ", "\n", "\n\n", "dé\n"]), max_size=200).map("".join),
       st.sampled_from(UNITS))  # fmt: skip
def test_large_documents_are_cut_at_line_ends_and_long_lines_at_spaces(text, unit):
    limits = {"BLOCK": 5, "LARGE": 12, "LONG_LINE": 24}
    with tempfile.TemporaryDirectory() as folder, patch.multiple(text_files, **limits):
        name = write(Path(folder, "x"), ("start\n" + text).encode())
        result = read(name, Path(folder), document=unit, long_lines="split")
    assert all(document.strip() and len(document) <= 12 + 24 + 1 for document in result)
    words = "".join("".join(document.split()) for document in result)
    assert words == "start" + "".join(text.split())
    longest = max(len(line) for line in text.split("\n"))
    if longest <= 24 and len(text) <= 6:
        assert result == expected("start\n" + text, unit)


def test_long_lines_are_cut_after_white_space_where_there_is_any(tmp_path):
    name = write(tmp_path / "x", b"aaaa bbbb ccccccc " + b"d" * 30 + b"\nend")
    with patch.multiple(text_files, BLOCK=7, LARGE=6, LONG_LINE=12):
        result = read(name, tmp_path, document="line", long_lines="split")
    assert result == ["aaaa bbbb ", "ccccccc ", "d" * 12, "d" * 12, "d" * 6, "end"]


def test_memory_stays_bounded_without_any_blank_line(tmp_path):
    name = write(tmp_path / "x.gz", gzip.compress((b"x" * 999 + b"\n") * 60_000, 1))
    tracemalloc.start()
    sizes = [len(document) for document in open_source((name,), Text(document="paragraph"), tmp_path)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sizes) + len(sizes) == 60_000_000 and max(sizes) < 1_100_000 and peak < 16_000_000


@pytest.mark.parametrize(
    ("content", "result"),
    [
        ("one\ntwo\n\nthree\n", ["one\ntwo", "three"]),  # a blank line: paragraphs
        ("one\ntwo\nthree\n\n\n", ["one", "two", "three"]),  # none between text: lines
    ],
)
def test_auto_looks_at_a_file(tmp_path, content, result):
    assert read(write(tmp_path / "x", content.encode()), tmp_path) == result


def test_auto_takes_a_folders_files_whole_unless_they_are_large(tmp_path):
    (tmp_path / "texts").mkdir()
    write(tmp_path / "texts" / "a.txt", b"one\n\ntwo\n")
    assert read(str(tmp_path / "texts"), tmp_path) == ["one", "two"]  # a single file
    write(tmp_path / "texts" / "b.txt", b"three\nfour\n")
    assert read(str(tmp_path / "texts"), tmp_path) == ["one\n\ntwo", "three\nfour"]
    with patch.object(text_files, "BLOCK", 8):
        assert read(str(tmp_path / "texts"), tmp_path) == ["one", "two", "three", "four"]


def test_a_folder_is_read_in_order_without_hidden_binary_or_circular_files(tmp_path):
    root = tmp_path / "texts"
    (root / "sub").mkdir(parents=True)
    (root / ".git").mkdir()
    for path in ("bb", "aa", "sub/cc", ".hidden", ".git/x"):
        write(root / path, path[-2:].encode())
    write(root / "empty", b"")
    binary = write(root / "image", b"\x89PNG\0\0\0\r")
    (root / "sub" / "up").symlink_to(root)
    (root / "lost").symlink_to(root / "nowhere")
    os.mkfifo(root / "pipe")
    source = open_source((str(root),), Text(), tmp_path)
    assert list(source) == ["aa", "bb", "cc"]
    assert source.skipped == (binary,)
    assert source.describe() == f"{root} (3 files) (1 files skipped that are not text)"


def test_names_are_read_in_their_order(tmp_path):
    first, second = write(tmp_path / "z", b"one\n"), write(tmp_path / "a", b"two\n")
    source = open_source((first, second, first), Text(), tmp_path)
    assert list(source) == ["one", "two", "one"] and source.describe() == f"{first}, {second}, {first}"


# --- fingerprints -------------------------------------------------------------------------------------------------


def test_a_fingerprint_knows_content_and_settings_but_not_the_place(tmp_path):
    def print_of(path, content=b"a\n\nb", **config):
        return open_source((write(tmp_path / path, content),), Text(**config), tmp_path).fingerprint()

    same = print_of("x")
    assert same == print_of("y") == print_of("x", valid_fraction=0.3)
    others = [
        print_of("x", b"a\n\nc"), print_of("x", document="line"), print_of("x", encoding="latin-1"),
        print_of("x", encoding_errors="replace"), print_of("x", long_lines="split"),
        print_of("x", gzip.compress(b"a\n\nb")),
    ]  # fmt: skip
    assert len({same, *others}) == 7


def test_a_fingerprint_knows_where_files_end(tmp_path):
    names = [write(tmp_path / n, c) for n, c in {"a": b"xy", "b": b"z", "c": b"x", "d": b"yz"}.items()]
    prints = {open_source(pair, Text(), tmp_path).fingerprint() for pair in (names[:2], names[2:], names[1::-1])}
    assert len(prints) == 3


# --- what can be read only once -----------------------------------------------------------------------------------


def from_documents(documents, config, folder):
    return open_source((keep_documents(documents, folder),), config, folder)


@given(st.lists(st.text(max_size=20), max_size=10))
def test_python_documents_survive_whatever_is_in_them(documents):
    wanted = [document for document in documents if document.strip()]
    with tempfile.TemporaryDirectory() as folder:
        if not wanted:
            with refused(r"^Python documents: no text in it; give"):
                from_documents(iter(documents), Text(), Path(folder))
            return
        source = from_documents(iter(documents), Text(), Path(folder, "new"))
        assert list(source) == list(source) == wanted
        assert source.fingerprint() == from_documents(iter(wanted), Text(), Path(folder)).fingerprint()
        assert all(re.fullmatch(r"[0-9a-f]{64}\.documents", path.name) for path in Path(folder, "new").iterdir())


def test_python_documents_that_are_not_text_are_refused(tmp_path):
    with refused(r"^Python documents: document 1 is bytes, not str; give an iterable of strings$"):
        from_documents(["a", b"b"], Text(), tmp_path)
    with refused(r"^Python documents: document 0 has a lone surrogate at character 1; decode"):
        from_documents(["a\ud800"], Text(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_standard_input_can_be_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress("één\ntwee".encode()))))
    source = open_source(("-",), Text(), tmp_path)
    assert list(source) == list(source) == ["één", "twee"] and source.describe() == "standard input"
    with refused(r"^standard input: the file is empty; give a file with text"):
        open_source(("-",), Text(), tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    with refused(r"^standard input: it is closed; pipe text"):
        open_source(("-",), Text(), tmp_path)


def test_a_pipe_can_be_read_again(tmp_path):
    ends = os.pipe()
    os.write(ends[1], b"one\ntwo\n")
    os.close(ends[1])
    source = open_source((f"/dev/fd/{ends[0]}",), Text(), tmp_path)
    os.close(ends[0])
    assert list(source) == list(source) == ["one", "two"]


# --- built in -----------------------------------------------------------------------------------------------------


def test_built_in_texts_are_documents(tmp_path):
    assert set(BUILT_IN) == {"python-docs", "world"}
    world = open_source(("world:30",), Text(), tmp_path)
    assert len(list(world)) == 30 and world.describe() == "world:30"
    assert world.fingerprint() != open_source(("world:31",), Text(), tmp_path).fingerprint()
    assert next(iter(open_source(("world",), Text(), tmp_path))) == next(iter(world))
    with refused(r"^world:many: 'many' is not a number of documents; write world:50000$"):
        open_source(("world:many",), Text(), tmp_path)
    with refused(r"^python-docs:3: it takes no number; write python-docs$"):
        open_source(("python-docs:3",), Text(), tmp_path)
    assert len(list(open_source(("python-docs",), Text(), tmp_path))) > 1000


# --- bad input ----------------------------------------------------------------------------------------------------


def test_a_missing_file_offers_the_nearest(tmp_path, monkeypatch):
    write(tmp_path / "corpus.txt", b"x")
    monkeypatch.chdir(tmp_path)
    for name, offer in {
        "corpsu.txt": r"did you mean 'corpus.txt'\?",
        f"{tmp_path}/korpus.txt": rf"did you mean '{tmp_path}/corpus.txt'\?",
        "pythondocs": r"did you mean 'python-docs'\?",
        "no/such/thing": "give a file, a folder, - or one of python-docs, world",
        "nul\0": "give a file",
        "": "give a file",
    }.items():
        shown = repr(name)[1:-1] if name else repr(name)  # control characters are shown as escapes
        with refused(f"^{re.escape(shown)}: no such file or folder; {offer}"):
            open_source((name,), Text(), tmp_path)
    with refused("File name too long"):
        open_source(("x" * 5000,), Text(), tmp_path)


@pytest.mark.parametrize(
    ("content", "config", "message"),
    [
        (b"", {}, "the file is empty; give a file with text"),
        (b" \n\r\n\t\n", {}, "no text in it; give a file with at least one line of text"),
        (gzip.compress(b""), {}, "the file is empty; give"),
        (b"PK\x03\x04\0\0", {}, "a binary file, not text; give plain text, or name its encoding with --encoding"),
        (bytes(range(1, 32)) * 9, {}, "a binary file, not text; give"),
        ("text".encode("utf-16-le"), {}, "a binary file, not text; .*utf-16"),
        (
            b"ok\nna\xefve\n",
            {},
            r"byte 0xef at offset 5 \(line 2\) is not valid utf-8; use --encoding-errors replace, or --enc",
        ),
        (
            gzip.compress(b"ok\r\rna\xef"),
            {},
            r"byte 0xef at offset 6 \(line 3\) is not valid utf-8; use --encoding-errors",
        ),
        (b"\xff\xfea\0b", {}, r"byte 0x62 at offset 4 \(line 1\) is not valid utf-16"),
        (b"a\xe9", {"encoding": "ascii"}, r"byte 0xe9 at offset 1 \(line 1\) is not valid ascii; use"),
        (gzip.compress(b"hello" * 99)[:-9], {}, r"the compressed file is truncated \(it ends too early\); compress"),
        (
            lzma.compress(b"hello" * 99)[:-9],
            {},
            r"the compressed file is truncated .*; compress it again, or decompress",
        ),
        (b"\x1f\x8bnot really", {}, r"the compressed file is damaged .*; compress it again"),
        (b"\xfd7zXZ\x00rubbish" * 9, {}, r"the compressed file is damaged .*; compress it again"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, content, config, message):
    name = write(tmp_path / "bad.txt", content)
    with refused(f"^{re.escape(name)}: {message}") as caught:
        read(name, tmp_path, **config)
    assert "\n" not in str(caught.value)


@given(st.text(st.sampled_from("aé日\n\r"), max_size=60), st.integers(0, 200), st.integers(1, 9))
def test_the_place_of_a_bad_byte_is_right_whatever_the_block(text, offset, block):
    good = text.encode()
    offset = min(offset, len(good))
    while offset < len(good) and good[offset] & 0xC0 == 0x80:  # not within a character
        offset += 1
    line = 1 + re.sub("\r\n|\r", "\n", good[:offset].decode()).count("\n")
    with tempfile.TemporaryDirectory() as folder, patch.object(text_files, "BLOCK", block):
        name = write(Path(folder, "x"), good[:offset] + b"\xff" + good[offset:])
        with refused(rf"byte 0xff at offset {offset} \(line {line}\) is not valid utf-8"):
            read(name, Path(folder), document="line")


def test_bad_bytes_can_be_replaced_or_read_otherwise(tmp_path):
    name = write(tmp_path / "x", b"na\xefve")
    assert read(name, tmp_path, encoding_errors="replace") == ["na\ufffdve"]
    assert read(name, tmp_path, encoding="latin-1") == ["naïve"]


@pytest.mark.parametrize("name", ["utf8x", "base64", "rot13", "idna", "utf-7", "undefined", "", "a\0b", "é"])
def test_unknown_encodings_are_refused(tmp_path, name):
    with refused("^unknown encoding .*; (did you mean|known: )"):
        read(write(tmp_path / "x", b"text"), tmp_path, encoding=name)


def test_a_long_line_is_refused_unless_it_may_be_split(tmp_path):
    name = write(tmp_path / "x", b"short\n" + b"word " * (text_files.LONG_LINE // 5 + 9) + b"\nend")
    message = rf"^{re.escape(name)}: line 2 is longer than 16 MB; cut it with --set data.long_lines=split$"
    with refused(message):
        read(name, tmp_path)
    result = read(name, tmp_path, long_lines="split")
    assert len(result) == 4 and result[0] == "short" and result[1].endswith("word ") and result[3] == "end"


def test_what_may_not_be_read_is_refused(tmp_path):
    name = write(tmp_path / "x", b"text")
    message = rf"^{re.escape(name)}: no permission to read it; change its permissions or owner$"
    with patch.object(Path, "open", side_effect=PermissionError(13, "Permission denied")), refused(message):
        open_source((name,), Text(), tmp_path)


def test_a_folder_without_text_is_refused(tmp_path):
    root = tmp_path / "texts"
    root.mkdir()
    with refused(rf"^{root}: no text file in this folder; give a folder with text files"):
        open_source((str(root),), Text(), tmp_path)
    write(root / "image", b"\0\0")
    with refused(rf"^{root}: no text file in this folder \(1 binary\); give"):
        open_source((str(root),), Text(), tmp_path)
    write(root / "blank", b" \n")
    write(root / "also-blank", b"\t")
    with refused(rf"^{re.escape(str(root))} \(2 files\) .*: no text in it; give"):
        list(open_source((str(root),), Text(), tmp_path))


def test_no_names_at_all_are_refused(tmp_path):
    with refused(r"^data.text: no text is named; name a file, a folder or python-docs$"):
        open_source((), Text(), tmp_path)


BYTES = st.binary(max_size=300)
GZIP, XZ = b"\x1f\x8b\x08\0\0\0\0\0\0\0", b"\xfd7zXZ\x00"
MAGIC = st.sampled_from([b"", GZIP[:2], GZIP, XZ, b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"a\n"])
NAMES = ("utf-8", "latin-1", "utf-16", "utf-32", "utf-32-be", "shift_jis", "gb18030", "cp037", "cp1252", "hz", "big5")
CODECS = st.sampled_from(NAMES)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(MAGIC, BYTES, st.sampled_from(sorted(PACK)), CODECS, st.sampled_from(["strict", "replace"]),
       st.sampled_from(("auto", *UNITS)), st.integers(4, 50))  # fmt: skip
def test_any_bytes_give_documents_or_a_plain_error(magic, content, packing, encoding, errors, unit, block):
    with tempfile.TemporaryDirectory() as folder, patch.object(text_files, "BLOCK", block):
        name = write(Path(folder, "x"), PACK[packing](magic + content))
        try:
            result = read(name, Path(folder), encoding=encoding, encoding_errors=errors, document=unit)
        except FirthError as error:
            assert str(error).startswith(name) and "\n" not in str(error) and error.do
        else:
            assert result and all(document.strip() and "\r" not in document for document in result)
