"""Inputs of labelled tasks from records of any format: texts, sentences, questions, choices; labels are not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firth.datasets.marked_words import mark_targets
from firth.datasets.readers import conllu
from firth.datasets.records import Choices, Labelled, Pair, Question, Record, Row, Sentence, Tagged
from firth.datasets.tasks import COLUMN_NAMES
from firth.errors import FirthError, unknown

SEPARATOR = "\t"  # between the texts of one line
PAIR, SINGLE = ("left", "right"), ("text",)
QUESTION = ("question", "context")


def read_texts(record: Record, texts: int, columns: Mapping[str, str]) -> str | tuple[str, ...]:
    """A text, or two; `texts`: how many the model takes, 0: either."""
    if isinstance(record, Pair) and texts != 1:
        marked = mark_targets(record)
        return marked.left, marked.right
    if isinstance(record, Labelled):
        return record.text if texts == 1 or SEPARATOR not in record.text else tuple(record.text.split(SEPARATOR))
    if isinstance(record, Row):
        cells = read_cells(record, PAIR if texts == 2 or set(PAIR) <= set(columns) else SINGLE, columns)
        return cells[0] if len(cells) == 1 else cells
    raise unfit(record, "pairs of texts" if texts == 2 else "texts")


def text_cells(texts: str | Sequence[str]) -> dict[str, str]:
    """The cells of a text, or of several, in a table of predictions."""
    return dict(zip(SINGLE, (texts,), strict=True)) if isinstance(texts, str) else dict(zip(PAIR, texts, strict=True))


def read_words(record: Record, columns: Mapping[str, str]) -> Sequence[str] | str:
    """The words of a sentence, or a text whose words blanks separate."""
    if isinstance(record, Tagged):
        return record.words
    if isinstance(record, Sentence):
        return [row[conllu.FORM] for row in record.rows if row[conllu.ID].isdigit()]
    if isinstance(record, Labelled):
        return record.text
    if isinstance(record, Row):
        return read_cells(record, SINGLE, columns)[0]
    raise unfit(record, "sentences")


def read_question(record: Record, columns: Mapping[str, str]) -> tuple[str, ...]:
    """A question and its context."""
    if isinstance(record, Question):
        return record.text, record.context
    if isinstance(record, Labelled):
        return tuple(record.text.split(SEPARATOR, 1))
    if isinstance(record, Row):
        return read_cells(record, QUESTION, columns)
    raise unfit(record, "questions with their contexts")


def read_choices(record: Record) -> Choices | str:
    """A question with its choices, or a line of them."""
    if isinstance(record, Choices):
        return record
    if isinstance(record, Labelled):
        return record.text
    if isinstance(record, Row) and not record.names:
        return SEPARATOR.join(record.values)
    raise unfit(record, "questions with choices")


def read_cells(row: Row, roles: Sequence[str], columns: Mapping[str, str]) -> tuple[str, ...]:
    """The cells of a row for each role: of the column that is named (or numbered) for it, of the column with its usual
    name, or all cells of a row without names that has as many."""
    for role in columns:
        if role not in roles:
            raise unknown("column", role, roles, where="--columns")
    names = [name.lower() for name in row.names] or [str(number + 1) for number in range(len(row.values))]
    if not row.names and not columns and len(row.values) == len(roles):
        return row.values
    positions = [_position(role, names, columns) for role in roles]
    if None in positions:
        missing = roles[positions.index(None)]
        there = ", ".join(row.names) if row.names else f"{len(row.values)} without names"
        do = f"say which: --columns {','.join(f'{role}=…' for role in roles)}, by name or number"
        raise FirthError(f"no column for the {missing} (there are {there})", do=do)
    return tuple(row.values[at] for at in positions if at is not None)


def _position(role: str, names: Sequence[str], columns: Mapping[str, str]) -> int | None:
    given = columns.get(role, "")
    if given.isdigit() and given not in names:  # a number counts columns with names too
        return int(given) - 1 if 0 < int(given) <= len(names) else None
    candidates = (given.lower(),) if given else COLUMN_NAMES.get(role, (role,))
    return next((names.index(name) for name in candidates if name in names), None)


def unfit(record: Record, needed: str) -> FirthError:
    """The error for a record of another kind."""
    what = f"this model takes {needed}, and this is a {type(record).__name__}"
    return FirthError(what, do="give another file, or name its format with --format")
