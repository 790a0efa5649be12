"""The configuration of each rung: its preset with the ladder's shared text, tokenizer and part of the budget."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from firth import api
from firth.config import schema, to_dict
from firth.ladder.ladder_clock import LadderClock
from firth.ladder.rungs import RUNGS, choose_size, dropout_settings
from firth.ladder.settings import SHORT, Settings
from firth.runs.progress import parse_budget

_EVAL_TOKENS = 30_000  # of validation text during training: most of the time is for training


@dataclass(frozen=True)
class RungBudget:
    """The budget of each neural rung, and the size of the text."""

    budget: str  # as in train.budget
    text_bytes: int  # of training text


def divide_budget(settings: Settings, text_bytes: int, clock: LadderClock) -> RungBudget:
    """The budget of the next network: its share of the time, or the same steps or epochs as all."""
    is_time = parse_budget(settings.budget).unit == "seconds"
    return RungBudget(f"{clock.share()}s" if is_time else settings.budget, text_bytes)


def choose_rung(
    name: str, settings: Settings, tokenizer: schema.Tokenizer, budget: RungBudget, epochs: float | None = None
) -> api.NamedConfig:
    """The preset of a rung with the ladder's data, tokenizer and budget; dropout by the expected epochs."""
    base, _, requested_size = name.partition(":")
    rung = RUNGS[base]
    size = requested_size or (choose_size(rung, parse_budget(budget.budget), budget.text_bytes) if rung.neural else "")
    overrides = [*rung.settings, f"seed={settings.seed}"]
    if rung.neural:
        overrides += () if requested_size else dropout_settings(rung, epochs)
        overrides += [f"train.{key}={getattr(settings, key)}" for key in ("precision", "threads")]
        overrides.append(f"train.budget={budget.budget}")
    choice = api.resolve_config(f"{rung.preset}:{size}" if size else rung.preset, overrides)
    config = replace(choice.config, data=settings.data, tokenizer=tokenizer)
    return replace(choice, config=_limit_evaluation(config) if rung.neural else config)


def _limit_evaluation(config: schema.Neural) -> schema.Neural:
    batching = config.batching
    tokens_per_batch = (
        batching.tokens_per_batch if isinstance(batching, schema.Bucketed) else batching.batch_size * batching.length
    )
    return replace(config, train=replace(config.train, eval_batches=-(-_EVAL_TOKENS // tokens_per_batch)))


def train_command(
    name: str,
    preset: str,
    settings: Settings,
    tokenizer: schema.Tokenizer,
    budget: str,
    epochs: float | None = None,
) -> str:
    """The command that trains a rung alone with this budget; dropout by the expected epochs."""
    rung, data, defaults = RUNGS[name.partition(":")[0]], to_dict(settings.data), to_dict(Settings().data)
    fields = {flag: path.removeprefix("data.") for flag, path in SHORT.items() if "." in path}
    words = ["firth", "train", preset]
    for flag, field in fields.items():
        value = data[field]
        if flag == "text" or value != defaults[field]:
            words += [f"--{flag}", ",".join(value) if isinstance(value, list) else value]
    if settings.data.max_heldout != Settings().data.max_heldout:
        words += ["--set", f"data.max_heldout={settings.data.max_heldout}"]
    words += ["--tokenizer", tokenizer.model, "--vocab-size", str(tokenizer.vocabulary_size)]
    words += ["--lowercase", tokenizer.lowercase] if tokenizer.lowercase != "no" else []
    words += ["--set", f"tokenizer.split={tokenizer.split}"] if tokenizer.split != "words" else []
    dropout = dropout_settings(rung, epochs) if rung.neural and ":" not in name else ()
    changed = (*rung.settings, *dropout)
    words += [word for setting in changed for word in ("--set", setting)]
    words += ["--budget", budget] if rung.neural else []
    words += _changed_flags(settings, ("precision", "seed") if rung.neural else ("seed",))
    return shlex.join(words)


def _changed_flags(settings: Settings, names: Iterable[str]) -> list[str]:
    defaults = Settings()
    changed = [name for name in names if getattr(settings, name) != getattr(defaults, name)]
    return [word for name in changed for word in (f"--{name}", str(getattr(settings, name)))]
