"""Tasks, and how a record of any format becomes an example of one: one literal table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from firth.data.formats import conllu, trees
from firth.data.formats.values import number, shown
from firth.data.records import (
    Alignment,
    Analogy,
    Image,
    Judgement,
    Labelled,
    Pair,
    Passage,
    Question,
    Record,
    Row,
    Sentence,
    Series,
    Tagged,
    Tree,
)
from firth.errors import FirthError, unknown

# What the columns of tables are often called; a task asks for its role, and the first of these names serves.
NAMES = {
    "text": ("text", "sentence", "question", "review", "body", "document", "content", "word", "name"),
    "label": ("label", "labels", "class", "category", "gold_label", "quality", "sentiment", "entailment_judgment"),
    "left": ("left", "sentence1", "sentence_a", "premise", "#1 string", "text1", "source", "question"),
    "right": ("right", "sentence2", "sentence_b", "hypothesis", "#2 string", "text2", "target", "sentence"),
    "score": ("score", "similarity", "relatedness_score", "relatedness", "rating"),
    "summary": ("summary", "subject", "headline", "title", "highlights"),
}


@dataclass(frozen=True)
class Task:
    """What a task learns from: records of these types, or rows of a table with these columns, made into the first."""

    about: str
    records: tuple[type, ...]
    columns: tuple[str, ...] = ()
    from_row: Callable[..., Record] | None = None  # of the columns' values and the line
    others: tuple[tuple[type, Callable[..., Record]], ...] = ()  # further types, and what they are made into
    needs: tuple[str, str] = ("", "")  # a field that must be filled, and what to say where it is not


def _labelled(text: str, label: str, line: int) -> Labelled:
    return Labelled(text, (label,), line)


def _judged(left: str, right: str, label: str, line: int) -> Pair:
    return Pair(left, right, label, None, line)


def _scored(left: str, right: str, score: str, line: int) -> Pair:
    found = number(score)
    if found is None:
        raise FirthError(f"score {shown(score)} is not a number", do="give a number in every row")
    return Pair(left, right, None, found, line)


def _pair(left: str, right: str, line: int) -> Pair:
    return Pair(left, right, line=line)


def _rooted(tree: Tree) -> Labelled:
    """A tree's words with the label of its root, as the Stanford Sentiment Treebank has it."""
    return Labelled(" ".join(trees.leaves(tree)), (tree.label,), tree.line)


def _parts_of_speech(sentence: Sentence) -> Tagged:
    words = sentence.words
    tags = tuple(row[conllu.UPOS] for row in words)
    return Tagged(tuple(row[conllu.FORM] for row in words), (tags,), line=sentence.line)


def _plain(sentence: Sentence) -> Labelled:
    return Labelled(conllu.text(sentence), (), sentence.line)


def _unlabelled(text: str, line: int) -> Labelled:
    return Labelled(text, (), line)


TASKS: dict[str, Task] = {
    "classification": Task(
        "a text has a label",
        (Labelled,),
        ("text", "label"),
        _labelled,
        others=((Tree, _rooted),),
        needs=("labels", "a text without a label"),
    ),
    "pairs": Task(
        "two texts have a label",
        (Pair,),
        ("left", "right", "label"),
        _judged,
        needs=("label", "a pair without a label"),
    ),
    "similarity": Task(
        "two texts or words have a score",
        (Pair,),
        ("left", "right", "score"),
        _scored,
        needs=("score", "a pair without a score"),
    ),
    "tagging": Task("every word has a tag", (Tagged,), others=((Sentence, _parts_of_speech),)),
    "parsing": Task("every word has a head", (Sentence,)),
    "constituency": Task("a sentence has a tree of phrases", (Tree,)),
    "question-answering": Task("a question is answered by a piece of a text", (Question,)),
    "translation": Task("a text says the same as another", (Pair,), ("left", "right"), _pair),
    "alignment": Task("words of a pair of sentences belong together", (Alignment,)),
    "summarisation": Task("a text has a summary", (Pair,), ("text", "summary"), _pair),
    "retrieval": Task("documents are relevant to a query", (Passage, Judgement)),
    "analogy": Task("a is to b as c is to d", (Analogy,)),
    "series": Task("numbers follow each other in time", (Series,)),
    "captions": Task("a picture is described", (Image,), needs=("captions", "a picture without a caption")),
    "images": Task("a picture has a label", (Image,), needs=("label", "a picture without a label")),
    "language": Task("plain text", (Labelled,), ("text",), _unlabelled, others=((Sentence, _plain),)),
}


def named(name: str) -> Task:
    """The task of this name."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


class UnfitError(FirthError):
    """The whole file cannot serve the task, not only one record of it."""


class Converter:
    """Makes records into examples of a task; `columns` maps its roles to names (or numbers from 1) of columns."""

    def __init__(self, task: str, columns: Mapping[str, str] | None = None) -> None:
        self.name, self.task, self.columns = task, named(task), dict(columns or {})
        self.others = dict(self.task.others)
        self._places: dict[tuple[tuple[str, ...], int], list[int]] = {}
        for role in self.columns:
            if role not in self.task.columns:
                raise unknown(f"column of task {task}", role, self.task.columns or ("none",))

    def __call__(self, record: Record) -> Record:
        """The example; an error without a place if the record cannot serve."""
        kind = type(record)
        if kind in self.others:
            return self.others[kind](record)
        if kind is Row and self.task.from_row is not None:
            key = (record.names, len(record.values) if not record.names else 0)
            places = self._places.get(key)
            if places is None:
                places = self._places[key] = self._find(record)
            return self.task.from_row(*(record.values[place] for place in places), record.line)
        if kind not in self.task.records:
            raise self._wrong_kind(kind)
        field, lack = self.task.needs
        if field and getattr(record, field) in (None, "", ()):
            raise FirthError(lack, do="add it, or choose another task")
        return record

    def _find(self, row: Row) -> list[int]:
        """The places of the task's columns in rows like this one."""
        names = [name.lower() for name in row.names] or [str(place + 1) for place in range(len(row.values))]
        found = []
        for role in self.task.columns:
            wanted = (self.columns[role].lower(),) if role in self.columns else NAMES[role]
            taken = next((name for name in wanted if name in names and names.index(name) not in found), None)
            if taken is None:
                raise self._no_column(role, row)
            found.append(names.index(taken))
        return found

    def _no_column(self, role: str, row: Row) -> UnfitError:
        columns = ",".join(self.task.columns)
        do = f"say which one it is with --column {role}=NAME, or name all with --set columns={columns}"
        if role in self.columns:
            role = self.columns[role]
        there = ", ".join(map(shown, row.names)) if row.names else f"{len(row.values)} without names"
        return UnfitError(f"no column {role!r} (there are {there})", do=do)

    def _wrong_kind(self, kind: type) -> UnfitError:
        kinds = [needed.__name__ for needed in (*self.task.records, *self.others)]
        rows = [f"rows with columns {', '.join(self.task.columns)}"] if self.task.columns else []
        what = f"task {self.name} needs {' or '.join(kinds + rows)}, but the file has {kind.__name__}"
        return UnfitError(what, do="choose another task or format")


def examples(records: Iterable[Record], task: str, columns: Mapping[str, str] | None = None) -> Iterator[Record]:
    """The records as examples of a task."""
    return map(Converter(task, columns), records)
