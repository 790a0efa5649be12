"""What fuzzing found in readers of data: the smallest file that broke each, and the one line that it gives now."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import threading
import zipfile
from pathlib import Path

import pytest

from firth.config import core
from firth.config.schema import TaskExamples, Text
from firth.corpus.language_id import NgramLanguageIdentifier
from firth.corpus.stopwords import read_word_list
from firth.datasets import compression, labelled_dataset, pipes, preview, readers
from firth.datasets.records import Row
from firth.datasets.sources import open_source
from firth.embeddings.loading import load_vectors
from firth.errors import FirthError

BLOCK = bytes(1 << 20)


def line(error: pytest.ExceptionInfo) -> str:
    """The message, which is one line that prints."""
    text = str(error.value)
    assert text.isprintable(), text
    return text


def test_a_character_that_steers_the_terminal_is_shown_as_an_escape():
    error = FirthError("a \x1b[2J b\0", where="x\u202e\u2066\ud800", do="write\r\n\x85it\u200d")
    assert str(error) == r"x\u202e\u2066\ud800: a \x1b[2J b\x00; write it" + "\u200d"


@pytest.mark.parametrize("content", [b"\n", b"\n\n\n", b" \n"])
def test_a_file_of_blank_lines_has_a_format(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    assert readers.format_name(readers.guess(tmp_path / "file")) == "text"


def test_an_escape_sequence_without_end_is_an_error_of_the_encoding(tmp_path):
    (tmp_path / "file").write_bytes(b"a\n\x1b(and ????")
    with pytest.raises(FirthError) as error:
        list(open_source((str(tmp_path / "file"),), Text(encoding="iso2022-jp"), tmp_path))
    assert "not valid iso2022_jp" in line(error)


def test_a_task_without_labels_cannot_be_trained_on(tmp_path):
    (tmp_path / "file.conll").write_bytes(b"a N\n\nb V\n")
    with pytest.raises(FirthError) as error:
        labelled_dataset.read(TaskExamples(text=(str(tmp_path / "file.conll"),), tasks=("tagging",)), seed=1)
    assert "task tagging are neither texts with labels nor pairs; choose another" in line(error)


@pytest.mark.parametrize("content", [b"a = " + b"[" * 5000, b"a = " + b"9" * 5000, b"a = \xff", b"a = \x1b"])
def test_a_damaged_recipe_is_one_line(content, tmp_path):
    (tmp_path / "recipe.toml").write_bytes(content)
    with pytest.raises(FirthError, match="not TOML") as error:
        core.read_toml(tmp_path / "recipe.toml")
    assert len(line(error)) < 200 + len(str(tmp_path))


# --- bombs, devices and pipes ---------------------------------------------------------------------------------------


def zstd(content: bytes) -> bytes:
    return pytest.importorskip("backports.zstd").compress(content)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstd])
def test_a_bomb_is_refused_and_text_that_repeats_is_read(compress, tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "FREE", len(BLOCK))
    (tmp_path / "bomb").write_bytes(compress(3 * BLOCK))
    with pytest.raises(FirthError) as error:
        for _ in compression.blocks(tmp_path / "bomb", "bomb", 1 << 16):
            pass
    assert "times its size, as no text does; if you trust it, decompress it by hand and give the result" in line(error)
    (tmp_path / "small").write_bytes(compress(BLOCK))
    assert sum(map(len, compression.blocks(tmp_path / "small", "small", 1 << 16))) == len(BLOCK)
    honest = b"".join(b"%d\n" % number for number in range(400_000))
    (tmp_path / "honest").write_bytes(compress(honest))
    assert b"".join(compression.blocks(tmp_path / "honest", "honest", 1 << 16)) == honest


def test_an_archive_of_images_that_is_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "FREE", len(BLOCK))
    content = io.BytesIO()
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1024, 1024), }"
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + 3 * BLOCK)
    (tmp_path / "a.npz").write_bytes(content.getvalue())
    with pytest.raises(FirthError, match="as no text does") as error:
        list(readers.FORMATS["images"].read(tmp_path / "a.npz"))
    line(error)


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read(name, tmp_path):
    with pytest.raises(FirthError, match=f"{name}: a device, not a file") as error:
        open_source((name,), Text(), tmp_path)
    line(error)
    (tmp_path / "recipe.toml").symlink_to(name)
    with pytest.raises(FirthError, match="a device or a pipe, not a file"):
        core.read_toml(tmp_path / "recipe.toml")


def test_a_pipe_into_which_nobody_writes_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(pipes, "PATIENCE", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FirthError, match="nobody writes into this pipe") as error:
        open_source((str(tmp_path / "pipe"),), Text(), tmp_path)
    line(error)


def test_a_pipe_with_a_slow_writer_is_read_whole(tmp_path):
    pipe, go_on = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)

    def write() -> None:
        with Path(pipe).open("wb") as file:
            file.write(b"one\n")
            file.flush()
            go_on.wait(5)
            file.write(b"two\n" * 100_000)

    writer = threading.Thread(target=write)
    writer.start()
    threading.Timer(0.1, go_on.set).start()
    assert len(list(open_source((str(pipe),), Text(), tmp_path))) == 100_001
    writer.join()


def test_a_preview_does_not_steer_the_terminal():
    shown = preview.format_record(Row(("a\x1b[2J", "b\u202ec"), names=("text", "label\x07")))
    assert shown == "text    a\\x1b[2J\nlabel\\x07  b\\u202ec"


@pytest.mark.parametrize("read", [load_vectors, read_word_list, NgramLanguageIdentifier.load])
def test_what_is_read_whole_is_no_pipe(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(FirthError, match="a device or a pipe, not a file; put its content into a file first"):
            read(tmp_path / name)


def test_a_file_that_vanishes_or_grows_while_it_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a line\n" * 500_000)
    source = open_source((str(path),), Text(), tmp_path)
    documents = iter(source)
    next(documents)
    with path.open("ab") as file:
        file.write(b"more\n" * 10)
    assert sum(1 for _ in documents) == 500_009
    documents = iter(source)
    next(documents)
    path.unlink()
    assert sum(1 for _ in documents) == 500_009  # the open file stays
    for read in (lambda: next(iter(source)), source.fingerprint):
        with pytest.raises(FirthError, match="cannot be read") as error:
            read()
        line(error)
