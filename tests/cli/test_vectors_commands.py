"""`firth vectors` as a user meets it: answers against NumPy's own, and bad input in one line."""

from __future__ import annotations

import json
import struct
import subprocess
import sys

import numpy as np
import pytest
from cli_samples import assert_done, assert_refused
from miniature_wordnet import write_lmf

from firth.embeddings.search import SearchIndex
from firth.embeddings.senses import WordSenses
from firth.embeddings.word_vectors import WordVectors
from firth.lexicon import opening

WORDS = ["the", "dog", "cat", "puppy", "tree", "plant", "run", "walk", "hot", "cold", "red", "boat", "sea", "sail"]
COUNTS = np.arange(len(WORDS), 0, -1) ** 2


def made(width=6, seed=0, words=WORDS):
    """Vectors with a group of animals, one of plants and one of ships."""
    random = np.random.default_rng(seed)
    rows = random.normal(0, 0.3, (len(words), width)).astype(np.float32)
    for group, axis in (("dog cat puppy", 0), ("tree plant", 1), ("boat sea sail", 2), ("hot cold red", 3)):
        rows[[words.index(word) for word in group.split() if word in words], axis] += 2
    return rows


@pytest.fixture(scope="module")
def rows():
    return made()


@pytest.fixture(scope="module")
def vectors(tmp_path_factory, rows):
    """Our own file, with counts and context vectors."""
    path = tmp_path_factory.mktemp("vectors") / "v.safetensors"
    WordVectors(WORDS, rows, counts=COUNTS, context=made(seed=1)).save(path)
    return path


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    lines = [
        "the red boat and the sail at sea",
        "the dog and the cat and the puppy",
        "a tree is a plant",
        "hot and cold",
    ]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(f"{line}\n" for line in lines * 5))
    return path


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def answer(found):
    """The one JSON value that was printed."""
    return json.loads(assert_done(found).out)


def answers(found):
    return [json.loads(line) for line in assert_done(found).out.splitlines()]


# --- questions ----------------------------------------------------------------------------------------------------


def test_info_tells_what_is_in_a_file(command, vectors):
    about = answer(command("vectors", "info", vectors, "--json"))
    assert (
        about["words"] == 14 and about["width"] == 6 and about["context_vectors"] is True and about["subwords"] is None
    )
    assert about["tokens"] == COUNTS.sum() and about["bytes"] == vectors.stat().st_size
    shown = assert_done(command("vectors", "info", vectors)).out
    assert "words            14\n" in shown and "subwords         no\n" in shown and "first            the dog" in shown


@pytest.mark.parametrize("options", [[], ["--approximate"], ["--kind", "sum"], ["--restrict-vocab", 8]])
def test_neighbours_are_the_largest_cosines(command, vectors, rows, options):
    kind = rows + made(seed=1) if "--kind" in options else rows
    among = 8 if "--restrict-vocab" in options else len(WORDS)
    found = answers(command("vectors", "neighbours", vectors, "dog", "sea", "--count", 3, "--json", *options))
    for word, entry in zip(("dog", "sea"), found, strict=True):
        own = kind[WORDS.index(word)]
        best = sorted((-cosine(own, kind[n]), n) for n in range(among) if WORDS[n] != word)[:3]
        assert [(near["word"], round(near["score"], 4)) for near in entry["neighbours"]] == [
            (WORDS[n], round(-score, 4)) for score, n in best
        ]


def test_neighbours_read_words_from_standard_input(command, vectors):
    asked = assert_done(command("vectors", "neighbours", vectors, "dog", "boat", "--count", 2))
    read = assert_done(command("vectors", "neighbours", vectors, "-", "--count", 2, stdin=b"dog\n\nboat\n"))
    assert read.out == asked.out
    lines = asked.out.splitlines()
    assert lines[0] == "dog" and lines[3:5] == ["", "boat"] and set(lines[1:3]) and lines[1].startswith("  ")
    assert_refused(command("vectors", "neighbours", vectors, "-"), "no word; give at least one word, or - to read")


def test_similarity_analogy_odd_one_out_and_recommend(command, vectors, rows):
    at = dict(zip(WORDS, rows, strict=True))
    assert answer(command("vectors", "similarity", vectors, "dog", "cat", "--json"))["similarity"] == pytest.approx(
        cosine(at["dog"], at["cat"]), abs=1e-6
    )
    assert assert_done(command("vectors", "similarity", vectors, "dog", "dog")).out == "1.0000\n"
    assert assert_done(command("vectors", "odd-one-out", vectors, "dog", "cat", "sea", "puppy")).out == "sea\n"
    unit = {word: row / np.linalg.norm(row) for word, row in at.items()}
    mean = unit["boat"] + unit["sea"]
    best = max((word for word in WORDS if word not in ("boat", "sea")), key=lambda word: cosine(mean, at[word]))
    found = answer(command("vectors", "recommend", vectors, "boat", "sea", "--count", 1, "--json"))
    assert found["recommended"][0]["word"] == best == "sail"
    wanted = unit["cat"] + unit["plant"] - unit["dog"]
    best = max(
        (word for word in WORDS if word not in ("dog", "cat", "plant")), key=lambda word: cosine(wanted, at[word])
    )
    found = answer(command("vectors", "analogy", vectors, "dog", "cat", "plant", "--json"))
    assert found["answers"][0]["word"] == best and len(found["answers"]) == 5
    shown = assert_done(command("vectors", "analogy", vectors, "dog", "cat", "plant", "--method", "multiplicative")).out
    assert shown.startswith("dog is to cat as plant is to\n  ")


def test_items_with_spaces_are_asked_like_words(command, tmp_path):
    WordVectors(["green tea", "milk", "https://a.org/?q=1"], np.eye(3, dtype=np.float32) + 0.1).save(
        tmp_path / "v.safetensors"
    )
    found = answer(command("vectors", "recommend", tmp_path / "v.safetensors", "green tea", "milk", "--json"))
    assert [near["word"] for near in found["recommended"]] == ["https://a.org/?q=1"]


# --- WordNet ------------------------------------------------------------------------------------------------------


@pytest.fixture
def lexicon(tmp_path, monkeypatch):
    """A lexicon of our own."""
    monkeypatch.setenv("FIRTH_LEXICON", str(write_lmf(tmp_path / "tiny.xml")))


def test_neighbours_are_labelled(command, vectors, lexicon):
    (found,) = answers(command("vectors", "neighbours", vectors, "dog", "--wordnet", "--count", 13, "--json"))
    labels = {near["word"]: near["relation"] for near in found["neighbours"]}
    assert labels["cat"] == "co-hyponym" and labels["puppy"] == "hyponym" and labels["tree"] == labels["red"] == ""
    shown = assert_done(command("vectors", "neighbours", vectors, "hot", "--wordnet", "--count", 13)).out
    (line,) = (line for line in shown.splitlines() if line.startswith("  cold "))
    assert line.endswith("  antonym")
    refused = command("vectors", "neighbours", vectors, "hot", "--lexicon", "wrold")
    assert_refused(refused, "unknown lexicon 'wrold'; did you mean 'world'?")


def test_wordnet_is_a_set_of_questions(command, vectors, lexicon):
    found = answer(command("vectors", "evaluate", vectors, "--wordnet", "--json"))
    (result,) = found["results"]
    assert result["set"] == "WordNet (tiny:1)" and result["total"] == result["answered"] > 5
    assert result["scores"][0]["name"] == "spearman" and -1 <= result["scores"][0]["value"] <= 1


def test_without_wordnet_the_way_out_is_told(command, vectors, monkeypatch):
    monkeypatch.delenv("FIRTH_LEXICON", raising=False)
    monkeypatch.setattr(opening, "_usual_places", lambda: iter(()))
    monkeypatch.setattr(opening, "wn_lexicons", list)
    monkeypatch.setattr(opening, "_nltk_data", lambda: None)
    for verb in (["neighbours", vectors, "dog"], ["evaluate", vectors]):
        assert_refused(command("vectors", *verb, "--wordnet"), "no lexicon is there; apt install wordnet-base")


# --- evaluation ---------------------------------------------------------------------------------------------------


@pytest.fixture
def questions(tmp_path):
    folder = tmp_path / "questions"
    folder.mkdir()
    (folder / "pairs.txt").write_text("dog\tcat\t9\ndog\tsea\t1\nboat\tsail\t8\nhot\tcold\t7\nxyzzy\tcat\t3\n")
    (folder / "analogies.txt").write_text(": capital\ndog cat tree plant\n: gram1\nboat sea hot cold\n")
    (folder / "odd.txt").write_text("dog cat puppy | boat\ntree plant | sea\n")
    (folder / "README").write_text("Nothing is asked here.\n")
    return folder


def test_a_folder_of_questions_is_one_table(command, vectors, questions):
    found = assert_done(command("vectors", "evaluate", vectors, questions, "--sections"))
    rows = {line.split()[0]: line.split() for line in found.out.splitlines()[1:]}
    assert rows["pairs"][-4:] == ["1.0000", "4", "5", "1"] and rows["odd"][-3:] == ["2", "2", "0"]
    assert "semantic" in rows and "syntactic" in rows and found.out.endswith("no evaluation set in README\n")
    named = assert_done(command("vectors", "evaluate", vectors, questions / "odd.txt", questions / "pairs.txt"))
    assert [line.split()[0] for line in named.out.splitlines()[1:]] == ["odd", "pairs"]


def test_several_vectors_stand_side_by_side(command, vectors, questions, tmp_path):
    few = tmp_path / "few.txt"
    WordVectors(WORDS[:5], made()[:5]).save(few)
    options = (questions / "pairs.txt", "--with", few)
    lines = assert_done(command("vectors", "evaluate", vectors, *options)).out.splitlines()
    assert lines[0].split() == ["set", "score", str(vectors), str(few), "asked"]
    assert lines[1].split() == ["pairs", "spearman", "1.0000", "(4)", "n/a", "(1)", "5"]
    both = answers(command("vectors", "evaluate", vectors, *options, "--json"))
    assert [entry["vectors"] for entry in both] == [str(vectors), str(few)]
    assert both[1]["results"][0]["oov_words"] == ["sea", "boat", "sail", "hot", "cold", "xyzzy"]
    assert "|words:5|" in both[1]["results"][0]["scores"][0]["signature"]


def test_a_classifier_on_mean_vectors(command, vectors, tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_SETS", str(tmp_path / "sets"))
    lines = [f"{label}\t{text}\n" for label, text in (("beast", "dog cat"), ("ship", "boat sea"), ("beast", "puppy"))]
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text("".join(lines))
    files = ("--train", tmp_path / "train.tsv", "--test", tmp_path / "test.tsv", "--format", "tsv")
    assert_done(command("data", "add", "mine", "--task", "classification", *files, "--set", "columns=label,text"))
    found = answer(command("vectors", "evaluate", vectors, "--classify", "mine", "--json"))
    assert found["results"][0]["scores"][0] | {"signature": ""} == {"name": "accuracy", "value": 1.0, "signature": ""}
    assert_refused(command("vectors", "evaluate", vectors, "--classify", "world-pairs"), "world-pairs")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no evaluation sets; give files or a folder of them, or --data or FIRTH_DATA"),
        (["nowhere"], "nowhere: no such folder; give a folder or a file with questions about words"),
        (["text.txt"], "text.txt: no questions about words"),
        (["--case", "any"], "'any' is not one of 'fold', 'exact'"),
        (["--method", "add"], "'add' is not one of 'additive', 'multiplicative'"),
        (["--senses", "nowhere"], "nowhere: cannot read it: No such file or directory"),
    ],
)
def test_evaluate_refuses(command, vectors, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIRTH_DATA", raising=False)
    (tmp_path / "text.txt").write_text(
        "This is a sentence that asks for nothing at all.\nAnd another of them, longer.\n"
    )
    words = words if not words or not words[0].startswith("--") else ["text.txt", *words]
    assert_refused(command("vectors", "evaluate", vectors, *words), said)


# --- senses -------------------------------------------------------------------------------------------------------


def test_senses_are_found_measured_and_kept(command, vectors, text, tmp_path):
    options = ("dog", "boat", "walk", "--text", text, "--out", tmp_path / "s", "--count", 3)
    found = answer(command("vectors", "senses", vectors, *options, "--json"))
    assert set(found["senses"]) == {"dog", "boat"} and found["not_in_text"] == ["walk"]
    for word, senses in found["senses"].items():
        assert sum(sense["fraction"] for sense in senses) == pytest.approx(1)
        assert all(near["word"] != word for sense in senses for near in sense["neighbours"])
    kept, store = WordSenses.load(tmp_path / "s"), WordVectors.load(vectors)
    for word, value in found["superposition"]["per_word"].items():
        assert value == pytest.approx(
            cosine(kept.senses_of(word)[1] @ kept.senses_of(word)[0], store.vector(word)), abs=1e-5
        )
    shown = assert_done(command("vectors", "senses", vectors, *options)).out
    assert shown.startswith("dog: ") and "weighted" in shown and shown.endswith("note: not in the text: walk\n")
    assert_refused(
        command("vectors", "senses", vectors, "walk", "--text", text), "none of the words occurs in the text"
    )


# --- search -------------------------------------------------------------------------------------------------------


def test_search_ranks_documents(command, vectors, text):
    found = answer(command("vectors", "search", "-", "red boat", "--text", text, "--count", 2, "--json"))
    assert found["method"] == "bm25" and [hit["id"] for hit in found["hits"]] == [f"{text}:1", f"{text}:5"]
    blended = answer(command("vectors", "search", vectors, "sail", "--text", text, "--count", 1, "--json"))
    assert blended["method"] == "blend" and blended["hits"][0]["title"] == "the red boat and the sail at sea"
    read = assert_done(command("vectors", "search", "-", "--text", text, "--count", 1, stdin=b"cold\nzzz\n")).out
    assert read.splitlines()[1].endswith("hot and cold") and read.endswith("\nzzz\n  no hits\n")


def test_an_index_is_kept_and_opened(command, vectors, text, tmp_path):
    index = tmp_path / "i"
    said = assert_done(command("vectors", "search", vectors, "--text", text, "--save", index)).out
    assert said == f"{index}: 20 documents, {len(SearchIndex.load(index).terms)} words\n"
    first = assert_done(command("vectors", "search", vectors, "sail", "--text", text)).out
    assert assert_done(command("vectors", "search", vectors, "sail", "--index", index)).out == first
    assert assert_done(command("vectors", "search", "-", "sail", "--index", index)).out == first  # they are in it
    other = tmp_path / "other.txt"
    WordVectors(["a", "b"], np.ones((2, 3), np.float32)).save(other)
    refused = command("vectors", "search", other, "sail", "--index", index)
    assert_refused(refused, f"{index}: the index has vectors of width 6, these have width 3")


def test_answers_are_judged(command, vectors, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"_id": "1", "text": "red boat"}\n{"_id": "2", "text": "dog and cat"}\n')
    (tmp_path / "q.tsv").write_text("a\tboat\nb\tcat\nc\ttree\n")
    (tmp_path / "j.txt").write_text("a 0 1 1\nb 0 2 1\n")
    files = ("--text", tmp_path / "d.jsonl", "--queries", tmp_path / "q.tsv", "--judgements", tmp_path / "j.txt")
    found = answers(command("vectors", "search", vectors, *files, "--json"))
    assert [entry["method"] for entry in found] == ["bm25", "tfidf", "vectors", "blend"]
    assert all(entry["queries"] == 2 for entry in found)
    assert {score["name"]: score["value"] for score in found[0]["scores"]} == {
        "nDCG@10": 1.0, "MAP": 1.0, "recall@100": 1.0, "precision@10": 0.1
    }  # fmt: skip
    lines = assert_done(command("vectors", "search", "-", *files)).out.splitlines()
    assert lines[0].split()[:2] == ["method", "nDCG@10"] and [line.split()[0] for line in lines[1:]] == [
        "bm25",
        "tfidf",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["boat"], "no documents; give --text with files, folders or a data set, or --index"),
        (["boat", "--text", "nowhere.txt"], "nowhere.txt: no such file or folder"),
        (["boat", "--text", "TEXT", "--method", "bm"], "'bm' is not one of 'bm25', 'tfidf'"),
        (["boat", "--text", "TEXT", "--method", "vectors"], "the index has no word vectors"),
        (["--text", "TEXT", "--evaluate"], "unknown data set"),
        (["--evaluate"], "no relevance judgements; give the data set with --text"),
        (["--text", "TEXT", "--queries", "TEXT"], "--queries and --judgements belong together"),
        (["boat", "--index", "TEXT"], "not a file with a search index"),
    ],
)
def test_search_refuses(command, text, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert_refused(command("vectors", "search", "-", *(text if word == "TEXT" else word for word in words)), said)


# --- two languages ------------------------------------------------------------------------------------------------


@pytest.fixture
def languages(tmp_path):
    """The same vectors turned, and the words spelled backwards; and pairs of them."""
    random = np.random.default_rng(0)
    words = [f"{a}{b}{c}" for a in "bdfg" for b in "aeiou" for c in "klm"]
    rows = random.normal(size=(len(words), 8)).astype(np.float32)
    turn = np.linalg.qr(random.normal(size=(8, 8)))[0].astype(np.float32)
    WordVectors(words, rows).save(tmp_path / "one.txt")
    WordVectors([word[::-1] for word in words], rows @ turn).save(tmp_path / "two.txt")
    (tmp_path / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    return tmp_path


def test_languages_are_aligned_tested_and_kept(command, languages):
    paths = (languages / "one.txt", languages / "two.txt", "--seed-lexicon", languages / "pairs.tsv")
    options = ("--hold-out", 10, "--refinement-rounds", 1, "--translate", "bak,gum", "--count", 1)
    found = answer(command("vectors", "align", *paths, *options, "--out", languages / "out.txt", "--json"))
    assert found["pairs"][0] == 50 and found["total"] == found["answered"] == 10
    assert [score["value"] for score in found["scores"]] == [1.0, 1.0, 1.0]
    assert {word: row[0]["word"] for word, row in found["translations"].items()} == {"bak": "kab", "gum": "mug"}
    mapped = WordVectors.load(languages / "out.txt")
    assert mapped.words[0] == "bak" and mapped.width == 8
    shown = assert_done(command("vectors", "align", *paths, *options)).out
    assert "precision@1 1.0000, precision@5 1.0000, precision@10 1.0000 over 10 of 10 words" in shown


def test_pairs_may_be_turned_and_tested_by_a_file(command, languages):
    paths = (languages / "two.txt", languages / "one.txt", "--seed-lexicon", languages / "pairs.tsv", "--reverse")
    found = answer(
        command("vectors", "align", *paths, "--test-lexicon", languages / "pairs.tsv", "--max-seeds", 20, "--json")
    )
    assert found["pairs"][0] == 20 and found["total"] == 60 and found["scores"][0]["value"] == 1.0


def test_word_pairs_come_out_of_translated_sentences(command, languages):
    words = [line.split("\t") for line in (languages / "pairs.tsv").read_text().splitlines()]
    lines = [f"{a[0]} {b[0]}\t{a[1]} {b[1]}\n" for n, a in enumerate(words) for b in (words[n - 1], words[n - 7])]
    (languages / "text.tsv").write_text("".join(lines * 2))
    options = ("--parallel", languages / "text.tsv", "--translate", "bak", "--count", 1, "--json")
    found = answer(command("vectors", "align", languages / "one.txt", languages / "two.txt", *options))
    assert found["pairs"][0] == 60 and found["translations"]["bak"][0]["word"] == "kab"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no seed lexicon; give --seed-lexicon or --parallel, one of them"),
        (["--seed-lexicon", "bad.tsv"], "bad.tsv:2: not two words; write a word, a tab, its translation"),
        (["--seed-lexicon", "none.tsv"], "none.tsv: no word pairs in it"),
        (["--seed-lexicon", "pairs.tsv", "--retrieval", "far"], "'far' is not one of 'csls', 'nearest'"),
        (["--seed-lexicon", "pairs.tsv", "--reverse"], "none of the 60 seed pairs has both words among the vectors"),
        (["--seed-lexicon", "pairs.tsv", "--translate", "zzz"], "the word 'zzz' has no vector"),
    ],
)
def test_align_refuses(command, languages, monkeypatch, words, said):
    monkeypatch.chdir(languages)
    (languages / "bad.tsv").write_text("bak\tkab\nbal\n")
    (languages / "none.tsv").write_text("\n")
    assert_refused(command("vectors", "align", "one.txt", "two.txt", *words), said)


# --- plots and files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_maps_and_arrows_are_plotted(command, vectors, tmp_path, ending):
    out = tmp_path / f"map.{ending}"
    said = assert_done(command("vectors", "map", vectors, "--method", "pca", "--out", out)).out
    assert said.startswith(f"{out}: 14 words") and all(f">{word}<" in out.read_text() for word in ("dog", "sail"))
    groups = ("--group", "beasts=dog,cat", "--group", "ships=boat,sea", "--method", "pca", "--out", out, "--json")
    rows = answer(command("vectors", "map", vectors, *groups))["rows"]
    assert {row["word"]: row["group"] for row in rows} == {
        "dog": "beasts",
        "cat": "beasts",
        "boat": "ships",
        "sea": "ships",
    }
    found = answer(command("vectors", "arrows", vectors, "dog:cat", "tree:plant", "--out", out, "--json"))
    assert [(row["from"], row["to"]) for row in found["rows"]] == [("dog", "cat"), ("tree", "plant")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["map", "--group", "dog,cat"], "cannot read --group 'dog,cat'; write it as fruit=apple,pear"),
        (["map", "dgo", "cat", "red"], "the word 'dgo' has no vector; did you mean 'dog'"),
        (["map", "--out", "map.gif"], "map.gif"),
        (["map", "--out", "nowhere/map.svg"], "nowhere: no such folder"),
        (["map", "--method", "isomap"], "isomap"),
        (["arrows", "dog-cat"], "cannot read the pair 'dog-cat'; write it as man:woman"),
    ],
)
def test_plots_refuse(command, vectors, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert_refused(command("vectors", words[0], vectors, *words[1:]), said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["firth", "word2vec", "word2vec-text", "glove", "projector", ""])
def test_convert_goes_between_formats(command, vectors, rows, tmp_path, to):
    out = tmp_path / ("v.txt" if not to else "v")
    said = assert_done(command("vectors", "convert", vectors, out, *(["--to", to] if to else []))).out
    assert said.startswith(f"{out}: 14 words, width 6, ")
    again = answer(command("vectors", "neighbours", out, "dog", "--json"))
    assert again == answer(command("vectors", "neighbours", vectors, "dog", "--json"))


def test_convert_takes_a_part_or_other_vectors(command, vectors, tmp_path):
    out = tmp_path / "v.txt"
    assert_done(command("vectors", "convert", vectors, out, "--kind", "context", "--top", 3))
    found = WordVectors.load(out)
    assert list(found.words) == WORDS[:3] and np.array_equal(found.vectors, made(seed=1)[:3])


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["neighbours", "V", "dgo"], "the word 'dgo' has no vector; did you mean 'dog'"),
        (["neighbours", "V", "qqqqq"], "the word 'qqqqq' has no vector"),
        (["neighbours", "V", "dog", "--kind", "both"], "'both' is not one of 'word', 'context'"),
        (["neighbours", "V", "dog", "--approximate", "--restrict-vocab", "3"], "--approximate searches all words"),
        (["neighbours", "V"], "Missing argument 'WORD'; see firth vectors neighbours --help"),
        (["similarity", "V", "dog", "caat"], "the word 'caat' has no vector; did you mean 'cat'"),
        (["analogy", "V", "dog", "cat", "tree", "--method", "x"], "'x' is not one of 'additive', 'multiplicative'"),
        (["odd-one-out", "V", "dog", "cat"], "no odd one out among 2 words; give three or more"),
        (["convert", "V", "out.xyz"], "out.xyz: no known extension, so the format is unclear"),
        (["convert", "V", "out.txt", "--to", "golve"], "'golve' is not one of 'firth', 'word2vec'"),
        (["neighbours", "nowhere.bin", "dog"], "nowhere.bin: no such file or folder"),
        (["neighbours", "folder", "dog"], "folder: no word vectors in this folder"),
        (["neighbours", "lstm", "dog"], "lstm: a run of another kind (neural), which has no word vectors"),
        (["info", "empty.txt"], "empty.txt: the file is empty"),
        (
            ["info", "short.txt"],
            "short.txt: 10 bytes, too few for the 3 vectors of width 2 that its header says",
        ),
        (["info", "short.bin"], "short.bin: "),
        (["info", "cut.safetensors"], "cut.safetensors: not a file of word vectors that firth wrote, or damaged"),
        (["info", "nan.txt"], "nan.txt:2: 'nan' in a vector"),
        (["info", "nan.safetensors"], "nan.safetensors: the vector of 'b' has NaN or an infinity in it"),
        (["similarity", "nan.safetensors", "a", "b"], "the vector of 'b' has NaN or an infinity in it"),
        (["neighbours", "nan.safetensors", "a"], "the vector of 'b' has NaN or an infinity in it"),
        (["info", "prose.txt"], "prose.txt"),
        (["info", "picture.bin"], "picture.bin: not a file of word vectors"),
        (["neighbuors", "V", "dog"], "neighbuors"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(command, vectors, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    write_bad(tmp_path, vectors)
    found = command("vectors", *(vectors if word == "V" else word for word in words))
    assert_refused(found, said)


def write_bad(folder, vectors):
    (folder / "folder").mkdir()
    (folder / "lstm").mkdir()
    (folder / "lstm" / "config.json").write_text('{"config": {"kind": "neural"}}')
    (folder / "empty.txt").write_text("")
    (folder / "short.txt").write_text("3 2\na 1 2\n")
    (folder / "short.bin").write_bytes(b"3 2\na " + struct.pack("<2f", 1, 2) + b"b ")
    (folder / "cut.safetensors").write_bytes(vectors.read_bytes()[:-20])
    (folder / "nan.txt").write_text("2 2\na nan 2\nb 1 2\n")
    (folder / "prose.txt").write_text("It was a dark night.\nNothing moved at all, not even the cat.\n")
    (folder / "picture.bin").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    WordVectors(["a", "b"], np.array([[1, 2], [3, 4]], np.float32)).save(folder / "nan.safetensors")
    content = (folder / "nan.safetensors").read_bytes()
    (folder / "nan.safetensors").write_bytes(content.replace(struct.pack("<f", 4), struct.pack("<f", float("nan"))))


def test_the_help_of_the_group_needs_no_numpy():
    code = "import sys; sys.argv = ['firth', 'vectors', '--help']\nfrom firth.cli.main import run\n"
    code += "try: run()\nexcept SystemExit: pass\nsys.exit(any(m in sys.modules for m in ('torch', 'numpy')))"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_vectors_are_taken_as_they_are_kept(command, tmp_path):
    """GloVe keeps the mean of both sets of vectors; one of them alone is given on demand."""
    own, context = made(seed=2), made(seed=3)
    WordVectors(WORDS, (own + context) / 2, context=context, is_mean=True).save(tmp_path / "v.safetensors")
    kinds = {"": own + context, "word": own, "context": context, "sum": own + context}
    for kind, rows in kinds.items():
        options = ["--kind", kind] if kind else []
        found = answer(command("vectors", "similarity", tmp_path / "v.safetensors", "dog", "sea", *options, "--json"))
        expected = cosine(rows[WORDS.index("dog")], rows[WORDS.index("sea")])
        assert found["similarity"] == pytest.approx(expected, abs=1e-5)
