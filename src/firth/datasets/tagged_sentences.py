"""Sentences with tags for every word, from columns, CoNLL-U, data sets, the world or Python: which layers of tags are
predicted, and what is done about tags that break their scheme."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from firth.config.schema import TaggedWords
from firth.datasets import labelled_dataset, numbered_lines, sets, span_layers
from firth.datasets.example_reader import FROM_PYTHON, WORLD, ExampleReader, small_world, spooled
from firth.datasets.examples import TaggedSentence
from firth.datasets.readers import conllu
from firth.datasets.readers.columns import Columns
from firth.datasets.records import Record, Sentence, Tagged
from firth.datasets.table_columns import silent
from firth.datasets.tasks import Converter, UnfitError
from firth.errors import FirthError, unknown

# For each task the names of the layer that it predicts, the usual one first.
TASK_LAYERS = {
    "tagging": ("upos", "pos", "xpos", "tag"),
    "chunking": ("chunk", "chunks", "tag"),
    "ner": ("entity", "ner", "entities", "tag"),
}
_SYNONYMS = (frozenset({"upos", "pos"}), frozenset({"chunk", "chunks"}), frozenset({"entity", "ner", "entities"}))
_CONLLU = {"upos": conllu.UPOS, "xpos": conllu.XPOS, "feats": conllu.FEATS, "lemma": conllu.LEMMA}
_SEPARATOR = re.compile(r"[\t\n]")
_EMPTY = "_"  # CoNLL-U's value for nothing

Layers = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class TaggedData:
    """The splits of tagged sentences, and what their layers are."""

    splits: dict[str, labelled_dataset.Split]
    layers: tuple[str, ...]
    schemes: Mapping[str, str]  # of those layers whose tags are of spans


def read(config: TaggedWords, seed: int, say: Callable[[str], None] = silent) -> TaggedData:
    """The sentences of each split with the layers that are predicted; broken training tags refused or mended."""
    reader = SentenceReader(config, say)
    splits = labelled_dataset.read(config, seed, say, reader)
    _require_tags(splits["train"], reader.layers)
    sentences, schemes = span_layers.prepare(
        {name: split.examples for name, split in splits.items()}, reader.layers, config, say
    )
    splits = {name: replace(split, examples=sentences[name]) for name, split in splits.items()}
    return TaggedData(splits, reader.layers, schemes)


def read_named(name: str, config: TaggedWords, layers: tuple[str, ...]) -> Iterator[TaggedSentence]:
    """The sentences of a file or of a data set (its test split, if it has one), with these layers."""
    reader = SentenceReader(replace(config, text=(name,), test=(), layers=layers))
    sentences = list(reader.held_out("test"))
    return iter(sentences or reader.names((name,), "train"))


def as_documents(sentences: Iterable[Iterable[Sequence[str]]]) -> Iterator[str]:
    """Sentences from Python, each a list of words with their tags, as texts: a word and its tags on each line."""
    for number, sentence in enumerate(sentences, 1):
        rows = [row if isinstance(row, (list, tuple)) else (row,) for row in sentence]
        cells = [cell for row in rows for cell in row]
        if not cells or not all(isinstance(cell, str) and cell and not _SEPARATOR.search(cell) for cell in cells):
            what = f"sentence {number}: a word or a tag that is empty, no string, or has a tab or a line end in it"
            raise FirthError(what, where=FROM_PYTHON, do='give each sentence as [("word", "tag"), …]')
        yield "\n".join(map("\t".join, rows))


def _require_tags(train: labelled_dataset.Split, layers: tuple[str, ...]) -> None:
    for layer, name in enumerate(layers):
        if all(tag == _EMPTY for sentence in train.examples for tag in sentence.tags[layer]):
            what = f"the layer {name} is empty: {_EMPTY} for every word"
            raise FirthError(what, where=train.examples[0].where, do="name another with --set data.layers=…")


class SentenceReader(ExampleReader):
    """Reads tagged sentences; the first one decides which layers are predicted, unless they are named."""

    config: TaggedWords
    layers: tuple[str, ...] = ()

    def __init__(self, config: TaggedWords, say: Callable[[str], None] = silent) -> None:
        super().__init__(replace(config, columns=()), say)
        self.say, self._columns = say, dict(map(_numbered, config.columns))
        self._task = next((task for task in config.tasks if task in TASK_LAYERS), "")
        if not self._task:
            raise unknown("task of words", ", ".join(config.tasks), TASK_LAYERS, where="data.tasks")

    def world(self, split: str) -> Iterator[TaggedSentence]:
        """Sentences of the built-in world."""
        return self.convert_all(small_world("tagging", split), [], WORLD)

    def dataset(self, dataset: sets.Dataset, split: str) -> Iterator[TaggedSentence]:
        """The sentences of a data set's split."""
        paths = dataset.paths(split)
        return self.convert_all(dataset.records(split), [], str(paths[0]) if paths else dataset.name)

    def file(self, name: str) -> Iterator[TaggedSentence]:
        """The sentences of a file: in columns, unless it is another format of tagged sentences."""
        form = self.format_of(name)
        if not self.config.format and form.record_type not in (Tagged, Sentence):
            form = Columns()
        return self.convert_all(form.read(self.path(name)), [], name)

    def python(self, path: Path) -> Iterator[TaggedSentence]:
        """Sentences from Python: a word and its tags on each line, with tabs."""
        for number, text in spooled(path):
            rows = [line.split("\t") for line in text.split("\n")]
            if len({len(row) for row in rows}) > 1:
                what = f"sentence {number}: some words have more tags than others"
                raise FirthError(what, where=FROM_PYTHON, do="give every word one tag for each layer")
            words, *layers = zip(*rows, strict=True)
            names = Columns().names(len(rows[0]))
            yield from self.convert_all([Tagged(words, tuple(layers), names=names)], [], FROM_PYTHON)

    def convert_all(
        self, records: Iterable[Record], converters: list[Converter], where: str
    ) -> Iterator[TaggedSentence]:
        """The records as sentences with the layers that are predicted."""
        for record in records:
            try:
                words, layers, lines = self._parts(record)
                if not self.layers:
                    self.layers = self._choose(layers, isinstance(record, Tagged))
                tags = tuple(layers[_find(name, layers)] for name in self.layers)
            except FirthError as error:
                location = numbered_lines.at(where, getattr(record, "line", 0))
                raise type(error)(error.what, where=error.where or location, do=error.do) from None
            yield TaggedSentence(words, tags, where, lines)

    def _parts(self, record: Record) -> tuple[tuple[str, ...], Layers, range | tuple[int, ...]]:
        """Words, all layers by name, and the line of each word."""
        if isinstance(record, Sentence):
            first = record.line + len(record.comments)
            rows = [(line, row) for line, row in enumerate(record.rows, first) if row[conllu.ID].isdigit()]
            layers = {name: tuple(row[at] for _, row in rows) for name, at in _CONLLU.items()}
            return tuple(row[conllu.FORM] for _, row in rows), layers, tuple(n for n, _ in rows if record.line)
        if not isinstance(record, Tagged):
            what = f"the task {self._task} needs sentences with a tag for every word, not {type(record).__name__}"
            raise UnfitError(what, do="give CoNLL-U, or a file in columns: a word and its tags per line")
        lines = range(record.line, record.line + len(record.words)) if record.line else range(0)
        if self._columns:
            return *self._named_columns((record.words, *record.layers)), lines
        names = record.names or Columns().names(len(record.layers) + 1)
        return record.words, dict(zip(names, record.layers, strict=True)), lines

    def _named_columns(self, cells: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], Layers]:
        """The words and the layers of a file whose columns are numbered in `data.columns`."""
        for name, number in self._columns.items():
            if number > len(cells):
                do = "correct --set data.columns=…"
                raise UnfitError(f"no column {number} for {name}: there are {len(cells)}", do=do)
        layers = {name: cells[number - 1] for name, number in self._columns.items()}
        return layers.pop("word", cells[0]), layers

    def _choose(self, layers: Layers, in_columns: bool) -> tuple[str, ...]:
        """The layers that are configured, else that of the task; what else there is is said."""
        if self.config.layers:
            for name in self.config.layers:
                _find(name, layers)
            return self.config.layers
        if not layers:
            raise UnfitError("words without tags: one column", do="give a word and its tag on every line")
        name = next((name for name in TASK_LAYERS[self._task] if name in layers), "")
        if not name and not in_columns:
            raise UnfitError(f"no layer for {self._task} (there are {', '.join(layers)})", do="set data.layers")
        name = name or list(layers)[0 if self._task == "tagging" else -1]
        others = [other for other in layers if other != name]
        if others:
            self.say(f"tags: {name}; to predict others too or instead: --set data.layers={','.join(layers)}")
        return (name,)


def _find(name: str, layers: Layers) -> str:
    """The name of a layer in a file that may call it otherwise."""
    same = next((group for group in _SYNONYMS if name in group), frozenset({name}))
    own = name if name in layers else next((other for other in layers if other in same), None)
    if own is None:
        raise unknown("layer", name, layers)
    return own


def _numbered(setting: str) -> tuple[str, int]:
    name, equals, number = setting.partition("=")
    if not (name and equals and number.isascii() and number.isdigit() and int(number)):
        what = f"{setting!r} does not number a column"
        raise FirthError(what, where="data.columns", do="write name=number: word=1,pos=2,entity=4")
    return name, int(number)
