"""Data for sequence-to-sequence models: parallel files, or task examples as source and target texts (text-to-text),
each task with a prefix of its own (T5; Raffel et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from firth.config import schema
from firth.datasets import labelled_dataset, numbered_lines
from firth.datasets.readers.parallel import Parallel
from firth.datasets.records import Pair, Question
from firth.datasets.table_columns import silent
from firth.datasets.tasks import UNANSWERABLE
from firth.errors import FirthError

ANSWER = "answer"  # a field of a pair: an answer that is right


def read_pairs(
    config: schema.TextToText, seed: int, say: Callable[[str], None] = silent
) -> dict[str, labelled_dataset.Split]:
    """The splits of all tasks together. A pair with an empty side is refused or dropped, as configured."""
    if not (config.source or config.target):
        return _read_tasks(config, seed, say)
    flags = {
        "--text": config.text not in ((), (labelled_dataset.WORLD,)),
        "--valid": config.valid,
        "--test": config.test,
    }
    if conflicting := [flag for flag, value in {**flags, "data.prefixes": config.prefixes}.items() if value]:
        do = "leave one of them out; held-out files are --valid-source, --valid-target and so on"
        raise FirthError(f"both --source and {conflicting[0]} name the texts", where="data", do=do)
    splits = {
        name: list(read_parallel(*config.files(name), name, config.empty_pairs)) for name in labelled_dataset.SPLITS
    }
    divided = labelled_dataset.split_examples(splits, config, seed, ", ".join((*config.source, *config.target)))
    return labelled_dataset.audited(divided, say)


def read_parallel(source: tuple[str, ...], target: tuple[str, ...], name: str, empty: str) -> Iterator[Pair]:
    """Parallel files: line n of each source file with line n of its target file."""
    if len(source) != len(target):
        what = f"{name}: {len(source)} source files and {len(target)} target files"
        raise FirthError(what, where="data", do="give as many of one as of the other: --source a.en --target a.de")
    for paths in zip(source, target, strict=True):
        yield from _without_empty(Parallel().read(paths), " and ".join(paths), empty)


def _without_empty(pairs: Iterable[Pair], where: str, empty: str) -> Iterator[Pair]:
    """The pairs with two texts; one with an empty side is refused or dropped."""
    for pair in pairs:
        if pair.left.strip() and pair.right.strip():
            yield pair
        elif empty == "refuse":
            do = "take the line out of both, or set data.empty_pairs=drop"
            raise FirthError("an empty text in a pair", where=numbered_lines.at(where, pair.line), do=do)


def _read_tasks(config: schema.TextToText, seed: int, say: Callable[[str], None]) -> dict[str, labelled_dataset.Split]:
    tasks = [labelled_dataset.read(each, seed, say) for each in _tasks(config)]
    prefixes = config.prefixes or ("",) * len(tasks)
    names = [name for name in labelled_dataset.SPLITS if any(name in task for task in tasks)]
    splits = {
        name: labelled_dataset.make_split(
            name,
            chain.from_iterable(
                add_prefix(_without_empty(_pairs(task[name], config), text, config.empty_pairs), prefix)
                for task, prefix, text in zip(tasks, prefixes, config.text, strict=True)
                if name in task
            ),
        )
        for name in names
    }
    return labelled_dataset.audited(splits)


def _pairs(split: labelled_dataset.Split, config: schema.TextToText) -> Iterator[Pair]:
    return to_source_target(split.examples, config.context == "with")


def to_source_target(examples: Iterable[labelled_dataset.Example], with_context: bool = True) -> Iterator[Pair]:
    """Task examples as source and target texts: a text and its label, two texts and their label or score, a question
    and its first answer, or a pair."""
    for example in examples:
        if isinstance(example, Question):
            yield _question_and_answer(example, with_context)
            continue
        labels = labelled_dataset.labels_of(example)
        if isinstance(example, Pair) and not labels and example.score is None:
            yield Pair(example.left, example.right, line=example.line)
            continue
        target = ", ".join(labels) or f"{example.score:g}"
        source = example.text if not isinstance(example, Pair) else f"first: {example.left} second: {example.right}"
        yield Pair(source, target, line=example.line)


def _question_and_answer(question: Question, with_context: bool) -> Pair:
    """A question as T5 reads it (Raffel et al. 2020), with all of its answers to be scored by."""
    context = f" context: {question.context}" if with_context and question.context else ""
    answers = tuple((ANSWER, answer.text) for answer in question.answers) or ((ANSWER, ""),)
    return Pair(
        f"question: {question.text}{context}", answers[0][1] or UNANSWERABLE, line=question.line, fields=answers
    )


def answers_of(pair: Pair) -> list[str]:
    """The right answers of a question; none of one that has no answer."""
    return [text for name, text in pair.fields if name == ANSWER and text]


def is_question(pair: Pair) -> bool:
    """Whether the target of a pair is the answer to a question."""
    return any(name == ANSWER for name, _ in pair.fields)


def add_prefix(pairs: Iterable[Pair], prefix: str) -> Iterator[Pair]:
    """The pairs with the task's prefix before each source text."""
    before = f"{prefix.rstrip()} " if prefix.strip() else ""
    return (pair._replace(left=before + pair.left) for pair in pairs)


def _tasks(config: schema.TextToText) -> list[schema.TextToText]:
    """A configuration for each named text, with its own held-out files."""
    if config.prefixes and len(config.prefixes) != len(config.text):
        what = f"{len(config.prefixes)} prefixes for {len(config.text)} texts"
        raise FirthError(what, where="data.prefixes", do="give one for each, in the order of --text")
    for name in ("valid", "test"):
        if len(getattr(config, name)) not in (0, len(config.text)):
            what = f"{len(getattr(config, name))} files for {len(config.text)} texts"
            raise FirthError(what, where=f"data.{name}", do="give one for each, in the order of --text")
    held_out = [config.valid or ((),) * len(config.text), config.test or ((),) * len(config.text)]
    return [
        replace(config, text=(text,), valid=(valid,) if valid else (), test=(test,) if test else ())
        for text, valid, test in zip(config.text, *held_out, strict=True)
    ]
