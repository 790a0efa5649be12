"""Out-of-vocabulary spans, and whether encoding is lossless."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from tokenizer_samples import CHANGING, CORPUS, PLAIN, name, texts

from firth.config.schema import Tokenizer as Config
from firth.tokenizers import Tokenizer, describe
from firth.tokenizers.split import split_words

every = pytest.mark.parametrize("config", PLAIN + CHANGING, ids=name)
plain = pytest.mark.parametrize("config", PLAIN, ids=name)
some = settings(max_examples=25, deadline=None)


@every
@given(text=texts())
@some
def test_oov_encodings_are_consistent(trained, config, text):
    tokenizer = trained(config)
    encoding = tokenizer.encode_with_oov(text)
    spans = tokenizer.oov_spans(text)
    assert encoding.ids == tokenizer.encode(text)
    assert encoding.oov_bytes == "".join(spans).encode()
    assert encoding.oov_count == len(spans) == encoding.ids.count(1)
    assert all(span in text for span in spans)
    assert encoding.lossless == tokenizer.lossless(text)


@plain
@given(text=texts())
@some
def test_what_is_lossless(trained, config, text):
    lossless = trained(config).lossless(text)
    if config.model not in ("word", "wordpiece"):
        assert lossless
    elif config.model == "word" and config.split == "whitespace":
        assert lossless == (text == " ".join(split_words(text, "whitespace")))


def test_oov_spans_by_hand():
    tokenizer = Tokenizer.train(Config(model="word", split="whitespace"), ["the cat sat"])
    encoding = tokenizer.encode_with_oov("the Çat sat on")
    assert tokenizer.oov_spans("the Çat sat on") == ["Çat", "on"]
    assert (encoding.oov_bytes, encoding.oov_count, encoding.lossless) == ("Çaton".encode(), 2, True)
    assert not tokenizer.lossless("the  cat")
    assert not tokenizer.lossless(" the cat")
    assert not tokenizer.lossless("the cat\n")


def test_normalisation_that_changes_is_a_loss():
    tokenizer = Tokenizer.train(Config(model="word", split="whitespace", lowercase="yes"), ["the cat"])
    assert tokenizer.lossless("the cat")
    assert not tokenizer.lossless("The cat")
    assert tokenizer.encode_with_oov("the Dog").oov_bytes == b"Dog"  # the original spelling


def test_unknown_characters_side_by_side():
    for kind, spans in (("char", ["é", "è"]), ("bpe", ["é", "è"]), ("unigram", ["éè"])):
        tokenizer = Tokenizer.train(Config(model=kind), ["cafe cafe"])
        assert tokenizer.oov_spans("caféè cafe") == spans
        assert tokenizer.encode_with_oov("caféè cafe").oov_bytes == "éè".encode()
        assert tokenizer.lossless("caféè cafe")


def test_description(trained):
    for config in PLAIN:
        properties = describe(trained(config), CORPUS)
        assert properties["vocab_size"] == trained(config).vocab_size
        assert len(properties["longest"]) == 10
        assert 0 < properties["characters_per_token"] < 20
        assert 0 <= properties["unknown_fraction"] <= 1
    properties = describe(trained(Config(model="char", vocabulary_size=400, split="words")), CORPUS)
    assert properties["characters_per_token"] == 1.0
    assert properties["lossless_fraction"] == 1.0
    assert (properties["kind"], properties["reversible"]) == ("char", False)
    assert "characters_per_token" not in describe(trained(PLAIN[0]))
