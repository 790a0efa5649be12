"""A built-in corpus of English prose: the help topics of the running Python, then the docstrings of its library.

Sources are parsed, not imported. Of the text only paragraphs of sentences are taken, so that a model trained on it
generates sentences, not code. The text is the same for one version of Python.
"""

from __future__ import annotations

import ast
import os
import re
import sysconfig
import warnings
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc
from pathlib import Path

MIN_CHARACTERS = 60  # characters; shorter docstrings are mostly signatures
SKIPPED = {  # folders of tests, of programs, and of what is not part of the library
    "__pycache__", "dist-packages", "ensurepip", "idle_test", "idlelib", "lib2to3", "pydoc_data", "site-packages",
    "test", "tests", "turtledemo",
}  # fmt: skip
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
CLEANING = (  # reStructuredText markup
    (re.compile(r"(?m)^[ \t]*([*=\-~^\"#+])\1{2,}[ \t]*\n?"), ""),  # lines under headings
    (re.compile(r":[a-z:]+:`([^`\n]+)`"), r"\1"),  # roles
    (re.compile(r"``([^`\n]+)``"), r"\1"),
    (re.compile(r"\\([*_`|])"), r"\1"),  # escapes
    (re.compile(r"(?m)[ \t]+$"), ""),
)
CODE_INDENT = 4  # spaces
NOT_PROSE = re.compile(r">>>|::=|->|^\s*(?:[:|@]|\.\.)")  # examples, grammars, signatures, directives
SENTENCE_END = re.compile(r"[.!?][\"')*]*$")
PLAIN_WORD = re.compile(r"[\"'(*]*[^\W\d_]+(?:['’-][^\W\d_]+)*[\"')*]*[.,;:!?]?[)\"]?")
MIN_WORDS, MIN_PLAIN = 6, 0.85  # of a paragraph, and the fraction of its words without digits and symbols


@cache
def documents() -> tuple[str, ...]:
    """All documents: topics by name, then docstrings by file and position, each paragraph once."""
    texts = (*_topics(), *_docstrings(Path(sysconfig.get_paths()["stdlib"])))
    seen: set[str] = set()
    result = []
    for text in texts:
        new = [paragraph for paragraph in prose(clean(text)) if paragraph not in seen]
        seen.update(new)
        result.append("\n\n".join(dict.fromkeys(new)))
    return tuple(filter(None, result))


def clean(text: str) -> str:
    """The text without reStructuredText markup."""
    for pattern, replacement in CLEANING:
        text = pattern.sub(replacement, text)
    return text.strip("\n")


def prose(text: str) -> Iterator[str]:
    """The paragraphs of sentences, each on one line; no headings, code, tables, grammars."""
    for paragraph in re.split(r"\n\s*\n", text):
        is_code = any(line.startswith(" " * CODE_INDENT) for line in paragraph.split("\n"))
        words = paragraph.split()
        if is_code or len(words) < MIN_WORDS or NOT_PROSE.search(paragraph) or not SENTENCE_END.search(paragraph):
            continue
        if sum(PLAIN_WORD.fullmatch(word) is not None for word in words) >= MIN_PLAIN * len(words):
            yield " ".join(words)


def _topics() -> Iterator[str]:
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions of Python ship it apart
        return
    yield from (topics[name] for name in sorted(topics))


def _docstrings(root: Path) -> Iterator[str]:
    """The longer docstrings of all modules under a folder; none if it holds no sources (a zipped library)."""
    for path in _sources(root):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # old escapes in strings are none of the user's business
                tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        yield from _long_docstrings(tree)


def _sources(root: Path) -> Iterator[Path]:
    for folder, inside, files in os.walk(root):
        inside[:] = sorted(name for name in inside if name not in SKIPPED and not name.startswith("config-"))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _long_docstrings(node: ast.AST) -> Iterator[str]:
    """The long docstrings of a definition and of the definitions within it."""
    text = cleandoc(ast.get_docstring(node, clean=False) or "")
    if len(text) >= MIN_CHARACTERS:
        yield text
    for inner in node.body:
        if isinstance(inner, DEFINITIONS):
            yield from _long_docstrings(inner)
