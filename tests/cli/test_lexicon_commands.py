"""`firth lexicon` as a user meets it, and pseudo-words of `firth vectors`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from cli_samples import assert_done, assert_refused
from miniature_wordnet import write_database

from firth.embeddings.word_vectors import WordVectors


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_database(tmp_path_factory.mktemp("wordnet") / "dict")


@pytest.fixture
def ask(command, folder, monkeypatch):
    monkeypatch.setenv("FIRTH_LEXICON", str(folder))
    return lambda *words: assert_done(command("lexicon", *words)).out


def values(text):
    return [json.loads(line) for line in text.splitlines()]


def test_synsets_with_their_examples(ask):
    assert ask("synsets", "bank", "--pos", "n") == (
        "bank.n.01  bank: a house that keeps money\n    she took money from the bank\n    a bank lends\n"
        "bank.n.02  bank, slope: the land beside a river\n    they sat on the bank\n"
    )
    (one, two) = values(ask("synsets", "dogs", "torrid.s.01", "--json"))
    assert one["synsets"][0]["name"] == "dog.n.01" and one["synsets"][0]["examples"] == ["the dog barked"]
    assert two["synsets"][0]["words"] == ["torrid", "searing"] and two["synsets"][0]["pos"] == "s"


def test_senses_have_keys_counts_and_antonyms(ask):
    shown = ask("senses", "bank").splitlines()
    assert shown[0].split() == ["sense", "key", "count", "definition"] and len(shown) == 4
    assert shown[1].split()[:3] == ["bank.n.01", "bank%1:00:01::", "5"]
    (found,) = values(ask("senses", "hotter", "--json"))
    assert found["senses"][0]["antonyms"] == ["cold"] and found["senses"][0]["count"] == 0


def test_trees_of_hypernyms_and_hyponyms(ask):
    assert ask("hypernyms", "parrot").splitlines() == [
        "parrot.n.01  parrot: a bird that talks",
        "  animal.n.01  animal, beast: a living being that moves",
        "    entity.n.01  entity: whatever is",
        "  pet.n.01  pet: a living being kept at home",
        "    entity.n.01  entity: whatever is",
    ]
    assert ask("hypernyms", "parrot", "--levels", "1").count("\n") == 3
    below = ask("hyponyms", "animal.n.01").splitlines()
    assert len(below) == 5 and below[1] == "  dog.n.01  dog, hound: a tame animal that barks"
    assert len(ask("hyponyms", "animal.n.01", "--levels", "0").splitlines()) == 7
    ((tree,),) = values(ask("hyponyms", "animal", "--levels", "0", "--json"))
    assert [each["name"] for each in tree["hyponyms"][0]["hyponyms"]] == ["puppy.n.01", "guide_dog.n.01"]


def test_relations_of_a_synset(ask):
    assert ask("relations", "tree").splitlines() == [
        "tree.n.01  tree: a tall plant with a trunk", "  hypernym: plant.n.01", "  mero part: leaf.n.01"
    ]  # fmt: skip
    (((found),),) = values(ask("relations", "hot.a.01", "--json"))
    assert found["relations"] == {"similar": ["torrid.s.01"], "antonym": ["cold.a.01"]}


def test_similarity_with_and_without_a_text(ask, tmp_path):
    (tmp_path / "a.txt").write_text("dogs bark at cats . a dog runs . trees grow .\n")
    shown = ask("similar", "dog", "cats").splitlines()
    assert [line.split()[0] for line in shown[1:4]] == ["path", "wu-palmer", "leacock-chodorow"]
    assert shown[1].split() == ["path", "0.3333", "dog.n.01", "cat.n.01"]
    assert shown[4] == "cats is a co-hyponym of dog"
    (found,) = values(ask("similar", "dog", "cat", "--text", tmp_path / "a.txt", "--json"))
    named = {row["measure"]: row["value"] for row in found["similarities"]}
    assert len(named) == 6 and 0 < named["lin"] < 1 and found["relation"] == "co-hyponym"
    assert "n/a" in ask("similar", "hot", "cold")


def test_lemmas_and_info(ask, folder):
    assert ask("lemmas", "geese", "banks", "table").splitlines() == [
        "geese  goose (noun)", "banks  bank (noun), bank (verb)", "table  not in the lexicon"
    ]  # fmt: skip
    (found,) = values(ask("info", "--json"))
    assert found["name"] == "WordNet 3.0" and found["place"] == str(folder)
    assert found["synsets"] == {"noun": 16, "verb": 5, "adjective": 3, "adverb": 1}
    assert "noun synsets       16" in ask("info") and "irregular forms" in ask("info")


def test_disambiguation_of_a_text(ask, tmp_path):
    rows = ask("disambiguate", "They sat beside the river on a bank.").splitlines()
    assert rows[1].split()[:4] == ["bank", "bank.n.02", "3", "3"]
    assert ask("disambiguate", "a chair and a table") == "no word of the lexicon\n"
    (found,) = values(
        ask("disambiguate", "The bank has dogs.", "--word", "bank", "--method", "most-frequent", "--json")
    )
    assert [word["word"] for word in found["words"]] == ["bank"]
    assert [sense["sense"] for sense in found["words"][0]["senses"]] == ["bank.n.01", "bank.n.02", "bank.v.01"]


@pytest.fixture
def vectors(tmp_path):
    words = ["river", "land", "money", "house", "sat", "beside", "keeps", "bank"]
    rows = np.array([[1, 0]] * 2 + [[0, 1]] * 2 + [[1, 0.1]] * 2 + [[0, 1], [1, 1]], np.float32)
    WordVectors(words, rows, counts=np.full(8, 9)).save(tmp_path / "v.safetensors")
    return tmp_path / "v.safetensors"


def test_disambiguation_by_vectors(ask, command, vectors):
    line, method = "they sat beside the bank", ("--method", "gloss-vectors")
    rows = ask("disambiguate", line, *method, "--vectors", vectors, "--word", "bank", "--pos", "n").splitlines()
    assert rows[1].split()[1] == "bank.n.02"
    assert_refused(command("lexicon", "disambiguate", line, *method), "gloss-vectors needs word vectors; name a file")


def test_evaluation_on_the_world_and_on_a_file(ask, command, tmp_path, vectors):
    found = values(ask("evaluate", "--max-words", "40", "--max-train", "100", "--json"))[0]
    assert [row["method"] for row in found] == [
        "random", "most frequent in training", "most-frequent", "lesk", "extended-lesk", "exact posterior"
    ]  # fmt: skip
    assert found[0]["value"] == 0.5 and all(row["words"] == 40 for row in found)
    examples = [{"words": ["the", "river", "bank"], "position": 2, "word": "bank", "sense": "slope.n.01"}] * 2
    (tmp_path / "s.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in examples))
    rows = ask("evaluate", tmp_path / "s.jsonl", "--train", tmp_path / "s.jsonl", "--vectors", vectors).splitlines()
    accuracy = {line.rpartition("%  ")[0].split("  ")[0]: line for line in rows[1:]}
    assert "100.0%" in accuracy["lesk"] and "100.0%" in accuracy["sense-vectors"] and len(rows) == 8
    assert_refused(command("lexicon", "evaluate", "world-senses", "--split", "dev"), "unknown split 'dev'")
    assert_refused(command("lexicon", "evaluate", "world-pairs"), "task senses needs WordSense")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["synsets", "table"], "'table' is not in WordNet 3.0; try its base form, or another lexicon"),
        (["hypernyms", "dog.n.07"], "no synset 'dog.n.07' in WordNet 3.0: 'dog' has 1 sense"),
        (["similar", "dog", "table"], "'table' is not in WordNet 3.0"),
        (["synsets", "dog", "--lexicon", "nowhere/dict"], "nowhere/dict: no such file or folder"),
        (["lemmas", "-"], "no word"),
    ],
)
def test_what_is_not_there_is_one_line(command, ask, words, error):
    assert_refused(command("lexicon", *words), error)


def test_pseudo_words(command, tmp_path):
    words = ["bank", "door", "river", "boat", "wave", "coin", "loan", "purse"]
    random = np.random.default_rng(0)
    rows = random.normal(0, 0.1, (8, 4)) + np.repeat([[0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0]], [2, 3, 3], 0)
    WordVectors(words, rows.astype(np.float32), counts=np.full(8, 40)).save(tmp_path / "v.safetensors")
    lines = ["river boat bank wave boat .", "coin loan door purse loan ."] * 30
    (tmp_path / "t.txt").write_text("\n".join(lines))
    given = (
        "vectors",
        "pseudo-words",
        tmp_path / "v.safetensors",
        "--text",
        tmp_path / "t.txt",
        "--pairs",
        "bank/door",
    )
    shown = assert_done(command(*given)).out
    assert shown.splitlines()[1].split() == ["bank/door", "30", "2", "100.0%", "100.0%", "50.0%"] or "100.0%" in shown
    found = json.loads(assert_done(command(*given, "--json")).out)
    assert found["accuracy"]["induced"] == 1 and found["rows"][0]["pair"] == ["bank", "door"]
    assert_refused(command(*given[:-1], "bank"), "--pairs: cannot read the pair 'bank'; write bank/door,key/dog")


# --- senses by an encoder ---------------------------------------------------------------------------------------------

SENSES = [
    {"words": ["the", "doglamps", "shone"], "position": 1, "word": "doglamp", "sense": "lamp.n.01"},
    {"words": ["a", "doglamp", "barked"], "position": 1, "word": "doglamp", "sense": "dog.n.01"},
]


@pytest.fixture
def labelled(tmp_path):
    path = tmp_path / "senses.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in SENSES))
    return path


def test_senses_from_labelled_examples_by_an_encoder(command, trained, labelled):
    options = ["--lexicon", "world", "--encoder", trained, "--json"]
    shown = assert_done(command("lexicon", "evaluate", labelled, "--train", labelled, *options)).out
    methods = {each["method"]: each for each in json.loads(shown)}
    assert methods["sense-embeddings"]["value"] == 1.0 and "gloss-embeddings" in methods
    options += ["--method", "sense-embeddings", "--train", labelled]
    (line,) = values(assert_done(command("lexicon", "disambiguate", "a doglamp barked", *options)).out)
    assert line["words"][0]["senses"][0]["synset"] == "dog.n.01"


def test_the_exact_posterior_stands_beside_the_senses_of_the_world(command):
    shown = assert_done(command("lexicon", "evaluate", "--max-words", 40, "--max-train", 50, "--json")).out
    methods = {each["method"]: each["value"] for each in json.loads(shown)}
    assert methods["exact posterior"] > max(methods["lesk"], 0.7)


def test_gloss_pairs_are_training_data(command, labelled, tmp_path):
    out = tmp_path / "pairs.tsv"
    shown = assert_done(command("lexicon", "gloss-pairs", labelled, "--lexicon", "world", "--out", out)).out
    assert shown == f"{out}: 4 pairs of 2 words\n"
    header, *rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert header == ["left", "right", "label"] and [row[2] for row in rows] == ["no", "yes", "yes", "no"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["disambiguate", "a", "--method", "sense-embeddings"], "--method sense-embeddings needs labelled words"),
        (["disambiguate", "a", "--method", "gloss-pairs"], "--method gloss-pairs needs an encoder"),
        (["gloss-pairs", "BAD", "--out", "x.tsv"], "BAD:1: position 3 of 3 words; count the words from 0"),
        (["gloss-pairs", "OTHER", "--out", "x.tsv"], "line 1: world has no sense 'dog%1:05:00::' of 'doglamp'"),
    ],
)
def test_what_disambiguation_by_an_encoder_refuses(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "BAD").write_text(json.dumps(SENSES[0] | {"position": 3}) + "\n")
    (tmp_path / "OTHER").write_text(json.dumps(SENSES[0] | {"sense": "dog%1:05:00::"}) + "\n")
    assert_refused(command("lexicon", *arguments, "--lexicon", "world"), message)


def test_no_lexicon_is_one_line(command, labelled, monkeypatch, tmp_path):
    from firth.lexicon import opening

    for name in ("USUAL",):
        monkeypatch.setattr(opening, name, ())
    for name in ("_installed", "_nltk_data", "data_folder"):
        monkeypatch.setattr(opening, name, dict if name == "_installed" else lambda: None)
    for name in ("FIRTH_LEXICON", "WNSEARCHDIR", "WNHOME"):
        monkeypatch.delenv(name, raising=False)
    assert_refused(command("lexicon", "gloss-pairs", labelled, "--out", tmp_path / "x"), "no lexicon is there; apt")
