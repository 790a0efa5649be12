"""fastText's classifier: the compiled kernels against a reference implementation, and fastText itself as oracle."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.config.schema import FastText
from firth.config.schema import Tokenizer as TokenizerConfig
from firth.embeddings import array_bundle, fasttext_kernels
from firth.embeddings.fasttext_features import FeatureOptions, Features, build_features, build_vocabulary, word_splitter
from firth.embeddings.fasttext_model import Classifier
from firth.embeddings.fasttext_supervised import FastTextTrainer, LabelVocabulary
from firth.embeddings.method import Loss
from firth.embeddings.subwords import EOS, char_ngrams, fnv1a
from firth.embeddings.word_table import WordTable
from firth.errors import FirthError
from firth.jit import run_in_order
from firth.tokenizers.tokenizer import Tokenizer

WORDS = ["film", "naïve", "schön", "the", "of", "plot", "日本", "ok", "rare1", "rare2"]
KNOWN = WORDS[:8]  # the others are out of vocabulary
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


def build(loss="softmax", ngrams=(1, 0, 0), several=False, count=60, epochs=5, **more):
    """An untrained model; `ngrams` are word_ngrams, min_n and max_n."""
    texts, labels = examples(count, several=several)
    words, counts, lines = build_vocabulary(texts, [*KNOWN, *SIGNS.values(), "never"])
    config = FastText(loss=loss, width=20, word_ngrams=ngrams[0], min_n=ngrams[1], max_n=ngrams[2], **more)
    features = build_features(words, lines, FeatureOptions(*ngrams, config.buckets))
    model = FastTextTrainer(features, lines, labels, config, epochs, seed=3)
    model.outputs[:, :20] = np.random.default_rng(0).normal(0, 0.5, (len(model.outputs), 20))
    return model, texts, labels, counts


def reference_rows(model, text):
    """The input rows of a text, from the definitions alone; None: a zero row."""
    options, words, used = model.features.options, list(model.features.words), list(model.features.used_buckets)
    rows, buckets = [], []
    for word in [*text, EOS]:
        rows += [words.index(word)] if word in words else []
        if options.max_n:
            buckets += [fnv1a(ngram.encode()) for ngram in char_ngrams(word, options.min_n, options.max_n)]
    hashes = [np.uint32(fnv1a(word.encode())).astype(np.int32).astype(np.int64) for word in [*text, EOS]]
    for start in range(len(hashes)):
        value = int(hashes[start]) % 2**64
        for following in hashes[start + 1 : start + options.word_ngrams]:
            value = (value * 116049371 + int(following)) % 2**64
            buckets.append(value)
    buckets = [bucket % options.buckets for bucket in buckets]
    return rows + [len(words) + used.index(bucket) if bucket in used else None for bucket in buckets]


def reference_step(model, rows, labels, inputs, outputs, learning_rate):
    """One line in double precision: updates inputs and outputs, returns the loss before."""
    mean = sum(inputs[row] for row in rows if row is not None) / len(rows)
    predictions = []  # (output row, target, probability)
    if model.config.loss == "softmax":
        probabilities = np.exp(outputs @ mean) / np.exp(outputs @ mean).sum()
        loss = -log(probabilities[labels[0]])
        predictions = [(row, row == labels[0], probability) for row, probability in enumerate(probabilities)]
    else:
        if model.config.loss == "one-vs-all":
            targets = [(row, row in labels) for row in range(len(outputs))]
        else:
            path = range(model.targets.offsets[labels[0]], model.targets.offsets[labels[0] + 1])
            targets = [(int(model.targets.nodes[at]), bool(model.targets.codes[at])) for at in path]
        predictions = [(row, target, 1 / (1 + exp(-mean @ outputs[row]))) for row, target in targets]
        loss = -sum(log(p if target else 1 - p) for _, target, p in predictions)
    gradient = sum(learning_rate * (target - p) * outputs[row] for row, target, p in predictions) / len(rows)
    for row, target, p in predictions:
        outputs[row] += learning_rate * (target - p) * mean
    for row in rows:
        if row is not None:
            inputs[row] += gradient
    return loss


NGRAMS = [(1, 0, 0), (3, 0, 0), (2, 2, 4)]


@pytest.mark.parametrize("ngrams", NGRAMS)
@pytest.mark.parametrize("loss", ["softmax", "hierarchical-softmax", "one-vs-all"])
def test_the_compiled_pass_is_the_reference(loss, ngrams):
    model, texts, labels, _ = build(loss, ngrams, several=loss == "one-vs-all", buckets=97)
    names = model.labels.names
    inputs, outputs = model.inputs.astype(float), model.outputs.astype(float)
    order = np.random.default_rng(5).permutation(len(texts))
    expected = 0.0
    for position, line in enumerate(order):
        rate = 0.5 - 0.3 * position / len(order)
        label_ids = [names.index(label) for label in labels[line]]
        expected += reference_step(model, reference_rows(model, texts[line]), label_ids, inputs, outputs, rate)
    before = model.inputs.copy()
    result = model._pass(model.line_features, model.targets, order, 0, len(order), 0.5, 0.2, 1)
    assert result.count == len(texts) and result.total == pytest.approx(expected, rel=1e-4)
    assert np.abs(model.inputs - inputs).max() < 1e-4 and np.abs(model.outputs - outputs).max() < 1e-4
    assert np.abs(model.inputs - before).max() > 0.01


@pytest.mark.parametrize("loss", ["softmax", "hierarchical-softmax", "one-vs-all"])
def test_steps_go_along_the_gradient(loss):
    model, texts, *_ = build(loss, (2, 0, 0), buckets=50)
    order = np.zeros(1, np.int64)
    rows = {"inputs": set(reference_rows(model, texts[0])), "outputs": range(len(model.outputs))}

    def measure():
        return model._pass(model.line_features, model.targets, order, 0, 1, 0.0, 0.0, 1).total

    before = {name: array.copy() for name, array in model.arrays.items()}
    gradient = {}
    for name, array in model.arrays.items():
        for cell in [(row, column) for row in rows[name] for column in range(20)]:
            values = []
            for step in (5e-2, -5e-2):
                array[cell] = before[name][cell] + np.float32(step)
                values.append(measure())
            array[cell] = before[name][cell]
            gradient[name, cell] = (values[0] - values[1]) / 1e-1
    model._pass(model.line_features, model.targets, order, 0, 1, 1e-2, 1e-2, 1)
    for (name, cell), slope in gradient.items():
        update = (float(model.arrays[name][cell]) - float(before[name][cell])) / 1e-2
        assert update == pytest.approx(-slope, abs=2e-3)
    assert max(map(abs, gradient.values())) > 0.05


def test_a_learning_rate_of_zero_changes_nothing_and_unseen_labels_do_not_count():
    model, texts, labels, _ = build("one-vs-all", (2, 0, 0), several=True)
    before = {name: array.copy() for name, array in model.arrays.items()}
    lines = model.features.encode(texts)
    whole = model.held_out(lines, labels)
    fewer = model.held_out(lines, [("new",), *labels[1:]])
    first = model.held_out(model.features.encode(texts[:1]), labels[:1])
    assert whole.count == 60 and fewer.count == 59 and fewer.total == pytest.approx(whole.total - first.total)
    assert all(np.array_equal(before[name], array) for name, array in model.arrays.items())


def test_one_of_several_labels_is_sampled_each_time():
    model, *_ = build("softmax", several=True)
    line = int(np.flatnonzero(np.diff(model.targets.starts) == 2)[0])
    losses = {
        round(model._pass(model.line_features, model.targets, np.array([line]), 0, 1, 0.0, 0.0, seed * 2**40).total, 6)
        for seed in range(9)
    }
    assert len(losses) == 2


def test_one_thread_gives_the_same_bytes_and_any_number_learns(monkeypatch):
    monkeypatch.setattr("firth.embeddings.fasttext_supervised.CHUNK_WORDS", 500)
    models = [build(count=3000, epochs=3)[0] for _ in range(3)]
    losses = []
    for model, threads in zip(models, (1, 1, 2), strict=True):
        model.outputs[:] = 0
        chunks = list(range(model.chunks))
        epochs = [run_in_order(lambda c, m=model, e=e: m.train_chunk(e, c), chunks, threads) for e in range(3)]
        losses.append([sum(of_chunks, start=Loss(0, 0.0)) for of_chunks in epochs])
    assert models[0].chunks > 20 and losses[0][0].count == 3000
    assert np.array_equal(models[0].inputs, models[1].inputs) and losses[0] == losses[1]
    assert all(after.mean < before.mean for of_epochs in losses for before, after in pairwise(of_epochs))


def test_every_epoch_has_an_order_of_its_own():
    model, *_ = build()
    first, second, again = model._shuffled(0), model._shuffled(1), model._shuffled(0)
    assert sorted(first) == list(range(60)) and np.array_equal(first, again) and not np.array_equal(first, second)


def test_words_that_never_occur_have_no_row_and_counts_are_true():
    model, texts, _, counts = build()
    count_of = dict(zip(model.features.words, counts, strict=True))
    assert "never" not in count_of and "rare1" not in count_of and count_of[EOS] == len(texts)
    assert all(count_of[word] == sum(text.count(word) for text in texts) for word in count_of if word != EOS)
    assert list(counts) == sorted(counts, reverse=True)


# --- fastText as oracle ---------------------------------------------------------------------------------------------


def split_on_spaces(texts):
    return [text.split() for text in texts]


@pytest.fixture(
    scope="module", params=[(p, s) for p in ("softmax", "hierarchical-softmax", "one-vs-all") for s in NGRAMS], ids=str
)
def both(request, tmp_path_factory):
    """A classifier with weights that are not small, and its file in fastText."""
    fasttext = pytest.importorskip("fasttext")
    model, _, _, counts = build(*request.param, buckets=211)
    model.inputs[:, :20] = np.random.default_rng(4).normal(0, 1.0, (len(model.inputs), 20))
    ours = model.classifier(counts, split_on_spaces)
    path = tmp_path_factory.mktemp("bin") / "model.bin"
    ours.export(path)
    return ours, fasttext.load_model(str(path)), path


def test_text_vectors_are_those_of_fasttext(both):
    ours, theirs, _ = both
    expected = [theirs.get_sentence_vector(text) for text in UNSEEN]
    assert np.abs(ours.text_vectors(UNSEEN) - expected).max() < 1e-6


def test_predictions_are_those_of_fasttext(both):
    ours, theirs, _ = both
    step = 16 / 512  # fastText looks sigmoids up in a table: one-vs-all is no more exact than this
    tolerance = step / 4 if ours.loss == "one-vs-all" else 1e-4
    for text, predicted in zip(UNSEEN, ours.predict(UNSEEN, count=3), strict=True):
        expected = {label: probability for probability, label in theirs.f.predict(f"{text}\n", 3, 0.0, "strict")}
        assert len(expected) == 3 or ours.loss == "hierarchical-softmax"  # it leaves out very improbable labels
        for label, probability in predicted:
            assert probability == pytest.approx(expected.get(f"__label__{label}", 0.0), abs=tolerance)
        if abs(predicted[0][1] - predicted[1][1]) > 2 * tolerance:
            assert theirs.f.predict(f"{text}\n", 1, 0.0, "strict")[0][1] == f"__label__{predicted[0][0]}"


def test_a_file_that_fasttext_wrote_predicts_the_same(both, tmp_path):
    ours, theirs, _ = both
    theirs.save_model(str(tmp_path / "theirs.bin"))
    again = Classifier.from_fasttext(tmp_path / "theirs.bin")
    assert again.labels == ours.labels and again.loss == ours.loss
    assert again.probabilities(UNSEEN) == pytest.approx(ours.probabilities(UNSEEN), abs=1e-6)
    assert again.predict("__label__good great") == again.predict("great")


def test_our_own_file_predicts_the_same_and_is_validated(both, tmp_path):
    ours, _, _ = both
    ours.write(tmp_path / "model.safetensors", {"config": "x"})
    again, metadata = Classifier.read(tmp_path / "model.safetensors", split_on_spaces)
    assert metadata == {"config": "x"} and again.labels == ours.labels
    assert np.array_equal(again.probabilities(UNSEEN), ours.probabilities(UNSEEN))
    about, arrays = array_bundle.read(tmp_path / "model.safetensors", "a classifier")
    for change in ({"labels": about["labels"][:-1]}, {"shape": "x"}, {"predict": "guess"}):
        damaged = {key: value for key, value in about.items() if key != "kind"} | change
        array_bundle.write(tmp_path / "bad", "a classifier", damaged, arrays)
        with pytest.raises(FirthError, match="damaged"):
            Classifier.read(tmp_path / "bad", split_on_spaces)


def test_word_vectors_are_those_of_fasttext(both):
    ours, theirs, _ = both
    vectors = ours.vectors()
    names = ["film", "日本", *(["unseenword"] if ours.features.options.max_n else [])]
    assert all(np.abs(vectors.vector(name) - theirs.get_word_vector(name)).max() < 1e-6 for name in names)


def test_vectors_of_fasttext_are_no_classifier(tmp_path):
    from firth.embeddings.formats import fasttext_bin
    from firth.embeddings.word_vectors import WordVectors

    fasttext_bin.write(WordVectors(["a", "b"], np.eye(2, dtype=np.float32)), tmp_path / "vectors.bin")
    with pytest.raises(FirthError, match=r"vectors\.bin: a model of word vectors, not a classifier"):
        Classifier.from_fasttext(tmp_path / "vectors.bin")


# --- laws -----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="aB1 .!'-\nßİΣ日"), max_size=4), st.sampled_from(["words", "whitespace"]))
def test_words_are_split_as_the_tokenizer_splits_them(texts, split):
    config = TokenizerConfig(model="word", vocabulary_size=100, lowercase="yes", split=split)
    tokenizer = Tokenizer.train(config, ["a b B 1 ß", "日 . a"]).with_special_tokens()
    assert list(word_splitter(tokenizer)(texts)) == [tokenizer.pre_tokenize(text) for text in texts]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*WORDS, "new", "neuer"]), max_size=6), min_size=1, max_size=5))
def test_predictions_do_not_depend_on_the_batch(texts):
    model, _, _, counts = LAW
    ours = model.classifier(counts, split_on_spaces)
    joined = [" ".join(text) for text in texts]
    alone = np.concatenate([ours.probabilities([text]) for text in joined])
    assert np.allclose(ours.probabilities(joined), alone, atol=1e-12)
    assert np.allclose(alone.sum(1), 1.0)


LAW = build("hierarchical-softmax", (2, 1, 3), buckets=60)


def test_counts_and_thresholds():
    model, _, _, counts = build("one-vs-all")
    ours = model.classifier(counts, split_on_spaces)
    (predicted,) = ours.predict("film great", count=9)
    probabilities = [probability for _, probability in predicted]
    assert probabilities == sorted(probabilities, reverse=True) and len(predicted) == 3
    assert ours.predict(["film great"], count=9, threshold=predicted[1][1]) == [predicted[:2]]
    assert ours.predict([]) == [] and ours.predict("film", threshold=1.0) == [[]]


def test_labels_are_sorted_by_frequency_and_count_once_per_text():
    labels = LabelVocabulary([("b",), ("a", "b"), ("c",), ("a", "a")])
    assert labels.names == ("a", "b", "c") and list(labels.counts) == [3, 2, 1]
    assert list(labels.targets([("a", "a", "x")], "one-vs-all").labels) == [0]


def test_max_n_is_at_least_min_n():
    with pytest.raises(FirthError, match="character n-grams of 4 to 2 characters"):
        build_features(
            WordTable.of(["a"]), Features(WordTable.of(["a"]), FeatureOptions()).encode([]), FeatureOptions(1, 4, 2, 10)
        )


def test_hashes_of_words_are_fasttexts():
    words = WordTable.of(["a", "schön", "日本", EOS])
    hashes = np.empty(4, np.int32)
    fasttext_kernels.hash_words(np.frombuffer(words.blob, np.uint8), words.ends, hashes)
    assert [int(value) % 2**32 for value in hashes] == [fnv1a(word.encode()) for word in words]
