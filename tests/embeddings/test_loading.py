"""Loading word vectors and subsets of them, and reading documents for search."""

from __future__ import annotations

import json

import numpy as np
import pytest

from firth.config.schema import Text
from firth.datasets import sets
from firth.embeddings.loading import load_vectors
from firth.embeddings.search import build_index, extract_terms
from firth.embeddings.search_documents import join_collection, read_collection, read_documents
from firth.embeddings.subwords import Subwords
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
STORE = WordVectors(["a", "b", "c", "d"], ROWS, counts=np.array([2, 9, 2, 5]), context=ROWS[::-1])


def make_run(path, kind="vectors"):
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"config": {"kind": kind}}))
    return path


@pytest.mark.parametrize("place", ["x.safetensors", "x.bin", "x.txt", "run", "projector"])
def test_files_and_runs_open_alike(tmp_path, place):
    if place == "run":
        STORE.save(make_run(tmp_path / place) / "model.safetensors")
    else:
        STORE.save(tmp_path / place, "projector" if place == "projector" else "")
    found = load_vectors(tmp_path / place)
    assert list(found.words) == list("abcd") and np.array_equal(found.vectors, ROWS)


def test_what_is_no_vectors_says_so(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FirthError, match="no word vectors in this folder; give a file of word vectors"):
        load_vectors(tmp_path / "empty")
    with pytest.raises(FirthError, match=r"a run of another kind \(neural\), which has no word vectors"):
        load_vectors(make_run(tmp_path / "other", "neural"))
    with pytest.raises(FirthError, match="this run has no vectors yet"):
        load_vectors(make_run(tmp_path / "young"))
    (tmp_path / "young" / "config.json").write_text("{")
    with pytest.raises(FirthError, match=r"config\.json: damaged"):
        load_vectors(tmp_path / "young")
    with pytest.raises(FirthError, match="no such file or folder"):
        load_vectors(tmp_path / "none.bin")


def test_the_most_frequent_alone():
    subwords = Subwords(np.ones((5, 3), np.float32), 3, 4, word_rows=ROWS)
    store = WordVectors(STORE.words, ROWS, counts=STORE.counts, context=STORE.context, subwords=subwords)
    found = store.most_frequent(3)
    assert list(found.words) == ["b", "d", "a"] and found.counts.tolist() == [9, 5, 2]
    assert np.array_equal(found.vectors, ROWS[[1, 3, 0]]) and np.array_equal(found.subwords.word_rows, ROWS[[1, 3, 0]])
    assert np.array_equal(found.context, ROWS[::-1][[1, 3, 0]])
    assert store.most_frequent(4) is store
    assert list(WordVectors(["a", "b"], ROWS[:2]).most_frequent(1).words) == ["a"]


def test_nan_in_a_query_is_an_error():
    rows = ROWS.copy()
    rows[1, 2] = np.nan
    store = WordVectors(["a", "b", "c", "d"], rows, where="x.bin")
    for query in (lambda: store.similarity("a", "b"), lambda: store.doesnt_match(["a", "b", "c"])):
        with pytest.raises(FirthError, match=r"x\.bin: the vector of 'b' has NaN or an infinity in it"):
            query()
    assert store.similarity("a", "c") > 0


# --- documents --------------------------------------------------------------------------------------------------------


def test_lines_of_a_file_and_files_of_a_folder(tmp_path):
    (tmp_path / "lines.txt").write_text("one boat\ntwo boats on the sea\n")
    found = list(read_documents([str(tmp_path / "lines.txt")]))
    assert [(d.id, d.text, d.title) for d in found] == [
        (f"{tmp_path}/lines.txt:1", "one boat", "one boat"),
        (f"{tmp_path}/lines.txt:2", "two boats on the sea", "two boats on the sea"),
    ]
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text("a boat\n\nof wood")
    (tmp_path / "more" / "b.txt").write_text("a house")
    both = list(read_documents([str(tmp_path / "more"), str(tmp_path / "lines.txt")], Text()))
    assert [d.id for d in both] == [*(f"{tmp_path}/more/{n}.txt" for n in "ab"), *(d.id for d in found)]


def test_a_beginning_that_stands_for_a_title_counts_once(tmp_path):
    long = "word " * 30 + "end\nsecond line"
    (tmp_path / "a.txt").write_text(long)
    (document,) = read_documents([str(tmp_path / "a.txt")], Text(document="file"))
    assert len(document.title) <= 80 and document.text.startswith(document.title)
    assert build_index([document]).counts.sum() == len(extract_terms(long))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.jsonl", '{"_id": "7", "title": "T", "text": "red boat"}\n{"_id": "8", "text": "house"}\n'),
        ("c.all", ".I 7\n.T\nT\n.W\nred boat\n.I 8\n.W\nhouse\n"),
    ],
)
def test_collections_keep_their_ids(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    found = list(read_documents([str(tmp_path / name)]))
    assert [(d.id, d.text.strip(), d.title.strip()) for d in found] == [("7", "red boat", "T"), ("8", "house", "")]


def test_a_column_of_a_table(tmp_path):
    (tmp_path / "t.tsv").write_text("name\tbody\nx\tred boat\ny\thouse\n")
    assert [d.text for d in read_documents([str(tmp_path / "t.tsv")], column="body")] == ["red boat", "house"]


def test_jsonl_without_ids_is_text(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"body": "red"}\n{"body": "blue"}\n')
    assert [d.text for d in read_documents([str(tmp_path / "t.jsonl")], column="body")] == ["red", "blue"]
    assert len(list(read_documents([str(tmp_path / "t.jsonl")]))) == 2


def test_a_dataset_of_texts_and_one_of_pairs(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_SETS", str(tmp_path / "sets"))
    (tmp_path / "t.tsv").write_text("good\tred boat\nbad\thouse\n")
    part = sets.SplitFiles((str(tmp_path / "t.tsv"),))
    sets.save(sets.Dataset("mine", "classification", "tsv", {"train": part}, ("columns=label,text",)))
    assert [(d.id, d.text) for d in read_documents(["mine"])] == [("train:1", "red boat"), ("train:2", "house")]
    sets.save(sets.Dataset("pairs", "translation", "tsv", {"all": part}, ("columns=left,right",)))
    with pytest.raises(FirthError, match="pairs: not a dataset of texts"):
        list(read_documents(["pairs"]))
    with pytest.raises(FirthError, match="mine: a dataset without queries and judgements"):
        read_collection("mine")
    with pytest.raises(FirthError, match="no such file or folder"):
        list(read_documents(["nowhere"]))
    with pytest.raises(FirthError, match=r"cranfeld: no such file or dataset; did you mean 'cranfield'\?"):
        list(read_documents(["cranfeld"]))


def test_queries_and_judgements_of_files(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"_id": "d1", "text": "red boat"}\n{"_id": "d2", "text": "house"}\n')
    (tmp_path / "q.tsv").write_text("q1\tboats\nq2\thouses\n")
    (tmp_path / "rel.txt").write_text("q1 0 d1 1\nq2 0 d2 2\nq2 0 d1 0\n")
    documents = read_documents([str(tmp_path / "docs.jsonl")])
    found = join_collection(documents, tmp_path / "q.tsv", tmp_path / "rel.txt")
    assert found.relevant("q2") == {"d2": 2} and found.queries["q1"].text == "boats" and len(found.documents) == 2
    (tmp_path / "rel.txt").write_text("q1 0 d9 1\n")
    with pytest.raises(FirthError, match=r"rel.txt:1: a judgement of document 'd9', which is not there"):
        join_collection(read_documents([str(tmp_path / "docs.jsonl")]), tmp_path / "q.tsv", tmp_path / "rel.txt")
