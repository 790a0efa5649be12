"""The corpus index against plain Python: postings, external sorting, killed builds, damaged files, metadata columns."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Text
from firth.corpus import index_builder, index_documents, open_corpus, open_index
from firth.corpus.documents import FileCorpus, cache_corpus
from firth.corpus.fingerprints import fingerprint
from firth.datasets.sources import open_source
from firth.datasets.world import World
from firth.errors import FirthError
from firth.tokenizers import split

PIECES = [
    "a",
    "A",
    "b",
    "Straße",
    "STRASSE",
    "it's",
    "3.14",
    "...",
    "--",
    "!",
    "東",
    "京",
    "é",
    "e\u0301",
    "👍🏽",
    "\x01",
]
BLANKS = [" ", "  ", "\n", "\u3000", "\x85", "\x1c", "\u2028", ""]
documents = st.lists(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(BLANKS)), min_size=1, max_size=60).map(
        lambda parts: "".join(chain.from_iterable(parts)).strip("\n")
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("index")


def words_of(texts, rule="words"):
    return [word for text in texts for word in split.split_words(text, rule)]


def files_of(index):
    return {path.name: path.read_bytes() for path in sorted(index.folder.iterdir())}


@settings(max_examples=25, deadline=None)
@given(documents, st.sampled_from(["words", "whitespace"]))
def test_an_index_holds_the_words_in_their_order_and_places(texts, rule):
    kept = [text for text in texts if text and not text.isspace()]
    if not kept:
        return
    index = index_documents(kept, split=rule)
    found = words_of(kept, rule)
    names = index.lexicon.words()
    assert names == sorted(set(found)) and [names[i] for i in index.ids] == found
    assert dict(zip(names, index.lexicon.counts.tolist(), strict=True)) == Counter(found)
    for number, name in enumerate(names):
        places = index.postings[index.posting_offsets[number] : index.posting_offsets[number + 1]].tolist()
        assert places == [at for at, word in enumerate(found) if word == name]
        assert index.lexicon.find(name) == number and index.lexicon.word(number) == name
    assert [index.decode(*index.span(at)) for at in range(len(found))] == found
    lengths = [len(split.split_words(text, rule)) for text in kept]
    assert index.document_starts.tolist() == [sum(lengths[:n]) for n in range(len(kept) + 1)]
    assert [index.decode(index.document_bytes[n], index.document_bytes[n + 1] - 1) for n in range(len(kept))] == kept


@settings(max_examples=15, deadline=None)
@given(documents)
def test_folding_joins_the_counts_of_spellings(texts):
    kept = [text for text in texts if text and not text.isspace()]
    if not kept:
        return
    index = index_documents(kept).fold_case()
    found = Counter(word.casefold() for word in words_of(kept))
    assert dict(zip(index.types.words(), index.counts.tolist(), strict=True)) == found
    assert [index.types.word(n) for n in index.type_ids(index.ids)] == [word.casefold() for word in words_of(kept)]


@settings(max_examples=15, deadline=None)
@given(texts=documents, words=st.integers(1, 30), types=st.integers(1, 6))
def test_an_index_sorted_on_disk_equals_one_sorted_in_memory(place, texts, words, types):
    """Byte for byte, however small the blocks are."""
    kept = [text for text in texts if text and not text.isspace()]
    if not kept:
        return
    source = cache_corpus(kept)
    before = index_builder.CHARACTERS
    try:
        index_builder.CHARACTERS = 1
        limits = index_builder.Limits(words, types)
        small = open_index(source, cache=place / f"small-{words}-{types}", limits=limits)
    finally:
        index_builder.CHARACTERS = before
    assert files_of(small) == files_of(open_index(source, cache=place / "large"))


def test_the_index_of_the_world_does_not_depend_on_the_block_size(place, monkeypatch):
    source = cache_corpus(World().documents(400))
    large = open_index(source, cache=place / "whole")
    monkeypatch.setattr(index_builder, "CHARACTERS", 2000)
    small = open_index(source, cache=place / "parts", limits=index_builder.Limits(500, 100))
    assert files_of(small) == files_of(large) and len(large.ids) > 10_000


KILLED = """
import os, signal, sys
from firth.corpus import index_builder, open_corpus, open_index
index_builder.CHARACTERS = 1000
sizes = []
def on_progress(size):
    sizes.append(size)
    if len(sizes) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
open_index(open_corpus(sys.argv[1]), on_progress=on_progress)
"""


def test_an_index_killed_half_way_is_made_anew_and_its_rest_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    text = tmp_path / "text.txt"
    text.write_text("\n".join(World().documents(200)))
    found = subprocess.run([sys.executable, "-c", KILLED, str(text)], check=False)
    assert found.returncode == -signal.SIGKILL
    left = [path for path in (tmp_path / "cache" / "corpus").iterdir() if path.name != "stamps"]
    assert [path.name[0] for path in left] == ["."]
    index = open_index(open_corpus(str(text)))
    assert [index.lexicon.word(i) for i in index.ids] == words_of(World().documents(200))
    assert not left[0].exists()


def test_an_error_on_the_way_leaves_nothing(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"fine\n" * 10 + b"na\xefve\n")
    with pytest.raises(FirthError, match="byte 0xef at offset 52"):
        open_index(open_corpus(str(path)), cache=tmp_path / "cache")
    assert [p.name for p in (tmp_path / "cache" / "corpus").iterdir() if p.name != "stamps"] == []


@pytest.mark.parametrize("name", ["ids.npy", "words.txt", "about.json", "text.txt", "folded_ids.npy"])
def test_a_damaged_index_says_so(tmp_path, name):
    source = cache_corpus(["a b c", "d e f"])
    place = open_index(source, cache=tmp_path).folder
    (place / name).write_bytes((place / name).read_bytes()[:-2])
    with pytest.raises(FirthError, match=r"damaged index.*delete this folder"):
        open_index(source, cache=tmp_path)


def test_a_text_is_not_read_again_while_its_file_stays_the_same(tmp_path, monkeypatch):
    path, cache = tmp_path / "text.txt", tmp_path / "cache"
    path.write_text("one two three\n")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    first = open_index(open_corpus(str(path)), cache=cache)
    with monkeypatch.context() as patched:
        patched.setattr(FileCorpus, "fingerprint", lambda self: pytest.fail("read again"))
        assert open_index(open_corpus(str(path)), cache=cache).folder == first.folder
    path.write_text("one two thref\n")  # as long as before
    assert open_index(open_corpus(str(path)), cache=cache).lexicon.find("thref") is not None
    path.write_text("one two threg\n")  # at once: too fresh for its time to be trusted
    assert open_index(open_corpus(str(path)), cache=cache).lexicon.find("threg") is not None


def test_the_text_of_python_is_not_read_again(tmp_path, monkeypatch):
    texts = open_corpus("python-docs")
    monkeypatch.setattr("firth.corpus.documents.python_docs.__file__", str(tmp_path / "code.py"))
    (tmp_path / "code.py").write_text("1")
    os.utime(tmp_path / "code.py", (1_000_000_000, 1_000_000_000))
    readings = iter(["first", "second", "third"])
    monkeypatch.setattr(FileCorpus, "fingerprint", lambda self: next(readings))
    assert [fingerprint(texts, tmp_path) for _ in range(3)] == ["first"] * 3
    monkeypatch.setattr(sys, "version", "3.99")
    assert [fingerprint(texts, tmp_path) for _ in range(2)] == ["second"] * 2
    (tmp_path / "code.py").write_text("2")  # other code, another text
    assert fingerprint(texts, tmp_path) == "third"


def test_settings_that_change_the_documents_change_the_index(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one two\n\nthree\n")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    sizes = [
        len(open_index(open_corpus(str(path), Text(document=unit)), cache=tmp_path / "cache").document_starts) - 1
        for unit in ("paragraph", "file", "line")
    ]
    assert sizes == [2, 1, 2]


def test_the_files_of_a_folder_are_a_column(tmp_path):
    (tmp_path / "ann.txt").write_text("the red cat")
    (tmp_path / "bob.txt").write_text("the blue cat\n\nthe end")
    index = open_index(
        FileCorpus(open_source([str(tmp_path)], Text(document="paragraph"), tmp_path)), cache=tmp_path / "c"
    )
    part = index.where("file", str(tmp_path / "bob.txt"))
    assert part.size == 5 and part.counts[part.types.find("the")] == 2 and part.counts[part.types.find("red")] == 0
    rest = index.where("file", str(tmp_path / "bob.txt"), negate=True)
    assert rest.size == 3 and (part.counts + rest.counts).tolist() == index.counts.tolist()
    with pytest.raises(FirthError, match=r"unknown column 'fil'.*did you mean 'file'"):
        index.where("fil", "x")
    with pytest.raises(FirthError, match="unknown value of file"):
        index.where("file", "x")


ROWS = [("the cat", "Ann", "1"), ('a "dog", he said', "Bob", "2"), ("the end", "Ann", "3")]
TABLES = {
    "tsv": "text\tauthor\tyear\n" + "".join("\t".join(row) + "\n" for row in ROWS),
    "csv": 'text,author,year\nthe cat,Ann,1\n"a ""dog"", he said",Bob,2\nthe end,Ann,3\n',
    "jsonl": "".join(json.dumps({"text": t, "author": a, "year": int(y)}) + "\n" for t, a, y in ROWS),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_has_a_column_of_text_and_columns_of_facts(tmp_path, kind):
    path = tmp_path / "table"
    path.write_text(TABLES[kind])
    index = open_index(open_corpus(str(path), column="text"), cache=tmp_path / "cache")
    assert [index.lexicon.word(i) for i in index.ids] == words_of(row[0] for row in ROWS)
    authors = index.columns["author"]
    assert [authors.values[i] for i in authors.codes] == ["Ann", "Bob", "Ann"]
    assert index.columns["year"].values == ("1", "2", "3") and index.where("author", "Ann").size == 4


def test_a_table_with_one_column_is_a_tsv_unless_its_name_says_csv(tmp_path):
    content = 'text\nhe said "no, never\n"a, b"\n'
    (tmp_path / "one.tsv").write_text(content)
    (tmp_path / "one").write_text(content)
    (tmp_path / "one.csv").write_text('text\n"a, ""b"""\n')
    for name, words in (("one.tsv", '"'), ("one", '"'), ("one.csv", "b")):
        index = open_index(open_corpus(str(tmp_path / name), column="text"), cache=tmp_path / "cache")
        assert len(index.document_starts) == (3 if words == '"' else 2)
        assert index.lexicon.counts[index.lexicon.find('"')] == (3 if words == '"' else 2)


def test_many_values_are_not_all_listed(tmp_path):
    path = tmp_path / "table"
    path.write_text("text\tyear\n" + "".join(f"x\ty{n}\n" for n in range(1500)))
    index = open_index(open_corpus(str(path), column="text"), cache=tmp_path / "cache")
    with pytest.raises(FirthError, match=r"known: y0, y1, .*, y19 and 1,480 others$"):
        index.where("year", "qqqqqq")
    with pytest.raises(FirthError, match=r"did you mean 'y1234'\?$"):
        index.where("year", "x1234")


def test_a_value_of_a_table_may_hold_lines(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('author,text\nAnn,"one\r\n\r\ntwo"\nBob,\n')
    index = open_index(open_corpus(str(path), column="text"), cache=tmp_path / "cache")
    assert index.lexicon.words() == ["one", "two"] and len(index.document_starts) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("txt\tauthor\nx\ty\n", r"table:1: unknown column .text.; did you mean .txt."),
        ("text\tauthor\nx\ty\nz\n", "table:3: 1 column, expected 2"),
        ('{"text": "x"}\n{"text": \n', "table:2: "),
        ('{"text": "\\ud800"}\n', "table:1: half of a surrogate pair"),
        ("", "the file is empty"),
    ],
)
def test_a_table_that_is_none_is_refused_with_the_line(tmp_path, content, message):
    path = tmp_path / "table"
    path.write_text(content)
    with pytest.raises(FirthError) as caught:
        open_index(open_corpus(str(path), column="text"), cache=tmp_path / "cache")
    assert re.search(message, str(caught.value))


def test_bad_names_are_refused(tmp_path):
    with pytest.raises(FirthError, match="2 texts; with --column, give one table"):
        open_corpus(["a", "b"], column="text")
    with pytest.raises(FirthError, match="unknown rule to split words 'word'; did you mean 'words'"):
        open_index(cache_corpus(["a"]), split="word", cache=tmp_path)
