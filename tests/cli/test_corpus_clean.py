"""`firth corpus clean` as a user meets it."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cli_samples import assert_done, assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Text
from firth.corpus import clean as clean_texts
from firth.corpus.filters import (
    BlockedWordsFilter,
    CharacterCountFilter,
    ExactDeduplicator,
    LetterFractionFilter,
    NearDeduplicator,
    WordCountFilter,
)
from firth.datasets.sources import open_source
from firth.datasets.text_writer import normalise, open_writer
from firth.runs import atomic_files

LINES = """\
The old ship sailed to the island and came back to the harbour after the long storm.
The old ship sailed to the island and came back to the harbour after the long storm!
Ok.
12 34 56 78 90 !!! ??? 123
The old ship sailed to the island and came back to the harbour after the long storm.
Buy cheap pills now and here
A garden with a wall and a tree stood behind the house.
"""
ENGLISH = "The cat and the dog were in the house with the children.\nWhat do you think of this weather today?\n"
GERMAN = "Die Katze und der Hund waren mit den Kindern im Haus.\nWas denkst du heute über dieses Wetter?\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(LINES)
    return path


@pytest.fixture
def clean(command, text, tmp_path):
    """A function that cleans the text (or another) with these options into out.txt."""

    def call(*options, source=text, **rest):
        return command("corpus", "clean", "--text", source, "--out", tmp_path / "out.txt", *options, **rest)

    return call


@pytest.fixture
def languages(tmp_path):
    """--identifier for two small files."""
    (tmp_path / "english.txt").write_text(ENGLISH)
    (tmp_path / "german.txt").write_text(GERMAN)
    return f"en={tmp_path / 'english.txt'},de={tmp_path / 'german.txt'}"


def test_the_whole_row(clean, text, tmp_path):
    (tmp_path / "list.txt").write_text("pills\n")
    options = [
        "--min-words",
        3,
        "--max-characters",
        500,
        "--min-letter-fraction",
        0.6,
        "--deduplicate",
        "--near-duplicates",
        0.8,
    ]
    found = assert_done(clean(*options, "--blocked-words", tmp_path / "list.txt", "--json"))
    report = json.loads(found.out)
    assert [(entry["name"], entry["dropped"]) for entry in report["filters"]] == [
        ("characters: 0 to 500", 0),
        ("words: 3 or more", 1),
        ("fraction of letters: 0.6 or more", 1),
        ("blocked words: none", 1),
        ("exact duplicates", 1),
        ("near-duplicates: 0.8 or more", 1),
    ]
    assert (report["seen"], report["kept"]) == (7, 2)
    assert report["filters"][1]["samples"] == [{"place": f"{text}, document 3", "text": "Ok."}]
    assert (tmp_path / "out.txt").read_text().splitlines() == [LINES.splitlines()[n] for n in (0, 6)]


def test_the_table(clean, text):
    out = assert_done(clean("--min-words", 3)).out
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["filter", "dropped", "fraction"],
        ["words:", "3", "or", "more", "1", "14.3%"],
        ["7", "documents", "read,", "6", "kept", "(85.7%)"],
    ]
    assert f'dropped by "words: 3 or more"\n  {text}, document 3: Ok.\n' in out


def test_cleaning_twice_drops_nothing_and_gives_the_same_bytes(clean, tmp_path):
    options = ["--min-words", 3, "--min-letter-fraction", 0.5, "--deduplicate", "--near-duplicates", 0.7, "--json"]
    assert_done(clean(*options))
    first = (tmp_path / "out.txt").read_bytes()
    (tmp_path / "out.txt").rename(tmp_path / "first.txt")
    report = json.loads(assert_done(clean(*options, source=tmp_path / "first.txt")).out)
    assert report["seen"] == report["kept"] and (tmp_path / "out.txt").read_bytes() == first


@pytest.mark.parametrize(
    ("content", "unit", "written"),
    [
        ("one two\n\nthree\nfour\n\nx\n", "auto", "one two\n\nthree\nfour\n"),
        ("one two\n\nthree\nfour\n\nx\n", "paragraph", "one two\n\nthree\nfour\n"),
        ("one two\n\nthree\nfour\n\nx\n", "line", "one two\n"),
        ("one two\n\nthree\nfour\n\nx\n", "file", "\n\none two\nthree\nfour\nx\n"),
        ("one two\nx\nthree four", "auto", "one two\nthree four\n"),
        ("one two\nx\nthree four", "paragraph", "\n\none two\nx\nthree four\n"),
        ("x\n\none two\nthree\n", "auto", "\n\none two\nthree\n"),
        ("a b\n\nc d\n\ne\nf\n\ng h", "auto", "a b\n\nc d\n\ne\nf\n\ng h\n"),
    ],
)
def test_documents_are_written_as_they_are_read(clean, tmp_path, content, unit, written):
    source = tmp_path / "source.txt"
    source.write_text(content)
    assert_done(clean("--min-words", 2, "--document", unit, source=source))
    assert (tmp_path / "out.txt").read_text() == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.txt", "source.txt", "text.txt"]


lines = st.lists(st.text("ab c1.\n\r\x0b\u3000\x85", max_size=12), max_size=5).map("\n\n".join)
ROW = [
    CharacterCountFilter(3, 20),
    WordCountFilter(1),
    LetterFractionFilter(0.3),
    BlockedWordsFilter(("ab",)),
    ExactDeduplicator(),
    NearDeduplicator(0.7, 2),
]


@given(st.lists(lines, min_size=1, max_size=5), st.sampled_from(["auto", "paragraph", "line"]))
@settings(max_examples=150, deadline=None)
def test_what_is_written_reads_back_and_passes_again(documents, unit):
    """Through files: the documents read back are those that were kept, and none of them is dropped."""
    documents = [text for text in documents if text.strip()]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(atomic_files, "sync", lambda descriptor: None)
        out = Path(folder, "out")
        kept = list(clean_texts([normalise(text, unit) for text in documents], ROW))
        with open_writer(out, unit) as writer:
            for text in kept:
                writer.write(text)
        if kept:
            again = list(open_source([str(out)], Text(document=unit), out))
            assert again == kept == list(clean_texts([normalise(text, unit) for text in again], ROW))
            assert list(open_source([str(out)], Text(), out)) == kept or unit == "line"


def test_a_long_first_document_is_not_taken_for_lines(tmp_path):
    documents = ["word " * 300_000, "two\nlines"]
    with open_writer(tmp_path / "out", "auto") as writer:
        for text in documents:
            writer.write(text)
    assert len(list(open_source([str(tmp_path / "out")], Text(), tmp_path))) == 2


@pytest.mark.parametrize(("ending", "unpack"), [("gz", gzip.decompress), ("xz", lzma.decompress)])
def test_packed_files_are_read_and_written(command, tmp_path, ending, unpack):
    packed = {"gz": gzip.compress, "xz": lzma.compress}[ending](LINES.encode())
    source, out = tmp_path / "packed", tmp_path / f"out.txt.{ending}"
    source.write_bytes(packed)
    assert_done(command("corpus", "clean", "--text", source, "--out", out, "--min-words", 8))
    first = out.read_bytes()
    assert unpack(first).decode().splitlines() == [line for line in LINES.splitlines() if len(line) > 50]
    assert_done(command("corpus", "clean", "--text", source, "--out", out, "--min-words", 8))
    assert out.read_bytes() == first


def test_standard_input_and_folders(clean, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("first file\n\nof two")
    (folder / "b.txt").write_text("x")
    found = json.loads(assert_done(clean("--min-words", 2, "--json", source=folder)).out)
    assert (found["seen"], found["kept"]) == (2, 1)
    assert found["filters"][0]["samples"] == [{"place": f"{folder / 'b.txt'}, document 1", "text": "x"}]
    assert_done(clean("--min-words", 2, source="-", stdin=b"one\ntwo words\n"))
    assert (tmp_path / "out.txt").read_text() == "two words\n"


def test_standard_output_has_the_text_alone(text, tmp_path):
    import subprocess
    import sys

    options = ["--text", str(text), "--out", "-", "--min-words", "8", "--samples", "0"]
    done = subprocess.run([sys.executable, "-m", "firth", "corpus", "clean", *options], check=True, capture_output=True)
    assert done.stdout.decode().splitlines() == [line for line in LINES.splitlines() if len(line) > 50]
    assert b"words: 8 or more" in done.stderr


# --- languages and lists ------------------------------------------------------------------------------------------


def test_languages_are_learnt_saved_and_opened(clean, languages, tmp_path):
    source, saved = tmp_path / "both.txt", tmp_path / "languages.json"
    source.write_text("The dog and the cat think.\nDer Hund und die Katze denken.\n")
    assert_done(clean("--language", "en", "--identifier", languages, "--save-identifier", saved, source=source))
    assert (tmp_path / "out.txt").read_text() == "The dog and the cat think.\n"
    first = saved.read_bytes()
    assert_done(clean("--language", "de", "--identifier", saved, source=source))
    assert (tmp_path / "out.txt").read_text() == "Der Hund und die Katze denken.\n"
    assert_done(clean("--language", "en,de", "--identifier", languages, "--save-identifier", saved, source=source))
    assert (tmp_path / "out.txt").read_text() == source.read_text() and saved.read_bytes() == first


def test_texts_of_one_language_are_taken_together(clean, languages, tmp_path):
    (tmp_path / "more.txt").write_text("Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich.\n")
    saved, both = tmp_path / "languages.json", tmp_path / "both.txt"
    both.write_text(GERMAN + (tmp_path / "more.txt").read_text())
    found = []
    for given_texts in (f"{languages},de={tmp_path / 'more.txt'}", f"en={tmp_path / 'english.txt'},de={both}"):
        assert_done(clean("--language", "en", "--identifier", given_texts, "--save-identifier", saved))
        found.append(saved.read_bytes())
    assert found[0] == found[1]
    assert_refused(clean("--language", "en", "--identifier", saved, "--save-identifier", saved), "nothing to save")


def test_samples_do_not_steer_the_terminal(clean, tmp_path):
    (tmp_path / "steering.txt").write_text("fine words here\n\x1b[31mred\n")
    out = assert_done(clean("--min-words", 3, source=tmp_path / "steering.txt")).out
    assert "·[31mred" in out and "\x1b" not in out
    (tmp_path / "one.txt").write_text("fine words here\n")
    assert "\n1 document read, 1 kept" in assert_done(clean("--min-words", 3, source=tmp_path / "one.txt")).out


def test_languages_of_a_folder(clean, tmp_path):
    folder = tmp_path / "languages"
    (folder / "de").mkdir(parents=True)
    (folder / "en.txt").write_text(ENGLISH)
    (folder / "de" / "one.txt").write_text(GERMAN)
    found = assert_done(clean("--language", "en", "--identifier", folder, "--json", "--min-confidence", 0.9))
    assert json.loads(found.out)["kept"] >= 3


def test_stop_words_from_a_file_and_learnt(clean, tmp_path):
    (tmp_path / "stop.txt").write_text("the\na\nand\n")
    report = json.loads(
        assert_done(clean("--stopwords", tmp_path / "stop.txt", "--min-stopword-fraction", 0.2, "--json")).out
    )
    assert report["kept"] == 4  # not Ok., the numbers, and the pills with one in six
    assert_done(clean("--stopwords", 2, "--remove-stopwords", "--document", "line"))
    assert (tmp_path / "out.txt").read_text().startswith("old ship sailed island and came back")


def test_lengths_are_those_of_what_is_written(clean, tmp_path):
    (tmp_path / "stop.txt").write_text("buy\nnow\nand\nhere\n")
    assert_done(clean("--stopwords", tmp_path / "stop.txt", "--remove-stopwords", "--min-words", 3))
    assert "pills" not in (tmp_path / "out.txt").read_text()  # two words are left of six


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no filter; give one, such as --min-words 3"),
        (
            ["--blocked-words", "none.txt"],
            "none.txt: cannot read: No such file or directory; give a text file",
        ),
        (["--near-duplicates", "1.5"], "the similarity 1.5 is not in (0, 1]"),
        (["--min-letter-fraction", "60"], "letters: 60 is not a fraction; give a number from 0 to 1"),
        (["--min-words", "5", "--max-words", "2"], "words: no number lies between 5 and 2"),
        (["--min-words", "-1"], "--min-words"),
        (["--remove-stopwords"], "no stop words; give --stopwords FILE"),
        (["--min-stopword-fraction", "0.1"], "no stop words"),
        (["--language", "en", "--identifier", "en"], "'en' is neither LANGUAGE=FILE nor a file"),
        (["--language", "en", "--identifier", "en=none.txt"], "none.txt: no such file or folder"),
        (["--identifier", "en=a.txt"], "no language to keep; give --language NAME"),
        (
            ["--min-confidence", "0.3", "--min-words", "1"],
            "--min-confidence has no effect without --language; give --language",
        ),
        (["--save-identifier", "x.json", "--language", "en"], "--save-identifier has no effect without --identifier"),
        (["--min-required", "2", "--min-words", "1"], "--min-required has no effect without --required-words"),
        (["--shingle-size", "2", "--deduplicate"], "--shingle-size has no effect without --near-duplicates"),
        (["--num-hashes", "2", "--deduplicate"], "--num-hashes has no effect without --near-duplicates"),
        (["--segment", "klingon"], "'klingon' is not one of 'chinese', 'japanese'"),
        (["--lowercase", "klingon", "--min-words", "1"], "'klingon' is not one of 'no', 'yes', 'turkish'"),
        (["--document", "page", "--min-words", "1"], "document"),
    ],
)
def test_what_cannot_be_done_is_refused(clean, tmp_path, options, said):
    assert_refused(clean(*options), said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt"]


def test_an_unknown_language_is_refused(clean, languages):
    assert_refused(clean("--language", "eng", "--identifier", languages), "unknown language 'eng'; did you mean 'en'?")


def test_an_empty_language_file_is_refused(clean, languages, tmp_path):
    (tmp_path / "german.txt").write_text("")
    assert_refused(clean("--language", "en", "--identifier", languages), "german.txt: the file is empty")
    (tmp_path / "german.txt").write_text("123\n")
    assert_refused(clean("--language", "en", "--identifier", languages), "language 'de': no letters in its texts")


def test_the_text_is_not_written_over(command, text):
    assert_refused(
        command("corpus", "clean", "--text", text, "--out", text, "--min-words", 3), "would overwrite the text"
    )
    assert_refused(
        command("corpus", "clean", "--text", text.parent, "--out", text, "--min-words", 3), "would overwrite the text"
    )
    assert text.read_text() == LINES


def test_folders_that_are_not_there(command, text, tmp_path):
    call = ["corpus", "clean", "--text", text, "--min-words", 1, "--out"]
    assert_refused(command(*call, tmp_path / "none" / "out.txt"), "none: no such folder")
    assert_refused(command(*call, tmp_path), "a folder has this name")


def test_an_old_file_stays_when_reading_fails_or_nothing_is_left(clean, tmp_path):
    (tmp_path / "out.txt").write_text("old")
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"fine words here\n" * 9000 + b"na\xefve\n")
    assert_refused(clean("--min-words", 2, source=bad), "is not valid utf-8")
    found = clean("--min-words", 1000)
    assert found.code == 2 and "no document is left" in found.err and "words: 1000 or more" in found.out
    assert (tmp_path / "out.txt").read_text() == "old"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
