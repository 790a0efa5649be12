"""Authors whose habits are known: one writes the world, the other the same with its words turned."""

import numpy as np
import pytest

import firth
from firth.data.world import World
from firth.errors import FirthError
from firth.uses import authorship
from firth.uses.authorship import identify, opened, train
from firth.uses.editions import SIZE, levelled

DOCUMENTS = list(World().documents(260))


def turned(text):
    """Another way to write: small words doubled."""
    return text.replace(" the ", " the very ").replace(" is ", " is but ")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    files = {"plain": DOCUMENTS[:120], "turned": map(turned, DOCUMENTS[:120]), "one": DOCUMENTS[200:230],
             "two": map(turned, DOCUMENTS[200:230]), "short": [turned(DOCUMENTS[200])]}  # fmt: skip
    for name, texts in files.items():
        (folder / f"{name}.txt").write_text("\n\n".join(texts))
    return folder


@pytest.fixture(scope="module")
def models(places, tmp_path_factory):
    texts = {"anne": [str(places / "plain.txt")], "bert": [str(places / "turned.txt")]}
    return train(texts, out=tmp_path_factory.mktemp("authors"))


def test_each_text_goes_to_its_author(models, places):
    for name, author in (("one", "anne"), ("two", "bert")):
        found = identify(models, str(places / f"{name}.txt"))
        assert found.author == author
        first, second = found.candidates
        assert first.wins > 0.95 and first.wins + second.wins == pytest.approx(1.0)
        assert first.bits_per_byte < second.bits_per_byte
        margin, low, high = second.margin
        assert margin == pytest.approx(second.bits_per_byte - first.bits_per_byte) and 0 < low < margin < high


def test_the_authors_share_a_tokenizer_of_all_their_text(models, places):
    anne, bert = models.values()
    assert anne.tokenizer.hash == bert.tokenizer.hash
    assert anne.run.path.parent == bert.run.path.parent
    assert sorted(path.name for path in anne.run.path.parent.glob("*/config.json")) == ["config.json"] * 2


def test_ready_runs_judge_the_same(models, places):
    ready = opened({name: model.run.path for name, model in models.items()})
    text = str(places / "two.txt")
    assert identify(ready, text) == identify(models, text)


def test_trained_runs_are_not_trained_again(models, places):
    folder = models["anne"].run.path.parent
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")}
    texts = {"anne": [str(places / "plain.txt")], "bert": [str(places / "turned.txt")]}
    train(texts, out=folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")} == before


def test_a_short_text_is_judged_by_its_pieces(models, places):
    found = identify(models, str(places / "short.txt"))
    assert any("few documents: chance is judged by" in note for note in found.notes)
    assert found.candidates[0].bits_per_byte < found.candidates[1].bits_per_byte


@pytest.mark.parametrize("pieces", [True, False])
def test_costs_of_documents_and_pieces_are_the_model_s_bits(models, pieces):
    """Whatever it is cut into: bits per byte as `evaluate` gives them, unknown text charged."""
    texts = [*DOCUMENTS[200:210], "Ünknown: 我"]
    model = models["anne"]
    bits = authorship._costs(model, texts, pieces).sum() / np.log(2)
    size = sum(authorship._sizes(text, pieces).sum() for text in texts)
    assert size == sum(len(text.encode()) for text in texts)
    assert bits / size == pytest.approx(model.bits_per_byte(texts), rel=1e-5)


def test_the_bootstrap_of_equal_units_knows_no_chance():
    first, second = authorship._candidates(["a", "b"], np.array([[2.0] * 9, [1.0] * 9]), np.full(9, 4), 50, 0)
    assert (first.author, first.bits_per_byte, first.margin, first.wins) == ("b", 0.25, (0.0, 0.0, 0.0), 1.0)
    assert (second.margin, second.wins) == ((0.25, 0.25, 0.25), 0.0)


def test_the_bootstrap_of_two_opposite_units_is_a_coin():
    """Better by one in one document, worse in the other: of four draws one is all good, one all bad, two level."""
    bits = np.array([[1.0, 2.0], [2.0, 1.0]])
    first, second = authorship._candidates(["a", "b"], bits, np.ones(2), 4000, 1)
    assert second.wins == pytest.approx(0.25, abs=0.03) and first.wins == pytest.approx(0.75, abs=0.03)  # level: a
    assert second.margin == (0.0, -1.0, 1.0)


def test_what_cannot_be_judged_is_refused(models, places):
    with pytest.raises(FirthError, match="one author is no choice"):
        identify({"anne": models["anne"]}, str(places / "one.txt"))
    with pytest.raises(FirthError, match=r"no/one\.txt"):
        identify(models, "no/one.txt")
    (places / "few.txt").write_text("Too short.")
    with pytest.raises(FirthError, match=r"few\.txt: too little text by c; give some thousand words of each"):
        train({"a": [str(places / "one.txt")], "c": [str(places / "few.txt")]}, out=places / "out")
    with pytest.raises(FirthError, match="'a/b' cannot be the name of a folder"):
        train({"a/b": [str(places / "one.txt")], "c": [str(places / "two.txt")]}, out=places / "out")


# --- editions -----------------------------------------------------------------------------------------------------


def test_the_printer_does_not_matter():
    typeset = "“It’s late,” he said—and\nleft. She . . . waited_there_. " * 60
    plain = "'It's late,' he said -- and left.  She ... waitedthere. " * 60
    assert list(levelled([typeset])) == list(levelled(plain.split("\n"))) == list(levelled([plain]))


def test_lines_and_paragraphs_do_not_matter():
    text = " ".join(DOCUMENTS[:100])
    assert list(levelled([text])) == list(levelled(text.replace(" ", "\n").split("\n")))


def test_documents_are_of_one_size_and_nothing_is_lost():
    found = list(levelled(DOCUMENTS))
    assert all(SIZE <= len(each) < 2 * SIZE for each in found[:-1])
    assert " ".join(found).split() == " ".join(DOCUMENTS).replace('"', "'").split()


def test_only_models_of_probability_can_judge(models, places, tmp_path):
    with pytest.raises(FirthError, match="skipgram is not a language model"):
        train({"a": ["x"], "b": ["y"]}, preset="skipgram", out=tmp_path / "out")
    text = str(places / "plain.txt")
    backed_off = firth.train("ngram-lm:tiny", text=text, smoothing="stupid", out=tmp_path / "stupid")
    with pytest.raises(FirthError, match="no probabilities"):
        identify({"a": backed_off, "b": models["anne"]}, text)
