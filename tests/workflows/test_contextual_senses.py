"""Word-sense disambiguation by encoders: states of words against the network itself, senses against a plain reading."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import firth
from firth.datasets.records import WordSense
from firth.errors import FirthError
from firth.lexicon import open_lexicon
from firth.lexicon.lesk import Target
from firth.pipelines.word_states import WordStates
from firth.types import Batch, Tokens
from firth.workflows.contextual_senses import (
    SenseEmbeddings,
    choose_by_rank,
    gloss_method,
    rank_by_glosses,
)

LEXICON = open_lexicon("world")
NETWORK = {"train.budget": "3 steps", "batching.length": 32, "train.threads": 1, "tokenizer.vocabulary_size": 300}
SENTENCES = [("the", "doglamps", "saw", "Maria"), ("he", "ran", ".")]


@pytest.fixture(scope="module", params=["modern-encoder:tiny", "lstm-lm:tiny"])
def model(request, tmp_path_factory):
    """A masked and a causal language model."""
    out = tmp_path_factory.mktemp("encoder") / "run"
    return firth.train(request.param, text="world:100", out=out, settings=NETWORK)


def test_states_are_means_over_subwords_and_layers(model):
    states = WordStates(model, layers=2)(SENTENCES, [1, 0])
    for row, words, position in zip(states, SENTENCES, (1, 0), strict=True):
        encoded = model.tokenizer.encode_words([words])[0]
        special = model.tokenizer.special
        causal = not hasattr(model, "fill")
        ids = [special.start, *encoded.ids] if causal else [special.cls, *encoded.ids, special.sep]
        places = [1 + at for at, word in enumerate(encoded.word_of) if word == position]
        tokens = Tokens(np.array([ids]), np.ones((1, len(ids)), bool))
        with torch.no_grad():
            layers = model.system.encode(Batch({"text": tokens}, {}).to("cpu"), keep_layers=True).layers[-2:]
        expected = torch.stack([layer[0, places].mean(0) for layer in layers]).mean(0)
        np.testing.assert_allclose(row, expected.float().numpy(), atol=1e-4)


def test_states_do_not_depend_on_other_sentences(model):
    states = WordStates(model)
    together = states(SENTENCES, [2, 1])
    for number, (words, position) in enumerate(zip(SENTENCES, (2, 1), strict=True)):
        np.testing.assert_allclose(states([words], [position])[0], together[number], atol=1e-4)


def test_a_masked_word_has_the_state_of_its_context_alone(tmp_path):
    model = firth.train("bert:tiny", text="world:100", out=tmp_path / "run", settings=NETWORK)
    states = WordStates(model, mask_target=True)
    here, there = states([("the", "dog", "ran"), ("the", "elephants", "ran")], [1, 1])
    np.testing.assert_allclose(here, there, atol=1e-5)
    limit = model.system.backbone.max_length
    long = states([("ran",) * 2 * limit + ("the", "dog", "ran")], [2 * limit + 1])
    assert np.isfinite(long).all()


class Shapes:
    """States that say whether the word before the target is `wild` or `rusty`, which decides its sense."""

    tokenizer = None

    def __call__(self, sentences, positions):
        seen = [words[at - 1] for words, at in zip(sentences, positions, strict=True)]
        return np.array([[word == "wild", word == "rusty", 0.5] for word in seen], np.float32)


def example(adjective, sense, word="doglamp"):
    return WordSense(("a", adjective, word), 2, word, sense)


TRAINING = [example("wild", "dog.n.01")] * 3 + [example("rusty", "lamp.n.01")]


def test_senses_are_the_nearest_means_of_their_examples():
    senses = SenseEmbeddings(Shapes(), TRAINING, LEXICON)
    targets = [Target(("a", adjective, "doglamps"), 2) for adjective in ("wild", "rusty")]
    best = [ranked[0].sense.synset.id for ranked in senses.rank(targets)]
    assert best == ["dog.n.01", "lamp.n.01"]
    assert [round(ranked[0].score, 5) for ranked in senses.rank(targets)] == [1, 1]


def test_a_word_without_examples_has_the_first_sense_of_the_lexicon():
    senses = SenseEmbeddings(Shapes(), TRAINING, LEXICON)
    first, second = LEXICON.senses("wolfchair")
    word = first.word
    records = [
        example("wild", first.synset.id, word),
        example("wild", second.synset.id, word),
        example("wild", "x", "q"),
    ]
    choose = senses.evaluator(records)
    assert [choose(record) for record in records] == [True, False, None]


class PairClassifier:
    """Says yes where the gloss has a word of the context."""

    texts_per_example, labels = 2, ("no", "yes")

    def predict_proba(self, pairs):
        shared = [set(left.split()) & set(right.split()) - {"a", ":", "doglamp"} for left, right in pairs]
        return np.array([[1 - bool(words), bool(words)] for words in shared], float)


class Embedder:
    """Embeds a text by the letters of it."""

    def embed(self, texts):
        return np.array([[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float)


def test_glosses_are_ranked_by_a_classifier_of_pairs_or_by_cosines():
    target = Target(("barks", "doglamp"), 1, "doglamp")
    (ranked,) = rank_by_glosses(LEXICON, PairClassifier())([target])
    assert ranked[0].sense.synset.id == "dog.n.01" and ranked[0].score == 1 and ranked[1].score == 0
    (by_cosine,) = rank_by_glosses(LEXICON, Embedder())([target])
    assert len(by_cosine) == 2 and 1 >= by_cosine[0].score >= by_cosine[1].score > 0
    assert gloss_method(PairClassifier()) == "gloss-pairs" and gloss_method(Embedder()) == "gloss-embeddings"
    records = [WordSense(("barks", "doglamp"), 1, "doglamp", sense) for sense in ("dog.n.01", "lamp.n.01")]
    records.append(WordSense(("barks", "zzz"), 1, "zzz", "zzz.n.01"))
    choose = choose_by_rank(LEXICON, rank_by_glosses(LEXICON, PairClassifier()), records)
    assert [choose(record) for record in records] == [True, False, None]


# --- bad input --------------------------------------------------------------------------------------------------------


def test_no_examples():
    with pytest.raises(FirthError, match=r"no labelled examples; give text with senses to train on: --train FILE"):
        SenseEmbeddings(Shapes(), [], LEXICON)


def test_a_classifier_of_other_labels():
    other = PairClassifier()
    other.labels, other.run = ("T", "F"), SimpleNamespace(path="runs/x")
    with pytest.raises(FirthError, match="its labels are T, F, and none is 'yes'; train it on pairs of contexts"):
        rank_by_glosses(LEXICON, other)


def test_a_model_without_states_of_words():
    with pytest.raises(FirthError, match="this model has no contextual states of words"):
        WordStates(SimpleNamespace(run=SimpleNamespace(path="runs/x")))
