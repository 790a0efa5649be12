"""Tokens added and removed: what must hold whatever the kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_text_foreign import bert_like, gpt2_like
from text_samples import CORPUS, PLAIN, name, texts

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.text import Tokenizer
from firth.text.special import NAMES
from firth.text.surgery import edit

WORDY = [config for config in PLAIN if config.model not in ("char", "byte")]
WORDS = ["riverbank", "zebraçž", "riverriver", "mills"]
some = settings(max_examples=30, deadline=None)
pytestmark = pytest.mark.filterwarnings("ignore")


def foreign(made) -> Tokenizer:
    return Tokenizer.from_json(made().to_str()).with_specials()


def all_of(trained) -> list[Tokenizer]:
    return [*map(trained, WORDY), foreign(gpt2_like), foreign(bert_like)]


def test_added_words_are_tokens_alone_and_behind_a_space(trained):
    for tokenizer in all_of(trained):
        made = edit(tokenizer, add=WORDS).tokenizer
        for word in WORDS:
            (alone,) = made.ids(word)
            *before, behind = made.ids(f"x {word}")
            assert before and tokenizer.id_of(made.piece(alone)) is None
            assert made.decode([behind]).strip() == made.decode([alone]).strip()


def test_rows_say_where_every_token_comes_from(trained):
    for tokenizer in all_of(trained):
        edited = edit(tokenizer, add=WORDS)
        old, new = tokenizer.vocabulary(), edited.tokenizer.vocabulary()
        assert len(edited.rows) == edited.tokenizer.size == len(new)
        assert {piece for piece in new if piece not in old} == set(edited.added)
        for piece, i in new.items():
            if piece in old:
                assert edited.rows[i] == (old[piece],)
            else:
                assert edited.rows[i] and all(0 <= row < tokenizer.size for row in edited.rows[i])


def test_rows_of_a_new_word_are_the_tokens_of_its_text(trained):
    for tokenizer in all_of(trained):
        edited = edit(tokenizer, add=["riverbank"])
        (new,) = edited.tokenizer.ids("riverbank")
        assert list(edited.rows[new]) == tokenizer.ids("riverbank")


def test_special_tokens_keep_their_roles(trained):
    for tokenizer in all_of(trained):
        edited = edit(tokenizer, add=WORDS)
        for role, i in vars(tokenizer.special).items():
            new = getattr(edited.tokenizer.special, role)
            assert edited.tokenizer.piece(new) == tokenizer.piece(i)
            assert edited.rows[new] == (i,)


@pytest.mark.parametrize("config", WORDY, ids=name)
@given(text=texts())
@some
def test_other_text_is_cut_as_before_and_all_text_stays_whole(trained, config, text):
    tokenizer = trained(config)
    edited = edit_once(trained, config)
    for string in (text, f"{text} riverbank"):
        old, new = tokenizer.encode(string), edited.tokenizer.encode(string)
        if not set(new.pieces) & set(edited.added):
            assert [edited.rows[i] for i in new.ids] == [(i,) for i in old.ids]
        if tokenizer.special.unknown not in old.ids:
            assert edited.tokenizer.decode(new.ids) == tokenizer.decode(old.ids)
    assert edited.tokenizer.reversible == tokenizer.reversible
    assert edited.tokenizer.config == tokenizer.config is not None


def edit_once(trained, config, made={}):  # noqa: B006
    if config not in made:
        made[config] = edit(trained(config), add=WORDS)
    return made[config]


@pytest.mark.parametrize("config", WORDY, ids=name)
@given(data=st.data())
@some
def test_a_removed_token_is_gone_and_text_stays_whole(trained, config, data):
    tokenizer = trained(config)
    pieces = [p for p in tokenizer.vocabulary() if len(p.removeprefix("##")) > 1 and p not in NAMES]
    gone = data.draw(st.sampled_from(pieces))
    edited = edit(tokenizer, remove=[gone])
    assert edited.tokenizer.id_of(gone) is None and edited.removed == (gone,)
    assert edited.tokenizer.size == tokenizer.size - 1
    for text in CORPUS[:17]:
        found = edited.tokenizer.ids(text)
        assert not {edited.tokenizer.piece(i) for i in found} & set(edited.stranded)
        if config.model != "word" and tokenizer.special.unknown not in tokenizer.ids(text):
            assert edited.tokenizer.decode(found) == tokenizer.decode(tokenizer.ids(text))


def test_merges_that_make_or_use_a_removed_token_go(trained):
    for kind in ("bpe", "byte-bpe"):
        edited = edit(trained(Config(model=kind, size=400)), remove=["river"])
        merges = json.loads(edited.tokenizer.to_json())["model"]["merges"]
        assert merges and all("river" not in (left, right, left + right) for left, right in merges)


@pytest.mark.parametrize("kind", ["bpe", "byte-bpe"])
def test_exactly_those_that_no_text_becomes_are_stranded(trained, kind):
    """Against the library's own merging: a token's own text was one token, and is several."""
    tokenizer = trained(Config(model=kind, size=400))
    counts = []
    for gone in [piece for piece in tokenizer.vocabulary() if len(piece) == 2 and piece not in NAMES][:40]:
        edited = edit(tokenizer, remove=[gone])
        alone = {p for p in edited.tokenizer.vocabulary() if len(p) > 1 and len(tokenizer.model_ids(p)) == 1}
        broken = {piece for piece in alone if piece not in NAMES and len(edited.tokenizer.model_ids(piece)) > 1}
        assert set(edited.stranded) == broken
        counts.append(len(broken))
    assert max(counts) > 1  # also tokens that need the removed one only on the way


def test_adding_and_removing_the_same_gives_the_same_cuts(trained):
    for config in WORDY:
        tokenizer = trained(config)
        added = edit(tokenizer, add=["riverbank"])
        back = edit(added.tokenizer, remove=added.added)
        assert back.tokenizer.hash == tokenizer.hash


def test_a_piece_that_goes_on_with_a_word(trained):
    tokenizer = trained(Config(model="wordpiece", size=400))
    edited = edit(tokenizer, add=["##zle"])
    assert edited.tokenizer.ids("mizle")[-1] == edited.tokenizer.id_of("##zle")


REFUSED = [
    ("byte-bpe", {"remove": ["a"]}, "a byte by itself"),
    ("bpe", {"remove": ["a"]}, "a character by itself"),
    ("wordpiece", {"remove": ["##a"]}, "a character by itself"),
    ("unigram", {"remove": ["日"]}, "a character by itself"),
    ("word", {"remove": ["[END]"]}, "a special token"),
    ("bpe", {"remove": ["nothing"]}, "no token 'nothing'"),
    ("word", {"add": ["river"]}, "a token 'river' already"),
    ("word", {"add": ["New York"]}, "cut into 2 words"),
    ("bpe", {"add": ["a b"]}, "cut into 2 words"),
    ("unigram", {"add": [""]}, "an empty word"),
    ("char", {"add": ["ab"]}, "tokens of one char only"),
    ("byte", {"add": ["ab"]}, "tokens of one byte only"),
]


@pytest.mark.parametrize(("kind", "asked", "said"), REFUSED)
def test_what_would_break_something_is_refused(trained, kind, asked, said):
    with pytest.raises(FirthError, match=said.replace("[", r"\[")):
        edit(trained(Config(model=kind, size=400)), **asked)
