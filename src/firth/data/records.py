"""Records that readers of labelled data give and `world` makes; `line` is where one begins in its file (from 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Union

if TYPE_CHECKING:
    import numpy as np


class Row(NamedTuple):
    """A row of a table; `names` are those of its columns, if they have any."""

    values: tuple[str, ...]
    line: int = 0
    names: tuple[str, ...] = ()


class Labelled(NamedTuple):
    """A text with its labels; most tasks have exactly one."""

    text: str
    labels: tuple[str, ...]
    line: int = 0


class Pair(NamedTuple):
    """Two texts, sentences or words; what is said of them is a label, a score, or nothing (a translation)."""

    left: str
    right: str
    label: str | None = None
    score: float | None = None
    line: int = 0
    fields: tuple[tuple[str, str], ...] = ()  # what else is told of them (part of speech, context)


class Alignment(NamedTuple):
    """Which words of a pair of sentences belong together: (left, right), counted from 0."""

    links: tuple[tuple[int, int], ...]
    line: int = 0


class Tagged(NamedTuple):
    """A sentence in columns: its words, and for each layer (pos, chunk, entity, …) one tag a word."""

    words: tuple[str, ...]
    layers: tuple[tuple[str, ...], ...]
    opening: str = ""  # the line that opens a document just before it, such as "-DOCSTART- -X- O O"
    line: int = 0
    gap: int = 1  # empty lines after it


class Sentence(NamedTuple):
    """A sentence of CoNLL-U: comment lines, and rows of ten columns, with ranges (1-2) and empty nodes (1.1)."""

    comments: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    line: int = 0

    @property
    def words(self) -> list[tuple[str, ...]]:
        """The rows of syntactic words: neither ranges nor empty nodes."""
        return [row for row in self.rows if row[0].isdigit()]


class Tree(NamedTuple):
    """A constituent; one with a word has no children. The label may be empty."""

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None
    line: int = 0


class Answer(NamedTuple):
    """An answer and the character of the context it begins at."""

    text: str
    start: int


class Question(NamedTuple):
    """A question about a text; without answers it cannot be answered from it."""

    id: str
    context: str
    text: str
    answers: tuple[Answer, ...]
    plausible: tuple[Answer, ...] = ()  # wrong ones that look right, of questions without answer
    title: str = ""
    line: int = 0


class Analogy(NamedTuple):
    """first is to second as third is to fourth."""

    section: str
    words: tuple[str, str, str, str]
    line: int = 0


class Passage(NamedTuple):
    """A document or a query of a collection; `fields` holds what else is told of it (author, source)."""

    id: str
    text: str
    title: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    line: int = 0


class Judgement(NamedTuple):
    """How relevant a document is to a query; higher is better, 0 or less is not relevant."""

    query: str
    document: str
    grade: int
    line: int = 0
    iteration: str = "0"  # what TREC's files have between the two, 0 or Q0; it says nothing


class Series(NamedTuple):
    """A numeric series: `values` (time, columns) to foretell, covariates (time, …) known beside, marks of anomalies."""

    name: str
    time: np.ndarray  # datetime64[s] or float
    values: np.ndarray  # float64
    columns: tuple[str, ...]
    covariates: np.ndarray | None = None
    covariate_columns: tuple[str, ...] = ()
    anomalous: np.ndarray | None = None  # bool, one a time


class Image(NamedTuple):
    """A picture (y, x, channels), bytes 0–255, with its captions and its label if it has any."""

    pixels: np.ndarray
    captions: tuple[str, ...] = ()
    label: str | None = None
    name: str = ""
    line: int = 0


Record = Union[  # noqa: UP007 (read at run time)
    Row, Labelled, Pair, Alignment, Tagged, Sentence, Tree, Question, Analogy, Passage, Judgement, Series, Image
]
