"""The configuration of each rung of a labelled task: its preset with the ladder's examples and part of the budget."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from firth import api
from firth.config import core
from firth.ladder.labelled_tasks import TaskRung
from firth.ladder.ladder_clock import LadderClock
from firth.ladder.task_settings import SHORT, TaskSettings, with_data
from firth.presets import PRESETS
from firth.runs.progress import parse_budget

_MIN_SECONDS = 120.0  # of training, from which a network has its second size


def find_rung(settings: TaskSettings, name: str) -> TaskRung:
    """The rung of a name with or without a size."""
    return settings.definition.rungs[name.partition(":")[0]]


def total_cost(settings: TaskSettings) -> float:
    """The cost of all rungs that share the budget."""
    return sum(find_rung(settings, name).cost for name in settings.rungs)


def rung_budget(settings: TaskSettings, rung: TaskRung, clock: LadderClock) -> str:
    """The budget of a rung: its share of the time by its cost, or the steps or epochs of each; empty: it has none."""
    if not rung.cost:
        return ""
    is_time = parse_budget(settings.budget).unit == "seconds"
    return f"{clock.share(rung.cost)}s" if is_time else settings.budget


def choose_config(name: str, settings: TaskSettings, budget: str) -> api.NamedConfig:
    """The preset of a rung with the ladder's examples, seed and budget."""
    rung = find_rung(settings, name)
    overrides = list(rung.settings)
    overrides += [f"train.budget={budget}", f"train.precision={settings.precision}"] if budget else []
    short = {"init-from": settings.init_from} if rung.tuned else {}
    preset = _preset(name, rung, budget)
    choice = api.resolve_config(preset, overrides, short)
    known = {"seed": settings.seed, "train.threads": settings.threads}
    kept = [f"{path}={value}" for path, value in known.items() if core.has(choice.config, path)]
    config = core.override(choice.config, kept)
    return replace(choice, config=replace(config, data=with_data(config.data, settings)))


def _preset(name: str, rung: TaskRung, budget: str) -> str:
    """The preset with its size: the one that is named, that of the rung, or the one that the budget is enough for."""
    size = name.partition(":")[2] or rung.size
    if not size and budget:
        total = parse_budget(budget)
        is_long = total.unit == "seconds" and total.amount >= _MIN_SECONDS
        size = list(PRESETS[rung.preset].sizes)[:2][is_long]
    return f"{rung.preset}:{size}" if size else rung.preset


def train_command(name: str, settings: TaskSettings) -> str:
    """The command that trains a rung alone, a network in its usual size and for its usual budget."""
    rung, defaults = find_rung(settings, name), TaskSettings(settings.task)
    size = name.partition(":")[2] or rung.size
    words = ["firth", "train", f"{rung.preset}:{size}" if size else rung.preset]
    words += ["--text", ",".join(settings.data.text)]
    words += [word for pair in _data_words(settings, defaults, rung) for word in pair]
    words += [word for setting in rung.settings for word in ("--set", setting)]
    words += ["--init-from", settings.init_from] if rung.tuned else []
    changed = ("precision", "seed") if rung.cost else ("seed",)
    words += [word for field in changed if getattr(settings, field) != getattr(defaults, field)
              for word in (f"--{field}", str(getattr(settings, field)))]  # fmt: skip
    return shlex.join(words)


def _data_words(settings: TaskSettings, defaults: TaskSettings, rung: TaskRung) -> Iterator[tuple[str, str]]:
    """Flags of the examples that are not as usual for the rung."""
    for flag in ("valid", "test", "encoding"):
        value = getattr(settings.data, flag)
        if value != getattr(defaults.data, flag):
            yield f"--{flag}", ",".join(value) if isinstance(value, tuple) else str(value)
    if settings.data.columns:
        yield "--set", f"{SHORT['columns']}={','.join(settings.data.columns)}"
    usual = next(iter(PRESETS[rung.preset].sizes.values())).data
    if settings.definition.data.tasks[0] != usual.tasks[0]:
        yield "--set", f"data.tasks={','.join(settings.definition.data.tasks)}"
