"""`firth.run_ladder`: train every rung on the shared tokenizer and split, evaluate them, and recommend one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from firth import api
from firth.config import from_dict, to_dict
from firth.datasets.leakage import MAX_OVERLAP
from firth.datasets.sources import keep_documents, resolve_names
from firth.datasets.token_cache import default_cache
from firth.errors import FirthError
from firth.ladder import recommendation, results_table
from firth.ladder.ladder_clock import LadderClock
from firth.ladder.ladder_progress import LadderProgress, ladder_progress
from firth.ladder.measurements import measure
from firth.ladder.rung_configs import choose_rung, divide_budget, train_command
from firth.ladder.rungs import RUNGS, choose_size, is_neural, scoring_time, slowdown, sort_rungs, validate_rungs
from firth.ladder.settings import Settings, parse_settings
from firth.ladder.shared_data import HELD_OUT, MIN_DOCUMENTS, SharedData, prepare, read_texts
from firth.ladder.task_climb import load_settings, train_task_rungs
from firth.ladder.task_settings import TaskSettings, parse_task_settings
from firth.report.ladder_page import ladder_page
from firth.runs.ladder_folder import Ladder, LadderFolder, Result, Row
from firth.runs.progress import Progress, Style, parse_budget
from firth.runs.run_folder import Run
from firth.runs.task_ladder import TaskLadder
from firth.training.device import free_threads, has_bf16, thread_count

Climb = Callable[[Any, LadderFolder, LadderProgress], Any]
_LONGER_FACTOR = 10  # budget of the command that trains the recommended rung alone


@overload
def run_ladder(
    text: str | Path | Iterable[str] | None = None,
    *,
    task: None = None,
    out: Path | str | None = None,
    progress: Style | Progress = "quiet",
    **short: object,
) -> Ladder: ...


@overload
def run_ladder(
    text: str | Path | Iterable[str] | None = None,
    *,
    task: str,
    out: Path | str | None = None,
    progress: Style | Progress = "quiet",
    **short: object,
) -> TaskLadder: ...


def run_ladder(
    text: str | Path | Iterable[str] | None = None,
    *,
    task: str | None = None,
    out: Path | str | None = None,
    progress: Style | Progress = "quiet",
    **short: object,
) -> Ladder | TaskLadder:
    """Train language models from n-gram to Transformer on one text, and recommend one; with `task` (classification,
    pairs, tagging, ner) models of that task, on labelled examples.

    `text` is a name (a file, a folder, a built-in name) or an iterable of documents. Settings are by short name:
    `budget="20m"` for all rungs together, `rungs="5-gram,lstm-lm"`, `tokenizer`, `vocab_size`, `seed`, … Finished rungs
    in `out` are not trained again; with `out` alone, the ladder there is resumed with its settings.
    """
    named = {"task": task, **short}
    arguments = {name.replace("_", "-"): _to_text(value) for name, value in named.items() if value is not None}
    if isinstance(text, (str, Path)):
        arguments["text"] = str(text)
    parse: Callable[[Mapping[str, str]], Any] = parse_task_settings if "task" in arguments else parse_settings
    requested = _store_sources(parse(arguments), None if text is None or "text" in arguments else text)
    is_resume = out and not arguments and text is None
    folder = _choose_folder(Path(out) if out else None, None if is_resume else requested)
    settings = _load_settings(folder) if folder.exists else requested
    lock, reports = Run(folder.path).lock(), ladder_progress(progress)
    try:
        climb: Climb = train_task_rungs if isinstance(settings, TaskSettings) else train_rungs
        ladder = climb(settings, folder, reports)
        reports.close(is_done=True)
        return ladder
    finally:
        reports.close()
        lock.close()


def train_rungs(settings: Settings, folder: LadderFolder, progress: LadderProgress) -> Ladder:
    """Train and evaluate the unfinished rungs, then write the table, the recommendation and the report."""
    cache, names = default_cache(), sort_rungs(settings.rungs)
    clock = LadderClock(parse_budget(settings.budget), sum(map(is_neural, names)), sum(map(scoring_time, names)))
    progress.stage("reading the text")
    texts = read_texts(settings, cache)
    progress.say(f"reading {', '.join(settings.data.text)}")
    if not folder.exists:  # the first file of the folder, written once the text is readable
        folder.write({"settings": to_dict(settings)})
    shared = prepare(settings, texts, folder.path, cache, progress)
    _require_same_text(folder, shared)
    if settings.precision == "float32" and any(map(is_neural, names)) and has_bf16():
        progress.say(
            "note: this CPU has bf16 instructions; with --precision bf16 networks train on more tokens in the same time"
        )
    results: list[Result] = []
    progress.begin(names, parse_budget(settings.budget))
    for name in names:
        done = folder.read_result(name, {split: len(units.sizes) for split, units in shared.units.items()})
        if done is None:
            with thread_count(_threads(name, settings, progress)):
                done = _train_rung(name, folder, shared, clock, progress)
        else:
            clock.skip(done.seconds, is_neural(name), scoring_time(name))
        progress.finish_rung(done, recommendation.METRIC)
        results.append(done)
    progress.stage("comparing the rungs and writing the report")
    return _finish(folder, shared, results, clock)


def _train_rung(
    name: str, folder: LadderFolder, shared: SharedData, clock: LadderClock, progress: LadderProgress
) -> Result:
    """Train (or resume) one rung and save its result."""
    began, budget = clock.spent(), divide_budget(shared.settings, shared.splits["train"].tally.bytes, clock)
    tokenizers = {"text": shared.tokenizer}
    choice = replace(choose_rung(name, shared.settings, shared.tokenizer_config, budget), tokenizers=tokenizers)
    run = Run(folder.run_folder(name))
    progress.begin_rung(name, f"{choice.name}, {budget.budget}" if is_neural(name) else "")
    if run.exists:  # with the run's own settings, so that the ladder's folder may be moved
        model = api.resume(run.path, progress=progress)
    else:
        if is_neural(name):
            progress.stage("timing the first steps")
            choice = choose_rung(name, shared.settings, shared.tokenizer_config, budget, _epochs(choice))
            choice = replace(choice, tokenizers=tokenizers)
        model = api.train_config(choice, run.path, progress)
    if model.tokenizer.hash != shared.tokenizer.hash:
        raise FirthError("this rung has another tokenizer", where=run.path, do="delete its folder and run again")
    progress.stage("scoring the held-out text")
    result = measure(name, model, shared)
    folder.save_result(result)
    if is_neural(name):
        clock.finish(began, scoring=scoring_time(name))
    return result


def _threads(name: str, settings: Settings, progress: LadderProgress) -> int:
    """The threads that a rung is trained and scored with: as set, or with a budget in time those that others leave."""
    if settings.threads or not is_neural(name) or parse_budget(settings.budget).unit != "seconds":
        return settings.threads
    return free_threads(progress.say)


def _epochs(choice: api.NamedConfig) -> float | None:
    """The number of epochs of a neural rung, planned from the time of its first steps; None for a budget in steps."""
    budget = parse_budget(choice.config.train.budget)
    if budget.unit == "seconds":
        return api.plan(choice, in_bf16=False).epochs
    return budget.amount if budget.unit == "epochs" else None


# --- table, recommendation, report ----------------------------------------------------------------------------------


def _finish(folder: LadderFolder, shared: SharedData, results: list[Result], clock: LadderClock) -> Ladder:
    """Build the table and the recommendation, and write ladder.json and the report."""
    settings = shared.settings
    rows = results_table.build_table(results, settings.seed)
    true_entropy, tokens = shared.true_entropy(), shared.splits["train"].tally.tokens
    context = recommendation.AdviceContext(
        true_entropy.get("test"), tokens, lambda rung: _longer_command(rung, rows, shared)
    )
    ladder = Ladder(
        path=folder.path,
        about=_describe(shared),
        metric=recommendation.METRIC,
        rows=rows,
        advice=recommendation.advise(rows, results, context),
        floors=true_entropy,
        notes=(*_notes(shared), *clock.overrun()),
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
        return train_command(rung, preset, shared.settings_shown, shared.tokenizer_config, shared.settings.budget)
    amount, epochs = f"{budget.amount * _LONGER_FACTOR:g} {budget.unit}", None
    if budget.unit == "epochs":
        epochs = budget.amount * _LONGER_FACTOR
    if budget.unit == "seconds":
        seconds, train = max(row.seconds, 6.0) * _LONGER_FACTOR, shared.splits["train"].tally
        amount = f"{round(seconds / 60)}m" if seconds < 5400 else f"{seconds / 3600:.1f}h"
        base, _, old_size = preset.partition(":")
        size = old_size if ":" in rung else choose_size(RUNGS[rung], parse_budget(amount), train.bytes)
        speed = row.tokens / row.seconds if row.seconds else 0.0  # with evaluations, which the longer run has as well
        epochs = speed / slowdown(size, old_size) * seconds / train.tokens
        preset = f"{base}:{size}"
    return train_command(rung, preset, shared.settings_shown, shared.tokenizer_config, amount, epochs)


def _describe(shared: SharedData) -> dict[str, Any]:
    def sizes(name: str) -> dict[str, int]:
        tally = shared.splits[name].tally
        return {"documents": tally.documents, "tokens": tally.tokens, "bytes": tally.bytes}

    return {
        "text": list(shared.settings.data.text),
        "training": sizes("train"),
        "validation": sizes("valid"),
        "test": sizes("test"),
        "tokenizer": {"kind": shared.tokenizer.kind, "tokens": shared.tokenizer.vocab_size},
        "budget": parse_budget(shared.settings.budget).to_dict(),
        "seed": shared.settings.seed,
    }


def _notes(shared: SharedData) -> Iterable[str]:
    if causes := shared.splits["test"].tally.lost(shared.settings.data.encoding_errors):
        share = shared.units["test"].lost_bits_per_byte
        yield f"{share:.3f} bits per byte of every rung are for what the tokenizer loses: {', '.join(causes)}."
    for name, label in zip(HELD_OUT, ("validation", "test"), strict=True):
        split = shared.splits[name]
        count, overlap = split.tally.documents, split.overlap
        if overlap and overlap.fraction > MAX_OVERLAP:
            yield (
                f"{overlap.overlapping:,} of {overlap.texts:,} {label} documents are also in the training text, "
                "which favours n-grams."
            )
        if count < MIN_DOCUMENTS:
            yield (
                f"The {label} text has only {count} document{'s' * (count != 1)}: confidence intervals are from "
                "resampling blocks of about 50 tokens, and rather too narrow."
            )


# --- settings and folder --------------------------------------------------------------------------------------------


def _store_sources(settings: Any, texts: Iterable[str] | None) -> Any:
    """Store text that can be read only once (standard input, iterables) in files, and name these in the settings."""
    spool, data = default_cache() / "spool", settings.data
    names = {field: resolve_names(getattr(data, field), spool) for field in ("text", "valid", "test")}
    if texts is not None:
        names["text"] = (keep_documents(texts, spool),)
    return replace(settings, data=replace(data, **names))


def _choose_folder(out: Path | None, settings: Settings | TaskSettings | None) -> LadderFolder:
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


def _is_usable(folder: LadderFolder, settings: Settings | TaskSettings | None) -> bool:
    if folder.exists:
        return folder.read()["settings"] == to_dict(settings)
    return _is_empty(folder.path)


def _is_empty(path: Path) -> bool:
    """Whether the folder has nothing but what an early crash leaves."""
    return not path.exists() or (path.is_dir() and all(entry.name.startswith(".") for entry in path.iterdir()))


def _load_settings(folder: LadderFolder) -> Settings | TaskSettings:
    values = folder.read()["settings"]
    try:
        if "task" in values:
            return load_settings(values)
        settings = from_dict(Settings, values)
        validate_rungs(settings.rungs)
        return settings
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
