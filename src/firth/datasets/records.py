"""The record types of labelled data, which readers return and `world` generates; `line` is the first line of a record
in its file (from 1)."""

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
    """Two texts, sentences or words, with a label, a score, or neither (a translation)."""

    left: str
    right: str
    label: str | None = None
    score: float | None = None
    line: int = 0
    fields: tuple[tuple[str, str], ...] = ()  # further columns (part of speech, context)


class Alignment(NamedTuple):
    """A word alignment: the linked words of a sentence pair, (left, right), counted from 0."""

    links: tuple[tuple[int, int], ...]
    line: int = 0


class Tagged(NamedTuple):
    """A tagged sentence in columns: its words, and for each layer (pos, chunk, entity, …) one tag per word."""

    words: tuple[str, ...]
    layers: tuple[tuple[str, ...], ...]
    opening: str = ""  # the line that opens a document just before it, such as "-DOCSTART- -X- O O"
    line: int = 0
    gap: int = 1  # empty lines after it
    names: tuple[str, ...] = ()  # of the layers, if they are known


class Sentence(NamedTuple):
    """A dependency-parsed sentence of CoNLL-U: comment lines, and rows of ten columns, with ranges (1-2) and empty
    nodes (1.1)."""

    comments: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    line: int = 0

    @property
    def words(self) -> list[tuple[str, ...]]:
        """The rows of syntactic words: neither ranges nor empty nodes."""
        return [row for row in self.rows if row[0].isdigit()]


class Tree(NamedTuple):
    """A constituent of a phrase-structure tree; one with a word has no children. The label may be empty."""

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None
    line: int = 0


class Answer(NamedTuple):
    """An answer span: its text, and its first character in the context."""

    text: str
    start: int


class Question(NamedTuple):
    """A question about a context; one without answers is unanswerable."""

    id: str
    context: str
    text: str
    answers: tuple[Answer, ...]
    plausible: tuple[Answer, ...] = ()  # plausible but wrong answers of unanswerable questions
    title: str = ""
    line: int = 0


class Choices(NamedTuple):
    """A multiple-choice question about a context (either may be empty); `answer` is the position of the correct
    choice, None if it is unknown."""

    context: str
    question: str
    choices: tuple[str, ...]
    answer: int | None = None
    id: str = ""
    line: int = 0


class Turn(NamedTuple):
    """What one side of a dialogue says; its role is system, user, assistant, or another name."""

    role: str
    text: str


class Dialogue(NamedTuple):
    """The turns of a conversation; an instruction with its reply is one of two turns."""

    turns: tuple[Turn, ...]
    line: int = 0


class WordSense(NamedTuple):
    """A word of a sentence with its sense: `word` is the lemma that a lexicon lists, `definition` that of the sense."""

    words: tuple[str, ...]
    position: int  # of the word, from 0
    word: str
    sense: str
    definition: str = ""
    line: int = 0


class Hypothesis(NamedTuple):
    """A text that a recogniser proposes, and its scores; the higher, the better."""

    text: str
    scores: tuple[float, ...]


class NBest(NamedTuple):
    """The n-best list of an utterance, and what was said, if it is known; `context` is the text before it."""

    id: str
    hypotheses: tuple[Hypothesis, ...]
    reference: str | None = None
    context: str = ""
    names: tuple[str, ...] = ("score",)  # of the scores
    line: int = 0


class Analogy(NamedTuple):
    """A word analogy: the first is to the second as the third is to the fourth."""

    section: str
    words: tuple[str, str, str, str]
    line: int = 0


class Passage(NamedTuple):
    """A document or a query of a collection; `fields` holds further columns (author, source)."""

    id: str
    text: str
    title: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    line: int = 0


class Judgement(NamedTuple):
    """A relevance judgement of a document for a query; higher is better, 0 or less is not relevant."""

    query: str
    document: str
    grade: int
    line: int = 0
    iteration: str = "0"  # the unused column of TREC's files, 0 or Q0


class Series(NamedTuple):
    """A time series: `values` (time, columns) to forecast, covariates (time, …), and labels of anomalies."""

    name: str
    time: np.ndarray  # datetime64[s] or float
    values: np.ndarray  # float64
    columns: tuple[str, ...]
    covariates: np.ndarray | None = None
    covariate_columns: tuple[str, ...] = ()
    anomalous: np.ndarray | None = None  # bool (time,)


class Image(NamedTuple):
    """An image (y, x, channels), bytes 0–255, with its captions and its label if it has any."""

    pixels: np.ndarray
    captions: tuple[str, ...] = ()
    label: str | None = None
    name: str = ""
    line: int = 0


Record = Union[  # noqa: UP007 (read at run time)
    Row,
    Labelled,
    Pair,
    Alignment,
    Tagged,
    Sentence,
    Tree,
    Question,
    Choices,
    Dialogue,
    WordSense,
    NBest,
    Analogy,
    Passage,
    Judgement,
    Series,
    Image,
]
