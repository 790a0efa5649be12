"""Tokenizer formats of other programs, against those programs: they encode as we do, in both directions."""

from __future__ import annotations

import base64
import io
import json
import sys
from dataclasses import replace
from functools import cache
from itertools import groupby

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer_samples import CORPUS, KINDS, settled_texts, texts

import tokenizers
from firth.config.schema import Tokenizer as Config
from firth.errors import FirthError
from firth.tokenizers import Tokenizer
from firth.tokenizers.formats import convert, detect_format, read
from firth.tokenizers.formats.sentencepiece import read_model
from firth.tokenizers.sentencepiece.model_proto import ModelProto, _field, _fields
from firth.tokenizers.split import normalise, split_pretokens
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer

some = settings(max_examples=60, deadline=None)
LINES = [line for text in CORPUS for line in text.splitlines() if line.strip()]

# --- SentencePiece, imported ----------------------------------------------------------------------------------

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
    return read_model(their_bytes(name), name)


@pytest.mark.parametrize("name", TRAINED)
@given(text=texts())
@some
def test_an_imported_model_encodes_any_text_as_sentencepiece_does(name, text):
    for piece in (text, f"{text} iver <mask> x y<s> <0x41> the  rivers <ctl>"):
        assert imported(name).encode(piece) == theirs(name).encode(piece)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("text", ["<s>", "</s>", "<unk>", "a </s> b", "<ctl>", "<0x41>"])
def test_no_text_spells_a_control_piece(name, text):
    assert imported(name).encode(text) == theirs(name).encode(text)


@pytest.mark.parametrize("name", TRAINED)
def test_an_imported_model_has_their_pieces_special_tokens_and_text(name):
    ours, sp = imported(name), theirs(name)
    assert list(ours.vocabulary()) == [sp.id_to_piece(i) for i in range(sp.get_piece_size())]
    assert (ours.special.unknown, ours.special.start, ours.special.end) == (sp.unk_id(), sp.bos_id(), sp.eos_id())
    for text in ("the old mill stands", "the river runs past the old town."):
        if sp.unk_id() not in sp.encode(text):  # as the first word is with word-suffix; ours skips it
            decoded = sp.decode(sp.encode(text)).rstrip(" ")  # theirs keeps the dummy suffix
            assert ours.decode(ours.encode(text)) == decoded


@given(text=texts())
@some
def test_offsets_of_an_imported_model_cover_the_text_in_order(text):
    for name in ("unigram-bytes", "bpe"):
        offsets = imported(name).encode_with_offsets(text).offsets
        assert all(0 <= a <= b <= len(text) for a, b in offsets)
        assert [a for a, _ in offsets] == sorted(a for a, _ in offsets)


def test_every_byte_token_of_an_imported_model_covers_its_character():
    text = "the ☃ and \U0001f3fb☃"
    for name in ("unigram-bytes", "bpe-bytes"):
        encoding, covered = imported(name).encode_with_offsets(text), b""
        for token, (a, b) in zip(encoding.tokens, encoding.offsets, strict=True):
            if token.startswith("<0x"):
                assert b == a + 1 and bytes.fromhex(token[3:5]) in text[a].encode()
                covered += bytes.fromhex(token[3:5])
        assert covered.decode() == "☃\U0001f3fb☃"


@pytest.mark.parametrize("name", TRAINED)
def test_an_imported_model_is_exported_unchanged(name):
    assert convert(imported(name), "sentencepiece").contents[""] == their_bytes(name)


@pytest.mark.parametrize("name", TRAINED)
def test_an_imported_model_decodes_text_without_tokens(name):
    for text in ("", " ", "\U0001f3fb"):
        assert isinstance(imported(name).decode(imported(name).encode(text)), str)
    assert imported(name).decode([]) == imported(name).decode([], skip_special_tokens=False) == ""
    assert imported(name).decode([imported(name).vocab_size + 5]) == ""
    assert tokenizers.Tokenizer.from_str(imported(name).to_json()).decode([]) == ""  # and by the library alone


@pytest.mark.parametrize("name", TRAINED)
def test_files_of_early_versions_with_the_fields_of_the_model_are_read(name):
    proto = ModelProto.parse(their_bytes(name), name)
    old = {"kind": proto.model_type, "pieces": proto.pieces, "prefix": proto.add_dummy_prefix,
           "trim": proto.remove_extra_whitespaces, "escape": proto.escape_whitespaces, "bytes": proto.byte_fallback,
           "suffix": proto.treat_whitespace_as_suffix,
           "charsmap": base64.b64encode(proto.precompiled_charsmap).decode()}  # fmt: skip
    file = json.loads(imported(name).to_json())
    file["model"]["sentencepiece"] = old
    tokenizer = Tokenizer.from_json(json.dumps(file))
    assert tokenizer.encode_batch(CORPUS) == imported(name).encode_batch(CORPUS)
    model = convert(tokenizer, "sentencepiece").contents[""]
    assert sentencepiece.SentencePieceProcessor(model_proto=model).encode(CORPUS) == theirs(name).encode(CORPUS)
    for damaged in ({**old, "pieces": [1]}, {}, "not base64!", 3):
        file["model"]["sentencepiece"] = damaged
        with pytest.raises(FirthError, match="its sentencepiece entry is incomplete; import it again"):
            Tokenizer.from_json(json.dumps(file))


def test_without_the_library_the_error_says_how_to_install_it(monkeypatch):
    model, file = their_bytes("bpe"), imported("bpe").to_json()
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    for load in (lambda: read_model(model, "x.model"), lambda: Tokenizer.from_json(file)):
        with pytest.raises(FirthError, match=r'need the package sentencepiece; pip install "firth\[sentencepiece\]"'):
            load()


def test_an_imported_model_survives_its_files_and_more_special_tokens(tmp_path):
    for name in ("unigram-bytes", "bpe-suffix"):
        ours = imported(name)
        again = Tokenizer.from_json(ours.to_json())
        more = ours.with_special_tokens()
        path = tmp_path / f"{name}.model"
        path.write_bytes(convert(ours, "sentencepiece").contents[""])
        sp = sentencepiece.SentencePieceProcessor(model_file=str(path))
        for text in [*CORPUS[:17], "<s> ıﬁ  \u1100\u1161\u11a8 e\u0301"]:
            expected = theirs(name).encode(text)
            assert again.encode(text) == more.encode(text) == read(path).encode(text) == sp.encode(text) == expected
        assert None not in vars(more.special).values()


def test_an_imported_model_refuses_what_is_no_text():
    with pytest.raises(FirthError, match="not valid Unicode"):
        imported("bpe").encode("\ud800")
    with pytest.raises(FirthError, match="is a int"):
        imported("bpe").encode_batch([3])


# --- SentencePiece, exported -------------------------------------------------------------------------------

EXPORTED = [
    Config(model=kind, vocabulary_size=400, lowercase=lower, split=split)
    for kind, split, lower in (
        ("unigram", "words", "no"), ("unigram", "whitespace", "yes"), ("bpe", "words", "turkish"),
        ("bpe", "whitespace", "no"), ("char", "words", "yes"), ("char", "words", "turkish"),
        ("word", "whitespace", "no"), ("word", "whitespace", "turkish"),
    )
]  # fmt: skip


@cache
def exported(config: Config):
    return sentencepiece.SentencePieceProcessor(
        model_proto=convert(Tokenizer.train(config, CORPUS), "sentencepiece").contents[""]
    )


def fuse_unknown(ids: list[int], unknown: int) -> list[int]:
    """One unknown token for adjacent ones, as SentencePiece has it."""
    return [i for i, run in groupby(ids) for _ in ([i] if i == unknown else run)]


def total_score(tokenizer: Tokenizer, ids: list[int]) -> float:
    scores = [score for _, score in json.loads(tokenizer.to_json())["model"]["vocab"]]
    return sum(scores[i] for i in ids)


@pytest.mark.parametrize("config", EXPORTED, ids=lambda c: f"{c.model}-{c.split}-{c.lowercase}")
@given(text=settled_texts())
@some
def test_sentencepiece_encodes_as_the_exported_tokenizer(trained, config, text):
    """Whole texts for characters and words; else each pre-token, since SentencePiece has no pre-tokenisation."""
    ours, sp = trained(config), exported(config)
    parts = [text]
    if config.model in ("unigram", "bpe"):
        parts = [
            part
            for part in split_pretokens(normalise(text, "none", config.lowercase), config.split)
            if part != "\uffff"
        ]
        parts = [part for part in parts if ours.pre_tokenize(part) == [part]]
    for part in parts:
        expected, ids = fuse_unknown(ours.encode(part), ours.special.unknown), sp.encode(part)
        if config.model == "unigram" and ids != expected:  # as good: it sums in single precision
            assert total_score(ours, ids) == pytest.approx(total_score(ours, expected), abs=1e-3)
        else:
            assert ids == expected


inside = st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters="[\uffff▁")
known = ["the", "river", "runs", "past", "old", "don't", "1980's"]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(row=st.lists(st.text(inside, min_size=1, max_size=12) | st.sampled_from(known), max_size=12))
@some
def test_whole_texts_are_encoded_the_same_if_spaces_are_the_only_boundaries(trained, kind, row):
    config = Config(model=kind, vocabulary_size=400, split="whitespace")
    ours, sp, text = trained(config), exported(config), " ".join(row)
    expected, ids = fuse_unknown(ours.encode(text), ours.special.unknown), sp.encode(text)
    if kind == "unigram" and ids != expected:  # as good: it sums in single precision
        assert total_score(ours, ids) == pytest.approx(total_score(ours, expected), abs=1e-3)
    else:
        assert ids == expected


def test_ordinary_text_is_encoded_the_same(trained):
    config = Config(model="unigram", vocabulary_size=400)
    for text in CORPUS[:17]:
        assert exported(config).encode(text) == trained(config).encode(text)


def test_exported_ids_and_special_tokens_are_ours(trained):
    config = EXPORTED[0]
    sp, ours = exported(config), trained(config)
    assert sp.get_piece_size() == ours.vocab_size
    assert (sp.pad_id(), sp.unk_id(), sp.bos_id(), sp.eos_id()) == (0, 1, 2, 3)
    assert [sp.id_to_piece(i).replace("▁", " ") for i in range(ours.vocab_size)] == list(ours.vocabulary())
    assert sp.decode(ours.encode("the river runs")) == "the river runs"


def test_differences_are_warned_of_and_impossible_exports_refused(trained):
    warnings = convert(trained(Config(model="unigram", vocabulary_size=400)), "sentencepiece").warnings
    assert len(warnings) == 1 and "across a boundary" in warnings[0]
    assert convert(trained(Config(model="char", vocabulary_size=400)), "sentencepiece").warnings == []
    for config in (*(Config(model=kind, vocabulary_size=400) for kind in ("byte", "byte-bpe", "wordpiece", "word")),
                   Config(model="char", vocabulary_size=400, unicode_form="nfkc")):  # fmt: skip
        with pytest.raises(FirthError, match="SentencePiece"):
            convert(trained(config), "sentencepiece")


# --- damaged models ---------------------------------------------------------------------------------------


@given(data=st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_random_bytes_are_refused(data):
    for content in (data, b"\n" + data):
        with pytest.raises(FirthError):
            read_model(content, "random.model")
        with pytest.raises(FirthError):
            ModelProto.parse(content, "random.model")


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_model_is_refused_or_still_a_model(data):
    whole = their_bytes("bpe-suffix")
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    position = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:position] + bytes([data.draw(st.integers(0, 255))]) + whole[position + 1 :]
    for damaged in (cut, changed):
        try:
            read_model(damaged, "damaged.model").encode("the river\tﬁ")
        except FirthError as error:
            assert str(error).count("\n") == 0


@pytest.mark.parametrize("name", ["unigram", "word"])
def test_a_model_cut_between_two_fields_is_refused(name):
    whole = their_bytes(name)
    ends, end = [], 0
    for number, value in _fields(memoryview(whole)):
        end = whole.index(bytes(value), end) + len(value)
        ends.append((number, end))
    last = max(end for number, end in ends if number == 3)  # the NormalizerSpec is the last part that is needed
    for _, end in ends:
        if end < last:
            with pytest.raises(FirthError, match="fetch it again"):
                read_model(whole[:end], "cut.model")
    read_model(whole[:last], "whole.model")


def test_a_model_with_fewer_pieces_than_it_says_is_refused():
    proto = ModelProto.parse(their_bytes("bpe"), "x")
    vocab_size = _field(4, len(proto.pieces) + 1)
    with pytest.raises(FirthError, match=r"x: 200 pieces, but it says 201; fetch it again"):
        read_model(proto.serialize() + _field(2, vocab_size), "x")


def test_a_length_beyond_the_file_costs_nothing():
    for data in (b"\n\xff\xff\xff\xff\x7f", b"\n" + b"\xff" * 20, b"\x0b", b"\x0d\0", b"\n\x02\x15\0"):
        for parse in (read_model, ModelProto.parse):
            with pytest.raises(FirthError, match="damaged"):
                parse(data, "x.model")


def test_pieces_must_be_sound():
    proto = ModelProto.parse(their_bytes("unigram"), "x")
    control = proto.pieces[-1]._replace(type=3)  # SentencePiece itself allows a control symbol spelled like a piece
    with pytest.raises(FirthError, match="are the same"):
        read_model(replace(proto, pieces=(*proto.pieces, control)).serialize(), "x")
    twice, without, none = (*proto.pieces, proto.pieces[-1]), proto.pieces[1:], ()
    for pieces, reason in ((twice, "already defined"), (without, "unk is not defined"), (none, "unk is not defined")):
        with pytest.raises(FirthError, match=rf"x: not a SentencePiece model, or damaged \(.*{reason}\)"):
            read_model(replace(proto, pieces=pieces).serialize(), "x")


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
        export = convert(read(root / name), "gpt2" if name == "gpt2" else "bert")
        assert export.warnings == []
        (root / f"{name}-ours").mkdir()
        for file, content in export.contents.items():
            (root / f"{name}-ours" / file).write_bytes(content)
    return root


@pytest.mark.parametrize("name", ["cased", "uncased", "gpt2"])
def test_imported_and_exported_files_encode_alike(folders, name):
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
        assert ours.encode(text) == back.encode(text, add_special_tokens=False).ids == expected
        assert read(again).encode(text) == expected

    check()
    assert ours.special.unknown == (None if name == "gpt2" else 1)


def test_transformers_reads_what_we_write(folders):
    transformers = pytest.importorskip("transformers")
    for name, kind in (("uncased", "BertTokenizer"), ("cased", "BertTokenizer"), ("gpt2", "GPT2Tokenizer")):
        their = getattr(transformers, kind).from_pretrained(str(folders / f"{name}-ours"))
        for text in CORPUS[:17]:
            plain = text.replace("[MASK]", "mask")
            assert their.encode(plain, add_special_tokens=False) == read(folders / name).encode(plain)


def test_our_words_are_encoded_the_same_by_bert_and_gpt2(trained, tmp_path):
    """Single words: pre-tokenisation of whole texts differs, and a warning says so."""
    for config, to in (
        (Config(model="wordpiece", vocabulary_size=400), "bert"),
        (Config(model="byte-bpe", vocabulary_size=400), "gpt2"),
    ):
        made = convert(trained(config), to)
        assert len(made.warnings) == 1
        (tmp_path / to).mkdir()
        for file, content in made.contents.items():
            (tmp_path / to / file).write_bytes(content)
        for word in ["the", "river", "runs", "past", "keepers", "millers", "Irmak", "ırmak", "çocuklar", "1957"]:
            assert read(tmp_path / to).encode(word) == trained(config).encode(word)


def test_wrong_kinds_are_refused(trained):
    for kind in KINDS:
        if kind != "wordpiece":
            with pytest.raises(FirthError, match="not BERT's kind"):
                convert(trained(Config(model=kind, vocabulary_size=400)), "bert")
        if kind not in ("byte", "byte-bpe"):
            with pytest.raises(FirthError, match="not GPT-2's kind"):
                convert(trained(Config(model=kind, vocabulary_size=400)), "gpt2")
    with pytest.raises(FirthError, match="cannot normalise"):
        convert(trained(Config(model="wordpiece", vocabulary_size=400, unicode_form="nfkc", lowercase="yes")), "bert")
    with pytest.raises(FirthError, match="cannot hold a normalisation"):
        convert(trained(Config(model="byte-bpe", vocabulary_size=400, lowercase="yes")), "gpt2")
    with pytest.raises(FirthError, match="did you mean 'bert'"):
        convert(trained(Config(model="wordpiece", vocabulary_size=400)), "bart")


def test_the_content_decides_not_the_name(folders, tmp_path, trained):
    odd = tmp_path / "odd.txt"
    for content, kind in (
        (their_bytes("unigram"), "sentencepiece"),
        ((folders / "cased" / "vocab.txt").read_bytes(), "bert"),
        ((folders / "gpt2" / "vocab.json").read_bytes(), "gpt2"),
        ((folders / "gpt2" / "merges.txt").read_bytes(), "gpt2"),
        (trained(Config(model="char", vocabulary_size=400)).to_json().encode(), "tokenizer.json"),
    ):
        odd.write_bytes(content)
        assert detect_format(odd) == kind


BAD = {
    "vocab.txt": [
        ("[UNK]\na\n\nb\n", "vocab.txt:3: an empty line"),
        ("[UNK]\na\nb\na\n", "vocab.txt:4: 'a' is already on line 2"),
        ("a\nb\n", "no line [UNK]"),
        ("\0\0", "not a tokenizer file"),
        ("", "the file is empty"),
    ],
    "merges.txt": [
        ("#version: 0.2\nt h\nt q_q\n", "merges.txt:3: the merge 't q_q' needs 'q_q'"),
        ("#version: 0.2\nt h\nt h e\n", "merges.txt:3: not two tokens: 't h e'"),
        ("#version: 0.2\nt\n", "merges.txt:2: not two tokens: 't'"),
        ("#version: 0.2\nt h\nt h\n", "merges.txt:3: the merge 't h' is already on line 2"),
    ],
    "vocab.json": [
        ('{"a": 0, "b"', "vocab.json:1: damaged or cut short"),
        ('{"a": "x"}', "the id of 'a' is 'x'"),
        ('{"a": 0, "b": 0}', "two tokens have the same id"),
        ('{"a": 0, "b": 1}', "254 of 256 bytes are missing"),
        ("[1]", "no line [UNK]"),
    ],
}


@pytest.mark.parametrize(("name", "content", "message"), [(n, *case) for n, cases in BAD.items() for case in cases])
def test_malformed_files_are_refused_with_their_line(folders, tmp_path, name, content, message):
    if name != "vocab.txt":
        for file in ("vocab.json", "merges.txt"):
            known = json.loads((folders / "gpt2" / "vocab.json").read_text())
            both = {"vocab.json": json.dumps({**known, "th": 900}), "merges.txt": "#version: 0.2\n"}
            (tmp_path / file).write_text(both[file])
    (tmp_path / name).write_text(content)
    with pytest.raises(FirthError) as refused:
        read(tmp_path / name)
    assert message in str(refused.value) and str(tmp_path) in str(refused.value)


def test_folders_that_lack_something_are_refused(folders, tmp_path):
    with pytest.raises(FirthError, match="no tokenizer file in this folder"):
        read(tmp_path)
    (tmp_path / "vocab.json").write_bytes((folders / "gpt2" / "vocab.json").read_bytes())
    with pytest.raises(FirthError, match=r"merges\.txt is missing"):
        read(tmp_path)
    with pytest.raises(FirthError, match="cannot read"):
        read(tmp_path / "nothing")
