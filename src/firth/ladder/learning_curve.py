"""Learning curves: train on growing fractions of the examples, score each on the same test split, and say what more
labels would bring."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from firth import api
from firth.arguments import as_path
from firth.config import to_json
from firth.config.train_arguments import TrainArguments
from firth.datasets.labelled_dataset import Split
from firth.display import Table
from firth.errors import FirthError
from firth.ladder.curve_scoring import find_scoring
from firth.metrics.bootstrap import bootstrap_systems, confidence_interval
from firth.metrics.ladder_metric import METRICS, LadderMetric
from firth.metrics.power_law import PowerLaw, fit_power_law
from firth.report.learning_curve_page import learning_curve_page
from firth.runs.curve_folder import CurveFolder, CurvePoint, CurveRun, LearningCurve
from firth.runs.progress import Progress, Style, progress
from firth.runs.run_folder import Run, free_folder
from firth.runs.training_log import read_log
from firth.types import generator

FRACTIONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
SEEDS = 3  # subsets of the smallest fractions; half of the examples have two, all of them one
MORE = (2, 4)  # times the examples there are
MIN_EXAMPLES = 8  # of the smallest fraction
_RESAMPLES = 300


# --- training -------------------------------------------------------------------------------------------------------


def learning_curve(
    preset: str | Path,
    *,
    text: str | Path | Iterable[Any] | None = None,
    out: Path | str | None = None,
    settings: Mapping[str, object] | None = None,
    progress: Style | Progress = "quiet",
    fractions: Sequence[float] = FRACTIONS,
    seeds: int = SEEDS,
    **short: Unpack[TrainArguments],
) -> LearningCurve:
    """Train a preset on nested fractions of its training examples, several subsets of the small ones, score each on the
    same test split, and fit a power law of the error. Arguments as those of `firth.train`; a curve that was begun in
    `out` is continued."""
    named = api.resolve_arguments(preset, text, settings, short)
    return train_curve(named, out, progress, fractions, seeds)


def train_curve(
    named: api.NamedConfig,
    out: Path | str | None = None,
    style: Style | Progress = "quiet",
    fractions: Sequence[float] = FRACTIONS,
    seeds: int = SEEDS,
) -> LearningCurve:
    """The learning curve of a resolved configuration."""
    scoring, shown = find_scoring(named.config), progress(style)
    if not all(0 < fraction <= 1 for fraction in fractions) or len({*fractions}) < 2:
        what = "at least two fractions between 0 and 1 are needed"
        raise FirthError(what, where="fractions", do="such as 0.25,0.5,1")
    path = curve_folder(named, out)
    folder = CurveFolder(path)
    folder.begin({"config": json.loads(to_json(named.config)), "fractions": sorted(fractions), "seeds": seeds})
    shown.say(f"reading {', '.join(named.config.data.text)}")
    splits = scoring.read(named.config)
    _check(splits, min(fractions), named)
    runs = []
    for fraction in sorted({*fractions}):
        for subset in range(subsets(fraction, seeds)):
            done = folder.read(_name(fraction, subset))
            if done is None:
                shown.say(f"training on {_share(fraction)} of the examples (subset {subset + 1})")
                done = _train(named, folder, splits, (fraction, subset), shown)
                folder.save(_name(fraction, subset), done)
            runs.append(done)
            metric = METRICS[done.metric]
            shown.say(f"{done.examples:,} examples: {metric.name} {metric.format(metric.value(np.array(done.counts)))}")
    curve = summarise(path, named, runs, scoring.item)
    folder.write_report(learning_curve_page(curve))
    return curve


def curve_folder(named: api.NamedConfig, out: Path | str | None = None) -> Path:
    """The folder of a curve: the one given, or the next free one below runs/."""
    if out not in (None, ""):
        return as_path(out, "out")
    return free_folder(Path("runs"), f"{named.name.replace(':', '-')}-learning-curve")


def subsets(fraction: float, seeds: int) -> int:
    """How many subsets of this fraction are trained on: one of all examples, two of half, `seeds` of less."""
    return 1 if fraction == 1 else min(seeds, 2 if fraction >= 0.5 else seeds)


def _check(splits: Mapping[str, Split], least: float, named: api.NamedConfig) -> None:
    """There is a test split, and the smallest fraction has enough examples."""
    where = ", ".join(named.config.data.text)
    if "test" not in splits:
        raise FirthError("no test examples", where=where, do="give some with --test, or set data.test_fraction=0.1")
    count = len(splits["train"].examples)
    if round(least * count) < MIN_EXAMPLES:
        what = f"{count} training examples, of which the smallest fraction has {round(least * count)}"
        raise FirthError(what, where=where, do=f"give at least {round(MIN_EXAMPLES / least)}")


def _train(
    named: api.NamedConfig, folder: CurveFolder, splits: Mapping[str, Split], part: tuple[float, int], shown: Progress
) -> CurveRun:
    """Train on a fraction (or go on), and score the test split."""
    fraction, subset = part
    data = replace(named.config.data, train_fraction=fraction, train_subset=subset)
    own = replace(named, config=replace(named.config, data=data))
    run = Run(folder.run_folder(_name(fraction, subset)))
    model = api.resume(run.path, progress=shown) if run.exists else api.train_config(own, run.path, shown)
    scoring = find_scoring(named.config)
    counts = scoring.count(model, splits["test"])
    examples = round(fraction * len(splits["train"].examples))
    seconds = max((line["seconds"] for line in read_log(run.path / "log.jsonl")), default=0.0)
    rows = tuple(tuple(map(float, row)) for row in counts)
    return CurveRun(fraction, subset, examples, seconds, scoring.metric(model).name, rows)


def _name(fraction: float, subset: int) -> str:
    return f"{fraction:.4f}-{subset}"


def _share(fraction: float) -> str:
    parts = round(1 / fraction)
    return "all" if fraction == 1 else f"1/{parts}" if abs(parts * fraction - 1) < 1e-9 else f"{fraction:.1%}"


# --- the curve ------------------------------------------------------------------------------------------------------


def summarise(path: Path, named: api.NamedConfig, runs: Sequence[CurveRun], item: str, seed: int = 0) -> LearningCurve:
    """The points of the runs with their intervals, the power law, and what it says of more examples."""
    metric = METRICS[runs[0].metric]
    groups = [[run for run in runs if run.fraction == fraction] for fraction in sorted({run.fraction for run in runs})]
    counts = [[np.array(run.counts) for run in group] for group in groups]
    examples = np.array([np.mean([run.examples for run in group]) for group in groups])
    scores = np.array([np.mean([metric.value(each) for each in own]) for own in counts])
    samples = _resampled(metric, counts, seed)
    fitting = Fit(examples, samples, scores)
    more = [round(examples[-1] * factor) for factor in MORE]
    points = [
        CurvePoint(round(n), len(group), float(score), *_interval(column), 1 - float(fitting.law(n)),
                   sum(run.seconds for run in group))
        for n, group, score, column in zip(examples, groups, scores, samples.T, strict=True)
    ]  # fmt: skip
    for n in more:
        score, gains = 1 - float(fitting.law(n)), fitting.errors(examples[-1]) - fitting.errors(n)
        gain = float(fitting.law(examples[-1]) - fitting.law(n)), *_interval(gains)
        points.append(CurvePoint(n, 0, score, *_interval(1 - fitting.errors(n)), score, 0.0, *gain))
    return LearningCurve(path, named.name, metric, item, len(counts[0][0]), Table(points), fitting.law)


class Fit:
    """The power law of the mean errors, and those of bootstrap samples of them."""

    def __init__(self, examples: np.ndarray, samples: np.ndarray, scores: np.ndarray) -> None:
        self.examples, self.samples = examples, samples
        # a score that every sample repeats is not certain: no point has more than 100 times another's weight
        variance = samples.var(0)
        self.weights = 1 / np.maximum(variance, max(variance.max() / 100, 1e-8))
        self.law = fit_power_law(examples, 1 - scores, self.weights)

    @cached_property
    def laws(self) -> list[PowerLaw]:
        """The power law of each sample."""
        return [fit_power_law(self.examples, 1 - sample, self.weights) for sample in self.samples]

    def errors(self, examples: float) -> np.ndarray:
        """The error with so many examples, by the law of each sample."""
        return np.array([float(law(examples)) for law in self.laws])


def _resampled(metric: LadderMetric, counts: Sequence[Sequence[np.ndarray]], seed: int) -> np.ndarray:
    """The mean scores of each size (resamples, sizes): the same test items are drawn for all, and of each size as many
    of its runs as there are."""
    flat = [metric.statistics(each) for own in counts for each in own]
    scores, random = bootstrap_systems(flat, seed, _RESAMPLES), generator(seed, "learning curve")
    columns, first = [], 0
    for own in counts:
        part = scores[:, first : first + len(own)]
        drawn = random.integers(len(own), size=part.shape)
        columns.append(np.take_along_axis(part, drawn, 1).mean(1))
        first += len(own)
    return np.stack(columns, 1)


def _interval(values: np.ndarray) -> tuple[float, float]:
    low, high = confidence_interval(values)
    return low, high
