"""Laws of tokenizers: the library alone encodes alike, byte kinds are lossless, offsets are right."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer_samples import CHANGING, CORPUS, KINDS, ODD, PLAIN, name, texts

import tokenizers
from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.tokenizers import SpecialTokens, Tokenizer
from firth.tokenizers.special_tokens import SPECIAL_TOKENS
from firth.tokenizers.split import normalise

every = pytest.mark.parametrize("config", PLAIN + CHANGING, ids=name)
plain = pytest.mark.parametrize("config", PLAIN, ids=name)
some = settings(max_examples=25, deadline=None)
SEEN = sorted(set("".join(CORPUS)))


def of_kinds(*kinds):
    return pytest.mark.parametrize("config", [c for c in PLAIN if c.model in kinds], ids=name)


@every
@given(text=texts())
@some
def test_the_library_alone_encodes_alike(trained, config, text):
    ours = trained(config)
    alone = tokenizers.Tokenizer.from_str(ours.to_json())
    expected = alone.encode(text).ids
    assert ours.encode(text) == expected
    assert ours.encode_with_offsets(text).ids == expected
    assert ours.encode_batch([text, "", text]) == [expected, [], expected]


@every
def test_the_library_alone_opens_the_file(trained, config, tmp_path):
    trained(config).save(tmp_path / "tokenizer.json")
    alone = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    batch = [*CORPUS, "".join(ODD), " ".join(ODD)]
    assert trained(config).encode_batch(batch) == [e.ids for e in alone.encode_batch(batch)]


@every
@pytest.mark.parametrize("cores", [1, 64])
def test_tables_and_the_library_agree_on_any_machine(trained, config, cores, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    batch = [*CORPUS, "".join(ODD), " ".join(ODD), *ODD]
    tokenizer = Tokenizer.from_json(trained(config).to_json())
    assert tokenizer.encode_batch(batch) == trained(config).encode_batch(batch)


@of_kinds("byte", "byte-bpe")
@given(text=texts())
@some
def test_byte_kinds_give_back_any_text(trained, config, text):
    tokenizer = trained(config)
    assert tokenizer.reversible
    assert tokenizer.decode(tokenizer.encode(text)) == text


@of_kinds("char", "bpe", "unigram")
@given(text=st.lists(st.sampled_from(CORPUS) | st.text(SEEN), max_size=4).map("".join))
@some
def test_known_characters_come_back(trained, config, text):
    tokenizer = trained(config)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert not tokenizer.reversible


@every
@given(text=texts())
@some
def test_text_never_becomes_a_special_token(trained, config, text):
    special = trained(config).special
    assert not {*trained(config).encode(text + " [END] [MASK]")} & (special.ids - {special.unknown})


@every
def test_special_tokens_come_first(trained, config):
    tokenizer = trained(config)
    assert [tokenizer.id_to_token(i) for i in range(7)] == list(SPECIAL_TOKENS)
    assert tokenizer.special == SpecialTokens(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)


@every
def test_save_then_load_is_identity(trained, config, tmp_path):
    tokenizer = trained(config)
    tokenizer.save(tmp_path / "t.json")
    loaded = Tokenizer.load(tmp_path / "t.json")
    for again in (loaded, Tokenizer.from_json(tokenizer.to_json()), pickle.loads(pickle.dumps(tokenizer))):
        assert again.to_json() == tokenizer.to_json()
        for fact in ("hash", "special", "kind", "vocab_size", "reversible", "config"):
            assert getattr(again, fact) == getattr(tokenizer, fact)
        assert again.encode_batch(CORPUS) == tokenizer.encode_batch(CORPUS)


@every
def test_the_configuration_is_in_the_file(trained, config):
    inferred = trained(config).config
    same = ("unicode_form", "lowercase") if config.model == "byte" else ("model", "unicode_form", "lowercase", "split")
    assert [getattr(inferred, field) for field in same] == [getattr(config, field) for field in same]


def test_the_hash_ignores_the_layout(trained):
    tokenizer = trained(PLAIN[0])
    pretty = tokenizers.Tokenizer.from_str(tokenizer.to_json()).to_str(pretty=True)
    assert pretty != tokenizer.to_json()
    assert Tokenizer.from_json(pretty).hash == tokenizer.hash
    hashes = {trained(config).hash for config in PLAIN + CHANGING}
    assert len(hashes) == len(PLAIN + CHANGING) - 1  # byte has no split


# --- offsets ------------------------------------------------------------------------------------------


@every
@given(text=texts())
@some
def test_offsets_go_forward_within_the_text(trained, config, text):
    encoding = trained(config).encode_with_offsets(text)
    assert len(encoding.ids) == len(encoding.tokens) == len(encoding.offsets)
    assert all(0 <= a <= b <= len(text) for a, b in encoding.offsets)
    assert encoding.offsets == sorted(encoding.offsets)


@of_kinds("char", "word", "bpe", "unigram")
@given(text=texts())
@some
def test_offsets_select_the_tokens(trained, config, text):
    encoding = trained(config).encode_with_offsets(text)
    for i, piece, (a, b) in zip(encoding.ids, encoding.tokens, encoding.offsets, strict=True):
        assert i == 1 or text[a:b] == piece


@of_kinds("byte", "byte-bpe")
@given(text=texts())
@some
def test_offsets_of_bytes_cover_whole_characters(trained, config, text):
    tokenizer = trained(config)
    encoding = tokenizer.encode_with_offsets(text)
    covered = set()
    for i, (a, b) in zip(encoding.ids, encoding.offsets, strict=True):
        covered.update(range(a, b))
        decoded = tokenizer.decode([i]).strip("\ufffd")
        assert decoded in text[a:b] or "\ufffd" in decoded
    assert covered == set(range(len(text)))


def test_offsets_are_of_the_original_text(trained):
    config = Config(model="char", vocabulary_size=400, unicode_form="nfkc", lowercase="turkish")
    text = "ﬁI\u0307İ I e\u0301 日"
    encoding = trained(config).encode_with_offsets(text)
    assert [p for p, i in zip(encoding.tokens, encoding.ids, strict=True) if i != 1] == list("fiii ı  日")
    expected = ["ﬁ", "ﬁ", "I\u0307", "İ", " ", "I", " ", "e\u0301", " ", "日"]
    assert [text[a:b] for a, b in encoding.offsets] == expected


# --- particular kinds ---------------------------------------------------------------------------------


def test_words_between_white_space():
    tokenizer = Tokenizer.train(Config(model="word", split="whitespace"), ["a <unk> of N <unk>\nis N's a"])
    text = "a <unk> of N's"
    assert [tokenizer.id_to_token(i) for i in tokenizer.encode(text)] == ["a", "<unk>", "of", "N's"]
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.special.unknown == 1 != tokenizer.token_to_id("<unk>")
    assert tokenizer.token_to_id("<unk>") in (7, 8, 9)  # the three words that come twice are first


def test_a_word_spelled_like_a_special_token_is_unknown():
    for kind in ("word", "wordpiece"):
        tokenizer = Tokenizer.train(Config(model=kind, split="whitespace"), ["[END] a [END] a[END] [MASK]"])
        assert tokenizer.encode("[END]") == [1]
        assert tokenizer.oov_spans("a [END] a[END]") == ["[END]"]
        assert tokenizer.encode_with_oov("a [END] a[END]").lossless


def test_words_are_detokenised():
    text = "He said: the river runs past the town (see chapter 1,000), but it's wet!"
    documents = [*CORPUS, text]
    for kind in ("word", "wordpiece"):
        tokenizer = Tokenizer.train(Config(model=kind, vocabulary_size=400, split="words"), documents)
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert tokenizer.lossless(text)
        assert tokenizer.decode(tokenizer.encode("日本語です。「はい」")) == "日本語です。「はい」"


def test_wordpiece_by_hand():
    tokenizer = Tokenizer.train(Config(model="wordpiece", vocabulary_size=16, split="words"), ["hug hug hug pug pun"])
    # characters by frequency: ##u h ##g p ##n; then the pairs h+ug, ug, p+u …
    assert [tokenizer.id_to_token(i) for i in range(7, 12)] == ["##u", "##g", "h", "p", "##n"]
    assert "hug" in (tokenizer.id_to_token(i) for i in range(12, tokenizer.vocab_size))
    assert [tokenizer.id_to_token(i) for i in tokenizer.encode("hug")] == ["hug"]
    assert tokenizer.encode("hugx") == [1]


def test_merges_by_hand():
    tokenizer = Tokenizer.train(Config(model="bpe", vocabulary_size=20, min_count=2), ["aab", "aab", "aab", "bb"])
    # b 5 times, a 6 times; a+b and a+a are equally common, 3 times; "aa" comes first
    assert [tokenizer.id_to_token(i) for i in range(7, tokenizer.vocab_size)] == ["a", "b", "aa", "aab"]
    assert [tokenizer.id_to_token(i) for i in tokenizer.encode("aabaa")] == ["aab", "aa"]


def test_rare_units():
    documents = ["common common rare"]
    words = Tokenizer.train(Config(model="word", min_count=2), documents)
    assert words.token_to_id("common") == 7
    assert words.token_to_id("rare") is None
    characters = Tokenizer.train(Config(model="char", min_count=2), documents)
    assert characters.token_to_id("e") is None
    merged = Tokenizer.train(Config(model="bpe", min_count=2), documents)
    assert merged.token_to_id("common") is not None
    assert merged.token_to_id("ra") is None


@pytest.mark.parametrize("kind", KINDS)
def test_size_is_a_bound(kind):
    for size in (300, 5000):
        tokenizer = Tokenizer.train(Config(model=kind, vocabulary_size=size), CORPUS)
        assert tokenizer.vocab_size <= size
    small = ["char", "word", "bpe", "wordpiece", "unigram"]
    if kind in small:
        tokenizer = Tokenizer.train(Config(model=kind, vocabulary_size=16), CORPUS)
        assert tokenizer.vocab_size == 16
        tokenizer.encode_with_oov("".join(CORPUS))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_corpus_is_refused(kind):
    for documents in ([], ["", ""]):
        with pytest.raises(FirthError, match="no text"):
            Tokenizer.train(Config(model=kind), documents)


@pytest.mark.parametrize("kind", KINDS)
def test_training_refuses_lone_surrogates(kind):
    with pytest.raises(FirthError, match="document 1 is not valid Unicode"):
        Tokenizer.train(Config(model=kind), ["a", "b\ud800"])


@pytest.mark.parametrize("kind", ["byte", "byte-bpe"])
def test_bytes_need_a_vocabulary_of_263(kind):
    with pytest.raises(FirthError, match="263"):
        Tokenizer.train(Config(model=kind, vocabulary_size=262), CORPUS)
    assert Tokenizer.train(Config(model=kind, vocabulary_size=263), CORPUS).vocab_size == 263


@pytest.mark.parametrize("kind", KINDS)
def test_one_character_and_one_document_are_enough(kind):
    tokenizer = Tokenizer.train(Config(model=kind), (document for document in ["a"]))
    assert tokenizer.decode(tokenizer.encode("a")) == "a"


@every
def test_empty_text(trained, config):
    tokenizer = trained(config)
    assert tokenizer.encode("") == []
    assert tokenizer.encode_batch([]) == []
    assert tokenizer.decode([]) == ""
    assert tokenizer.encode_with_oov("").lossless


@every
def test_a_megabyte_without_a_break(trained, config):
    text = "river" * 200_000
    started = time.process_time()  # not of the clock: other processes may take the cores
    ids = trained(config).encode(text)
    assert time.process_time() - started < 20
    if config.model not in ("word", "wordpiece"):
        assert trained(config).decode(ids) == normalise(text, config.unicode_form, config.lowercase)


def test_training_on_a_megabyte_without_a_break():
    started = time.process_time()  # not of the clock: other processes may take the cores
    for kind in KINDS:
        Tokenizer.train(Config(model=kind, vocabulary_size=500), ["river" * 200_000])
    assert time.process_time() - started < 30


# --- decoding, lookup, errors --------------------------------------------------------------------


@plain
def test_special_tokens_are_shown_on_request(trained, config):
    tokenizer = trained(config)
    ids = [2, *tokenizer.encode("the river"), 3, 0]
    assert tokenizer.decode(ids) == "the river"
    shown = tokenizer.decode(ids, skip_special_tokens=False)
    assert shown.replace(" ", "") == "[START]theriver[END][PAD]"


def test_lookup(trained):
    tokenizer = trained(Config(model="word", vocabulary_size=400, split="words"))
    assert tokenizer.id_to_token(tokenizer.token_to_id("river")) == "river"
    assert tokenizer.token_to_id("no such word") is None
    with pytest.raises(FirthError, match="no token has the id 1000000"):
        tokenizer.id_to_token(10**6)


def test_flat_is_batch_joined(trained):
    for config in (PLAIN[0], Config(model="byte-bpe", vocabulary_size=400)):
        ids, lengths = trained(config).encode_flat(CORPUS)
        batch = trained(config).encode_batch(CORPUS)
        assert list(ids) == [i for each in batch for i in each]
        assert list(lengths) == [len(each) for each in batch]
        assert ids.itemsize == 4


@every
def test_lone_surrogates_are_refused(trained, config):
    for bad in (["a", "\ud800"], ["a", None]):
        with pytest.raises(FirthError, match="text 1"):
            trained(config).encode_batch(bad)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FirthError, match="No such file"):
        Tokenizer.load(tmp_path / "missing.json")
    for number, content in enumerate(["", "{}", "[1]", "not json", '{"model": {"type": "Evil"}}']):
        path = tmp_path / f"{number}.json"
        path.write_text(content)
        with pytest.raises(FirthError, match=f"{number}.json: not a tokenizer file"):
            Tokenizer.load(path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(FirthError, match="not a tokenizer file"):
        Tokenizer.load(tmp_path / "bytes.json")


def test_a_configured_file_is_loaded(trained, tmp_path):
    trained(PLAIN[0]).save(tmp_path / "t.json")
    loaded = Tokenizer.train(Config(file=str(tmp_path / "t.json")), [])
    assert loaded.hash == trained(PLAIN[0]).hash


def test_sentinels_are_counted_in_the_vocabulary_and_numbered_by_their_names(trained):
    plain = trained(Config(model="byte-bpe", vocabulary_size=400))
    tokenizer = trained(Config(model="byte-bpe", vocabulary_size=400, sentinels=12))
    assert tokenizer.vocab_size == plain.vocab_size == 400
    assert tokenizer.sentinels == tuple(tokenizer.token_to_id(f"<extra_id_{number}>") for number in range(12))
    assert tokenizer.sentinels[0] == 399  # <extra_id_0> is the last, as in T5
    ids = tokenizer.encode("a river")
    assert tokenizer.decode([*ids, *tokenizer.sentinels]) == tokenizer.decode(ids) == "a river"
