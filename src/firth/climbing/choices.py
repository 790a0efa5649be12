"""What each rung trains: its preset with the ladder's text, tokenizer and share of the time."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from firth import api
from firth.climbing.rungs import RUNGS, fitting_dropout, fitting_size, is_neural
from firth.climbing.settings import SHORT, Settings
from firth.config import schema, to_dict
from firth.runs.budget import parse

_LOOKED_AT = 30_000  # tokens of validation text while training: a ladder's time is for training
_LEAST = 1.0  # seconds


@dataclass(frozen=True)
class Share:
    """What every neural rung gets."""

    budget: str  # as a preset takes it
    bytes: int  # of training text


def shared_out(settings: Settings, text_bytes: int, spent: float) -> Share:
    """The budget that n-grams leave, which took `spent` seconds, in equal parts; at least half of it is left."""
    budget, several = parse(settings.budget), sum(map(is_neural, settings.rungs))
    if budget.unit != "seconds" or not several:
        return Share(settings.budget, text_bytes)
    seconds = max(_LEAST, round(max(budget.amount - spent, budget.amount / 2) / several, 1))
    return Share(f"{seconds}s", text_bytes)


def chosen(
    name: str, settings: Settings, tokenizer: schema.Tokenizer, share: Share, epochs: float | None = None
) -> api.Choice:
    """The preset of a rung on the ladder's text, which it will read so many times."""
    base, _, asked = name.partition(":")
    rung = RUNGS[base]
    size = asked or (fitting_size(rung, parse(share.budget), share.bytes) if rung.neural else "")
    words = [*rung.settings, f"seed={settings.seed}"]
    if rung.neural:
        words += () if asked else fitting_dropout(rung, epochs)
        words += [f"train.{key}={getattr(settings, key)}" for key in ("precision", "threads")]
        words.append(f"train.budget={share.budget}")
    found = api.choose(f"{rung.preset}:{size}" if size else rung.preset, words)
    config = replace(found.config, data=settings.data, tokenizer=tokenizer)
    return replace(found, config=_limited(config) if rung.neural else config)


def _limited(config: schema.Neural) -> schema.Neural:
    batching = config.batching
    at_once = batching.tokens if isinstance(batching, schema.Bucketed) else batching.rows * batching.length
    return replace(config, train=replace(config.train, evaluate_batches=-(-_LOOKED_AT // at_once)))


def command(
    name: str,
    preset: str,
    settings: Settings,
    tokenizer: schema.Tokenizer,
    budget: str,
    epochs: float | None = None,
) -> str:
    """How to train a rung by itself, for so long, in which it will read the text so many times."""
    rung, usual = RUNGS[name.partition(":")[0]], to_dict(Settings().data)
    asked = {flag: to_dict(settings.data)[path.removeprefix("data.")] for flag, path in SHORT.items() if "." in path}
    words = ["firth", "train", preset]
    for flag, value in asked.items():
        if flag == "text" or value != usual[flag]:
            words += [f"--{flag}", ",".join(value) if isinstance(value, list) else value]
    words += ["--tokenizer", tokenizer.model, "--vocabulary", str(tokenizer.size)]
    words += ["--lower", tokenizer.lower] if tokenizer.lower != "no" else []
    words += ["--set", f"tokenizer.split={tokenizer.split}"] if tokenizer.split != "words" else []
    dropout = fitting_dropout(rung, epochs) if rung.neural and ":" not in name else ()
    changed = (*rung.settings, *dropout)
    words += [word for setting in changed for word in ("--set", setting)]
    words += ["--budget", budget] if rung.neural else []
    words += _differing(settings, ("precision", "seed") if rung.neural else ("seed",))
    return shlex.join(words)


def _differing(settings: Settings, names: Iterable[str]) -> list[str]:
    usual = Settings()
    changed = [name for name in names if getattr(settings, name) != getattr(usual, name)]
    return [word for name in changed for word in (f"--{name}", str(getattr(settings, name)))]
