"""The parts of a tokenizer file around its model, by configuration; and what the parts of a file tell."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, get_args, get_type_hints

from firth.config.schema import Tokenizer as Config
from firth.text import patterns
from firth.text.normalise import normaliser, replacing
from firth.text.special import NAMES, SENTINEL, UNKNOWN
from firth.text.split import parts_splitter, whole_splitter

_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
# The word "[END]" of a text must not be found in the vocabulary as the token. With this character, which is
# none and which no vocabulary of words takes, for its bracket it is an unknown word.
NO_CHARACTER = "\uffff"
_SPELLED = {"word": patterns.SPECIAL_WORD, "wordpiece": patterns.SPECIAL_START}


def byte_alphabet() -> list[str]:
    """The printable character that stands for each of the 256 bytes (the convention of GPT-2)."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(spare)) for byte in range(256)]


_SPELLING = str.maketrans({chr(byte): sign for byte, sign in enumerate(byte_alphabet())})


def byte_spelling(text: str) -> str:
    """The bytes of the text, each as its printable character."""
    return text.encode().decode("latin-1").translate(_SPELLING)


_MERGING = {
    "type": "BPE",
    "dropout": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}
LONGEST_WORD = 100  # characters; WordPiece takes a longer word for unknown
INSIDE = "##"  # WordPiece's sign for a piece that goes on with a word
_PIECING = {"continuing_subword_prefix": INSIDE, "max_input_chars_per_word": LONGEST_WORD}

# The model of each kind, but for its vocabulary and merges.
MODELS: dict[str, dict[str, Any]] = {
    "char": {**_MERGING, "unk_token": UNKNOWN},
    "byte": {**_MERGING, "unk_token": None},
    "word": {"type": "WordLevel", "unk_token": UNKNOWN},
    "bpe": {**_MERGING, "unk_token": UNKNOWN},
    "byte-bpe": {**_MERGING, "unk_token": None},
    "wordpiece": {"type": "WordPiece", "unk_token": UNKNOWN, **_PIECING},
    "unigram": {"type": "Unigram", "unk_id": NAMES.index(UNKNOWN), "byte_fallback": False},
}


def assemble(config: Config, model: Mapping[str, Any]) -> dict[str, Any]:
    """A whole tokenizer file. No token is listed as added: the library would find it inside plain text."""
    steps = _normaliser(config)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": _splitter(config),
        "post_processor": None,
        "decoder": _decoder(config),
        "model": dict(model),
    }


def _normaliser(config: Config) -> list[dict[str, Any]]:
    steps = normaliser(config.normal, config.lower)
    if config.model in _SPELLED and config.split != "words" and config.lower == "no":
        steps.append(replacing(_SPELLED[config.model], NO_CHARACTER))
    return steps


def _splitter(config: Config) -> dict[str, Any]:
    if config.model in ("word", "wordpiece"):
        return whole_splitter(config.split)
    if config.model == "byte":
        return _BYTES
    cut = parts_splitter(config.split)
    return {"type": "Sequence", "pretokenizers": [cut, _BYTES]} if config.model == "byte-bpe" else cut


def _decoder(config: Config) -> dict[str, Any] | None:
    if config.model in ("byte", "byte-bpe"):
        return _BYTES
    if config.model not in ("word", "wordpiece"):
        return {"type": "Fuse"}
    if config.model == "word" and config.split != "words":
        return None  # the library then joins by one space
    # For whole words the prefix is one that no word has.
    joined = {"type": "WordPiece", "prefix": "##" if config.model == "wordpiece" else " ", "cleanup": False}
    if config.split != "words":
        return joined
    glue = [replacing(pattern, "") for pattern in patterns.GLUE]
    return {"type": "Sequence", "decoders": [joined, {"type": "Fuse"}, *glue]}


# --- reading a file -----------------------------------------------------------------------------------


def kind(file: Mapping[str, Any]) -> str:
    """Which of our kinds of model the file holds, as far as its content tells."""
    model = file["model"]
    if model["type"] != "BPE":
        return {"WordLevel": "word", "WordPiece": "wordpiece", "Unigram": "unigram"}[model["type"]]
    on_bytes = any(step["type"] == "ByteLevel" for step in steps(file["pre_tokenizer"], "pretokenizers"))
    if model["merges"]:
        return "byte-bpe" if on_bytes else "bpe"
    return "byte" if on_bytes else "char"


def config_of(file: Mapping[str, Any]) -> Config | None:
    """The configuration that makes this file, but for size and counts; None for a foreign file."""
    if not _is_ours(file["model"], kind(file)):
        return None
    listed = [token for token in file["added_tokens"] if not SENTINEL.fullmatch(token["content"])]
    file = {**file, "added_tokens": listed}
    for normal, lower, split in product(_choices("normal"), _choices("lower"), _choices("split")):
        if split == "tabs" and kind(file) not in ("word", "wordpiece"):
            continue
        config = Config(model=kind(file), normal=normal, lower=lower, split=split)
        if all(file[part] == made for part, made in assemble(config, {}).items() if part != "model"):
            return config
    return None


def _is_ours(model: Mapping[str, Any], kind: str) -> bool:
    vocab = model["vocab"]
    order = [piece for piece, _ in vocab] if kind == "unigram" else sorted(vocab, key=vocab.get)
    complete = kind != "byte" or vocab.keys() >= {*byte_alphabet()}
    fields = all(model.get(name) == value for name, value in MODELS[kind].items())
    return fields and complete and tuple(order[: len(NAMES)]) == NAMES


def _choices(name: str) -> tuple[str, ...]:
    return get_args(get_type_hints(Config)[name])


def reversible(file: Mapping[str, Any]) -> bool:
    """Whether the file by itself promises that decoding gives back any text exactly. When in doubt, no."""
    model, cuts = file["model"], steps(file["pre_tokenizer"], "pretokenizers")
    plain = not any(model.get(f) for f in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"))
    return (
        plain
        and model["type"] == "BPE"
        and file["normalizer"] is None
        and all(token["special"] for token in file["added_tokens"])
        and (file["decoder"] or {}).get("type") == "ByteLevel"
        and sum(step["type"] == "ByteLevel" for step in cuts) == 1
        and all(_keeps(step) for step in cuts)
        and all(character in model["vocab"] for character in byte_alphabet())
    )


def _keeps(step: Mapping[str, Any]) -> bool:
    """Whether a step of the pre-tokenizer keeps every character and adds none."""
    if step["type"] == "ByteLevel":
        return not step["add_prefix_space"]
    return step["type"] == "Split" and step["behavior"] != "Removed"


def steps(part: Mapping[str, Any] | None, name: str) -> list[Mapping[str, Any]]:
    """A part of a file as a flat list of its steps."""
    if part is None:
        return []
    return [s for step in part[name] for s in steps(step, name)] if part["type"] == "Sequence" else [part]
