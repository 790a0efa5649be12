"""The ladder of a labelled task: train every rung on the same examples, evaluate them, and recommend one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from firth import api
from firth.config import from_dict, to_dict
from firth.datasets.labelled_dataset import Split
from firth.errors import FirthError
from firth.ladder import task_advice
from firth.ladder.ladder_clock import LadderClock
from firth.ladder.ladder_progress import LadderProgress
from firth.ladder.rung_comparison import find_best, intervals, p_value
from firth.ladder.task_configs import choose_config, find_rung, rung_budget, total_cost, train_command
from firth.ladder.task_settings import TaskSettings, complete
from firth.metrics.ladder_metric import LadderMetric
from firth.report.task_ladder_page import task_ladder_page
from firth.runs.ladder_folder import LadderFolder
from firth.runs.progress import parse_budget
from firth.runs.run_folder import Run, read_log
from firth.runs.summary import count_parameters
from firth.runs.task_ladder import Counts, TaskLadder, TaskResult, TaskRow, read_result

HELD_OUT = ("valid", "test")
_MAX_OVERLAP = 0.01
_FEW = 100  # items: with fewer hardly any difference is significant
_Splits = Mapping[str, Split]


def load_settings(values: Any) -> TaskSettings:
    """The settings of a stored ladder."""
    return complete(from_dict(TaskSettings, values))


def train_task_rungs(settings: TaskSettings, folder: LadderFolder, progress: LadderProgress) -> TaskLadder:
    """Train and evaluate the unfinished rungs, then write the table, the recommendation and the report."""
    clock = LadderClock(parse_budget(settings.budget), total_cost(settings))
    progress.stage("reading the examples")
    splits = _read(settings, progress)
    progress.say(f"reading {', '.join(settings.data.text)}")
    if not folder.exists:  # the first file of the folder, written once the examples are readable
        folder.write({"settings": to_dict(settings)})
    _require_same_examples(folder, settings, splits)
    results: list[TaskResult] = []
    progress.begin(settings.rungs, parse_budget(settings.budget))
    items, metric = {name: len(splits[name].examples) for name in HELD_OUT}, settings.scoring.metric
    for name in settings.rungs:
        done, cost = read_result(folder, name, metric.name, items), find_rung(settings, name).cost
        if done is None:
            done = _train_rung(name, folder, settings, splits, clock, progress)
        else:
            clock.skip(done.seconds, cost)
        progress.finish_rung(done, metric.name)
        results.append(done)
    progress.stage("comparing the rungs and writing the report")
    return _finish(folder, settings, splits, results)


def _read(settings: TaskSettings, progress: LadderProgress) -> _Splits:
    splits = settings.definition.read(settings.examples, settings.seed, progress.say)
    for name in HELD_OUT:
        if name not in splits:
            raise FirthError(f"no {name} examples", do=f"give --{name}: a ladder needs three splits")
    return splits


def _train_rung(
    name: str,
    folder: LadderFolder,
    settings: TaskSettings,
    splits: _Splits,
    clock: LadderClock,
    progress: LadderProgress,
) -> TaskResult:
    """Train (or resume) one rung and save its result."""
    rung, began = find_rung(settings, name), clock.spent()
    budget = rung_budget(settings, rung, clock)
    choice = choose_config(name, settings, budget)
    run = Run(folder.run_folder(name))
    progress.begin_rung(name, f"{choice.name}, {budget}" if budget else "")
    if run.exists:  # with the run's own settings, so that the ladder's folder may be moved
        model = api.resume(run.path, progress=progress)
    else:
        model = api.train_config(choice, run.path, progress)
    progress.stage("scoring the held-out examples")
    result = measure(name, model, settings, splits)
    folder.save_result(result)
    if rung.cost:
        clock.finish(began, rung.cost)
    return result


def measure(name: str, model: Any, settings: TaskSettings, splits: _Splits) -> TaskResult:
    """Evaluate a trained rung on the shared held-out examples."""
    task, scoring, labels = settings.definition, settings.scoring, _known_labels(settings, splits)
    lines, counts, seconds = list(read_log(model.run.path / "log.jsonl")), dict[str, Counts](), 0.0
    for split in HELD_OUT:
        began = perf_counter()
        predicted = task.predict(model, splits[split])
        seconds = perf_counter() - began  # of the last split: the first has warmed up
        counts[split] = _as_tuples(scoring.count(task.gold(splits[split]), predicted, labels))
    return TaskResult(
        rung=name,
        preset=model.run.record.preset,
        parameters=model.run.record.data.get("parameters") or count_parameters(model.run.weights),
        seconds=max((line["seconds"] for line in lines), default=0.0),
        milliseconds=1000 * seconds / len(splits["test"].examples),
        metric=scoring.metric.name,
        **counts,
        budgeted=bool(find_rung(settings, name).cost),
    )


def _known_labels(settings: TaskSettings, splits: _Splits) -> list[str]:
    """All labels of the gold data: of training, which can be predicted, and of the held-out items."""
    outputs = (output for split in splits.values() for output in settings.definition.gold(split))
    return sorted({label for output in outputs for label in output})


def _as_tuples(counts: np.ndarray) -> Counts:
    return tuple(tuple(map(float, row)) for row in counts)


# --- table, recommendation, report ----------------------------------------------------------------------------------


def build_task_table(metric: LadderMetric, results: Sequence[TaskResult], seed: int) -> tuple[TaskRow, ...]:
    """Build a row per rung, the simplest first."""
    test, valid = ([np.array(getattr(result, split)) for result in results] for split in ("test", "valid"))
    scores, behind = intervals(metric, test, seed)
    valid_scores, valid_behind = intervals(metric, valid, seed)
    p_best, valid_p_best = _against_best(metric, test, seed), _against_best(metric, valid, seed)
    p_below = [None, *(p_value(metric, below, own, seed) for below, own in pairwise(test))]
    return tuple(
        TaskRow(
            rung=result.rung,
            preset=result.preset,
            parameters=result.parameters,
            seconds=result.seconds,
            milliseconds=result.milliseconds,
            score=scores[n],
            valid=valid_scores[n],
            behind=behind[n],
            valid_behind=valid_behind[n],
            p_below=p_below[n],
            p_best=p_best[n],
            valid_p_best=valid_p_best[n],
        )
        for n, result in enumerate(results)
    )


def _against_best(metric: LadderMetric, counts: Sequence[np.ndarray], seed: int) -> list[float | None]:
    best = find_best(metric, [metric.value(each) for each in counts])
    return [None if n == best else p_value(metric, counts[best], each, seed) for n, each in enumerate(counts)]


def _finish(folder: LadderFolder, settings: TaskSettings, splits: _Splits, results: list[TaskResult]) -> TaskLadder:
    """Build the table and the recommendation, and write ladder.json and the report."""
    metric = settings.scoring.metric
    rows = build_task_table(metric, results, settings.seed)
    ladder = TaskLadder(
        path=folder.path,
        about=_describe(settings, splits),
        metric=metric.name,
        rows=rows,
        advice=task_advice.advise(rows, settings, lambda rung: train_command(rung, settings)),
        notes=tuple(_notes(settings, splits)),
        results=tuple(results),
    )
    values = {key: value for key, value in ladder.to_dict().items() if key not in ("path", "report")}
    folder.write({**_identity(settings, splits), **values})
    folder.write_report(task_ladder_page(ladder))
    return ladder


def _describe(settings: TaskSettings, splits: _Splits) -> dict[str, Any]:
    def size(name: str) -> dict[str, int]:
        return {f"{settings.definition.item}s": len(splits[name].examples)}

    return {
        "task": settings.task,
        "text": list(settings.data.text),
        "training": size("train"),
        "validation": size("valid"),
        "test": size("test"),
        "budget": parse_budget(settings.budget).to_dict(),
        "seed": settings.seed,
    }


def _notes(settings: TaskSettings, splits: _Splits) -> Iterable[str]:
    for name, label in zip(HELD_OUT, ("validation", "test"), strict=True):
        split, item = splits[name], f"{settings.definition.item}s"
        if split.overlap and split.overlap.fraction > _MAX_OVERLAP:
            yield (
                f"{split.overlap.overlapping:,} of {split.overlap.texts:,} {label} {item} are also among the training "
                f"{item}: these scores are too good for new ones."
            )
        if len(split.examples) < _FEW:
            yield f"There are only {len(split.examples)} {label} {item}: large differences may be chance."


# --- folder ---------------------------------------------------------------------------------------------------------


def _identity(settings: TaskSettings, splits: _Splits) -> dict[str, Any]:
    """What identifies a ladder: settings and splits."""
    return {"settings": to_dict(settings), "splits": {name: split.key for name, split in splits.items()}}


def _require_same_examples(folder: LadderFolder, settings: TaskSettings, splits: _Splits) -> None:
    """Raise an error if the examples differ from those of the first rungs."""
    before, now = folder.read(), _identity(settings, splits)
    if before.get("splits", now["splits"]) != now["splits"]:
        do = "restore them, or choose another --out"
        raise FirthError("the examples have changed since this ladder began", where=folder.path, do=do)
    folder.write({**before, **now})
