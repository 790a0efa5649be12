"""Words of languages written without spaces, through packages that bring a dictionary with them (extra `cjk`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from firth.errors import FirthError, unknown

Cut = Callable[[str], list[str]]


def segmenter(language: str) -> Cut:
    """A function that cuts a text of the language into words and marks; white space is dropped."""
    if language not in _LOADERS:
        raise unknown("language to segment", language, _LOADERS)
    cut = _LOADERS[language]()
    return lambda text: [piece for piece in cut(text) if piece.strip()]


def _chinese() -> Cut:
    jieba = _package("jieba", "Chinese")
    tokenizer = jieba.Tokenizer()
    # Its own way to start would read a file that anybody may have put into the system's temporary folder.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer.lcut


def _japanese() -> Cut:
    tokenizer = _package("janome.tokenizer", "Japanese").Tokenizer(wakati=True)
    return lambda text: list(tokenizer.tokenize(text))


_LOADERS: dict[str, Callable[[], Cut]] = {"chinese": _chinese, "japanese": _japanese}


def _package(name: str, language: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        what = f"cutting {language} into words needs the package {package}"
        raise FirthError(what, do="install it with: pip install 'firth[cjk]'") from None
