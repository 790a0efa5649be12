"""Settings of the ladder of a labelled task: one set of examples, metric, seed and budget for all rungs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Literal

from firth.config import schema
from firth.config.core import bounded, override
from firth.config.short_names import SHORT_NAMES, ShortName
from firth.errors import FirthError, unknown
from firth.ladder.labelled_tasks import TASKS, LadderTask, Scoring, TaskRung
from firth.ladder.settings import SECTIONS, require_whole_budget
from firth.presets import PRESETS

_DATA = tuple(each.name for each in fields(schema.LabelledExamples))


@dataclass(frozen=True)
class TaskSettings:
    """The settings of the ladder of one labelled task."""

    task: str
    data: schema.LabelledExamples = field(default_factory=lambda: schema.LabelledExamples(text=("world",)))
    metric: str = ""  # empty: the task's usual one
    rungs: tuple[str, ...] = ()  # empty: all
    init_from: str = ""  # a pre-trained run, the last rung
    budget: str = "2m"  # time for all rungs together, or steps or epochs of each network
    precision: Literal["float32", "bf16"] = "float32"
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores
    seed: int = bounded(1, least=0, most=2**63 - 1)

    @property
    def definition(self) -> LadderTask:
        """The task."""
        return TASKS[self.task]

    @property
    def scoring(self) -> Scoring:
        """The metric and how it is counted."""
        return self.definition.scorings[self.metric]

    @property
    def examples(self) -> schema.LabelledExamples:
        """The task's data with the user's settings."""
        return with_data(self.definition.data, self)


def with_data(data: schema.LabelledExamples, settings: TaskSettings) -> schema.LabelledExamples:
    """A data configuration with the ladder's examples and task; the rest stays."""
    values = {name: getattr(settings.data, name) for name in _DATA}
    if "tasks" in {each.name for each in fields(data)}:
        values["tasks"] = settings.definition.data.tasks
    return replace(data, **values)


SHORT = {
    **{name: SHORT_NAMES[name].names[0] for name in ("text", "valid", "test", "encoding")},
    "columns": "data.columns",
    "metric": "metric",
    "init-from": "init_from",
    **{name: name for name in ("rungs", "budget", "precision", "threads", "seed")},
}


def parse_task_settings(arguments: Mapping[str, str]) -> TaskSettings:
    """Parse and validate settings given as text by short name, that of the task among them."""
    task = arguments["task"]
    _require_task(task)
    given = {name: value for name, value in arguments.items() if name != "task"}
    for name in given:
        if name not in SHORT:
            raise unknown("argument of a ladder of labelled examples", name, [*SHORT, "out", "progress"])
    settings = override(TaskSettings(task), [f"{SHORT[name]}={value}" for name, value in given.items()])
    if settings.init_from:
        settings = replace(settings, init_from=str(Path(settings.init_from).absolute()))
    require_whole_budget(settings.budget)
    return complete(settings)


def complete(settings: TaskSettings) -> TaskSettings:
    """The settings with the usual metric and rungs where none are named; unknown ones are refused."""
    _require_task(settings.task)
    task = settings.definition
    metric = settings.metric or next(iter(task.scorings))
    if metric not in task.scorings:
        raise unknown(f"metric of {settings.task}", metric, task.scorings, where="--metric")
    names = settings.rungs or tuple(available_rungs(task, settings.init_from))
    _validate_rungs(names, task, settings)
    order = list(task.rungs)
    names = tuple(sorted(names, key=lambda name: order.index(name.partition(":")[0])))
    return replace(settings, metric=metric, rungs=names)


def _require_task(task: str) -> None:
    if task not in TASKS:
        raise FirthError(f"no ladder for the task {task!r}", where="--task", do=f"name one of {', '.join(TASKS)}")


def available_rungs(task: LadderTask, init_from: str) -> dict[str, TaskRung]:
    """The rungs whose preset is there; those that start from a pre-trained run only with one."""
    return {
        name: rung
        for name, rung in task.rungs.items()
        if rung.preset in PRESETS and (bool(init_from) or not rung.tuned)
    }


def _validate_rungs(names: Sequence[str], task: LadderTask, settings: TaskSettings) -> None:
    """Raise an error for unknown or repeated rungs, and for sizes that a preset does not have."""
    known = available_rungs(task, settings.init_from)
    for name in names:
        base, colon, size = name.partition(":")
        if base not in known:
            is_tuned = base in task.rungs and task.rungs[base].tuned
            if is_tuned:
                do = "name one with --init-from RUN"
                raise FirthError(f"the rung {base} needs a pre-trained run", where="--rungs", do=do)
            raise unknown(f"rung of {settings.task}", base, known, where="--rungs")
        sizes = PRESETS[known[base].preset].sizes
        if colon and (size not in sizes or not known[base].cost):
            raise unknown(f"size of {base}", size, sizes if known[base].cost else [], where="--rungs")
        if names.count(name) > 1:
            raise FirthError(f"rung {name!r} is named twice", where="--rungs", do="name it once")


# Flags and arguments: those of the language models' ladder, and these.
TASK_FLAGS = {
    "task": ShortName("A labelled task instead of language models: " + ", ".join(TASKS) + ".", ("task",), "TASK"),
    "metric": ShortName("What a task's rungs are compared by.", ("metric",), "NAME"),
    "columns": ShortName("Columns of labelled examples that have other names: text=body,label=class.",
                         ("data.columns",)),
    "init-from": ShortName("A pre-trained run, fine-tuned as the last rung.", ("init_from",), "RUN"),
}  # fmt: skip
ALL_SECTIONS = {**SECTIONS, "Ladder of a task": TASK_FLAGS}
