"""Every preset as small as it gets: settings with which it is trained in a moment, and is exactly reproducible."""

from __future__ import annotations

from collections.abc import Mapping

from firth.config import core, schema
from firth.presets import PRESETS, preset

STEPS = {
    "train.threads": 1, "train.budget": "9 steps", "train.evaluate_every": 3, "train.checkpoint_every": 3,
    "train.schedule.warmup_steps": 2,
}  # fmt: skip
LARGEST = {"batching.batch_size": 4, "batching.tokens_per_batch": 256}
EPOCHS = {"train.threads": 1, "train.epochs": 2, "train.checkpoint_seconds": 1e-9}  # a checkpoint at every chance
SIZES = [f"{name}:{next(iter(entry.sizes))}" for name, entry in PRESETS.items()]  # the smallest of every preset
TEACHER = "bert:tiny"
TEXT = [" ".join(str(n * m % 97) for m in range(40)) for n in range(60)]  # for those that do not learn from the world


def few(counts: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """A built-in data set with 120 documents, texts, pairs or images to train on, and 20 to test on."""
    return {split: (start, 120 if split == "train" else 20) for split, (start, _) in counts.items()}


def settings_of(name: str) -> dict[str, object]:
    """Settings of a preset."""
    config = preset(name)
    if isinstance(config, schema.Neural):
        return {**STEPS, **{path: most for path, most in LARGEST.items() if core.has(config, path)}}
    exact = {"train.deterministic": True} if core.has(config, "train.deterministic") else {}
    return {**EPOCHS, **exact} if core.has(config, "train.epochs") else {}


def learns_from_text(name: str) -> bool:
    """Whether it is to be given a text; the others have the built-in world."""
    return isinstance(preset(name).data, schema.Text)
