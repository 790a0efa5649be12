"""Sentences of words that are split already: the same words come out of every tokenizer, each for itself."""

from __future__ import annotations

import io
import string
from functools import cache

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tokenizer_foreign import bert_like, gpt2_like, t5_like
from tokenizer_samples import CHANGING, CORPUS, ODD, PLAIN, name, texts

from firth.errors import FirthError
from firth.tokenizers import Tokenizer
from firth.tokenizers.formats.sentencepiece import read_model
from firth.tokenizers.word_encoding import WordTokens

SENTENCEPIECE = {
    "unigram": {"model_type": "unigram"},
    "bytes": {"model_type": "unigram", "vocab_size": 460, "byte_fallback": True},
    "unmarked": {"model_type": "unigram", "add_dummy_prefix": False},
    "kept": {"model_type": "bpe", "add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "suffix": {"model_type": "bpe", "treat_whitespace_as_suffix": True},
    "word": {"model_type": "word", "vocab_size": 80},
}
CORPUS_WORDS = ["the", "old", "mill", "river", "town", "keeper", "chapter", "price", "oturuyordu"]
LETTERS = st.text(string.ascii_letters, min_size=1, max_size=8)
SCRIPTS = ["the river", "Işık İstanbul'da", "日本 カ\u3099", "שלום", "हिन्दी", "한국어", "สวัสดี"]
VANISHING = ["\u200d", "\ufe0f", "\u0327", "\x7f"]


def _sentencepiece(options: dict[str, object]) -> Tokenizer:
    lines, out = [line for text in CORPUS for line in text.splitlines() if line.strip()], io.BytesIO()
    options = {"vocab_size": 200, "hard_vocab_limit": False, "minloglevel": 2, **options}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out, **options)
    return read_model(out.getvalue(), "model")


@cache
def tokenizers() -> dict[str, Tokenizer]:
    ours = {name(config): Tokenizer.train(config, CORPUS) for config in [*PLAIN, *CHANGING]}
    foreign = {made.__name__: Tokenizer.from_json(made().to_str()) for made in (gpt2_like, bert_like, t5_like)}
    return ours | foreign | {f"sp-{key}": _sentencepiece(options) for key, options in SENTENCEPIECE.items()}


def words() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(ODD + SCRIPTS + VANISHING) | texts() | st.text(max_size=3), max_size=6)


def by_word(encoded: WordTokens) -> list[list[tuple[int, tuple[int, int]]]]:
    """The ids and offsets of each word's tokens."""
    tokens = list(zip(encoded.word_of, encoded.ids, encoded.offsets, strict=True))
    return [[token[1:] for token in tokens if token[0] == word] for word in range(encoded.words)]


@given(sentences=st.lists(words(), min_size=1, max_size=3))
@settings(max_examples=25)
def test_words_in_are_words_out(sentences):
    for tokenizer in tokenizers().values():
        for sentence, encoded in zip(sentences, tokenizer.encode_words(sentences), strict=True):
            assert (encoded.words, encoded.left_out) == (len(sentence), 0)
            assert encoded.word_of == sorted(encoded.word_of)
            assert all(0 <= i < tokenizer.vocab_size for i in encoded.ids)
            for word, tokens in zip(sentence, by_word(encoded), strict=True):
                assert tokens
                assert all(0 <= a <= b <= len(word) for _, (a, b) in tokens)


@given(sentence=words())
@settings(max_examples=25)
def test_the_tokens_of_a_word_do_not_depend_on_the_other_words(sentence):
    for tokenizer in tokenizers().values():
        alone = tokenizer.encode_words([[word] for word in sentence])
        assert by_word(tokenizer.encode_words([sentence])[0]) == [by_word(each)[0] for each in alone]


@given(sentence=st.lists(st.sampled_from(CORPUS_WORDS) | LETTERS, min_size=2, max_size=6))
@settings(max_examples=25)
def test_words_have_the_tokens_of_running_text(sentence):
    for tokenizer in tokenizers().values():
        first, running = tokenizer.encode(sentence[0]), tokenizer.encode(" ".join(sentence))
        tokens = [i for word in by_word(tokenizer.encode_words([sentence])[0])[1:] for i, _ in word]
        if tokenizer.special.unknown not in running:  # SentencePiece joins unknown words
            assert running == first + tokens


@given(sentence=st.lists(st.text("aXé日", min_size=1, max_size=9), max_size=6), length=st.integers(0, 20))
def test_truncation_leaves_whole_words_out_and_says_how_many(sentence, length):
    whole = tokenizers()["byte-none-no-words"].encode_words([sentence])[0]
    part = whole.truncate(length)
    assert len(part.ids) <= max(length, 0) and part.ids == whole.ids[: len(part.ids)]
    kept = len({*part.word_of})
    assert kept + part.left_out == part.words == len(sentence)
    complete = by_word(part)[:kept] == by_word(whole)[:kept]
    assert complete != bool(part.cut) and (not part.cut or kept == 1)
    if part.left_out and not part.cut:
        assert len(part.ids) + len(by_word(whole)[kept]) > length


@pytest.mark.parametrize("vanishing", ["\u0327", "\ufe0f", "\x7f"])
def test_a_word_that_normalises_to_nothing_is_unknown(vanishing):
    bert = tokenizers()["bert_like"]
    encoded = bert.encode_words([["the", vanishing, "river"]])[0]
    assert bert.encode(vanishing) in ([], [bert.special.unknown])
    assert encoded.word_of == [0, 1, 2] and encoded.ids[1] == bert.special.unknown


def test_what_is_no_sentence_of_words_is_refused():
    tokenizer = tokenizers()["word-none-no-words"]
    with pytest.raises(FirthError, match="sentence 1 is a text, not words"):
        tokenizer.encode_words([["a"], "the river"])
    with pytest.raises(FirthError, match="sentence 0 has a int among its words"):
        tokenizer.encode_words([[3]])
    with pytest.raises(FirthError, match="not valid Unicode"):
        tokenizer.encode_words([["\ud800"]])
