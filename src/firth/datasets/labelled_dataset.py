"""Labelled data sets: task examples (texts, text pairs, images) from files of any format or data sets by name, and
their train, validation and test splits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from firth.config.schema import LabelledExamples
from firth.datasets import leakage, numbered_lines, readers, sets, spool
from firth.datasets.compression import missing_file
from firth.datasets.readers.fasttext_labels import Labels
from firth.datasets.readers.image_folders import folder_format
from firth.datasets.records import Image, Labelled, Pair, Record, Row
from firth.datasets.sources import SPOOL_PREFIX
from firth.datasets.table_columns import TableColumns, first_fitting, name_columns, silent
from firth.datasets.table_columns import converters as get_converters
from firth.datasets.tasks import Converter, UnfitError
from firth.datasets.tasks import get_task as task
from firth.datasets.text_dataset import assign_splits
from firth.errors import FirthError, unknown

Example = Labelled | Pair | Image
WORLD = "world"  # the first documents of what the world has for the task
SPLITS = ("train", "valid", "test")
SPLIT_ALIASES = {"train": ("train", "all"), "valid": ("valid", "dev"), "test": ("test",)}  # names in data sets


@dataclass(frozen=True, eq=False)
class Split:
    """The examples of one split, in memory."""

    name: str
    key: str  # a digest of texts and labels: the same content gives the same key, on every machine
    examples: list[Example]
    overlap: leakage.Overlap | None = None  # with the training examples; None: not a held-out split of them

    @property
    def signed_fields(self) -> dict[str, str]:
        """What the signature of a score says of the split."""
        return {"split": self.name, "data": self.key[:8], **(self.overlap.signed if self.overlap else {})}

    @property
    def texts(self) -> list[str]:
        """All texts, the two of a pair in sequence."""
        return list(chain.from_iterable(map(texts_of, self.examples)))

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """The gold labels of each example."""
        return [labels_of(example) for example in self.examples]


def texts_of(example: Example) -> tuple[str, ...]:
    """The one or two texts of an example; an image has none."""
    if isinstance(example, Image):
        return ()
    return (example.left, example.right) if isinstance(example, Pair) else (example.text,)


def labels_of(example: Example) -> tuple[str, ...]:
    """The labels of an example."""
    if isinstance(example, Labelled):
        return example.labels
    return () if example.label is None else (example.label,)


def describe(example: Example) -> str:
    """An example in one line: its texts, or an image's name."""
    return example.name if isinstance(example, Image) else " / ".join(texts_of(example))


def describe_with_label(example: Example) -> str:
    """The same, after its labels if there are any."""
    labels = ", ".join(labels_of(example))
    return f"{labels}: {describe(example)}" if labels else describe(example)


def read(config: LabelledExamples, seed: int, say: Callable[[str], None] = silent) -> dict[str, Split]:
    """The splits: from files of their own or the data set's own splits if there are any, else fractions of the
    examples."""
    if not config.tasks:
        raise FirthError("no task is named", where="data.tasks", do="name one: classification, pairs, similarity, …")
    if not config.text:
        raise FirthError("no examples are named", where="data.text", do="name a file or a set that firth data lists")
    tables = TableColumns(config, say)
    splits = {"train": list(_read_names(config.text, config, "train", tables))}
    splits |= {name: list(_read_held_out(name, config, tables)) for name in SPLITS[1:]}
    return audited(split_examples(splits, config, seed, ", ".join(config.text)), say)


def audited(splits: dict[str, Split], say: Callable[[str], None] = silent) -> dict[str, Split]:
    """The splits with what each held-out one shares with the training examples, which is said too."""
    if "train" not in splits or len(splits) < 2:
        return splits
    texts = {name: ["\n".join(_identifying(example)) for example in split.examples] for name, split in splits.items()}
    overlaps = leakage.audit(texts.pop("train"), texts)
    leakage.report(overlaps, say, "examples")
    return {name: replace(split, overlap=overlaps.get(name)) for name, split in splits.items()}


def _identifying(example: Example) -> tuple[str, ...]:
    """What makes two examples the same, whatever their labels: the texts, or a digest of the pixels."""
    return (hashlib.sha256(_pixels(example)).hexdigest(),) if isinstance(example, Image) else texts_of(example)


def split_examples(
    splits: Mapping[str, list[Example]], config: LabelledExamples, seed: int, where: str
) -> dict[str, Split]:
    """The examples of each split; a split without any gets a fraction of the training examples."""
    train = splits["train"]
    if not train:
        raise FirthError("no examples in it", where=where, do="give a file with examples")
    fractions = [0.0 if splits["valid"] else config.valid_fraction, 0.0 if splits["test"] else config.test_fraction]
    if any(fractions) and len(train) < 3:
        what = f"{len(train)} example{'s' * (len(train) != 1)}, too few to split three ways"
        raise FirthError(what, where=where, do="give more, or --valid and --test")
    groups = _groups(train, config.group_duplicates)
    numbers = assign_splits(0, len({*groups}), len({*groups}), *fractions, seed)
    sampled = {name: _select(train, (numbers[n] == index for n in groups)) for index, name in enumerate(SPLITS)}
    sampled |= {name: splits[name] for name in SPLITS[1:] if splits[name]}
    return {name: make_split(name, examples) for name, examples in sampled.items() if examples}


def _groups(examples: list[Example], group_duplicates: bool) -> list[int]:
    """Group ids of examples that stay in one split, against leakage: examples with the same texts, several translations
    of one source."""
    seen: dict[object, int] = {}
    plain = all(isinstance(example, Pair) and example.label is None and example.score is None for example in examples)
    if plain or group_duplicates:
        keys = ((_identifying(example)[:1] if plain else _identifying(example)) for example in examples)
        if group_duplicates:
            keys = (tuple(map(leakage.normalise, key)) for key in keys)
        groups = [seen.setdefault(key, len(seen)) for key in keys]
    return groups if len(seen) >= 3 else list(range(len(examples)))


def make_split(name: str, examples: Iterable[Example]) -> Split:
    """A split of these examples."""
    examples, digest = list(examples), hashlib.sha256()
    for example in examples:
        digest.update(_content(example) + b"\n")
    if len({len(texts_of(example)) for example in examples}) > 1:
        raise FirthError("some examples are single texts and some are pairs", do="give one kind, or set data.tasks")
    return Split(name, digest.hexdigest(), examples)


def _content(example: Example) -> bytes:
    """The content of an example, for the digest of its split."""
    if isinstance(example, Image):
        return json.dumps([*example.pixels.shape, example.label]).encode() + example.pixels.tobytes()
    values = {"pair": example[:4]} if isinstance(example, Pair) else [example.text, *example.labels]
    return json.dumps(values).encode()


def _pixels(image: Image) -> bytes:
    return json.dumps(image.pixels.shape).encode() + image.pixels.tobytes()


def read_named(name: str, config: LabelledExamples) -> Iterator[Example]:
    """The examples of a file or of a data set; of a data set its test split, if it has one."""
    tables = TableColumns(config)
    examples = list(_read_held_out("test", replace(config, text=(name,), test=()), tables))
    return iter(examples or _read_names((name,), config, "train", tables))


def _select(examples: list[Example], selected: Iterable[bool]) -> list[Example]:
    return [example for example, is_selected in zip(examples, selected, strict=True) if is_selected]


def _read_held_out(name: str, config: LabelledExamples, tables: TableColumns) -> Iterator[Example]:
    """The validation or test examples: from files of their own, else the data sets' own splits."""
    files = {"valid": config.valid, "test": config.test}[name]
    if files:
        yield from _read_names(files, config, name, tables)
        return
    for text in config.text:
        if text == WORLD:
            yield from _read_world(config, name)
            continue
        base, _, split = text.partition(":")
        if not split and not _is_file(text) and (own_split := _own_split(sets.find(base), name)):
            yield from _read_set(sets.find(base), own_split, config)


def _read_names(names: Iterable[str], config: LabelledExamples, split: str, tables: TableColumns) -> Iterator[Example]:
    for name in names:
        if name == WORLD:
            yield from _read_world(config, split)
        elif name.startswith(SPOOL_PREFIX):
            yield from _read_python(Path(name.removeprefix(SPOOL_PREFIX)), config)
        elif _is_file(name):
            yield from _read_file(name, config, tables)
        else:
            base, _, part = name.partition(":")
            dataset = sets.find(base)
            own_split = part or _own_split(dataset, split) or _own_split(dataset, "train") or next(iter(dataset.splits))
            yield from _read_set(dataset, own_split, config)


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


# --- where they come from -------------------------------------------------------------------------------------------


def _read_world(config: LabelledExamples, split: str) -> Iterator[Example]:
    yield from _convert_all(_small_world(config.tasks[0], split), [Converter(config.tasks[0])], WORLD)


@lru_cache(maxsize=3)
def _small_world(name: str, split: str) -> tuple[Record, ...]:
    """The first eighth of the world's records for a task: generating all would take as long as a short training."""
    from firth.datasets.builtin import LAYERS
    from firth.datasets.world import World
    from firth.datasets.world.gold import records

    if name not in LAYERS:
        raise unknown("task of the world", name, LAYERS)
    start, count = LAYERS[name][1][split]
    return tuple(records(World(), name, count // 8, start))


def _read_set(dataset: sets.Dataset, split: str, config: LabelledExamples) -> Iterator[Example]:
    kinds = [dataset.task] if dataset.task in config.tasks else list(config.tasks)
    converters = [Converter(kind, dataset.columns if kind == dataset.task else {}) for kind in kinds]
    yield from _convert_all(dataset.records(split), converters, dataset.name)


def _read_file(name: str, config: LabelledExamples, tables: TableColumns) -> Iterator[Example]:
    path = numbered_lines.with_encoding(name, config.encoding) if config.encoding != "utf-8" else Path(name)
    format_ = readers.get_format(config.format) if config.format else _guess(path, config)
    records, converters = tables.open(format_, readers.input_paths(format_, path), name)
    yield from _convert_all(records, converters, name)


def _guess(path: Path, config: LabelledExamples) -> readers.Format:
    """The format of a file, or of a folder of images."""
    is_image_task = Image in task(config.tasks[0]).records
    return folder_format(path) if is_image_task and path.is_dir() else readers.guess(path)


def _read_python(path: Path, config: LabelledExamples) -> Iterator[Example]:
    """Examples from Python, spooled as lines: texts after their labels, or rows of tab-separated values."""
    shown = "Python documents"
    if not path.is_file():
        raise FirthError("the documents of this run are missing", where=path, do="train again from the documents")
    label_format, several = Labels(), config.tasks != ("classification",)
    spooled = enumerate(spool.SpooledDocuments(path, shown), 1)
    rows = (
        Row(tuple(text.split("\t")), number)
        if several and "\t" in text and not text.startswith(label_format.prefix)
        else label_format.parse(number, text, shown)
        for number, text in spooled
    )
    yield from _convert_all(rows, get_converters(config), shown)


def _convert_all(records: Iterable[Record], converters: list[Converter], where: str) -> Iterator[Example]:
    """The records as examples of the first task that the first record fits; errors name file and line."""
    convert = None
    for record in records:
        try:
            convert = convert or first_fitting(record, converters) or converters[0]
            example = convert(record)
            if not isinstance(example, Example):
                what = f"examples of the task {convert.name} are neither texts with labels nor pairs"
                raise FirthError(what, do="choose another: --set data.tasks=classification,pairs")
            if not all(labels_of(example)):
                raise FirthError("an empty label", do="fill it in")
        except FirthError as error:
            location = numbered_lines.at(where, getattr(record, "line", 0))
            do = name_columns(convert) if isinstance(error, UnfitError) and isinstance(record, Row) else error.do
            raise type(error)(error.what, where=error.where or location, do=do) from None
        yield example
