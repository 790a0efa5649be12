"""Where task examples come from: files of any format, data sets by name, the built-in world, Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from firth.config.schema import LabelledExamples, Questions
from firth.datasets import numbered_lines, readers, sets, spool
from firth.datasets.compression import missing_file
from firth.datasets.examples import Example, labels_of
from firth.datasets.marked_words import mark_targets
from firth.datasets.readers.fasttext_labels import Labels
from firth.datasets.readers.image_folders import folder_format
from firth.datasets.records import Image, Pair, Question, Record, Row
from firth.datasets.sources import SPOOL_PREFIX
from firth.datasets.table_columns import TableColumns, first_fitting, name_columns, silent
from firth.datasets.table_columns import converters as get_converters
from firth.datasets.tasks import Converter, UnfitError
from firth.datasets.tasks import get_task as task
from firth.errors import FirthError, unknown

WORLD = "world"  # the first documents of what the world has for the task
FROM_PYTHON = "Python documents"  # where such examples come from, in messages
SPLITS = ("train", "valid", "test")
SPLIT_ALIASES = {"train": ("train", "all"), "valid": ("valid", "dev"), "test": ("test",)}  # names in data sets


class ExampleReader:
    """Reads the examples of files, data sets, the world and Python; what a record becomes is for `convert_all`."""

    def __init__(self, config: LabelledExamples, say: Callable[[str], None] = silent) -> None:
        self.config, self.tables = config, TableColumns(config, say)

    def splits(self) -> dict[str, list[Example]]:
        """The examples of each split; none where it is for the fractions to cut one."""
        return {"train": list(self.names(self.config.text, "train"))} | {
            name: list(self.held_out(name)) for name in SPLITS[1:]
        }

    def held_out(self, name: str) -> Iterator[Example]:
        """The validation or test examples: from files of their own, else the data sets' own splits."""
        if files := {"valid": self.config.valid, "test": self.config.test}[name]:
            yield from self.names(files, name)
            return
        for text in self.config.text:
            if text == WORLD:
                yield from self.world(name)
                continue
            base, _, split = text.partition(":")
            if not split and not _is_file(text) and (own_split := _own_split(sets.find(base), name)):
                yield from self.dataset(sets.find(base), own_split)

    def names(self, names: Iterable[str], split: str) -> Iterator[Example]:
        """The examples of files and sets."""
        for name in names:
            if name == WORLD:
                yield from self.world(split)
            elif name.startswith(SPOOL_PREFIX):
                yield from self.python(Path(name.removeprefix(SPOOL_PREFIX)))
            elif _is_file(name):
                yield from self.file(name)
            else:
                base, _, part = name.partition(":")
                dataset = sets.find(base)
                own = part or _own_split(dataset, split) or _own_split(dataset, "train") or next(iter(dataset.splits))
                yield from self.dataset(dataset, own)

    def world(self, split: str) -> Iterator[Example]:
        """Examples of the built-in world."""
        task_name = self.config.tasks[0]
        return self.convert_all(small_world(task_name, split), [Converter(task_name)], WORLD)

    def dataset(self, dataset: sets.Dataset, split: str) -> Iterator[Example]:
        """The examples of a data set's split."""
        kinds = [dataset.task] if dataset.task in self.config.tasks else list(self.config.tasks)
        converters = [Converter(kind, dataset.columns if kind == dataset.task else {}) for kind in kinds]
        return self.convert_all(dataset.records(split), converters, dataset.name)

    def file(self, name: str) -> Iterator[Example]:
        """The examples of a file."""
        path, format_ = self.path(name), self.format_of(name)
        records, converters = self.tables.open(format_, readers.input_paths(format_, path), name)
        return self.convert_all(records, converters, name)

    def path(self, name: str) -> Path:
        """The path of a file, with its encoding."""
        encoding = self.config.encoding
        return numbered_lines.with_encoding(name, encoding) if encoding != "utf-8" else Path(name)

    def format_of(self, name: str) -> readers.Format:
        """The format of a file, or of a folder of images."""
        if self.config.format:
            return readers.get_format(self.config.format)
        path, is_image_task = self.path(name), Image in task(self.config.tasks[0]).records
        return folder_format(path) if is_image_task and path.is_dir() else readers.guess(path)

    def python(self, path: Path) -> Iterator[Example]:
        """Examples from Python, spooled as lines: texts after their labels, or rows of tab-separated values."""
        label_format, several = Labels(), self.config.tasks != ("classification",)
        rows = (
            Row(tuple(text.split("\t")), number)
            if several and "\t" in text and not text.startswith(label_format.prefix)
            else label_format.parse(number, text, FROM_PYTHON)
            for number, text in spooled(path)
        )
        return self.convert_all(rows, get_converters(self.config), FROM_PYTHON)

    def convert_all(self, records: Iterable[Record], converters: list[Converter], where: str) -> Iterator[Example]:
        """The records as examples of the first task that the first record fits; errors name file and line."""
        convert = None
        for record in records:
            try:
                convert = convert or first_fitting(record, converters) or converters[0]
                example = mark_targets(convert(record))
                if not isinstance(example, Example):
                    what = f"examples of the task {convert.name} are neither texts with labels nor pairs"
                    raise FirthError(what, do="choose another: --set data.tasks=classification,pairs")
                if isinstance(self.config, Questions) and isinstance(example, Question):
                    _require_spans(example)
                if isinstance(example, Pair) and _lacks_a_side(example):
                    raise FirthError("a pair with an empty text", do="fill it in, or remove the example")
                if not all(labels_of(example)):
                    raise FirthError("an empty label", do="fill it in")
            except FirthError as error:
                location = numbered_lines.at(where, getattr(record, "line", 0))
                do = name_columns(convert) if isinstance(error, UnfitError) and isinstance(record, Row) else error.do
                raise type(error)(error.what, where=error.where or location, do=do) from None
            yield example


def _lacks_a_side(pair: Pair) -> bool:
    """Whether one of two texts that are labelled or scored together is empty."""
    is_judged = pair.label is not None or pair.score is not None
    return is_judged and not (pair.left.strip() and pair.right.strip())


def _require_spans(question: Question) -> None:
    """Refuse an answer that no span of the context is."""
    if not question.context:
        do = "give a column context, or generate answers: firth train text-to-text"
        raise FirthError("a question without a context to find its answer in", do=do)
    if any(answer.start < 0 for answer in question.answers):
        raise FirthError(f"the context has no {question.answers[0].text!r}", do="correct the answer, or its context")


def spooled(path: Path) -> Iterator[tuple[int, str]]:
    """The documents that Python gave, with their numbers from 1."""
    if not path.is_file():
        raise FirthError("the documents of this run are missing", where=path, do="train again from the documents")
    return enumerate(spool.SpooledDocuments(path, FROM_PYTHON), 1)


def _is_file(name: str) -> bool:
    """Whether this is a file or should be one, not the name of a set (`sst2`) or of its split (`sst2:dev`)."""
    if name.startswith(SPOOL_PREFIX) or (name and Path(name).exists()):
        return True
    base = name.partition(":")[0]
    if base in sets.all_sets() or base in sets.user_sets()[1]:
        return False
    if "/" in name or "." in name or not name:
        raise missing_file(name)
    sets.find(base)  # raises, and suggests the nearest name
    return False


def _own_split(dataset: sets.Dataset, split: str) -> str:
    """The name of a split within a data set; empty if it has none."""
    return next((name for name in SPLIT_ALIASES[split] if name in dataset.splits), "")


@lru_cache(maxsize=3)
def small_world(name: str, split: str) -> tuple[Record, ...]:
    """The first eighth of the world's records for a task: generating all would take as long as a short training."""
    from firth.datasets.builtin import LAYERS
    from firth.datasets.world import default_world
    from firth.datasets.world.gold import records

    layers = [name] if name in LAYERS else [layer for layer, (task_name, _) in LAYERS.items() if task_name == name]
    if not layers:
        raise unknown("task of the world", name, LAYERS)
    start, count = LAYERS[layers[0]][1][split]
    return tuple(records(default_world(), layers[0], count // 8, start))
