"""Word segmentation of languages written without spaces, through packages with a dictionary (extra `cjk`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from firth.errors import FirthError, unknown

Segmenter = Callable[[str], list[str]]


def segmenter(language: str) -> Segmenter:
    """A function that segments text of the language into words and punctuation; white space is dropped."""
    if language not in SEGMENTERS:
        raise unknown("language to segment", language, SEGMENTERS)
    segment = SEGMENTERS[language]()
    return lambda text: [word for word in segment(text) if word.strip()]


def _chinese() -> Segmenter:
    jieba = _package("jieba", "Chinese")
    tokenizer = jieba.Tokenizer()
    # Its own initialisation would read a cache file that any user may have put into the system's temporary folder.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer.lcut


def _japanese() -> Segmenter:
    tokenizer = _package("janome.tokenizer", "Japanese").Tokenizer(wakati=True)
    return lambda text: list(tokenizer.tokenize(text))


SEGMENTERS: dict[str, Callable[[], Segmenter]] = {"chinese": _chinese, "japanese": _japanese}


def _package(name: str, language: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        what = f"word segmentation of {language} needs the package {package}"
        raise FirthError(what, do='pip install "firth[cjk]"') from None
