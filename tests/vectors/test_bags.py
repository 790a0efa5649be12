"""Classifiers of bags of words: the compiled pass against a plain one written anew, and fastText itself as oracle."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import Bag
from firth.config.schema import Tokenizer as TokenizerConfig
from firth.counts.compiled import run_in_order
from firth.errors import FirthError
from firth.text.tokenizer import Tokenizer
from firth.vectors import bag_kernels, bundle
from firth.vectors.bag_classifier import Classifier
from firth.vectors.bags import Labels, Model
from firth.vectors.features import Features, Shape, learn_features, learn_words, spelling
from firth.vectors.learner import Loss
from firth.vectors.subwords import END_OF_LINE, fnv, ngrams
from firth.vectors.words import Words

WORDS = ["film", "naïve", "schön", "the", "of", "plot", "日本", "ok", "rare1", "rare2"]
KNOWN = WORDS[:8]  # the others are unknown
SIGNS = {"good": "great", "bad": "awful", "so": "fine"}
UNSEEN = ["film great unseen naïve", "awful awful", "", "日本 xyz schön the", "great fine of awful ünseen film plot"]


def examples(count=60, seed=1, several=False):
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(count):
        chosen = random.choice(
            list(SIGNS), 2 if several and random.random() < 0.4 else 1, replace=False, p=[0.5, 0.3, 0.2]
        )
        words = [*random.choice(WORDS, random.integers(1, 9)), *(SIGNS[label] for label in chosen)]
        texts.append([str(word) for word in random.permutation(words)])
        labels.append(tuple(map(str, chosen)))
    return texts, labels


def made(predict="softmax", shape=(1, 0, 0), several=False, count=60, epochs=5, **more):
    texts, labels = examples(count, several=several)
    words, counts, lines = learn_words(texts, [*KNOWN, *SIGNS.values(), "never"])
    config = Bag(predict=predict, width=20, word_ngrams=shape[0], least_part=shape[1], most_part=shape[2], **more)
    features = learn_features(words, lines, Shape(*shape, config.buckets))
    model = Model(features, lines, labels, config, epochs, seed=3)
    model.outputs[:, :20] = np.random.default_rng(0).normal(0, 0.5, (len(model.outputs), 20))
    return model, texts, labels, counts


def plain_rows(model, text):
    """The rows of a text, from the definitions alone; None: a row of zeros."""
    shape, words, used = model.features.shape, list(model.features.words), list(model.features.used)
    found, buckets = [], []
    for word in [*text, END_OF_LINE]:
        found += [words.index(word)] if word in words else []
        buckets += [fnv(part.encode()) for part in ngrams(word, shape.least, shape.most)] if shape.most else []
    hashes = [np.uint32(fnv(word.encode())).astype(np.int32).astype(np.int64) for word in [*text, END_OF_LINE]]
    for start in range(len(hashes)):
        value = int(hashes[start]) % 2**64
        for following in hashes[start + 1 : start + shape.ngrams]:
            value = (value * 116049371 + int(following)) % 2**64
            buckets.append(value)
    places = [bucket % shape.buckets for bucket in buckets]
    return found + [len(words) + used.index(place) if place in used else None for place in places]


def plain_step(model, rows, wanted, inputs, outputs, rate):
    """One line in double precision: moves inputs and outputs, gives the loss before."""
    mean = sum(inputs[row] for row in rows if row is not None) / len(rows)
    questions = []  # (row of output, what is right, what is said)
    if model.config.predict == "softmax":
        scores = np.exp(outputs @ mean) / np.exp(outputs @ mean).sum()
        loss = -log(scores[wanted[0]])
        questions = [(row, row == wanted[0], score) for row, score in enumerate(scores)]
    else:
        if model.config.predict == "ova":
            asked = [(row, row in wanted) for row in range(len(outputs))]
        else:
            path = range(model.aims.offsets[wanted[0]], model.aims.offsets[wanted[0] + 1])
            asked = [(int(model.aims.nodes[at]), bool(model.aims.codes[at])) for at in path]
        questions = [(row, right, 1 / (1 + exp(-mean @ outputs[row]))) for row, right in asked]
        loss = -sum(log(said if right else 1 - said) for _, right, said in questions)
    pull = sum(rate * (right - said) * outputs[row] for row, right, said in questions) / len(rows)
    for row, right, said in questions:
        outputs[row] += rate * (right - said) * mean
    for row in rows:
        if row is not None:
            inputs[row] += pull
    return loss


SHAPES = [(1, 0, 0), (3, 0, 0), (2, 2, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("predict", ["softmax", "hierarchical", "ova"])
def test_the_compiled_pass_is_the_plain_one(predict, shape):
    model, texts, labels, _ = made(predict, shape, several=predict == "ova", buckets=97)
    names = model.labels.names
    inputs, outputs = model.inputs.astype(float), model.outputs.astype(float)
    order = np.random.default_rng(5).permutation(len(texts))
    expected = 0.0
    for place, line in enumerate(order):
        rate = 0.5 - 0.3 * place / len(order)
        wanted = [names.index(label) for label in labels[line]]
        expected += plain_step(model, plain_rows(model, texts[line]), wanted, inputs, outputs, rate)
    before = model.inputs.copy()
    found = model._pass(model.text, model.aims, order, 0, len(order), 0.5, 0.2, 1)
    assert found.count == len(texts) and found.total == pytest.approx(expected, rel=1e-4)
    assert np.abs(model.inputs - inputs).max() < 1e-4 and np.abs(model.outputs - outputs).max() < 1e-4
    assert np.abs(model.inputs - before).max() > 0.01


@pytest.mark.parametrize("predict", ["softmax", "hierarchical", "ova"])
def test_steps_go_along_the_gradient(predict):
    model, texts, *_ = made(predict, (2, 0, 0), buckets=50)
    order = np.zeros(1, np.int64)
    places = {"inputs": set(plain_rows(model, texts[0])), "outputs": range(len(model.outputs))}

    def loss():
        return model._pass(model.text, model.aims, order, 0, 1, 0.0, 0.0, 1).total

    before = {name: array.copy() for name, array in model.arrays.items()}
    slopes = {}
    for name, array in model.arrays.items():
        for place in [(row, column) for row in places[name] for column in range(20)]:
            values = []
            for step in (5e-2, -5e-2):
                array[place] = before[name][place] + np.float32(step)
                values.append(loss())
            array[place] = before[name][place]
            slopes[name, place] = (values[0] - values[1]) / 1e-1
    model._pass(model.text, model.aims, order, 0, 1, 1e-2, 1e-2, 1)
    for (name, place), slope in slopes.items():
        moved = (float(model.arrays[name][place]) - float(before[name][place])) / 1e-2
        assert moved == pytest.approx(-slope, abs=2e-3)
    assert max(map(abs, slopes.values())) > 0.05


def test_no_rate_no_change_and_labels_never_seen_do_not_count():
    model, texts, labels, _ = made("ova", (2, 0, 0), several=True)
    before = {name: array.copy() for name, array in model.arrays.items()}
    lines = model.features.lines(texts)
    whole = model.held_out(lines, labels)
    fewer = model.held_out(lines, [("new",), *labels[1:]])
    first = model.held_out(model.features.lines(texts[:1]), labels[:1])
    assert whole.count == 60 and fewer.count == 59 and fewer.total == pytest.approx(whole.total - first.total)
    assert all(np.array_equal(before[name], array) for name, array in model.arrays.items())


def test_one_of_several_labels_is_drawn_each_time():
    model, *_ = made("softmax", several=True)
    line = int(np.flatnonzero(np.diff(model.aims.starts) == 2)[0])
    drawn = {
        round(model._pass(model.text, model.aims, np.array([line]), 0, 1, 0.0, 0.0, seed * 2**40).total, 6)
        for seed in range(9)
    }
    assert len(drawn) == 2


def test_one_thread_gives_the_same_bytes_and_any_number_learns(monkeypatch):
    monkeypatch.setattr("firth.vectors.bags.JOB", 500)
    models = [made(count=3000, epochs=3)[0] for _ in range(3)]
    losses = []
    for model, threads in zip(models, (1, 1, 2), strict=True):
        model.outputs[:] = 0
        pieces = list(range(model.pieces))
        epochs = [run_in_order(lambda p, m=model, e=e: m.work(e, p), pieces, threads) for e in range(3)]
        losses.append([sum(found, start=Loss(0, 0.0)) for found in epochs])
    assert models[0].pieces > 20 and losses[0][0].count == 3000
    assert np.array_equal(models[0].inputs, models[1].inputs) and losses[0] == losses[1]
    assert all(after.mean < before.mean for found in losses for before, after in pairwise(found))


def test_every_epoch_has_an_order_of_its_own():
    model, *_ = made()
    first, second, again = model._shuffled(0), model._shuffled(1), model._shuffled(0)
    assert sorted(first) == list(range(60)) and np.array_equal(first, again) and not np.array_equal(first, second)


def test_words_that_never_come_have_no_row_and_counts_are_true():
    model, texts, _, counts = made()
    told = dict(zip(model.features.words, counts, strict=True))
    assert "never" not in told and "rare1" not in told and told[END_OF_LINE] == len(texts)
    assert all(told[word] == sum(text.count(word) for text in texts) for word in told if word != END_OF_LINE)
    assert list(counts) == sorted(counts, reverse=True)


# --- fastText as oracle ---------------------------------------------------------------------------------------------


def by_blanks(texts):
    return [text.split() for text in texts]


@pytest.fixture(scope="module", params=[(p, s) for p in ("softmax", "hierarchical", "ova") for s in SHAPES], ids=str)
def both(request, tmp_path_factory):
    """A classifier with weights that are not small, and its file in fastText."""
    fasttext = pytest.importorskip("fasttext")
    model, _, _, counts = made(*request.param, buckets=211)
    model.inputs[:, :20] = np.random.default_rng(4).normal(0, 1.0, (len(model.inputs), 20))
    ours = model.classifier(counts, by_blanks)
    path = tmp_path_factory.mktemp("bin") / "model.bin"
    ours.export(path)
    return ours, fasttext.load_model(str(path)), path


def test_fasttext_sees_the_same_of_a_text(both):
    ours, theirs, _ = both
    expected = [theirs.get_sentence_vector(text) for text in UNSEEN]
    assert np.abs(ours.text_vectors(UNSEEN) - expected).max() < 1e-6


def test_fasttext_says_the_same(both):
    ours, theirs, _ = both
    step = 16 / 512  # fastText looks sigmoids up in a table: ova is no more exact than this
    close = step / 4 if ours.predict_by == "ova" else 1e-4
    for text, found in zip(UNSEEN, ours.predict(UNSEEN, count=3), strict=True):
        told = {label: chance for chance, label in theirs.f.predict(f"{text}\n", 3, 0.0, "strict")}
        assert len(told) == 3 or ours.predict_by == "hierarchical"  # what is very improbable it leaves out
        for label, chance in found:
            assert chance == pytest.approx(told.get(f"__label__{label}", 0.0), abs=close)
        if abs(found[0][1] - found[1][1]) > 2 * close:
            assert theirs.f.predict(f"{text}\n", 1, 0.0, "strict")[0][1] == f"__label__{found[0][0]}"


def test_a_file_that_fasttext_wrote_says_the_same(both, tmp_path):
    ours, theirs, _ = both
    theirs.save_model(str(tmp_path / "theirs.bin"))
    again = Classifier.from_fasttext(tmp_path / "theirs.bin")
    assert again.labels == ours.labels and again.predict_by == ours.predict_by
    assert again.probabilities(UNSEEN) == pytest.approx(ours.probabilities(UNSEEN), abs=1e-6)
    assert again.predict("__label__good great") == again.predict("great")


def test_our_own_file_says_the_same_and_proves_itself(both, tmp_path):
    ours, _, _ = both
    ours.write(tmp_path / "model.safetensors", {"config": "x"})
    again, note = Classifier.read(tmp_path / "model.safetensors", by_blanks)
    assert note == {"config": "x"} and again.labels == ours.labels
    assert np.array_equal(again.probabilities(UNSEEN), ours.probabilities(UNSEEN))
    about, arrays = bundle.read(tmp_path / "model.safetensors", "a classifier")
    for change in ({"labels": about["labels"][:-1]}, {"shape": "x"}, {"predict": "guess"}):
        kept = {key: value for key, value in about.items() if key != "kind"} | change
        bundle.write(tmp_path / "bad", "a classifier", kept, arrays)
        with pytest.raises(FirthError, match="damaged"):
            Classifier.read(tmp_path / "bad", by_blanks)


def test_word_vectors_are_those_of_fasttext(both):
    ours, theirs, _ = both
    vectors = ours.vectors()
    names = ["film", "日本", *(["unseenword"] if ours.features.shape.most else [])]
    assert all(np.abs(vectors.vector(name) - theirs.get_word_vector(name)).max() < 1e-6 for name in names)


def test_vectors_of_fasttext_are_no_classifier(tmp_path):
    from firth.vectors.files import fasttext
    from firth.vectors.store import WordVectors

    fasttext.write(WordVectors(["a", "b"], np.eye(2, dtype=np.float32)), tmp_path / "vectors.bin")
    with pytest.raises(FirthError, match=r"vectors\.bin: a model of word vectors, not a classifier"):
        Classifier.from_fasttext(tmp_path / "vectors.bin")


# --- laws -----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="aB1 .!'-\nßİΣ日"), max_size=4), st.sampled_from(["words", "whitespace"]))
def test_words_are_spelled_as_the_tokenizer_cuts_them(texts, split):
    config = TokenizerConfig(model="word", size=100, lower="yes", split=split)
    tokenizer = Tokenizer.train(config, ["a b B 1 ß", "日 . a"]).with_specials()
    assert list(spelling(tokenizer)(texts)) == [tokenizer.cut(text) for text in texts]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*WORDS, "new", "neuer"]), max_size=6), min_size=1, max_size=5))
def test_what_is_said_of_a_text_does_not_depend_on_its_company(texts):
    model, _, _, counts = LAW
    ours = model.classifier(counts, by_blanks)
    joined = [" ".join(text) for text in texts]
    alone = np.concatenate([ours.probabilities([text]) for text in joined])
    assert np.allclose(ours.probabilities(joined), alone, atol=1e-12)
    assert np.allclose(alone.sum(1), 1.0)


LAW = made("hierarchical", (2, 1, 3), buckets=60)


def test_counts_and_thresholds():
    model, _, _, counts = made("ova")
    ours = model.classifier(counts, by_blanks)
    (found,) = ours.predict("film great", count=9)
    assert [chance for _, chance in found] == sorted((chance for _, chance in found), reverse=True) and len(found) == 3
    assert ours.predict(["film great"], count=9, threshold=found[1][1]) == [found[:2]]
    assert ours.predict([]) == [] and ours.predict("film", threshold=1.0) == [[]]


def test_labels_are_sorted_by_frequency_and_wanted_once_a_text():
    labels = Labels([("b",), ("a", "b"), ("c",), ("a", "a")])
    assert labels.names == ("a", "b", "c") and list(labels.counts) == [3, 2, 1]
    assert list(labels.aims([("a", "a", "x")], "ova").labels) == [0]


def test_parts_need_sensible_bounds():
    with pytest.raises(FirthError, match="parts of 4 to 2 characters"):
        learn_features(Words.of(["a"]), Features(Words.of(["a"]), Shape()).lines([]), Shape(1, 4, 2, 10))


def test_hashes_of_words_are_fasttexts():
    words = Words.of(["a", "schön", "日本", END_OF_LINE])
    found = np.empty(4, np.int32)
    bag_kernels.hash_whole(np.frombuffer(words.blob, np.uint8), words.ends, found)
    assert [int(value) % 2**32 for value in found] == [fnv(word.encode()) for word in words]
