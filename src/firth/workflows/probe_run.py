"""Probe the layers of a trained network on tagged sentences: parts of speech, entities, any layer of tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from firth import api
from firth.config.core import bounded
from firth.config.schema import Neural, TaggedWords
from firth.datasets import tagged_sentences
from firth.datasets.example_reader import WORLD
from firth.datasets.examples import TaggedSentence
from firth.datasets.table_columns import silent
from firth.errors import FirthError, unknown
from firth.inspect.layer_states import POOLINGS, layer_states
from firth.inspect.linear_probe import ProbeTraining
from firth.inspect.probing import Probing, Sentences, probe_layers
from firth.runs.run_folder import Run
from firth.types import generator

# A task's name -> the task of tagged words; any other name is that of a layer of tags (upos, feats, entity, …).
TASKS = {"pos": "tagging", "tagging": "tagging", "ner": "ner", "chunking": "chunking"}


@dataclass(frozen=True)
class ProbeConfig:
    """What is probed, and how."""

    task: str = "pos"
    text: tuple[str, ...] = (WORLD,)  # training sentences
    test: tuple[str, ...] = ()  # without any, the test split of a set, or a tenth of the sentences
    columns: tuple[str, ...] = ()  # numbers of a file's columns: word=1,pos=2
    pooling: str = "mean"  # a word's state, from those of its subwords
    max_words: int = bounded(10_000, least=100)  # of training, and as many of the test
    l2: float = bounded(1.0, above=0.0)  # penalty of the probes' weights
    seed: int = bounded(0, least=0)


def probe(
    run: Any,
    task: str = "pos",
    *,
    text: str | Path | Sequence[str] = WORLD,
    test: str | Path | Sequence[str] = (),
    say: Callable[[str], None] = silent,
    **settings: Any,
) -> Probing:
    """What a linear probe reads from each layer of a network (a run folder or a model), on tagged sentences.

    `task` is `pos`, `ner`, `chunking`, or the name of a layer of tags. Settings: those of `ProbeConfig`."""
    config = ProbeConfig(task=task, text=_names(text), test=_names(test), **settings)
    return probe_run(run, config, say)


def probe_run(run: Any, config: ProbeConfig, say: Callable[[str], None] = silent) -> Probing:
    """Probe a network as configured."""
    if config.pooling not in POOLINGS:
        raise unknown("pooling", config.pooling, POOLINGS)
    model = api.load(api.run_path(run)) if not hasattr(run, "run") else run
    if not isinstance(model.run.record.config, Neural):
        what = "this model has no layers"
        raise FirthError(what, where=model.run.path, do="probe a neural network")
    say(f"reading {', '.join(config.text)}")
    layer, train, test = _read(config)
    about = {
        "run": str(model.run.path), "preset": model.run.record.preset, "task": layer, "text": list(config.text),
        "pooling": config.pooling, "l2": config.l2, "seed": config.seed,
    }  # fmt: skip
    states = partial(_states, model.system, model.run, pooling=config.pooling)
    return probe_layers(states, train, test, about, ProbeTraining(l2=config.l2), config.seed, say)


def _states(system: Any, run: Run, sentences: Sequence[Sequence[str]], *, pooling: str) -> list[np.ndarray]:
    return layer_states(system, run.record.config, run.tokenizers(), sentences, pooling)


def _read(config: ProbeConfig) -> tuple[str, Sentences, Sentences]:
    """The layer of tags, and sentences to train and to test on."""
    data = TaggedWords(text=config.text, test=config.test, columns=config.columns, valid_fraction=0.0)
    if config.task in TASKS:
        data = replace(data, tasks=(TASKS[config.task],))
    else:
        data = replace(data, layers=(config.task,))
    read = tagged_sentences.read(data, config.seed or 1)
    if "test" not in read.splits:
        raise FirthError("no test sentences", where=", ".join(config.text), do="give some with --test")
    random = generator(config.seed, "probe")
    parts = []
    for name in ("train", "test"):
        examples = read.splits[name].examples
        order = random.permutation(len(examples)).tolist()
        parts.append(_most((examples[n] for n in order), config.max_words))
    return read.layers[0], *parts


def _most(examples: Iterable[TaggedSentence], words: int) -> Sentences:
    """The first sentences that have together at most so many words, one at least."""
    sentences = [(example.words, example.tags[0]) for example in examples]
    sizes = accumulate(len(own) for own, _ in sentences)
    return sentences[: max(1, sum(size <= words for size in sizes))]


def _names(text: str | Path | Sequence[str]) -> tuple[str, ...]:
    if isinstance(text, (str, Path)):
        return tuple(part for part in str(text).split(",") if part)
    return tuple(map(str, text))
