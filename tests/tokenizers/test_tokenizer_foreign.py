"""Foreign tokenizer files, built with the library as the well-known models build theirs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from tokenizer_samples import CORPUS, PLAIN, texts

import tokenizers
from firth.tokenizers import SpecialTokens, Tokenizer
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

some = settings(max_examples=25, deadline=None)


def gpt2_like() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, initial_alphabet=alphabet)
    made.train_from_iterator(CORPUS, trainer)
    made.add_special_tokens(["<|endoftext|>"])
    return made


def bert_like() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=400, show_progress=False, special_tokens=special)
    )
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    made.enable_truncation(5)
    made.enable_padding(length=9)
    return made


def t5_like() -> tokenizers.Tokenizer:
    pieces = [("▁the", -2.0), ("▁river", -3.0), ("▁", -4.0), ("s", -5.0)]
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    made = tokenizers.Tokenizer(models.Unigram(special + pieces, 2, False))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(["<pad>", "</s>", "<unk>"])
    return made


def test_gpt2_like():
    made = gpt2_like()
    ours = Tokenizer.from_json(made.to_str())
    end = made.token_to_id("<|endoftext|>")
    assert ours.special == SpecialTokens(start=end, end=end)
    assert (ours.kind, ours.reversible, ours.config) == ("byte-bpe", True, None)
    assert ours.vocab_size == made.get_vocab_size()
    assert ours.encode_batch(CORPUS) == [e.ids for e in made.encode_batch(CORPUS)]
    assert end not in ours.encode("a<|endoftext|>b")
    assert ours.decode([*ours.encode("a<|endoftext|>b"), end]) == "a<|endoftext|>b"
    assert ours.decode([end], skip_special_tokens=False) == "<|endoftext|>"


@given(text=texts())
@some
def test_a_file_that_calls_itself_reversible_is(text):
    tokenizer = _gpt2()
    assert tokenizer.decode(tokenizer.encode(text)) == text


def _gpt2(made=[]) -> Tokenizer:  # noqa: B006
    made or made.append(Tokenizer.from_json(gpt2_like().to_str()))
    return made[0]


def test_bert_like():
    made = bert_like()
    ours = Tokenizer.from_json(made.to_str())
    assert ours.special == SpecialTokens(pad=0, unknown=1, start=2, end=3, mask=4, cls=2, sep=3)
    assert (ours.kind, ours.reversible) == ("wordpiece", False)
    made.no_truncation()
    made.no_padding()
    made.encode_special_tokens = True
    expected = [e.ids for e in made.encode_batch(CORPUS, add_special_tokens=False)]
    assert ours.encode_batch(CORPUS) == expected  # whole, although the file asks for five tokens
    assert 4 not in ours.encode("[MASK]")


def test_t5_like():
    ours = Tokenizer.from_json(t5_like().to_str())
    assert ours.special == SpecialTokens(pad=0, unknown=2, end=1, sep=1)
    assert ours.decode(ours.encode("the rivers")) == "the rivers"
    assert ours.encode_with_oov("the rivérs").oov_bytes == "rivér".encode()


@pytest.mark.parametrize("make", [gpt2_like, bert_like, t5_like])
def test_missing_special_tokens_can_be_added(make):
    before = Tokenizer.from_json(make().to_str())
    after = before.with_special_tokens()
    existing = {role: i for role, i in vars(before.special).items() if i is not None}
    assert None not in vars(after.special).values()
    assert all(getattr(after.special, role) == i for role, i in existing.items())
    assert after.vocab_size == before.vocab_size + 7 - len(existing)
    assert after.encode_batch(CORPUS) == before.encode_batch(CORPUS)
    assert after.encode("[START] [MASK]") == before.encode("[START] [MASK]")
    assert after.with_special_tokens() is after
    assert Tokenizer.from_json(after.to_json()).special == after.special


def test_a_complete_tokenizer_stays_itself(trained):
    assert trained(PLAIN[0]).with_special_tokens() is trained(PLAIN[0])


def test_old_and_new_merges():
    file = json.loads(gpt2_like().to_str())
    pairs = file["model"]["merges"]
    assert all(isinstance(pair, list) for pair in pairs)
    file["model"]["merges"] = [" ".join(pair) for pair in pairs]
    old = Tokenizer.from_json(json.dumps(file))
    assert old.encode_batch(CORPUS) == _gpt2().encode_batch(CORPUS)
    assert old.hash != _gpt2().hash  # another file


def test_a_model_without_a_type_is_an_old_file():
    file = json.loads(gpt2_like().to_str())
    del file["model"]["type"]
    assert Tokenizer.from_json(json.dumps(file)).encode_batch(CORPUS) == _gpt2().encode_batch(CORPUS)


def change(**parts) -> Tokenizer:
    return Tokenizer.from_json(json.dumps({**json.loads(gpt2_like().to_str()), **parts}))


def test_files_that_lose_something_do_not_promise():
    added = vars_of(AddedToken("river", special=False), id=500)
    assert not change(normalizer={"type": "NFC"}).reversible
    assert not change(decoder=None).reversible
    assert not change(added_tokens=[added]).reversible
    file = json.loads(gpt2_like().to_str())
    assert not change(pre_tokenizer={**file["pre_tokenizer"], "add_prefix_space": True}).reversible
    model = file["model"]
    vocab = {("@@" if piece == "x" else piece): i for piece, i in model["vocab"].items()}
    assert not change(model={**model, "vocab": vocab, "merges": []}).reversible


def vars_of(token: AddedToken, *, id: int) -> dict:
    fields = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id, **{field: getattr(token, field) for field in fields}}


CHANGES = {
    "BPE": {"dropout": 0.5},
    "Unigram": {"byte_fallback": True},
    "WordLevel": {"unk_token": "[PAD]"},
    "WordPiece": {"max_input_chars_per_word": 3},
}


def test_a_changed_file_is_no_longer_ours(trained):
    for config in PLAIN:
        file = json.loads(trained(config).to_json())
        assert Tokenizer.from_json(json.dumps(file)).config is not None
        other = {**file["model"], **CHANGES[file["model"]["type"]]}
        assert Tokenizer.from_json(json.dumps({**file, "model": other})).config is None


def test_white_space_words_of_others():
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3}
    made = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ours = Tokenizer.from_json(made.to_str())
    assert ours.special == SpecialTokens(unknown=0, start=1, end=2, cls=1, sep=2)
    assert ours.encode("a b") == [3, 0]
