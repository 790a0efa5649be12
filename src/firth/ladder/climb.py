"""`firth.run_ladder`: train every rung on the shared tokenizer and split, evaluate them, and recommend one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from firth import api
from firth.config import from_dict, to_dict
from firth.datasets.sources import keep_documents, resolve_names
from firth.datasets.token_cache import default_cache
from firth.errors import FirthError
from firth.ladder import recommendation, results_table
from firth.ladder.ladder_progress import LadderProgress
from firth.ladder.measurements import measure
from firth.ladder.rung_configs import RungBudget, choose_rung, divide_budget, train_command
from firth.ladder.rungs import RUNGS, choose_size, is_neural, slowdown, sort_rungs
from firth.ladder.settings import Settings, parse_settings
from firth.ladder.shared_data import HELD_OUT, MIN_DOCUMENTS, SharedData, prepare, read_texts
from firth.report.ladder_page import ladder_page
from firth.runs.ladder_folder import Ladder, LadderFolder, Result, Row
from firth.runs.progress import Progress, Style, parse_budget
from firth.runs.run_folder import Run
from firth.training.device import has_bf16

_MAX_REPEATED = 0.02  # of the held-out documents that are in the training text; above it, a note says so
_LONGER_FACTOR = 10  # budget of the command that trains the recommended rung alone


def run_ladder(
    text: str | Path | Iterable[str] | None = None,
    *,
    out: Path | str | None = None,
    progress: Style | Progress = "quiet",
    **short: object,
) -> Ladder:
    """Train every rung on one text and recommend one; finished rungs in `out` are not trained again.

    Settings by short name: `budget="20m"`, `rungs="5-gram,lstm-lm,gpt"`, `tokenizer`, `vocab_size`, `seed`, …
    With `out` alone, the ladder there is resumed with its settings.
    """
    arguments = {name.replace("_", "-"): _to_text(value) for name, value in short.items() if value is not None}
    if isinstance(text, (str, Path)):
        arguments["text"] = str(text)
    requested = _store_sources(parse_settings(arguments), None if text is None or "text" in arguments else text)
    is_resume = out and not arguments and text is None
    folder = _choose_folder(Path(out) if out else None, None if is_resume else requested)
    settings = _load_settings(folder) if folder.exists else requested
    lock = Run(folder.path).lock()
    try:
        return train_rungs(settings, folder, LadderProgress(progress))
    finally:
        lock.close()


def train_rungs(settings: Settings, folder: LadderFolder, progress: LadderProgress) -> Ladder:
    """Train and evaluate the unfinished rungs, then write the table, the recommendation and the report."""
    cache = default_cache()
    texts = read_texts(settings, cache)
    progress.say(f"reading {', '.join(settings.data.text)}")
    if not folder.exists:  # the first file of the folder, written once the text is readable
        folder.write({"settings": to_dict(settings)})
    shared = prepare(settings, texts, folder.path, cache, progress.say)
    _require_same_text(folder, shared)
    names = sort_rungs(settings.rungs)
    if settings.precision == "float32" and any(map(is_neural, names)) and has_bf16():
        progress.say(
            "note: this CPU has bf16 instructions; with --precision bf16 networks train on more tokens in the same time"
        )
    results: list[Result] = []
    for number, name in enumerate(names, 1):
        done = folder.read_result(name, {split: len(units.sizes) for split, units in shared.units.items()})
        if done is None:
            spent = sum(result.seconds for result in results if not is_neural(result.rung))
            budget = divide_budget(settings, shared.splits["train"].tally.bytes, spent)
            done = _train_rung(name, f"{number}/{len(names)}", folder, shared, budget, progress)
        results.append(done)
    return _finish(folder, shared, results)


def _train_rung(
    name: str, position: str, folder: LadderFolder, shared: SharedData, budget: RungBudget, progress: LadderProgress
) -> Result:
    """Train (or resume) one rung and save its result."""
    tokenizers = {"text": shared.tokenizer}
    choice = replace(choose_rung(name, shared.settings, shared.tokenizer_config, budget), tokenizers=tokenizers)
    run = Run(folder.run_folder(name))
    progress.say(f"{position} {name}" + (f" ({choice.name}, {budget.budget})" if is_neural(name) else ""))
    if run.exists:  # with the run's own settings, so that the ladder's folder may be moved
        model = api.resume(run.path, progress=progress)
    else:
        if is_neural(name):
            choice = choose_rung(name, shared.settings, shared.tokenizer_config, budget, _epochs(choice))
            choice = replace(choice, tokenizers=tokenizers)
        model = api.train_config(choice, run.path, progress)
    if model.tokenizer.hash != shared.tokenizer.hash:
        raise FirthError("this rung has another tokenizer", where=run.path, do="delete its folder and run again")
    result = measure(name, model, shared)
    folder.save_result(result)
    progress.say(
        f"    {result.valid.bits:.3f} {_metric_name(shared)} on validation text, "
        f"{result.seconds:.1f} s, {result.tokens:,} tokens"
    )
    return result


def _epochs(choice: api.NamedConfig) -> float | None:
    """The number of epochs of a neural rung, planned from the time of its first steps; None for a budget in steps."""
    budget = parse_budget(choice.config.train.budget)
    if budget.unit == "seconds":
        return api.plan(choice, in_bf16=False).epochs
    return budget.amount if budget.unit == "epochs" else None


# --- table, recommendation, report ----------------------------------------------------------------------------------


def _finish(folder: LadderFolder, shared: SharedData, results: list[Result]) -> Ladder:
    """Build the table and the recommendation, and write ladder.json and the report."""
    settings = shared.settings
    rows = results_table.build_table(results, settings.seed)
    true_entropy, tokens = shared.true_entropy(), shared.splits["train"].tally.tokens
    context = recommendation.AdviceContext(
        _metric_name(shared), true_entropy.get("test"), tokens, lambda rung: _longer_command(rung, rows, shared)
    )
    ladder = Ladder(
        path=folder.path,
        about=_describe(shared),
        metric=_metric_name(shared),
        rows=rows,
        advice=recommendation.advise(rows, results, context),
        floors=true_entropy,
        notes=tuple(_notes(shared)),
        results=tuple(sorted(results, key=lambda result: sort_rungs(settings.rungs).index(result.rung))),
    )
    values = {key: value for key, value in ladder.to_dict().items() if key not in ("path", "report")}
    folder.write({**_identity(shared), **values})
    folder.write_report(ladder_page(ladder))
    return ladder


def _longer_command(rung: str, rows: Iterable[Row], shared: SharedData) -> str:
    """The command that trains a rung alone: a neural one for ten times as long, in a larger size if that pays."""
    (row,) = (row for row in rows if row.rung == rung)
    budget, preset = parse_budget(shared.settings.budget), row.preset
    if not is_neural(rung):
        return train_command(rung, preset, shared.settings, shared.tokenizer_config, shared.settings.budget)
    amount, epochs = f"{budget.amount * _LONGER_FACTOR:g} {budget.unit}", None
    if budget.unit == "epochs":
        epochs = budget.amount * _LONGER_FACTOR
    if budget.unit == "seconds":
        seconds, train = max(row.seconds, 6.0) * _LONGER_FACTOR, shared.splits["train"].tally
        amount = f"{round(seconds / 60)}m" if seconds < 5400 else f"{seconds / 3600:.1f}h"
        base, _, old_size = preset.partition(":")
        size = old_size if ":" in rung else choose_size(RUNGS[rung], parse_budget(amount), train.bytes)
        epochs = row.tokens_per_second / slowdown(size, old_size) * seconds / train.tokens
        preset = f"{base}:{size}"
    return train_command(rung, preset, shared.settings, shared.tokenizer_config, amount, epochs)


def _metric_name(shared: SharedData) -> str:
    return "bits per byte" if shared.is_lossless else "bits per token"


def _describe(shared: SharedData) -> dict[str, str]:
    def describe(name: str) -> str:
        tally = shared.splits[name].tally
        return f"{tally.documents:,} documents, {tally.tokens:,} tokens, {tally.bytes:,} bytes"

    return {
        "text": ", ".join(shared.settings.data.text),
        "training": describe("train"),
        "validation": describe("valid"),
        "test": describe("test"),
        "tokenizer": f"{shared.tokenizer.kind}, {shared.tokenizer.vocab_size:,} tokens",
        "budget": shared.settings.budget,
        "seed": str(shared.settings.seed),
    }


def _notes(shared: SharedData) -> Iterable[str]:
    if not shared.is_lossless:
        yield "The tokenizer is lossy on this text, so scores are per token, not per byte."
    for name, label in zip(HELD_OUT, ("validation", "test"), strict=True):
        count, repeated = shared.splits[name].tally.documents, shared.count_repeated(name)
        if repeated > _MAX_REPEATED * count:
            yield f"{repeated:,} of {count:,} {label} documents are also in the training text, which favours n-grams."
        if count < MIN_DOCUMENTS:
            yield (
                f"The {label} text has only {count} document{'s' * (count != 1)}: confidence intervals are from "
                "resampling blocks of about 50 tokens, and rather too narrow."
            )


# --- settings and folder --------------------------------------------------------------------------------------------


def _store_sources(settings: Settings, texts: Iterable[str] | None) -> Settings:
    """Store text that can be read only once (standard input, iterables) in files, and name these in the settings."""
    spool, data = default_cache() / "spool", settings.data
    names = {field: resolve_names(getattr(data, field), spool) for field in ("text", "valid", "test")}
    if texts is not None:
        names["text"] = (keep_documents(texts, spool),)
    return replace(settings, data=replace(data, **names))


def _choose_folder(out: Path | None, settings: Settings | None) -> LadderFolder:
    """The folder `out`, or the first below runs/ that is empty or has this ladder; another ladder there is an error."""
    if out is None:
        names = ["runs/ladder", *(f"runs/ladder-{number}" for number in range(2, 10_000))]
        return next(folder for folder in map(LadderFolder, map(Path, names)) if _is_usable(folder, settings))
    folder = LadderFolder(out)
    if settings is not None and not _is_usable(folder, settings):
        do = f"choose another --out, or resume it: firth ladder --out {out}"
        raise FirthError("this folder has another ladder or other files in it", where=out, do=do)
    if settings is None and not folder.exists and not _is_empty(out):
        raise FirthError("this folder has other files in it and no ladder", where=out, do="choose another --out")
    return folder


def _is_usable(folder: LadderFolder, settings: Settings | None) -> bool:
    if folder.exists:
        return folder.read()["settings"] == to_dict(settings)
    return _is_empty(folder.path)


def _is_empty(path: Path) -> bool:
    """Whether the folder has nothing but what an early crash leaves."""
    return not path.exists() or (path.is_dir() and all(entry.name.startswith(".") for entry in path.iterdir()))


def _load_settings(folder: LadderFolder) -> Settings:
    try:
        return from_dict(Settings, folder.read()["settings"])
    except FirthError as error:
        raise FirthError(error.what, where=folder.path / "ladder.json", do=error.do) from None


def _identity(shared: SharedData) -> dict[str, Any]:
    """What identifies a ladder: settings, tokenizer and splits."""
    keys = {name: split.key for name, split in shared.splits.items()}
    return {"settings": to_dict(shared.settings), "tokenizer": shared.tokenizer.hash, "splits": keys}


def _require_same_text(folder: LadderFolder, shared: SharedData) -> None:
    """Raise an error if the text or the tokenizer differs from that of the first rungs."""
    before, now = folder.read(), _identity(shared)
    for key, what in (("splits", "the text"), ("tokenizer", "tokenizer.json")):
        if before.get(key, now[key]) != now[key]:
            do = "restore it, or choose another --out"
            raise FirthError(f"{what} has changed since this ladder began", where=folder.path, do=do)
    folder.write({**before, **now})


def _to_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
