"""What makes the commands of the pages small. Nothing else of firth is changed.

- Every size of a preset is its smallest.
- Training takes two steps of small batches, or one epoch.
- The built-in texts and data sets are short.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firth import presets
from firth.config import schema
from firth.datasets import builtin, python_docs, sources
from firth.runs import run_folder
from firth.runs.run_folder import TrainRequest

STEPS, EPOCHS = 2, 1
ROWS, TOKENS = 2, 256  # of a batch
STORIES, TOPICS = 150, 800  # documents of `world` and of `python-docs`
EXAMPLES = 60  # of a split of a built-in data set


def replacements() -> list[tuple[Any, str, Any]]:
    """What is replaced: a module, a name there, what the name stands for instead."""
    texts = python_docs.documents()
    return [
        (presets, "PRESETS", {name: _smallest(preset) for name, preset in presets.PRESETS.items()}),
        (run_folder, "TrainRequest", _request_of_little_training),
        (python_docs, "documents", lambda: texts[:: len(texts) // TOPICS]),
        (sources, "WORLD_DOCUMENTS", STORIES),
        (builtin, "LAYERS", {name: _few(*layer) for name, layer in builtin.LAYERS.items()}),
    ]


def _smallest(preset: presets.Preset) -> presets.Preset:
    """The preset, all of its sizes the smallest."""
    smallest = next(iter(preset.sizes.values()))
    return replace(preset, sizes=dict.fromkeys(preset.sizes, smallest))


def _request_of_little_training(*arguments: Any, **named: Any) -> TrainRequest:
    request = TrainRequest(*arguments, **named)
    return replace(request, config=_less_training(request.config))


def _less_training(config: schema.System) -> schema.System:
    """The configuration with few steps or one epoch; the models that only count have neither."""
    if isinstance(config, schema.Neural):
        train = replace(config.train, budget=f"{STEPS} steps", eval_batches=1, gradient_accumulation=1)
        return replace(config, train=train, batching=_small_batches(config.batching))
    if isinstance(config, (schema.WordEmbeddings, schema.FastTextClassifier, schema.AlignmentModel)):
        return replace(config, train=replace(config.train, epochs=EPOCHS))
    assert isinstance(config, (schema.NgramModel, schema.LinearClassifier, schema.LinearTagger))
    return config


def _small_batches(batching: schema.Batching) -> schema.Batching:
    largest = {"batch_size": ROWS, "tokens_per_batch": TOKENS}
    return replace(batching, **{name: most for name, most in largest.items() if getattr(batching, name, 0) > most})


def _few(task: str, splits: dict[str, tuple[int, int]]) -> tuple[str, dict[str, tuple[int, int]]]:
    return task, {name: (start, min(count, EXAMPLES)) for name, (start, count) in splits.items()}
