"""Tasks (classification, tagging, translation, …), and how a record of any format becomes an example of one: one
literal table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from firth.datasets.readers import choices, conllu, trees
from firth.datasets.readers.dialogues import ASSISTANT
from firth.datasets.readers.values import parse_number, quote
from firth.datasets.records import (
    Alignment,
    Analogy,
    Answer,
    Choices,
    Dialogue,
    Image,
    Judgement,
    Labelled,
    NBest,
    Pair,
    Passage,
    Question,
    Record,
    Row,
    Sentence,
    Series,
    Tagged,
    Tree,
    Turn,
    WordSense,
)
from firth.errors import FirthError, unknown

UNANSWERABLE = "unanswerable"  # the label, or the generated answer, of a question that has none
# Usual names of the columns of tables: for each role of a task, the first of these names that a table has is used.
COLUMN_NAMES = {
    "text": ("text", "sentence", "question", "review", "body", "document", "content", "word", "name"),
    "label": ("label", "labels", "class", "category", "gold_label", "quality", "sentiment", "entailment_judgment"),
    "left": ("left", "sentence1", "sentence_a", "premise", "#1 string", "text1", "source", "question"),
    "right": ("right", "sentence2", "sentence_b", "hypothesis", "#2 string", "text2", "target", "sentence"),
    "score": ("score", "similarity", "relatedness_score", "relatedness", "rating"),
    "prompt": ("prompt", "instruction", "question", "input"),
    "completion": ("completion", "response", "output", "answer", "reply"),
    "input": ("input", "context"),
    "question": ("question", "query"),
    "answer": ("answer", "answers", "label"),
    "context": ("context", "passage", "paragraph"),
    "summary": ("summary", "subject", "headline", "title", "highlights"),
}


@dataclass(frozen=True)
class Task:
    """The records of a task: of these types, or rows of a table with these columns, converted into the first type."""

    about: str
    records: tuple[type, ...]
    columns: tuple[str, ...] = ()
    from_row: Callable[..., Record] | None = None  # of the columns' values and the line
    optional: tuple[str, ...] = ()  # further columns of rows: empty where a table has none
    converters: tuple[tuple[type, Callable[..., Record]], ...] = ()  # further types, and how they are converted
    required: tuple[str, str] = ("", "")  # a field that must be filled, and the error if it is not


def _labelled(text: str, label: str, line: int) -> Labelled:
    return Labelled(text, (label,), line)


def _judged(left: str, right: str, label: str, line: int) -> Pair:
    return Pair(left, right, label, None, line)


def _scored(left: str, right: str, score: str, line: int) -> Pair:
    value = parse_number(score)
    if value is None:
        raise FirthError(f"score {quote(score)} is not a number", do="give a number in every row")
    return Pair(left, right, None, value, line)


def _valued(text: str, score: str, line: int) -> Labelled:
    if parse_number(score) is None:
        raise FirthError(f"score {quote(score)} is not a number", do="give a number in every row")
    return Labelled(text, (score,), line)


def _pair(left: str, right: str, line: int) -> Pair:
    return Pair(left, right, line=line)


def _instruction(prompt: str, completion: str, given: str, line: int) -> Dialogue:
    """An instruction, with an input or without (Alpaca), and its reply."""
    instruction = "\n\n".join(part for part in (prompt, given) if part.strip())
    return _with_reply(Dialogue((Turn("user", instruction), Turn(ASSISTANT, completion)), line))


def _with_reply(dialogue: Dialogue) -> Dialogue:
    """The dialogue, if there is something to learn from it."""
    replies = [turn.text for turn in dialogue.turns if turn.role == ASSISTANT]
    if not all(map(str.strip, replies)):
        raise FirthError("an empty reply", do="fill it in, or remove the dialogue")
    if not replies:
        what = f"a dialogue without a reply: it has no turn of the role {ASSISTANT}"
        raise FirthError(what if dialogue.turns else "an empty dialogue: it has no turns", do="add one, or remove it")
    return dialogue


def _asked(question: str, answer: str, context: str, line: int) -> Question:
    """A question with its answer, which begins where the context has it first (-1: nowhere)."""
    answers = (Answer(answer, context.find(answer)),) if answer.strip() else ()
    return Question(str(line), context, question, answers, line=line)


def _answered(question: Question) -> Labelled | Pair:
    """A question, with its context if it has one, whose label is its answer."""
    label = question.answers[0].text if question.answers else UNANSWERABLE
    if not question.context:
        return Labelled(question.text, (label,), question.line)
    return Pair(question.text, question.context, label, line=question.line)


def _answer_as_label(question: str, answer: str, context: str, line: int) -> Labelled | Pair:
    return _answered(_asked(question, answer, context, line))


def _choices(row: Row) -> Choices:
    if not choices.has_choices(row.names):
        there = ", ".join(map(quote, row.names)) if row.names else f"{len(row.values)} without names"
        do = "name them context, question, choice0, choice1, …, answer"
        raise UnfitError(f"no columns with choices (there are {there})", do=do)
    return choices.question_from_row(row)


def _rooted(tree: Tree) -> Labelled:
    """A tree's words with the label of its root, as in the Stanford Sentiment Treebank."""
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
        "text classification: a text has a label",
        (Labelled,),
        ("text", "label"),
        _labelled,
        converters=((Tree, _rooted),),
        required=("labels", "a text without a label"),
    ),
    "pairs": Task(
        "sentence-pair classification: two texts have a label",
        (Pair,),
        ("left", "right", "label"),
        _judged,
        required=("label", "a pair without a label"),
    ),
    "similarity": Task(
        "semantic similarity: two texts or words have a score",
        (Pair,),
        ("left", "right", "score"),
        _scored,
        required=("score", "a pair without a score"),
    ),
    "regression": Task("text regression: a text has a value", (Labelled,), ("text", "score"), _valued),
    "tagging": Task("sequence tagging: every word has a tag", (Tagged,), converters=((Sentence, _parts_of_speech),)),
    "chunking": Task("chunking (shallow parsing): spans of words have a label", (Tagged,)),
    "ner": Task("named entity recognition: spans of words are names, with a label", (Tagged,)),
    "parsing": Task("dependency parsing: every word has a head", (Sentence,)),
    "constituency": Task("constituency parsing: a sentence has a phrase-structure tree", (Tree,)),
    "question-answering": Task(
        "question answering: the answer is a span of a text, or generated",
        (Question,),
        ("question", "answer"),
        _asked,
        optional=("context",),
    ),
    "answer-classification": Task(
        "question answering as classification: every answer is a label (closed answer set)",
        (Labelled, Pair),
        ("question", "answer"),
        _answer_as_label,
        optional=("context",),
        converters=((Question, _answered),),
    ),
    "multiple-choice": Task(
        "multiple choice: one of several texts answers a question or continues a text",
        (Choices,),
        converters=((Row, _choices),),
        required=("answer", "a question without an answer"),
    ),
    "dialogue": Task(
        "dialogue: turns with roles; an instruction and its reply are two",
        (Dialogue,),
        ("prompt", "completion"),
        _instruction,
        optional=("input",),
        converters=((Dialogue, _with_reply),),
    ),
    "senses": Task(
        "word-sense disambiguation: a word of a sentence has a sense",
        (WordSense,),
        required=("sense", "a word without a sense"),
    ),
    "rescoring": Task(
        "rescoring: an utterance has an n-best list of hypotheses with scores, and a reference",
        (NBest,),
        required=("reference", "an n-best list without a reference"),
    ),
    "translation": Task("machine translation: a text and its translation", (Pair,), ("left", "right"), _pair),
    "alignment": Task("word alignment: links between the words of a sentence pair", (Alignment,)),
    "summarisation": Task("summarisation: a text and its summary", (Pair,), ("text", "summary"), _pair),
    "retrieval": Task("information retrieval: documents are relevant to a query", (Passage, Judgement)),
    "analogy": Task("word analogy: a is to b as c is to d", (Analogy,)),
    "series": Task("time series: forecasting and anomaly detection", (Series,)),
    "captions": Task(
        "image captioning: an image has captions", (Image,), required=("captions", "an image without a caption")
    ),
    "images": Task(
        "image classification: an image has a label", (Image,), required=("label", "an image without a label")
    ),
    "language": Task(
        "language modelling: plain text", (Labelled,), ("text",), _unlabelled, converters=((Sentence, _plain),)
    ),
}


def get_task(name: str) -> Task:
    """The task of this name."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


class UnfitError(FirthError):
    """The whole file does not fit the task, not only one record of it."""


class Converter:
    """Converts records into examples of a task; `columns` maps its roles to names (or numbers from 1) of columns."""

    def __init__(self, task: str, columns: Mapping[str, str] | None = None) -> None:
        self.name, self.task, self.columns = task, get_task(task), dict(columns or {})
        self.converters = dict(self.task.converters)
        self._positions: dict[tuple[tuple[str, ...], int], list[int | None]] = {}
        for role in self.columns:
            if role not in (*self.task.columns, *self.task.optional):
                raise unknown(f"column of task {task}", role, self.task.columns or ("none",))

    def __call__(self, record: Record) -> Record:
        """The example; an error (without file and line) if the record does not fit."""
        kind = type(record)
        if kind in self.converters:
            return self.converters[kind](record)
        if kind is Row and self.task.from_row is not None:
            key = (record.names, len(record.values) if not record.names else 0)
            positions = self._positions.get(key)
            if positions is None:
                positions = self._positions[key] = self._find(record)
            cells = ("" if position is None else record.values[position] for position in positions)
            return self.task.from_row(*cells, record.line)
        if kind not in self.task.records:
            raise self._wrong_kind(kind)
        field, error = self.task.required
        if field and getattr(record, field) in (None, "", ()):
            raise FirthError(error, do="add it, or choose another task")
        return record

    def positions(self, row: Row) -> dict[str, int]:
        """The position of each role's column in rows like this one."""
        roles = (*self.task.columns, *self.task.optional)
        return {role: at for role, at in zip(roles, self._find(row), strict=True) if at is not None}

    def _find(self, row: Row) -> list[int | None]:
        """The positions of the task's columns in rows like this one; None of an optional one that is not there."""
        names = [name.lower() for name in row.names] or [str(number + 1) for number in range(len(row.values))]
        positions: list[int | None] = []
        for role in (*self.task.columns, *self.task.optional):
            candidates = (self.columns[role].lower(),) if role in self.columns else COLUMN_NAMES[role]
            column = next((name for name in candidates if name in names and names.index(name) not in positions), None)
            if column is None and (role in self.task.columns or role in self.columns):
                raise self._no_column(role, row)
            positions.append(None if column is None else names.index(column))
        return positions

    def _no_column(self, role: str, row: Row) -> UnfitError:
        columns = ",".join(self.task.columns)
        do = f"name it with --column {role}=NAME, or name all with --set columns={columns}"
        if role in self.columns:
            role = self.columns[role]
        there = ", ".join(map(quote, row.names)) if row.names else f"{len(row.values)} without names"
        return UnfitError(f"no column {role!r} (there are {there})", do=do)

    def _wrong_kind(self, kind: type) -> UnfitError:
        kinds = list(dict.fromkeys(needed.__name__ for needed in (*self.task.records, *self.converters)))
        rows = [f"rows with columns {', '.join(self.task.columns)}"] if self.task.columns else []
        what = f"task {self.name} needs {' or '.join(kinds + rows)}, but the file has {kind.__name__}"
        return UnfitError(what, do="choose another task or format")


def examples(records: Iterable[Record], task: str, columns: Mapping[str, str] | None = None) -> Iterator[Record]:
    """The records as examples of a task."""
    return map(Converter(task, columns), records)
