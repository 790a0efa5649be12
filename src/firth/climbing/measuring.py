"""What a trained rung reached: on held-out text by unit, on the way, and in samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import isfinite, log
from typing import TYPE_CHECKING

from firth.climbing.ground import Ground
from firth.climbing.passages import worst
from firth.metrics.language import perplexity
from firth.runs.folder import Run
from firth.runs.ladder import Point, Result, Units
from firth.runs.log import read
from firth.runs.summary import parameters

if TYPE_CHECKING:
    from firth.families.language import LanguageModel

_SAMPLES, _LENGTH, _TEMPERATURE = 2, 60, 0.8


def measure(rung: str, model: LanguageModel, ground: Ground) -> Result:
    """Score a trained model on the common ground."""
    lines = list(read(model.run.path / "log.jsonl"))
    units = {}
    for name, held in ground.held.items():
        nats = model.surprises(ground.splits[name])
        totals = tuple(round(float(total), 6) for total in held.totals(nats))
        found = perplexity(float(nats.sum(dtype="float64")), len(nats))
        units[name] = Units(found, totals, tuple(float(size) for size in held.sizes))
    return Result(
        rung=rung,
        preset=model.run.record.preset,
        parameters=model.run.record.data.get("parameters") or parameters(model.run.weights),
        seconds=max((line["seconds"] for line in lines), default=0.0),
        tokens=sum(line.get("tokens", 0) for line in lines),
        **units,
        curve=tuple(_curve(model.run, ground)),
        samples=_samples(model, ground),
        worst=worst(ground.passages, nats),  # the test text comes last
    )


def _curve(run: Run, ground: Ground) -> Iterator[Point]:
    """The losses that training looked at, in bits per byte (or token)."""
    lines = list(read(run.path / "log.jsonl"))
    held, tokens = ground.held["valid"], len(ground.splits["valid"].ids)
    seen = accumulate(line.get("tokens", 0) for line in lines)
    for line, so_far in zip(lines, seen, strict=True):
        if line.get("split") == "valid" and isfinite(line.get("loss", float("nan"))):
            bits = (line["loss"] * tokens + held.extra) / log(2) / float(held.sizes.sum())
            yield Point(line["seconds"], so_far, bits, str(line.get("sample", "")))


def _samples(model: LanguageModel, ground: Ground) -> tuple[str, ...]:
    seed = ground.settings.seed
    return tuple(model.generate(length=_LENGTH, count=_SAMPLES, temperature=_TEMPERATURE, seed=seed))
