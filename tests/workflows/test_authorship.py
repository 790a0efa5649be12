"""Authorship attribution with known styles: one author writes the world, the other a variant of it."""

import numpy as np
import pytest

import firth
from firth.datasets.world import World
from firth.errors import FirthError
from firth.workflows import authorship
from firth.workflows.authorship import attribute, load_models, train
from firth.workflows.typography import DOCUMENT_SIZE, normalise_typography

DOCUMENTS = list(World().documents(260))


def restyled(text):
    """Another style: function words doubled."""
    return text.replace(" the ", " the very ").replace(" is ", " is but ")


@pytest.fixture(scope="module")
def texts_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    files = {"plain": DOCUMENTS[:120], "restyled": map(restyled, DOCUMENTS[:120]), "one": DOCUMENTS[200:230],
             "two": map(restyled, DOCUMENTS[200:230]), "short": [restyled(DOCUMENTS[200])]}  # fmt: skip
    for name, texts in files.items():
        (folder / f"{name}.txt").write_text("\n\n".join(texts))
    return folder


@pytest.fixture(scope="module")
def models(texts_folder, tmp_path_factory):
    texts = {"anne": [str(texts_folder / "plain.txt")], "bert": [str(texts_folder / "restyled.txt")]}
    return train(texts, out=tmp_path_factory.mktemp("authors"))


def test_each_text_goes_to_its_author(models, texts_folder):
    for name, author in (("one", "anne"), ("two", "bert")):
        attribution = attribute(models, str(texts_folder / f"{name}.txt"))
        assert attribution.author == author
        first, second = attribution.candidates
        assert first.win_rate > 0.95 and first.win_rate + second.win_rate == pytest.approx(1.0)
        assert first.bits_per_byte < second.bits_per_byte
        margin, low, high = second.margin
        assert margin == pytest.approx(second.bits_per_byte - first.bits_per_byte) and 0 < low < margin < high


def test_the_authors_share_a_tokenizer_of_all_their_text(models, texts_folder):
    anne, bert = models.values()
    assert anne.tokenizer.hash == bert.tokenizer.hash
    assert anne.run.path.parent == bert.run.path.parent
    assert sorted(path.name for path in anne.run.path.parent.glob("*/config.json")) == ["config.json"] * 2


def test_loaded_runs_give_the_same_attribution(models, texts_folder):
    loaded = load_models({name: model.run.path for name, model in models.items()})
    text = str(texts_folder / "two.txt")
    assert attribute(loaded, text) == attribute(models, text)


def test_trained_runs_are_not_trained_again(models, texts_folder):
    folder = models["anne"].run.path.parent
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")}
    texts = {"anne": [str(texts_folder / "plain.txt")], "bert": [str(texts_folder / "restyled.txt")]}
    train(texts, out=folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")} == before


def test_the_bootstrap_of_a_short_text_resamples_chunks(models, texts_folder):
    attribution = attribute(models, str(texts_folder / "short.txt"))
    assert any("few documents: the bootstrap resamples" in note for note in attribution.notes)
    assert attribution.candidates[0].bits_per_byte < attribution.candidates[1].bits_per_byte


@pytest.mark.parametrize("by_chunks", [True, False])
def test_nlls_of_documents_and_chunks_are_the_model_s_bits(models, by_chunks):
    """For any chunks: bits per byte as `evaluate` gives them, unknown text charged."""
    texts = [*DOCUMENTS[200:210], "Ünknown: 我"]
    model = models["anne"]
    bits = authorship._nlls(model, texts, by_chunks).sum() / np.log(2)
    size = sum(authorship._byte_counts(text, by_chunks).sum() for text in texts)
    assert size == sum(len(text.encode()) for text in texts)
    assert bits / size == pytest.approx(model.bits_per_byte(texts), rel=1e-5)


def test_the_bootstrap_of_equal_units_has_no_variance():
    first, second = authorship._rank_candidates(["a", "b"], np.array([[2.0] * 9, [1.0] * 9]), np.full(9, 4), 50, 0)
    assert (first.author, first.bits_per_byte, first.margin, first.win_rate) == ("b", 0.25, (0.0, 0.0, 0.0), 1.0)
    assert (second.margin, second.win_rate) == ((0.25, 0.25, 0.25), 0.0)


def test_the_bootstrap_of_two_opposite_units_is_a_coin():
    """Better by one in one document, worse in the other: of four resamples one is good, one bad, two are ties."""
    bits = np.array([[1.0, 2.0], [2.0, 1.0]])
    first, second = authorship._rank_candidates(["a", "b"], bits, np.ones(2), 4000, 1)
    assert second.win_rate == pytest.approx(0.25, abs=0.03) and first.win_rate == pytest.approx(
        0.75, abs=0.03
    )  # ties: a
    assert second.margin == (0.0, -1.0, 1.0)


def test_invalid_input_is_an_error(models, texts_folder):
    with pytest.raises(FirthError, match="attribution needs at least two authors"):
        attribute({"anne": models["anne"]}, str(texts_folder / "one.txt"))
    with pytest.raises(FirthError, match=r"no/one\.txt"):
        attribute(models, "no/one.txt")
    (texts_folder / "few.txt").write_text("Too short.")
    with pytest.raises(FirthError, match=r"few\.txt: too little text by c; give some thousand words of each"):
        train({"a": [str(texts_folder / "one.txt")], "c": [str(texts_folder / "few.txt")]}, out=texts_folder / "out")
    with pytest.raises(FirthError, match="'a/b' cannot be the name of a folder"):
        train({"a/b": [str(texts_folder / "one.txt")], "c": [str(texts_folder / "two.txt")]}, out=texts_folder / "out")


# --- editions -----------------------------------------------------------------------------------------------------


def test_typography_is_normalised():
    typeset = "“It’s late,” he said—and\nleft. She . . . waited_there_. " * 60
    plain = "'It's late,' he said -- and left.  She ... waitedthere. " * 60
    assert (
        list(normalise_typography([typeset]))
        == list(normalise_typography(plain.split("\n")))
        == list(normalise_typography([plain]))
    )


def test_line_and_paragraph_breaks_are_normalised():
    text = " ".join(DOCUMENTS[:100])
    assert list(normalise_typography([text])) == list(normalise_typography(text.replace(" ", "\n").split("\n")))


def test_documents_are_of_one_size_and_nothing_is_lost():
    documents = list(normalise_typography(DOCUMENTS))
    assert all(DOCUMENT_SIZE <= len(each) < 2 * DOCUMENT_SIZE for each in documents[:-1])
    assert " ".join(documents).split() == " ".join(DOCUMENTS).replace('"', "'").split()


def test_only_language_models_with_probabilities_are_accepted(models, texts_folder, tmp_path):
    with pytest.raises(FirthError, match="skipgram is not a language model"):
        train({"a": ["x"], "b": ["y"]}, preset="skipgram", out=tmp_path / "out")
    text = str(texts_folder / "plain.txt")
    unnormalised = firth.train("ngram-lm:tiny", text=text, smoothing="stupid-backoff", out=tmp_path / "stupid")
    with pytest.raises(FirthError, match="not probabilities"):
        attribute({"a": unnormalised, "b": models["anne"]}, text)
