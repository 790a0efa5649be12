"""What a score per byte needs: unknown stretches and whether anything else was lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from text_samples import CHANGING, CORPUS, PLAIN, name, texts

from firth.config.schema import Tokenizer as Config
from firth.text import Tokenizer, describe
from firth.text.split import whole

every = pytest.mark.parametrize("config", PLAIN + CHANGING, ids=name)
plain = pytest.mark.parametrize("config", PLAIN, ids=name)
some = settings(max_examples=25, deadline=None)


@every
@given(text=texts())
@some
def test_accounting_holds_together(trained, config, text):
    tokenizer = trained(config)
    account = tokenizer.account(text)
    spans = tokenizer.unknown_spans(text)
    assert account.ids == tokenizer.ids(text)
    assert account.unknown == "".join(spans).encode()
    assert account.unknown_count == len(spans) == account.ids.count(1)
    assert all(span in text for span in spans)
    assert account.lossless == tokenizer.lossless(text)


@plain
@given(text=texts())
@some
def test_what_is_lossless(trained, config, text):
    lossless = trained(config).lossless(text)
    if config.model not in ("word", "wordpiece"):
        assert lossless
    elif config.model == "word" and config.split == "whitespace":
        assert lossless == (text == " ".join(whole(text, "whitespace")))


def test_unknown_spans_by_hand():
    tokenizer = Tokenizer.train(Config(model="word", split="whitespace"), ["the cat sat"])
    account = tokenizer.account("the Çat sat on")
    assert tokenizer.unknown_spans("the Çat sat on") == ["Çat", "on"]
    assert (account.unknown, account.unknown_count, account.lossless) == ("Çaton".encode(), 2, True)
    assert not tokenizer.lossless("the  cat")
    assert not tokenizer.lossless(" the cat")
    assert not tokenizer.lossless("the cat\n")


def test_normalisation_that_changes_is_a_loss():
    tokenizer = Tokenizer.train(Config(model="word", split="whitespace", lower="yes"), ["the cat"])
    assert tokenizer.lossless("the cat")
    assert not tokenizer.lossless("The cat")
    assert tokenizer.account("the Dog").unknown == b"Dog"  # the original spelling


def test_unknown_characters_side_by_side():
    for kind, spans in (("char", ["é", "è"]), ("bpe", ["é", "è"]), ("unigram", ["éè"])):
        tokenizer = Tokenizer.train(Config(model=kind), ["cafe cafe"])
        assert tokenizer.unknown_spans("caféè cafe") == spans
        assert tokenizer.account("caféè cafe").unknown == "éè".encode()
        assert tokenizer.lossless("caféè cafe")


def test_description(trained):
    for config in PLAIN:
        facts = describe(trained(config), CORPUS)
        assert facts["size"] == trained(config).size
        assert len(facts["longest"]) == 10
        assert 0 < facts["characters_per_token"] < 20
        assert 0 <= facts["unknown_share"] <= 1
    facts = describe(trained(Config(model="char", size=400, split="words")), CORPUS)
    assert facts["characters_per_token"] == 1.0
    assert facts["lossless_share"] == 1.0
    assert (facts["kind"], facts["reversible"]) == ("char", False)
    assert "characters_per_token" not in describe(trained(PLAIN[0]))
