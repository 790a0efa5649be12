"""Examples of tasks on texts or pictures: files in any format that holds them, sets by name, and how they are split."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from firth.config.schema import Examples
from firth.data import formats, lines, sets, spool
from firth.data.formats.image_folders import folder_format
from firth.data.formats.labels import Labels
from firth.data.packed import missing
from firth.data.records import Image, Labelled, Pair, Record, Row
from firth.data.sources import KEPT
from firth.data.splits import assign
from firth.data.tasks import Converter, UnfitError
from firth.data.tasks import named as task
from firth.errors import FirthError, unknown

Example = Labelled | Pair | Image
ORDERED = ("similarity", "translation", "summarisation")  # tables without names: left, right, score
WORLD = "world"  # stands for the beginning of what the world has for the task
NAMES = ("train", "valid", "test")
PARTS = {"train": ("train", "all"), "valid": ("valid", "dev"), "test": ("test",)}  # what sets call their splits


@dataclass(frozen=True, eq=False)
class Split:
    """The examples of one split, in memory."""

    name: str
    key: str  # a digest of texts and labels: the same content gives the same key, on every machine
    examples: list[Example]

    @property
    def texts(self) -> list[str]:
        """All texts, the two of a pair one after the other."""
        return list(chain.from_iterable(map(sides, self.examples)))

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """What is right."""
        return [labels(example) for example in self.examples]


def sides(example: Example) -> tuple[str, ...]:
    """The one or two texts of an example; a picture has none."""
    if isinstance(example, Image):
        return ()
    return (example.left, example.right) if isinstance(example, Pair) else (example.text,)


def labels(example: Example) -> tuple[str, ...]:
    """What is said of an example."""
    if isinstance(example, Labelled):
        return example.labels
    return () if example.label is None else (example.label,)


def title(example: Example) -> str:
    """An example in a line: its texts, or a picture's name."""
    return example.name if isinstance(example, Image) else " / ".join(sides(example))


def read(config: Examples, seed: int) -> dict[str, Split]:
    """The splits: own files or the set's own parts where there are any, else shares of the examples."""
    if not config.tasks:
        raise FirthError("no task is named", where="data.tasks", do="name one: classification, pairs, similarity, …")
    if not config.text:
        raise FirthError("no examples are named", where="data.text", do="name a file or a set that firth data lists")
    given = {"train": list(_named(config.text, config, "train"))}
    given |= {name: list(_held_out(name, config)) for name in NAMES[1:]}
    return split(given, config, seed, ", ".join(config.text))


def split(given: Mapping[str, list[Example]], config: Examples, seed: int, where: str) -> dict[str, Split]:
    """What is given for each split; where nothing is, a share of what is there to learn from."""
    text = given["train"]
    if not text:
        raise FirthError("no examples in it", where=where, do="give a file with examples")
    shares = [0.0 if given["valid"] else config.valid_share, 0.0 if given["test"] else config.test_share]
    if any(shares) and len(text) < 3:
        what = f"{len(text)} example{'s' * (len(text) != 1)}, too few to split three ways"
        raise FirthError(what, where=where, do="give more, or --valid and --test")
    units = _units(text)
    drawn = assign(0, len({*units}), len({*units}), *shares, seed)
    found = {name: _chosen(text, (drawn[n] == number for n in units)) for number, name in enumerate(NAMES)}
    found |= {name: given[name] for name in NAMES[1:] if given[name]}
    return {name: make(name, examples) for name, examples in found.items() if examples}


def _units(text: list[Example]) -> list[int]:
    """Numbers of what is not parted: several translations of one text, of which none should be known before a test."""
    seen: dict[str, int] = {}
    plain = all(isinstance(example, Pair) and example.label is None and example.score is None for example in text)
    found = [seen.setdefault(example.left, len(seen)) for example in text] if plain else []
    return found if len(seen) >= 3 else list(range(len(text)))


def make(name: str, examples: Iterable[Example]) -> Split:
    """A split of these examples."""
    examples, seen = list(examples), hashlib.sha256()
    for example in examples:
        seen.update(_content(example) + b"\n")
    if len({len(sides(example)) for example in examples}) > 1:
        raise FirthError("some examples are single texts and some are pairs", do="give one kind, or set data.tasks")
    return Split(name, seen.hexdigest(), examples)


def _content(example: Example) -> bytes:
    """All that counts of an example."""
    if isinstance(example, Image):
        return json.dumps([*example.pixels.shape, example.label]).encode() + example.pixels.tobytes()
    told = {"pair": example[:4]} if isinstance(example, Pair) else [example.text, *example.labels]
    return json.dumps(told).encode()


def named(name: str, config: Examples) -> Iterator[Example]:
    """The examples of a file or of a set; of a set its test part, if it has one."""
    found = list(_held_out("test", replace(config, text=(name,), test=())))
    return iter(found or _named((name,), config, "train"))


def _chosen(examples: list[Example], chosen: Iterable[bool]) -> list[Example]:
    return [example for example, taken in zip(examples, chosen, strict=True) if taken]


def _held_out(name: str, config: Examples) -> Iterator[Example]:
    """What is given apart for validation or test: files, else the parts that the sets of the text have for it."""
    given = {"valid": config.valid, "test": config.test}[name]
    if given:
        yield from _named(given, config, name)
        return
    for text in config.text:
        if text == WORLD:
            yield from _of_world(config, name)
            continue
        base, _, split = text.partition(":")
        if not split and not _is_file(text) and (found := _part(sets.find(base), name)):
            yield from _of_set(sets.find(base), found, config)


def _named(names: Iterable[str], config: Examples, split: str) -> Iterator[Example]:
    for name in names:
        if name == WORLD:
            yield from _of_world(config, split)
        elif name.startswith(KEPT):
            yield from _of_python(Path(name.removeprefix(KEPT)), config)
        elif _is_file(name):
            yield from _of_file(name, config)
        else:
            base, _, part = name.partition(":")
            found = sets.find(base)
            chosen = part or _part(found, split) or _part(found, "train") or next(iter(found.parts))
            yield from _of_set(found, chosen, config)


def _is_file(name: str) -> bool:
    """Whether this is a file or should be one, not the name of a set (`sst2`) or of its split (`sst2:dev`)."""
    if name.startswith(KEPT) or (name and Path(name).exists()):
        return True
    base = name.partition(":")[0]
    if base in sets.all_sets() or base in sets.own_sets()[1]:
        return False
    if "/" in name or "." in name or not name:
        raise missing(name)
    sets.find(base)  # says what is near
    return False


def _part(found: sets.DataSet, split: str) -> str:
    return next((name for name in PARTS[split] if name in found.parts), "")


# --- where they come from -------------------------------------------------------------------------------------------


def _of_world(config: Examples, split: str) -> Iterator[Example]:
    yield from _converted(_small_world(config.tasks[0], split), [Converter(config.tasks[0])], WORLD)


@lru_cache(maxsize=3)
def _small_world(name: str, split: str) -> tuple[Record, ...]:
    """The first documents of what the world has for a task: enough for a minute, where making all takes as long."""
    from firth.data.made import LAYERS
    from firth.data.world import World
    from firth.data.world.gold import records

    if name not in LAYERS:
        raise unknown("task of the world", name, LAYERS)
    start, count = LAYERS[name][1][split]
    return tuple(records(World(), name, count // 8, start))


def _of_set(found: sets.DataSet, split: str, config: Examples) -> Iterator[Example]:
    kinds = [found.task] if found.task in config.tasks else list(config.tasks)
    converters = [Converter(kind, found.columns if kind == found.task else {}) for kind in kinds]
    yield from _converted(found.records(split), converters, found.name)


def _of_file(name: str, config: Examples) -> Iterator[Example]:
    path = lines.encoded(name, config.encoding) if config.encoding != "utf-8" else Path(name)
    form = formats.named(config.format) if config.format else _guess(path, config)
    yield from _converted(form.read(formats.whole(form, path)), _converters(config), name)


def _guess(path: Path, config: Examples) -> formats.Format:
    """The format of a file, or of a folder where pictures are wanted."""
    pictured = Image in task(config.tasks[0]).records
    return folder_format(path) if pictured and path.is_dir() else formats.guess(path)


def _converters(config: Examples) -> list[Converter]:
    """For each task that has the columns that were named, or for the first, which says what is wrong with them."""
    columns = dict(_column(setting) for setting in config.columns)
    kinds = [kind for kind in config.tasks if set(columns) <= set(task(kind).columns)]
    return [Converter(kind, columns) for kind in kinds or config.tasks[:1]]


def _column(setting: str) -> tuple[str, str]:
    role, equals, name = setting.partition("=")
    if not (role and equals and name):
        what = f"cannot read {setting!r}"
        raise FirthError(what, where="data.columns", do="write the part and the column: text=body,label=class")
    return role, name


def _of_python(path: Path, config: Examples) -> Iterator[Example]:
    """Documents from Python are lines: texts with their labels before them, or rows with tabs between their values."""
    shown = "Python documents"
    if not path.is_file():
        raise FirthError("the documents kept for this run are gone", where=path, do="train again from the documents")
    form, several = Labels(), config.tasks != ("classification",)
    spooled = enumerate(spool.Spooled(path, shown), 1)
    rows = (
        Row(tuple(text.split("\t")), number)
        if several and "\t" in text and not text.startswith(form.prefix)
        else form.parse(number, text, shown)
        for number, text in spooled
    )
    yield from _converted(rows, _converters(config), shown)


def _converted(records: Iterable[Record], converters: list[Converter], where: str) -> Iterator[Example]:
    """The records as examples of the first task that the first of them fits; an error names the place."""
    convert = None
    for record in records:
        try:
            convert = convert or _fitting(record, converters)
            example = convert(record)
            if not all(labels(example)):
                raise FirthError("an empty label", do="fill it in")
        except FirthError as error:
            place = lines.at(where, getattr(record, "line", 0))
            do = _name_columns(convert) if isinstance(error, UnfitError) and isinstance(record, Row) else error.do
            raise type(error)(error.what, where=error.where or place, do=do) from None
        yield example


def _fitting(record: Record, converters: list[Converter]) -> Converter:
    """The first converter that can use the record, else the first, which says why it cannot."""
    for plain in converters:
        convert = _in_order(plain) if isinstance(record, Row) and not record.names else plain
        try:
            convert(record)
        except FirthError:
            continue
        return convert
    return converters[0]


def _in_order(convert: Converter) -> Converter:
    """For columns without names, where no other order is likely."""
    if convert.columns or convert.name not in ORDERED:
        return convert
    return Converter(convert.name, {role: str(place) for place, role in enumerate(convert.task.columns, 1)})


def _name_columns(convert: Converter) -> str:
    named_columns = ",".join(f"{role}={place}" for place, role in enumerate(convert.task.columns, 1))
    return f"say which they are, by name or by number: --set data.columns={named_columns}"
