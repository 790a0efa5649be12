"""Vocabulary surgery: what holds for every kind of tokenizer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tokenizer_foreign import bert_like, gpt2_like
from tokenizer_samples import CORPUS, PLAIN, name, texts

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.tokenizers import Tokenizer
from firth.tokenizers.special_tokens import SPECIAL_TOKENS
from firth.tokenizers.surgery import edit_vocabulary

WORDY = [config for config in PLAIN if config.model not in ("char", "byte")]
WORDS = ["riverbank", "zebraçž", "riverriver", "mills"]
some = settings(max_examples=30, deadline=None)
pytestmark = pytest.mark.filterwarnings("ignore")


def foreign(made) -> Tokenizer:
    return Tokenizer.from_json(made().to_str()).with_special_tokens()


def all_of(trained) -> list[Tokenizer]:
    return [*map(trained, WORDY), foreign(gpt2_like), foreign(bert_like)]


def test_added_words_are_tokens_alone_and_behind_a_space(trained):
    for tokenizer in all_of(trained):
        edited = edit_vocabulary(tokenizer, add=WORDS).tokenizer
        for word in WORDS:
            (alone,) = edited.encode(word)
            *before, behind = edited.encode(f"x {word}")
            assert before and tokenizer.token_to_id(edited.id_to_token(alone)) is None
            assert edited.decode([behind]).strip() == edited.decode([alone]).strip()


def test_source_ids_name_the_old_tokens_of_every_new_one(trained):
    for tokenizer in all_of(trained):
        edited = edit_vocabulary(tokenizer, add=WORDS)
        old, new = tokenizer.vocabulary(), edited.tokenizer.vocabulary()
        assert len(edited.source_ids) == edited.tokenizer.vocab_size == len(new)
        assert {piece for piece in new if piece not in old} == set(edited.added)
        for piece, i in new.items():
            if piece in old:
                assert edited.source_ids[i] == (old[piece],)
            else:
                assert edited.source_ids[i] and all(0 <= row < tokenizer.vocab_size for row in edited.source_ids[i])


def test_source_ids_of_a_new_word_are_the_tokens_of_its_text(trained):
    for tokenizer in all_of(trained):
        edited = edit_vocabulary(tokenizer, add=["riverbank"])
        (new,) = edited.tokenizer.encode("riverbank")
        assert list(edited.source_ids[new]) == tokenizer.encode("riverbank")


def test_special_tokens_keep_their_roles(trained):
    for tokenizer in all_of(trained):
        edited = edit_vocabulary(tokenizer, add=WORDS)
        for role, i in vars(tokenizer.special).items():
            new = getattr(edited.tokenizer.special, role)
            assert edited.tokenizer.id_to_token(new) == tokenizer.id_to_token(i)
            assert edited.source_ids[new] == (i,)


@pytest.mark.parametrize("config", WORDY, ids=name)
@given(text=texts())
@some
def test_other_text_is_encoded_as_before_and_all_text_is_kept(trained, config, text):
    tokenizer = trained(config)
    edited = edit_once(trained, config)
    for string in (text, f"{text} riverbank"):
        old, new = tokenizer.encode_with_offsets(string), edited.tokenizer.encode_with_offsets(string)
        if not set(new.tokens) & set(edited.added):
            assert [edited.source_ids[i] for i in new.ids] == [(i,) for i in old.ids]
        if tokenizer.special.unknown not in old.ids:
            assert edited.tokenizer.decode(new.ids) == tokenizer.decode(old.ids)
    assert edited.tokenizer.reversible == tokenizer.reversible
    assert edited.tokenizer.config == tokenizer.config is not None


def edit_once(trained, config, made={}):  # noqa: B006
    if config not in made:
        made[config] = edit_vocabulary(trained(config), add=WORDS)
    return made[config]


@pytest.mark.parametrize("config", WORDY, ids=name)
@given(data=st.data())
@some
def test_a_removed_token_is_gone_and_text_is_kept(trained, config, data):
    tokenizer = trained(config)
    pieces = [p for p in tokenizer.vocabulary() if len(p.removeprefix("##")) > 1 and p not in SPECIAL_TOKENS]
    removed = data.draw(st.sampled_from(pieces))
    edited = edit_vocabulary(tokenizer, remove=[removed])
    assert edited.tokenizer.token_to_id(removed) is None and edited.removed == (removed,)
    assert edited.tokenizer.vocab_size == tokenizer.vocab_size - 1
    for text in CORPUS[:17]:
        ids = edited.tokenizer.encode(text)
        assert not {edited.tokenizer.id_to_token(i) for i in ids} & set(edited.unreachable)
        if config.model != "word" and tokenizer.special.unknown not in tokenizer.encode(text):
            assert edited.tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode(text))


def test_merges_that_make_or_use_a_removed_token_go(trained):
    for kind in ("bpe", "byte-bpe"):
        edited = edit_vocabulary(trained(Config(model=kind, vocabulary_size=400)), remove=["river"])
        merges = json.loads(edited.tokenizer.to_json())["model"]["merges"]
        assert merges and all("river" not in (left, right, left + right) for left, right in merges)


@pytest.mark.parametrize("kind", ["bpe", "byte-bpe"])
def test_unreachable_tokens_are_exactly_those_no_text_is_encoded_as(trained, kind):
    """Against the library's own merging: a token's own text was one token, and is several."""
    tokenizer = trained(Config(model=kind, vocabulary_size=400))
    counts = []
    for removed in [piece for piece in tokenizer.vocabulary() if len(piece) == 2 and piece not in SPECIAL_TOKENS][:40]:
        edited = edit_vocabulary(tokenizer, remove=[removed])
        alone = {p for p in edited.tokenizer.vocabulary() if len(p) > 1 and len(tokenizer.encode_pretoken(p)) == 1}
        broken = {
            piece for piece in alone if piece not in SPECIAL_TOKENS and len(edited.tokenizer.encode_pretoken(piece)) > 1
        }
        assert set(edited.unreachable) == broken
        counts.append(len(broken))
    assert max(counts) > 1  # also tokens that need the removed one only on the way


def test_adding_and_removing_the_same_is_the_identity(trained):
    for config in WORDY:
        tokenizer = trained(config)
        added = edit_vocabulary(tokenizer, add=["riverbank"])
        back = edit_vocabulary(added.tokenizer, remove=added.added)
        assert back.tokenizer.hash == tokenizer.hash


def test_a_token_that_continues_a_word(trained):
    tokenizer = trained(Config(model="wordpiece", vocabulary_size=400))
    edited = edit_vocabulary(tokenizer, add=["##zle"])
    assert edited.tokenizer.encode("mizle")[-1] == edited.tokenizer.token_to_id("##zle")


REFUSED = [
    ("byte-bpe", {"remove": ["a"]}, "a byte by itself"),
    ("bpe", {"remove": ["a"]}, "a character by itself"),
    ("wordpiece", {"remove": ["##a"]}, "a character by itself"),
    ("unigram", {"remove": ["日"]}, "a character by itself"),
    ("word", {"remove": ["[END]"]}, "a special token"),
    ("bpe", {"remove": ["nothing"]}, "no token 'nothing'"),
    ("word", {"add": ["river"]}, "a token 'river' already"),
    ("word", {"add": ["New York"]}, "split into 2 words"),
    ("bpe", {"add": ["a b"]}, "split into 2 words"),
    ("unigram", {"add": [""]}, "an empty word"),
    ("char", {"add": ["ab"]}, "tokens of one char only"),
    ("byte", {"add": ["ab"]}, "tokens of one byte only"),
]


@pytest.mark.parametrize(("kind", "edits", "message"), REFUSED)
def test_what_would_break_something_is_refused(trained, kind, edits, message):
    with pytest.raises(FirthError, match=message.replace("[", r"\[")):
        edit_vocabulary(trained(Config(model=kind, vocabulary_size=400)), **edits)
