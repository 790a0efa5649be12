"""Tokenizer files of other programs, against those programs: what they cut, we cut, and the other way round."""

from __future__ import annotations

import io
import json
from functools import cache
from itertools import groupby

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from text_samples import CORPUS, KINDS, settled_texts, texts
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer

from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.text import Tokenizer
from firth.text.charsmap import Charsmap, make_charsmap
from firth.text.files import convert, format_of, read
from firth.text.files.protobuf import fields, write
from firth.text.files.sentencepiece import model_bytes, read_model, tokenizer_of
from firth.text.normalise import normalise
from firth.text.split import parts

some = settings(max_examples=60, deadline=None)
LINES = [line for text in CORPUS for line in text.splitlines() if line.strip()]

# --- SentencePiece, read ----------------------------------------------------------------------------------

EXTRA = {"user_defined_symbols": ["<mask>", "iver", "x y"], "control_symbols": ["<ctl>"], "byte_fallback": True}
KEEPING = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}
TRAINED = {
    "unigram": {"model_type": "unigram"},
    "unigram-bytes": {"model_type": "unigram", "vocab_size": 460, **EXTRA},
    "unigram-folded": {"model_type": "unigram", "normalization_rule_name": "nfkc_cf", **KEEPING},
    "unigram-across": {"model_type": "unigram", "normalization_rule_name": "identity", "split_by_whitespace": False},
    "bpe": {"model_type": "bpe"},
    "bpe-bytes": {"model_type": "bpe", "vocab_size": 460, **EXTRA},
    "bpe-suffix": {"model_type": "bpe", "normalization_rule_name": "nmt_nfkc_cf", "treat_whitespace_as_suffix": True},
    "bpe-across": {"model_type": "bpe", "split_by_whitespace": False, "remove_extra_whitespaces": False},
    "char": {"model_type": "char", "vocab_size": 90},
    "word": {"model_type": "word", "vocab_size": 80},
    "word-suffix": {"model_type": "word", "vocab_size": 80, "treat_whitespace_as_suffix": True},
}


@cache
def their_bytes(name: str) -> bytes:
    out = io.BytesIO()
    options = {"vocab_size": 200, "hard_vocab_limit": False, "minloglevel": 2, **TRAINED[name]}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=out, **options)
    return out.getvalue()


@cache
def theirs(name: str):
    return sentencepiece.SentencePieceProcessor(model_proto=their_bytes(name))


@cache
def imported(name: str) -> Tokenizer:
    return tokenizer_of(read_model(their_bytes(name), name))


@pytest.mark.parametrize("name", TRAINED)
@given(text=texts())
@some
def test_an_imported_model_cuts_any_text_as_sentencepiece_does(name, text):
    for piece in (text, f"{text} iver <mask> x y<s> <0x41> the  rivers <ctl>"):
        assert imported(name).ids(piece) == theirs(name).encode(piece)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("text", ["<s>", "</s>", "<unk>", "a </s> b", "<ctl>", "<0x41>"])
def test_no_text_spells_a_control_piece(name, text):
    assert imported(name).ids(text) == theirs(name).encode(text)


@pytest.mark.parametrize("name", TRAINED)
def test_an_imported_model_has_their_pieces_special_tokens_and_text(name):
    ours, sp = imported(name), theirs(name)
    assert list(ours.vocabulary()) == [sp.id_to_piece(i) for i in range(sp.get_piece_size())]
    assert (ours.special.unknown, ours.special.start, ours.special.end) == (sp.unk_id(), sp.bos_id(), sp.eos_id())
    for text in ("the old mill stands", "the river runs past the old town."):
        if sp.unk_id() not in sp.encode(text):  # as the first word is with word-suffix; we leave it out
            assert ours.decode(ours.ids(text)) == sp.decode(sp.encode(text)).rstrip(" ")  # theirs keeps an added suffix


@given(text=texts())
@some
def test_offsets_of_an_imported_model_cover_the_text_in_order(text):
    for name in ("unigram-bytes", "bpe"):
        places = imported(name).encode(text).offsets
        assert all(0 <= a <= b <= len(text) for a, b in places)
        assert [a for a, _ in places] == sorted(a for a, _ in places)


def test_an_imported_model_survives_its_files_and_more_special_tokens(tmp_path):
    for name in ("unigram-bytes", "bpe-suffix"):
        ours = imported(name)
        again = Tokenizer.from_json(ours.to_json())
        more = ours.with_specials()
        path = tmp_path / f"{name}.model"
        path.write_bytes(convert(ours, "sentencepiece").contents[""])
        sp = sentencepiece.SentencePieceProcessor(model_file=str(path))
        for text in [*CORPUS[:17], "<s> ıﬁ  \u1100\u1161\u11a8 e\u0301"]:
            expected = theirs(name).encode(text)
            assert again.ids(text) == more.ids(text) == read(path).ids(text) == sp.encode(text) == expected
        assert None not in vars(more.special).values()


def test_an_imported_model_refuses_what_is_no_text():
    with pytest.raises(FirthError, match="not valid Unicode"):
        imported("bpe").ids("\ud800")
    with pytest.raises(FirthError, match="is a int"):
        imported("bpe").encode_batch([3])


# --- SentencePiece, written -------------------------------------------------------------------------------

WRITTEN = [
    Config(model=kind, size=400, lower=lower, split=split)
    for kind, split, lower in (
        ("unigram", "words", "no"), ("unigram", "whitespace", "yes"), ("bpe", "words", "turkish"),
        ("bpe", "whitespace", "no"), ("char", "words", "yes"), ("char", "words", "turkish"),
        ("word", "whitespace", "no"), ("word", "whitespace", "turkish"),
    )
]  # fmt: skip


@cache
def written(config: Config):
    return sentencepiece.SentencePieceProcessor(
        model_proto=convert(Tokenizer.train(config, CORPUS), "sentencepiece").contents[""]
    )


def fused(ids: list[int], unknown: int) -> list[int]:
    """One unknown token for a run of them, as SentencePiece writes it."""
    return [i for i, run in groupby(ids) for _ in ([i] if i == unknown else run)]


def worth(tokenizer: Tokenizer, ids: list[int]) -> float:
    scores = [score for _, score in json.loads(tokenizer.to_json())["model"]["vocab"]]
    return sum(scores[i] for i in ids)


@pytest.mark.parametrize("config", WRITTEN, ids=lambda c: f"{c.model}-{c.split}-{c.lower}")
@given(text=settled_texts())
@some
def test_sentencepiece_cuts_as_the_tokenizer_it_was_given(trained, config, text):
    """Whole texts for characters and words; else each stretch that is one word for us, since it knows no words."""
    ours, sp = trained(config), written(config)
    cut = [text]
    if config.model in ("unigram", "bpe"):
        cut = [part for part in parts(normalise(text, "none", config.lower), config.split) if part != "\uffff"]
        cut = [part for part in cut if ours.cut(part) == [part]]
    for part in cut:
        expected, found = fused(ours.ids(part), ours.special.unknown), sp.encode(part)
        if config.model == "unigram" and found != expected:  # as good: it sums in single precision
            assert worth(ours, found) == pytest.approx(worth(ours, expected), abs=1e-3)
        else:
            assert found == expected


inside = st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters="[\uffff▁")
known = ["the", "river", "runs", "past", "old", "don't", "1980's"]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(row=st.lists(st.text(inside, min_size=1, max_size=12) | st.sampled_from(known), max_size=12))
@some
def test_whole_texts_are_cut_the_same_if_blanks_are_the_only_borders(trained, kind, row):
    config = Config(model=kind, size=400, split="whitespace")
    ours, sp, text = trained(config), written(config), " ".join(row)
    expected, found = fused(ours.ids(text), ours.special.unknown), sp.encode(text)
    if kind == "unigram" and found != expected:  # as good: it sums in single precision
        assert worth(ours, found) == pytest.approx(worth(ours, expected), abs=1e-3)
    else:
        assert found == expected


def test_ordinary_text_is_cut_the_same(trained):
    config = Config(model="unigram", size=400)
    for text in CORPUS[:17]:
        assert written(config).encode(text) == trained(config).ids(text)


def test_written_ids_and_roles_are_ours(trained):
    config = WRITTEN[0]
    sp, ours = written(config), trained(config)
    assert sp.get_piece_size() == ours.size
    assert (sp.pad_id(), sp.unk_id(), sp.bos_id(), sp.eos_id()) == (0, 1, 2, 3)
    assert [sp.id_to_piece(i).replace("▁", " ") for i in range(ours.size)] == list(ours.vocabulary())
    assert sp.decode(ours.ids("the river runs")) == "the river runs"


def test_what_differs_is_said_and_what_cannot_be_is_refused(trained):
    notes = convert(trained(Config(model="unigram", size=400)), "sentencepiece").notes
    assert len(notes) == 1 and "across a border" in notes[0]
    assert convert(trained(Config(model="char", size=400)), "sentencepiece").notes == []
    for config in (*(Config(model=kind, size=400) for kind in ("byte", "byte-bpe", "wordpiece", "word")),
                   Config(model="char", size=400, normal="nfkc")):  # fmt: skip
        with pytest.raises(FirthError, match="SentencePiece"):
            convert(trained(config), "sentencepiece")


# --- the table of characters and the wire -----------------------------------------------------------------

keys = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), min_size=1, max_size=3)


@given(rules=st.dictionaries(keys, keys | st.just(""), min_size=1, max_size=30), text=st.text(max_size=20))
@settings(max_examples=80, deadline=None)
def test_a_table_finds_the_longest_of_its_strings(rules, text):
    table = Charsmap(make_charsmap(rules))
    for string in (text, *rules, "".join(rules)):
        for start in range(len(string)):
            ends = [end for end in range(start + 1, len(string) + 1) if string[start:end] in rules]
            expected = (rules[string[start : ends[-1]]], ends[-1]) if ends else None
            assert table.longest(string, start) == expected


@given(data=st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_random_bytes_are_refused(data):
    with pytest.raises(FirthError):
        read_model(data, "random.model")
    with pytest.raises(FirthError):
        read_model(b"\n" + data, "random.model")


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_model_is_refused_or_still_a_model(data):
    whole = their_bytes("bpe-suffix")
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:place] + bytes([data.draw(st.integers(0, 255))]) + whole[place + 1 :]
    for damaged in (cut, changed):
        try:
            tokenizer_of(read_model(damaged, "damaged.model")).ids("the river\tﬁ")
        except FirthError as error:
            assert str(error).count("\n") == 0


@pytest.mark.parametrize("name", ["unigram", "word"])
def test_a_model_cut_between_two_fields_is_refused(name):
    whole = their_bytes(name)
    cuts, place = [], 0
    for field in fields(whole, name):
        place = whole.index(bytes(field.value), place) + len(field.value)
        cuts.append((field.number, place))
    last = max(place for number, place in cuts if number == 3)  # the normaliser's part is the last that matters
    for _, place in cuts:
        if place < last:
            with pytest.raises(FirthError, match="fetch it again"):
                read_model(whole[:place], "cut.model")
    read_model(whole[:last], "whole.model")


def test_a_model_with_fewer_pieces_than_it_says_is_refused():
    model = read_model(their_bytes("bpe"), "x")
    said = write(4, len(model.pieces) + 1)
    with pytest.raises(FirthError, match=r"x: 200 pieces, but it says 201; fetch it again"):
        read_model(model_bytes(model, {}) + write(2, said), "x")


def test_a_length_beyond_the_file_costs_nothing():
    for data in (b"\n\xff\xff\xff\xff\x7f", b"\n" + b"\xff" * 20, b"\x0b", b"\x0d\0", b"\n\x02\x15\0"):
        with pytest.raises(FirthError, match="cut short"):
            read_model(data, "x.model")


def test_pieces_must_be_sound():
    model = read_model(their_bytes("bpe"), "x")
    twice = model_bytes(type(model)(**{**vars(model), "pieces": (*model.pieces, model.pieces[-1])}), {})
    with pytest.raises(FirthError, match="are the same"):
        read_model(twice, "x")
    none = model_bytes(type(model)(**{**vars(model), "pieces": model.pieces[1:]}), {})
    with pytest.raises(FirthError, match="one unknown piece"):
        read_model(none, "x")


# --- BERT and GPT-2 ---------------------------------------------------------------------------------------


@cache
def bert(lower: bool) -> BertWordPieceTokenizer:
    made = BertWordPieceTokenizer(lowercase=lower)
    made.train_from_iterator(CORPUS, vocab_size=400, show_progress=False)
    return made


@cache
def gpt2() -> ByteLevelBPETokenizer:
    made = ByteLevelBPETokenizer()
    made.train_from_iterator(CORPUS, vocab_size=400, show_progress=False, special_tokens=["<|endoftext|>"])
    return made


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Files as the library's own classes write them, and ours of those."""
    root = tmp_path_factory.mktemp("files")
    for name, made in (("cased", bert(False)), ("uncased", bert(True)), ("gpt2", gpt2())):
        (root / name).mkdir()
        made.save_model(str(root / name))
        written_by_us = convert(read(root / name), "gpt2" if name == "gpt2" else "bert")
        assert written_by_us.notes == []
        (root / f"{name}-ours").mkdir()
        for file, content in written_by_us.contents.items():
            (root / f"{name}-ours" / file).write_bytes(content)
    return root


@pytest.mark.parametrize("name", ["cased", "uncased", "gpt2"])
def test_their_files_are_cut_as_they_do_and_ours_by_them(folders, name):
    ours, made = read(folders / name), {"cased": bert(False), "uncased": bert(True), "gpt2": gpt2()}[name]
    again = folders / f"{name}-ours"
    if name == "gpt2":
        back = ByteLevelBPETokenizer(str(again / "vocab.json"), str(again / "merges.txt"))
    else:
        back = BertWordPieceTokenizer(str(again / "vocab.txt"), lowercase=name == "uncased")

    @given(text=texts())
    @some
    def check(text):
        text = text.replace("[", "").replace("<", "")  # their classes find special tokens in plain text, ours does not
        expected = made.encode(text, add_special_tokens=False).ids
        assert ours.ids(text) == back.encode(text, add_special_tokens=False).ids == expected
        assert read(again).ids(text) == expected

    check()
    assert ours.special.unknown == (None if name == "gpt2" else 1)


def test_transformers_reads_what_we_write(folders):
    transformers = pytest.importorskip("transformers")
    for name, kind in (("uncased", "BertTokenizer"), ("cased", "BertTokenizer"), ("gpt2", "GPT2Tokenizer")):
        their = getattr(transformers, kind).from_pretrained(str(folders / f"{name}-ours"))
        for text in CORPUS[:17]:
            plain = text.replace("[MASK]", "mask")
            assert their.encode(plain, add_special_tokens=False) == read(folders / name).ids(plain)


def test_our_words_are_cut_the_same_by_bert_and_gpt2(trained, tmp_path):
    """Words by themselves: about words in a row the programs have rules of their own, and it is said."""
    for config, to in ((Config(model="wordpiece", size=400), "bert"), (Config(model="byte-bpe", size=400), "gpt2")):
        made = convert(trained(config), to)
        assert len(made.notes) == 1
        (tmp_path / to).mkdir()
        for file, content in made.contents.items():
            (tmp_path / to / file).write_bytes(content)
        for word in ["the", "river", "runs", "past", "keepers", "millers", "Irmak", "ırmak", "çocuklar", "1957"]:
            assert read(tmp_path / to).ids(word) == trained(config).ids(word)


def test_wrong_kinds_are_refused(trained):
    for kind in KINDS:
        if kind != "wordpiece":
            with pytest.raises(FirthError, match="not BERT's kind"):
                convert(trained(Config(model=kind, size=400)), "bert")
        if kind not in ("byte", "byte-bpe"):
            with pytest.raises(FirthError, match="not GPT-2's kind"):
                convert(trained(Config(model=kind, size=400)), "gpt2")
    with pytest.raises(FirthError, match="cannot normalise"):
        convert(trained(Config(model="wordpiece", size=400, normal="nfkc", lower="yes")), "bert")
    with pytest.raises(FirthError, match="cannot hold a normalisation"):
        convert(trained(Config(model="byte-bpe", size=400, lower="yes")), "gpt2")
    with pytest.raises(FirthError, match="did you mean 'bert'"):
        convert(trained(Config(model="wordpiece", size=400)), "bart")


def test_the_content_decides_not_the_name(folders, tmp_path, trained):
    odd = tmp_path / "odd.txt"
    for content, kind in (
        (their_bytes("unigram"), "sentencepiece"),
        ((folders / "cased" / "vocab.txt").read_bytes(), "bert"),
        ((folders / "gpt2" / "vocab.json").read_bytes(), "gpt2"),
        ((folders / "gpt2" / "merges.txt").read_bytes(), "gpt2"),
        (trained(Config(model="char", size=400)).to_json().encode(), "tokenizer.json"),
    ):
        odd.write_bytes(content)
        assert format_of(odd) == kind


BAD = {
    "vocab.txt": [
        ("[UNK]\na\n\nb\n", "vocab.txt:3: an empty line"),
        ("[UNK]\na\nb\na\n", "vocab.txt:4: 'a' stands on line 2 already"),
        ("a\nb\n", "no line [UNK]"),
        ("\0\0", "not a tokenizer file"),
        ("", "the file is empty"),
    ],
    "merges.txt": [
        ("#version: 0.2\nt h\nt q_q\n", "merges.txt:3: the merge 't q_q' needs 'q_q'"),
        ("#version: 0.2\nt h\nt h e\n", "merges.txt:3: not two tokens: 't h e'"),
        ("#version: 0.2\nt\n", "merges.txt:2: not two tokens: 't'"),
        ("#version: 0.2\nt h\nt h\n", "merges.txt:3: the merge 't h' stands on line 2 already"),
    ],
    "vocab.json": [
        ('{"a": 0, "b"', "vocab.json:1: damaged or cut short"),
        ('{"a": "x"}', "the number of 'a' is 'x'"),
        ('{"a": 0, "b": 0}', "two tokens have the same number"),
        ('{"a": 0, "b": 1}', "254 of 256 bytes are missing"),
        ("[1]", "no line [UNK]"),
    ],
}


@pytest.mark.parametrize(("name", "content", "said"), [(n, *case) for n, cases in BAD.items() for case in cases])
def test_malformed_files_are_refused_with_their_line(folders, tmp_path, name, content, said):
    if name != "vocab.txt":
        for file in ("vocab.json", "merges.txt"):
            known = json.loads((folders / "gpt2" / "vocab.json").read_text())
            both = {"vocab.json": json.dumps({**known, "th": 900}), "merges.txt": "#version: 0.2\n"}
            (tmp_path / file).write_text(both[file])
    (tmp_path / name).write_text(content)
    with pytest.raises(FirthError) as refused:
        read(tmp_path / name)
    assert said in str(refused.value) and str(tmp_path) in str(refused.value)


def test_folders_that_lack_something_are_refused(folders, tmp_path):
    with pytest.raises(FirthError, match="no tokenizer file in this folder"):
        read(tmp_path)
    (tmp_path / "vocab.json").write_bytes((folders / "gpt2" / "vocab.json").read_bytes())
    with pytest.raises(FirthError, match=r"merges\.txt is missing"):
        read(tmp_path)
    with pytest.raises(FirthError, match="cannot read"):
        read(tmp_path / "nothing")
