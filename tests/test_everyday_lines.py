"""Lines as users of gensim, Hugging Face, spaCy, scikit-learn, NumPy and pandas write them; and what is refused."""

import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import firth
from firth.datasets.records import Labelled
from firth.runs.base_ladder import Advice, ConfidenceInterval
from firth.runs.ladder_folder import Ladder, Row

STORIES = [f"The {animal} {verb} in the {place} ." for animal in ("cat", "dog", "king", "queen", "horse")
           for verb in ("sleeps", "eats", "runs", "sings") for place in ("house", "garden", "castle")] * 5  # fmt: skip
GOOD, BAD = "a lovely , happy film", "an awful , boring film"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def lm(folder):
    settings, out = {"tokenizer.model": "word", "train.threads": 1}, folder / "lm"
    return firth.train(
        "lstm-lm:tiny", text=STORIES, out=out, budget="20 steps", width=16, learning_rate=0.01, settings=settings
    )


@pytest.fixture(scope="module")
def word_model(folder):
    return firth.train(
        "skipgram:tiny", text=STORIES, out=folder / "vectors", width=8, epochs=2, min_count=1, threads=1
    )


@pytest.fixture(scope="module")
def vectors(word_model):
    return word_model.vectors


@pytest.fixture(scope="module")
def clf(folder):
    examples = [("good", GOOD), ("bad", BAD)] * 60
    lines = "".join(f"__label__{label} {text} {number}\n" for number, (label, text) in enumerate(examples))
    (folder / "reviews.txt").write_text(lines)
    text = folder / "reviews.txt"
    return firth.train("fasttext-classifier", text=text, out=folder / "clf", epochs=5, width=8, min_count=1, threads=1)


@pytest.fixture(scope="module")
def mlm(folder):
    return firth.train("bert:tiny", text=STORIES, out=folder / "mlm", budget="4 steps", threads=1)


# --- gensim -------------------------------------------------------------------------------------------------------


def test_lines_of_gensim(vectors, tmp_path):
    assert vectors["king"].shape == (8,)
    assert vectors[["king", "queen"]].shape == (2, 8)
    assert "king" in vectors and "zebra" not in vectors and 3 not in vectors
    assert len(vectors) == len(vectors.index_to_key) == len(list(vectors))
    assert vectors.index_to_key[vectors.key_to_index["king"]] == "king"
    assert vectors.vector_size == 8
    word, similarity = vectors.most_similar("king", topn=5)[0]
    assert vectors.similarity("king", word) == pytest.approx(similarity, abs=1e-5)
    assert len(vectors.most_similar(positive=["queen", "dog"], negative=["king"], topn=3)) == 3
    assert vectors.most_similar(vectors["king"], topn=1)[0].word == "king"
    assert vectors.doesnt_match(["cat", "dog", "house"]) in ("cat", "dog", "house")
    vectors.save(tmp_path / "vectors.bin")
    assert firth.WordVectors.load(tmp_path / "vectors.bin").index_to_key == vectors.index_to_key


def test_a_model_of_vectors_answers_too(word_model, vectors):
    assert word_model.most_similar("king", topn=3) == vectors.most_similar("king", topn=3)
    assert word_model.similarity("king", "queen") == vectors.similarity("king", "queen")
    assert word_model.analogy("cat", "dog", "king") == vectors.analogy("cat", "dog", "king")
    assert word_model.doesnt_match(["cat", "dog", "house"]) == vectors.doesnt_match(["cat", "dog", "house"])
    assert np.array_equal(word_model["king"], vectors["king"]) and "king" in word_model and "zebra" not in word_model


def test_vectors_are_an_array(vectors):
    matrix = np.asarray(vectors)
    assert matrix.shape == (len(vectors), 8) and np.array_equal(matrix[vectors.key_to_index["king"]], vectors["king"])
    assert np.asarray(vectors, np.float64).dtype == np.float64


@pytest.mark.parametrize("wrong", [None, 3, [], [3], ["no such word"], Path("king")])
def test_what_is_no_word_is_refused(vectors, wrong):
    with pytest.raises(firth.FirthError):
        vectors.most_similar(wrong)
    with pytest.raises(firth.FirthError):
        vectors.doesnt_match(wrong)
    if wrong != []:
        with pytest.raises(firth.FirthError):
            vectors[wrong]


# --- Hugging Face, spaCy ------------------------------------------------------------------------------------------


def test_lines_of_tokenizers(lm, tmp_path):
    tokenizer = lm.tokenizer
    ids = tokenizer("The king sings .")
    assert ids == tokenizer.encode("The king sings .")
    assert tokenizer(["The king", "sings"]) == [tokenizer("The king"), tokenizer("sings")]
    assert tokenizer.decode(ids) == "The king sings."
    assert tokenizer.decode([ids, ids[:2]]) == ["The king sings.", "The king"]
    assert tokenizer.decode(np.array(ids)) == "The king sings."
    assert len(tokenizer) == tokenizer.vocab_size == len(tokenizer.vocabulary())
    tokenizer.save(tmp_path / "tokenizer.json")
    assert firth.Tokenizer.load(tmp_path / "tokenizer.json")("The king") == ids[:2]


def test_lines_of_language_models(lm):
    (text,) = lm.generate("The", max_length=5)
    assert text.startswith("The")
    assert [len(texts) for texts in lm.generate(["The", "A"], max_length=3, count=2)] == [2, 2]
    assert lm.perplexity(["The cat sleeps in the house ."]) > 1
    assert lm.score("The cat") < 0
    assert lm.embed("The cat").shape == (lm.embed(["The cat"]).shape[1],)
    assert sum(parameter.numel() for parameter in lm.module.parameters()) > 0
    assert len(lm.next_tokens("The", count=3)) == 3


def test_lines_of_masked_language_models(mlm):
    ((best, *_),) = mlm.fill("The [MASK] sleeps .", count=2)
    assert 0 < best.probability < 1
    assert len(mlm.fill(["The [MASK] sleeps .", "A [MASK]"])) == 2
    assert np.allclose(mlm.embed("The cat"), mlm.embed(["The cat"])[0], atol=1e-5)
    assert mlm.module.training is False


# --- scikit-learn -------------------------------------------------------------------------------------------------


def test_lines_of_classifiers(clf):
    texts = [GOOD, BAD, GOOD]
    assert [labels[0][0] for labels in clf.predict(texts)] == ["good", "bad", "good"]
    assert clf.predict(GOOD) == clf.predict([GOOD])[0]
    probabilities = clf.predict_proba(texts)
    assert probabilities.shape == (3, len(clf.labels)) and np.allclose(probabilities.sum(1), 1)
    assert clf.labels[clf.predict_proba(BAD).argmax()] == "bad"
    assert clf.score(texts, ["good", "bad", "bad"]) == pytest.approx(2 / 3)
    assert clf.evaluate([Labelled(GOOD, ("good",))])[0].value == 1.0
    for wrong in (None, 3, [3], Path("a")):
        with pytest.raises(firth.FirthError):
            clf.predict(wrong)
        with pytest.raises(firth.FirthError):
            clf.score(wrong, ["good"])
    with pytest.raises(firth.FirthError, match="example 0 is a tuple"):
        clf.evaluate([(GOOD, "good")])


# --- runs, tables -------------------------------------------------------------------------------------------------


def test_history_scores_and_comparisons_are_tables(lm, mlm, folder, monkeypatch):
    steps = [row for row in lm.history if "learning_rate" in row]
    assert steps and steps == sorted(steps, key=lambda row: row["step"])
    scores = firth.evaluate(lm)
    assert scores == firth.evaluate(folder / "lm") == lm.evaluate()
    assert [score.name for score in scores] == ["perplexity", "bits_per_byte"] and "perplexity" in repr(scores)
    table = firth.compare(lm, str(folder / "mlm"))
    assert [row["preset"] for row in table] == ["lstm-lm:tiny", "bert:tiny"] and "bert:tiny" in repr(table)
    frame = lm.history.to_pandas()
    losses = frame[["step", "loss"]].dropna()
    assert len(frame) == len(lm.history)
    assert (losses["loss"].iloc[0], frame["step"].max()) == (steps[0]["loss"], 20)
    assert list(scores.to_pandas().set_index("name")["value"]) == [score.value for score in scores]
    assert list(table.to_pandas()["preset"]) == ["lstm-lm:tiny", "bert:tiny"]
    assert firth.presets().to_pandas()["name"].iloc[0] == "ngram-lm"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(firth.FirthError, match="pandas is not installed"):
        table.to_pandas()


def test_a_saved_model_is_the_same(lm, tmp_path):
    copy = lm.save(tmp_path / "deep" / "copy")
    assert firth.load(copy).score(["The cat"]) == lm.score(["The cat"])
    assert [path.name for path in copy.parent.iterdir()] == ["copy"]
    with pytest.raises(firth.FirthError, match="there is something here"):
        lm.save(copy)
    with pytest.raises(firth.FirthError):
        lm.save(None)


def test_a_method_that_a_model_lacks_is_named_with_the_nearest(lm, word_model):
    for model, name, near in ((lm, "generat", "generate"), (word_model, "most_similiar", "most_similar")):
        with pytest.raises(firth.FirthError, match=f"did you mean '{near}'"):
            getattr(model, name)
    assert not hasattr(lm, "translate") and getattr(lm, "predict", None) is None
    with pytest.raises(AttributeError):
        firth.trian  # noqa: B018


def test_presets_are_listed():
    table = firth.presets()
    (entry,) = [each for each in table if each.name == "lstm-lm"]
    assert entry.parameters[entry.default] and entry.paper and entry.default in entry.sizes
    assert "\nlstm-lm\n" in repr(table)


class Checked(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_notebooks_show_everything(lm, vectors, clf, mlm, word_model):
    scores = lm.evaluate()
    shown = (lm, vectors, clf, mlm, word_model, lm.tokenizer, lm.run, scores, scores[0], lm.history,
             firth.presets(), firth.compare(lm))  # fmt: skip
    for value in shown:
        page = Checked()
        page.feed(value._repr_html_())
        assert "table" in page.tags and not page.open and "script" not in page.tags
        assert repr(value)
    evil = type(scores)([firth.Score("<script>alert(1)</script>", 1.0, "a|b")])
    assert "<script" not in evil._repr_html_()


def test_a_ladder_is_a_table():
    interval = ConfidenceInterval(2.0, 1.9, 2.1)
    row = Row("5-gram", "ngram-lm", 1000, 1.5, 2e3, 300, 12.3, *[interval] * 4, "a sample")
    advice = Advice("5-gram", ("Take <it>.",), "firth train ngram-lm")
    ladder = Ladder(Path("runs/<ladder>"), {}, "bits per byte", (row,), advice, (), ())
    assert ladder.table[0]["bits_per_byte"] == 2.0 and ladder.table[0]["recommended"]
    assert ladder.to_pandas().query("recommended")["rung"].tolist() == ["5-gram"]
    assert "5-gram" in repr(ladder) and "Take <it>." in repr(ladder)
    assert "Take &lt;it&gt;." in ladder._repr_html_() and "<ladder>" not in ladder._repr_html_()


def test_the_package_lists_its_names():
    assert dir(firth) == sorted(firth.__all__) and all(getattr(firth, name) is not None for name in firth.__all__)
    assert {"presets", "compare", "evaluate", "train", "load"} <= {*firth.__all__}


@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: firth.load(wrong),
        lambda wrong: firth.resume(wrong),
        lambda wrong: firth.evaluate(wrong),
        lambda wrong: firth.compare(wrong),
        lambda wrong: firth.train(wrong),
        lambda wrong: firth.train("lstm-lm:tiny", text=wrong or 3),
        lambda wrong: firth.load_vectors(wrong),
        lambda wrong: firth.import_model(wrong),
        lambda wrong: firth.export_model(wrong, to="arpa", out="x"),
        lambda wrong: firth.plan(wrong),
        lambda wrong: firth.resolve_config(wrong),
        lambda wrong: firth.Tokenizer.load(wrong),
        lambda wrong: firth.WordVectors.load(wrong),
        lambda wrong: firth.run_ladder(wrong or 3),
    ],
)
@pytest.mark.parametrize("wrong", [None, 3, [], Path("no/such/run")])
def test_wrong_arguments_are_refused(call, wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(firth.FirthError):
        call(wrong)


def test_wrong_values_are_refused(lm, mlm, vectors, tmp_path):
    calls = (
        lambda: lm.next_tokens("The", count="x"),
        lambda: lm.next_tokens("The", count=0),
        lambda: lm.complete("The", count=-1),
        lambda: lm.score({"a": 1}),
        lambda: lm.evaluate(split=3),
        lambda: mlm.fill("A [MASK]", count=1.5),
        lambda: vectors.most_similar("king", topn="x"),
        lambda: vectors.most_similar("king", topn=-1),
        lambda: vectors.save(3),
        lambda: lm.tokenizer.save(3),
        lambda: lm.tokenizer.save(tmp_path / "none" / "tokenizer.json"),
        lambda: firth.load(lm.run.path, weights=3),
        lambda: firth.load(lm.run.path, threads=-1),
        lambda: firth.load(lm.run.path, threads="two"),
        lambda: firth.resume(lm.run.path, progress="loud"),
        lambda: firth.train("lstm-lm:tiny", text=STORIES, progress=None),
        lambda: firth.run_ladder(STORIES, progress=3),
        lambda: firth.resolve_config("lstm-lm", [3]),
        lambda: firth.export_model(lm.run.path, to=3, out=tmp_path / "x"),
    )
    for call in calls:
        with pytest.raises(firth.FirthError):
            call()


def test_an_unknown_argument_is_told_as_python_writes_it():
    with pytest.raises(firth.FirthError, match="unknown argument 'lr'; did you mean 'learning_rate'"):
        firth.train("lstm-lm:tiny", lr=0.1)
    with pytest.raises(firth.FirthError, match="did you mean 'batch_size'"):
        firth.train("lstm-lm:tiny", batchsize=4)
