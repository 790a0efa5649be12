"""Examples of tasks as pairs of texts, what is read and what is to be written, each task with a prefix of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from firth.config import schema
from firth.data import examples, lines
from firth.data.formats.parallel import Parallel
from firth.data.records import Pair
from firth.errors import FirthError


def pairs(config: schema.TaskTexts, seed: int) -> dict[str, examples.Split]:
    """The splits of all tasks together, each split by itself. A pair with an empty side is refused or dropped."""
    if not (config.source or config.target):
        return _of_tasks(config, seed)
    named = {"--text": config.text not in ((), (examples.WORLD,)), "--valid": config.valid, "--test": config.test}
    if unread := [flag for flag, given in {**named, "data.prefixes": config.prefixes}.items() if given]:
        do = "leave one of them out; files that are held out are --valid-source, --valid-target and so on"
        raise FirthError(f"--source says what is read, and {unread[0]} too", where="data", do=do)
    read = {name: list(parallel(*config.files(name), name, config.empty)) for name in examples.NAMES}
    return examples.split(read, config, seed, ", ".join((*config.source, *config.target)))


def parallel(source: tuple[str, ...], target: tuple[str, ...], name: str, empty: str) -> Iterator[Pair]:
    """Line n of each source with line n of the target in the same place."""
    if len(source) != len(target):
        what = f"{name}: {len(source)} files of texts to read and {len(target)} of texts to write"
        raise FirthError(what, where="data", do="give as many of one as of the other: --source a.en --target a.de")
    for paths in zip(source, target, strict=True):
        yield from _whole(Parallel().read(paths), " and ".join(paths), empty)


def _whole(found: Iterable[Pair], where: str, empty: str) -> Iterator[Pair]:
    """Pairs with two texts; one with an empty side is refused or left out."""
    for pair in found:
        if pair.left.strip() and pair.right.strip():
            yield pair
        elif empty == "refuse":
            do = "take the line out of both, or set data.empty=drop"
            raise FirthError("an empty text in a pair", where=lines.at(where, pair.line), do=do)


def _of_tasks(config: schema.TaskTexts, seed: int) -> dict[str, examples.Split]:
    tasks = [examples.read(each, seed) for each in _tasks(config)]
    prefixes = config.prefixes or ("",) * len(tasks)
    names = [name for name in examples.NAMES if any(name in task for task in tasks)]
    return {
        name: examples.make(
            name,
            chain.from_iterable(
                prefixed(_whole(written(task[name].examples), text, config.empty), prefix)
                for task, prefix, text in zip(tasks, prefixes, config.text, strict=True)
                if name in task
            ),
        )
        for name in names
    }


def written(found: Iterable[examples.Example]) -> Iterator[Pair]:
    """Examples as pairs of texts: a text and its label, two texts and theirs, or one text and another."""
    for example in found:
        told = examples.labels(example)
        if isinstance(example, Pair) and not told and example.score is None:
            yield Pair(example.left, example.right, line=example.line)
            continue
        target = ", ".join(told) or f"{example.score:g}"
        source = example.text if not isinstance(example, Pair) else f"first: {example.left} second: {example.right}"
        yield Pair(source, target, line=example.line)


def prefixed(found: Iterable[Pair], prefix: str) -> Iterator[Pair]:
    """Pairs with what says which task is meant before the text that is read."""
    before = f"{prefix.rstrip()} " if prefix.strip() else ""
    return (pair._replace(left=before + pair.left) for pair in found)


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
