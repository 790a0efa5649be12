"""The `tokenizer.json` of a configuration (normaliser, pre-tokenizer, decoder), and properties read from such files."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, get_args, get_type_hints

from firth.config.schema import Tokenizer as Config
from firth.tokenizers import regexes
from firth.tokenizers.special_tokens import SENTINEL, SPECIAL_TOKENS, UNK
from firth.tokenizers.split import normaliser_steps, pretokens_step, replace_step, words_step

_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
# A word "[END]" in a text must not be encoded as the special token. Its bracket is replaced by this Unicode
# noncharacter, which is in no word of a vocabulary, so that the word is unknown.
NONCHARACTER = "\uffff"
_LIKE_SPECIAL = {"word": regexes.SPECIAL_WORD, "wordpiece": regexes.SPECIAL_START}


def byte_alphabet() -> list[str]:
    """The printable character for each of the 256 bytes, as in GPT-2 (`bytes_to_unicode`)."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(spare)) for byte in range(256)]


_BYTE_CHARACTERS = str.maketrans({chr(byte): character for byte, character in enumerate(byte_alphabet())})


def to_byte_characters(text: str) -> str:
    """The UTF-8 bytes of the text, each as its printable character."""
    return text.encode().decode("latin-1").translate(_BYTE_CHARACTERS)


_BPE = {
    "type": "BPE",
    "dropout": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}
MAX_WORD_LENGTH = 100  # characters; longer words are unknown to WordPiece
CONTINUATION_PREFIX = "##"  # marks WordPiece tokens inside a word
_WORDPIECE = {"continuing_subword_prefix": CONTINUATION_PREFIX, "max_input_chars_per_word": MAX_WORD_LENGTH}

# The model of each kind, without its vocabulary and merges.
MODELS: dict[str, dict[str, Any]] = {
    "char": {**_BPE, "unk_token": UNK},
    "byte": {**_BPE, "unk_token": None},
    "word": {"type": "WordLevel", "unk_token": UNK},
    "bpe": {**_BPE, "unk_token": UNK},
    "byte-bpe": {**_BPE, "unk_token": None},
    "wordpiece": {"type": "WordPiece", "unk_token": UNK, **_WORDPIECE},
    "unigram": {"type": "Unigram", "unk_id": SPECIAL_TOKENS.index(UNK), "byte_fallback": False},
}


def build_tokenizer_json(config: Config, model: Mapping[str, Any]) -> dict[str, Any]:
    """A whole `tokenizer.json`. No added tokens are listed: the library would match them in plain text."""
    steps = _normaliser(config)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": _pre_tokenizer(config),
        "post_processor": None,
        "decoder": _decoder(config),
        "model": dict(model),
    }


def _normaliser(config: Config) -> list[dict[str, Any]]:
    steps = normaliser_steps(config.unicode_form, config.lowercase)
    if config.model in _LIKE_SPECIAL and config.split != "words" and config.lowercase == "no":
        steps.append(replace_step(_LIKE_SPECIAL[config.model], NONCHARACTER))
    return steps


def _pre_tokenizer(config: Config) -> dict[str, Any]:
    if config.model in ("word", "wordpiece"):
        return words_step(config.split)
    if config.model == "byte":
        return _BYTES
    split = pretokens_step(config.split)
    return {"type": "Sequence", "pretokenizers": [split, _BYTES]} if config.model == "byte-bpe" else split


def _decoder(config: Config) -> dict[str, Any] | None:
    if config.model in ("byte", "byte-bpe"):
        return _BYTES
    if config.model not in ("word", "wordpiece"):
        return {"type": "Fuse"}
    if config.model == "word" and config.split != "words":
        return None  # the library then joins words by one space
    # For word tokenizers a prefix that no word has.
    joined = {"type": "WordPiece", "prefix": "##" if config.model == "wordpiece" else " ", "cleanup": False}
    if config.split != "words":
        return joined
    detokenization = [replace_step(pattern, "") for pattern in regexes.DETOKENIZATION]
    return {"type": "Sequence", "decoders": [joined, {"type": "Fuse"}, *detokenization]}


# --- properties of a file -----------------------------------------------------------------------------------


def model_kind(file: Mapping[str, Any]) -> str:
    """Our name for the kind of model in the file: char, byte, word, bpe, byte-bpe, wordpiece, unigram."""
    model = file["model"]
    if model["type"] != "BPE":
        return {"WordLevel": "word", "WordPiece": "wordpiece", "Unigram": "unigram"}[model["type"]]
    byte_level = any(step["type"] == "ByteLevel" for step in flatten_steps(file["pre_tokenizer"], "pretokenizers"))
    if model["merges"]:
        return "byte-bpe" if byte_level else "bpe"
    return "byte" if byte_level else "char"


def infer_config(file: Mapping[str, Any]) -> Config | None:
    """The configuration that this file was made with, except size and counts; None for a foreign file."""
    if not _is_ours(file["model"], model_kind(file)):
        return None
    added = [token for token in file["added_tokens"] if not SENTINEL.fullmatch(token["content"])]
    file = {**file, "added_tokens": added}
    choices = product(_choices("unicode_form"), _choices("lowercase"), _choices("split"))
    for unicode_form, lowercase, split in choices:
        if split == "tabs" and model_kind(file) not in ("word", "wordpiece"):
            continue
        config = Config(model=model_kind(file), unicode_form=unicode_form, lowercase=lowercase, split=split)
        if all(file[part] == value for part, value in build_tokenizer_json(config, {}).items() if part != "model"):
            return config
    return None


def _is_ours(model: Mapping[str, Any], kind: str) -> bool:
    vocab = model["vocab"]
    order = [token for token, _ in vocab] if kind == "unigram" else sorted(vocab, key=vocab.get)
    complete = kind != "byte" or vocab.keys() >= {*byte_alphabet()}
    fields = all(model.get(name) == value for name, value in MODELS[kind].items())
    return fields and complete and tuple(order[: len(SPECIAL_TOKENS)]) == SPECIAL_TOKENS


def _choices(name: str) -> tuple[str, ...]:
    return get_args(get_type_hints(Config)[name])


def is_reversible(file: Mapping[str, Any]) -> bool:
    """Whether decoding certainly gives back any text exactly, judged by the file alone."""
    model, pre_steps = file["model"], flatten_steps(file["pre_tokenizer"], "pretokenizers")
    plain = not any(model.get(f) for f in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"))
    return (
        plain
        and model["type"] == "BPE"
        and file["normalizer"] is None
        and all(token["special"] for token in file["added_tokens"])
        and (file["decoder"] or {}).get("type") == "ByteLevel"
        and sum(step["type"] == "ByteLevel" for step in pre_steps) == 1
        and all(_is_lossless(step) for step in pre_steps)
        and all(character in model["vocab"] for character in byte_alphabet())
    )


def _is_lossless(step: Mapping[str, Any]) -> bool:
    """Whether a pre-tokenizer step keeps every character and adds none."""
    if step["type"] == "ByteLevel":
        return not step["add_prefix_space"]
    return step["type"] == "Split" and step["behavior"] != "Removed"


def flatten_steps(part: Mapping[str, Any] | None, name: str) -> list[Mapping[str, Any]]:
    """A component of a file as a flat list of its steps; nested sequences are listed under `name`."""
    if part is None:
        return []
    return [s for step in part[name] for s in flatten_steps(step, name)] if part["type"] == "Sequence" else [part]
