"""Evaluation of a trained rung: held-out scores by unit, learning curve, samples, worst-predicted passages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import isfinite, log
from typing import TYPE_CHECKING

from firth.ladder.passages import worst_passages
from firth.ladder.shared_data import SharedData
from firth.metrics.perplexity import perplexity
from firth.runs.ladder_folder import Point, Result, UnitScores
from firth.runs.run_folder import Run, read_log
from firth.runs.summary import count_parameters
from firth.training.speed import training_speed

if TYPE_CHECKING:
    from firth.pipelines.language_model import LanguageModel

_SAMPLES, _LENGTH, _TEMPERATURE = 2, 60, 0.8


def measure(rung: str, model: LanguageModel, shared: SharedData) -> Result:
    """Evaluate a trained rung on the shared held-out text."""
    lines = list(read_log(model.run.path / "log.jsonl"))
    scores = {}
    for name, heldout in shared.units.items():
        surprisals = model.surprisals(shared.splits[name])
        totals = tuple(round(float(total), 6) for total in heldout.sum_by_unit(surprisals))
        value = perplexity(float(surprisals.sum(dtype="float64")), len(surprisals))
        scores[name] = UnitScores(value, totals, tuple(float(size) for size in heldout.sizes))
    return Result(
        rung=rung,
        preset=model.run.record.preset,
        parameters=model.run.record.data.get("parameters") or count_parameters(model.run.weights),
        seconds=max((line["seconds"] for line in lines), default=0.0),
        tokens=sum(line.get("tokens", 0) for line in lines),
        **scores,
        curve=tuple(_curve(model.run, shared)),
        samples=_samples(model, shared),
        worst=worst_passages(shared.passages, surprisals),  # of the test text, the last split
        tokens_per_second=training_speed(lines),
    )


def _curve(run: Run, shared: SharedData) -> Iterator[Point]:
    """The learning curve: validation losses during training, in bits per byte."""
    lines = list(read_log(run.path / "log.jsonl"))
    units, tokens = shared.units["valid"], len(shared.splits["valid"].ids)
    totals = accumulate(line.get("tokens", 0) for line in lines)
    for line, total in zip(lines, totals, strict=True):
        if line.get("split") == "valid" and isfinite(line.get("loss", float("nan"))):
            bits = (line["loss"] * tokens + units.lost_nats) / log(2) / float(units.sizes.sum())
            yield Point(line["seconds"], total, bits, str(line.get("sample", "")))


def _samples(model: LanguageModel, shared: SharedData) -> tuple[str, ...]:
    seed = shared.settings.seed
    return tuple(model.generate(max_length=_LENGTH, count=_SAMPLES, temperature=_TEMPERATURE, seed=seed))
