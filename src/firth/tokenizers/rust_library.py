"""The Rust library `tokenizers`: files are checked before it opens them, and its panics become errors.

Three things in a file make the library end the process or panic: a huge id (it takes memory for every id up to the
highest), a damaged table of replacements, and a regular expression with too much backtracking, which it gives up after
ten million steps, a fraction of a second.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firth.errors import FirthError

if TYPE_CHECKING:
    import tokenizers

MAX_ID = 1 << 23  # of a token


def open_file(content: str, where: object) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """The library's tokenizer of a `tokenizer.json`, and the content of the file."""
    from tokenizers import Tokenizer as Rust

    try:
        file = json.loads(content)
        _check(file, where)
        return Rust.from_str(content), file
    except FirthError:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or is_panic(error):  # the library raises nothing narrower
            raise not_a_tokenizer(where) from None
        raise


def not_a_tokenizer(where: object) -> FirthError:
    """The error for a file that is no tokenizer."""
    return FirthError("not a tokenizer file", where=where, do="give a tokenizer.json")


def is_panic(error: BaseException) -> bool:
    """Whether this is a panic of the library, whose class cannot be imported."""
    return type(error).__name__ == "PanicException"


def memory_error(error: BaseException) -> MemoryError | None:
    """The error for a panic since there is no memory, for its threads for example; None for others."""
    wants = ("thread pool", "memory", "Resource temporarily unavailable")
    return MemoryError(str(error)) if is_panic(error) and any(each in str(error) for each in wants) else None


def encoding_error(error: BaseException, texts: Sequence[str]) -> BaseException:
    """The error to raise when the library failed to encode texts."""
    return not_text(texts) if isinstance(error, TypeError) else use_error(error)


def use_error(error: BaseException) -> BaseException:
    """The error to raise when the library failed to use a tokenizer."""
    if is_panic(error):
        if out_of_memory := memory_error(error):
            return out_of_memory
        what = "a regular expression of this tokenizer takes too long on this text, or the tokenizer is damaged"
        return FirthError(what, do="use another tokenizer")
    if type(error) is Exception:  # such as a vocabulary without its unknown token
        return FirthError(f"this tokenizer cannot encode this text: {error}", do="use another tokenizer")
    return error


def decode(decoder: Any, tokens: Sequence[str]) -> str:
    """The text of tokens by a decoder of the library."""
    try:
        text: str = decoder.decode(tokens)
        return text
    except BaseException as error:
        raise use_error(error) from None


def not_text(texts: Sequence[str]) -> FirthError:
    """The error for texts that are not valid Unicode strings: Python allows lone surrogates, the library does not."""
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            do = "tokenizer(texts) encodes several" if isinstance(text, (list, tuple)) else ""
            return FirthError(f"text {number} is a {type(text).__name__}, not a string", do=do)
        if any("\ud800" <= character <= "\udfff" for character in text):
            return FirthError(f"text {number} is not valid Unicode", do="read it with errors='replace'")
    return FirthError("the texts must be a list of strings")


def _check(file: Any, where: object) -> None:
    """Refuse what would end the process, or panic."""
    highest = max(_ids(file), default=0)
    if highest > MAX_ID:
        raise FirthError(f"a token has the id {highest}", where=where, do=f"ids go up to {MAX_ID:,}: number them anew")
    for step in _steps(file["normalizer"]) if isinstance(file.get("normalizer"), Mapping) else ():
        if step.get("type") == "Precompiled" and not _is_charsmap(step.get("precompiled_charsmap")):
            raise FirthError(
                "its table of replacements (precompiled_charsmap) is damaged", where=where, do="fetch it again"
            )


def _ids(file: Any) -> Iterator[int]:
    """All ids that a file gives to tokens."""
    vocabulary = file["model"].get("vocab")
    yield from (i for i in vocabulary.values() if isinstance(i, int)) if isinstance(vocabulary, Mapping) else ()
    added = file.get("added_tokens")
    for token in added if isinstance(added, list) else ():
        if isinstance(token, Mapping) and isinstance(token.get("id"), int):
            yield token["id"]


def _steps(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The steps of a normaliser; sequences may be nested."""
    yield part
    inside = part.get("normalizers")
    for step in inside if isinstance(inside, list) else ():
        if isinstance(step, Mapping):
            yield from _steps(step)


def _is_charsmap(value: Any) -> bool:
    """Whether this is a table of replacements: the size of a trie, the trie, and UTF-8."""
    try:
        table = base64.b64decode(value, validate=True)
        size = int.from_bytes(table[:4], "little")
        table[4 + size :].decode()
    except (TypeError, ValueError, binascii.Error):
        return False
    return len(table) >= 4 + size
