"""Examples of tasks as pairs of texts, what is read and what is to be written, each task with a prefix of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from firth.config import schema
from firth.data import examples
from firth.data.formats.parallel import Parallel
from firth.data.records import Pair
from firth.errors import FirthError


def pairs(config: schema.TaskTexts, seed: int) -> dict[str, examples.Split]:
    """The splits of all tasks together, each split by itself. A pair with an empty side is refused or dropped."""
    found = _parallel(config, seed) if config.source or config.target else _of_tasks(config, seed)
    return {name: _whole(part, config) for name, part in found.items()}


def _parallel(config: schema.TaskTexts, seed: int) -> dict[str, examples.Split]:
    """The splits of files whose lines belong together."""
    read = {name: list(_lines(*config.files(name), name)) for name in examples.NAMES}
    return examples.split(read, config, seed, ", ".join((*config.source, *config.target)))


def _lines(source: tuple[str, ...], target: tuple[str, ...], name: str) -> Iterator[Pair]:
    """Line n of each source with line n of the target in the same place."""
    if len(source) != len(target):
        what = f"{name}: {len(source)} files of texts to read and {len(target)} of texts to write"
        raise FirthError(what, where="data", do="give as many of one as of the other: --source a.en --target a.de")
    for paths in zip(source, target, strict=True):
        yield from Parallel().read(paths)


def _whole(part: examples.Split, config: schema.TaskTexts) -> examples.Split:
    """The split without pairs that have an empty side."""
    lacking = [pair for pair in part.examples if not (pair.left.strip() and pair.right.strip())]
    if not lacking:
        return part
    if config.empty == "refuse":
        more = f", and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        where = f"{part.name}, line {lacking[0].line}{more}"
        raise FirthError("an empty text in a pair", where=where, do="take the line out of both, or set data.empty=drop")
    return examples.make(part.name, [pair for pair in part.examples if pair.left.strip() and pair.right.strip()])


def _of_tasks(config: schema.TaskTexts, seed: int) -> dict[str, examples.Split]:
    tasks = [examples.read(each, seed) for each in _tasks(config)]
    prefixes = config.prefixes or ("",) * len(tasks)
    names = [name for name in examples.NAMES if any(name in task for task in tasks)]
    return {
        name: examples.make(
            name,
            chain.from_iterable(
                written(task[name].examples, prefix)
                for task, prefix in zip(tasks, prefixes, strict=True)
                if name in task
            ),
        )
        for name in names
    }


def written(found: list[examples.Example], prefix: str = "") -> Iterator[Pair]:
    """Examples as pairs of texts: a text and its label, two texts and theirs, or one text and another."""
    before = f"{prefix.rstrip()} " if prefix.strip() else ""
    for example in found:
        told = examples.labels(example)
        if isinstance(example, Pair) and not told and example.score is None:
            yield Pair(before + example.left, example.right, line=example.line)
            continue
        target = ", ".join(told) or f"{example.score:g}"
        source = example.text if not isinstance(example, Pair) else f"first: {example.left} second: {example.right}"
        yield Pair(before + source, target, line=example.line)


def _tasks(config: schema.TaskTexts) -> list[schema.TaskTexts]:
    """A configuration for each named text, with the files that are held out for it."""
    if config.prefixes and len(config.prefixes) != len(config.text):
        what = f"{len(config.prefixes)} prefixes for {len(config.text)} texts"
        raise FirthError(what, where="data.prefixes", do="give one for each, in the order of --text")
    for name in ("valid", "test"):
        if len(getattr(config, name)) not in (0, len(config.text)):
            what = f"{len(getattr(config, name))} files for {len(config.text)} texts"
            raise FirthError(what, where=f"data.{name}", do="give one for each, in the order of --text")
    held = [config.valid or ((),) * len(config.text), config.test or ((),) * len(config.text)]
    return [
        replace(config, text=(text,), valid=(valid,) if valid else (), test=(test,) if test else ())
        for text, valid, test in zip(config.text, *held, strict=True)
    ]
