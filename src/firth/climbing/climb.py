"""`firth.ladder`: train every rung on the common ground, one after the other, and judge them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from firth import api
from firth.climbing import advice, judging
from firth.climbing.choices import Share, chosen, command, shared_out
from firth.climbing.ground import FEW, HELD_OUT, Ground, prepare, read_texts
from firth.climbing.measuring import measure
from firth.climbing.rungs import RUNGS, fitting_size, in_order, is_neural, slower
from firth.climbing.settings import Settings, read
from firth.climbing.telling import Teller
from firth.config import from_dict, to_dict
from firth.data.cache import default_cache
from firth.data.sources import kept, settled
from firth.errors import FirthError
from firth.report.ladder import ladder_page
from firth.runs import files
from firth.runs.budget import parse
from firth.runs.folder import Run
from firth.runs.ladder import Folder, Ladder, Result, Row, rung_folder
from firth.runs.progress import Progress, Style
from firth.training.devices import has_bf16

_REPEATED = 0.02  # of the held-out documents may be in the training text before it is told
_LONGER = 10  # times as long, in the command that trains the chosen rung alone


def ladder(
    text: str | Path | Iterable[str] | None = None,
    *,
    out: Path | str | None = None,
    progress: Style | Progress = "quiet",
    **short: object,
) -> Ladder:
    """Train every rung on one text and say which to use; what is there already in `out` is not done again.

    Settings by short name: `budget="20m"`, `rungs="5-gram,lstm-lm,gpt"`, `tokenizer`, `vocabulary`, `seed`, …
    With `out` alone, the ladder there goes on as it was begun.
    """
    given = {name: _words(value) for name, value in short.items() if value is not None}
    if isinstance(text, (str, Path)):
        given["text"] = str(text)
    found = _settled(read(given), None if text is None or "text" in given else text)
    asked = given or text is not None
    folder = _place(Path(out) if out else None, found if asked or not out else None)
    settings = _settings(folder) if folder.exists else found
    lock = Run(folder.path).lock()
    try:
        return climb(settings, folder, Teller(progress))
    finally:
        lock.close()


def climb(settings: Settings, folder: Folder, tell: Teller) -> Ladder:
    """All rungs that are left, and then the table."""
    cache = default_cache()
    texts = read_texts(settings, cache)
    tell.say(f"reading {', '.join(settings.data.text)}")
    if not folder.exists:  # before anything else is in it, and not for a text that cannot be read
        folder.write({"settings": to_dict(settings)})
    ground = prepare(settings, texts, folder.path, cache, tell.say)
    _require_same_text(folder, ground)
    names = in_order(settings.rungs)
    if settings.precision == "float32" and any(map(is_neural, names)) and has_bf16():
        tell.say("note: this CPU has bf16 instructions; with --precision bf16 networks read more in the same time")
    results: list[Result] = []
    for number, name in enumerate(names, 1):
        done = folder.result(name)
        if done is None:
            spent = sum(result.seconds for result in results if not is_neural(result.rung))
            share = shared_out(settings, ground.splits["train"].tally.bytes, spent)
            done = _trained(name, f"{number}/{len(names)}", folder, ground, share, tell)
        results.append(done)
    return _finished(folder, ground, results)


def _trained(name: str, place: str, folder: Folder, ground: Ground, share: Share, tell: Teller) -> Result:
    choice = chosen(name, ground.settings, ground.config, share)
    run = Run(rung_folder(folder.path, name))
    tell.say(f"{place} {name}" + (f" ({choice.name}, {share.budget})" if is_neural(name) else ""))
    if run.exists:  # by what was begun, so that a folder may be moved
        model = api.resume(run.path, progress=tell)
    else:
        if is_neural(name):
            choice = chosen(name, ground.settings, ground.config, share, _epochs(choice))
        model = api.start(choice, run.path, tell)
    if model.tokenizer.hash != ground.tokenizer.hash:
        raise FirthError("this rung has another tokenizer", where=run.path, do="delete its folder and go on")
    result = measure(name, model, ground)
    folder.keep(result)
    tell.say(
        f"    {result.valid.bits:.3f} {_yardstick(ground)} on validation text, "
        f"{result.seconds:.1f} s, {result.tokens:,} tokens read"
    )
    return result


def _epochs(choice: api.Choice) -> float | None:
    """How often a network will read the text, as its first steps foretell; a number of steps is taken as it is."""
    budget = parse(choice.config.train.budget)
    if budget.unit == "seconds":
        return api.plan(choice, in_bf16=False).epochs
    return budget.amount if budget.unit == "epochs" else None


# --- the end ------------------------------------------------------------------------------------------------------


def _finished(folder: Folder, ground: Ground, results: list[Result]) -> Ladder:
    settings = ground.settings
    rows = judging.table(results, settings.seed)
    floors, tokens = ground.floors(), ground.splits["train"].tally.tokens
    known = advice.Known(_yardstick(ground), floors.get("test"), tokens, lambda rung: _longer(rung, rows, ground))
    found = Ladder(
        path=folder.path,
        about=_about(ground),
        yardstick=_yardstick(ground),
        rows=rows,
        advice=advice.advise(rows, results, known),
        floors=floors,
        notes=tuple(_notes(ground)),
        results=tuple(sorted(results, key=lambda result: in_order(settings.rungs).index(result.rung))),
    )
    told = {key: value for key, value in found.to_dict().items() if key not in ("path", "report")}
    folder.write({**_marks(ground), **told})
    files.replace_file(found.report, ladder_page(found).encode("utf-8", "replace"))
    return found


def _longer(rung: str, rows: Iterable[Row], ground: Ground) -> str:
    """The command that trains a rung alone: a network for ten times as long, larger if that pays."""
    (row,) = (row for row in rows if row.rung == rung)
    budget, preset = parse(ground.settings.budget), row.preset
    if not is_neural(rung):
        return command(rung, preset, ground.settings, ground.config, ground.settings.budget)
    amount, epochs = f"{budget.amount * _LONGER:g} {budget.unit}", None
    if budget.unit == "epochs":
        epochs = budget.amount * _LONGER
    if budget.unit == "seconds":
        seconds, train = max(row.seconds, 6.0) * _LONGER, ground.splits["train"].tally
        amount = f"{round(seconds / 60)}m" if seconds < 5400 else f"{seconds / 3600:.1f}h"
        base, _, before = preset.partition(":")
        size = before if ":" in rung else fitting_size(RUNGS[rung], parse(amount), train.bytes)
        epochs = row.tokens_per_second / slower(size, before) * seconds / train.tokens
        preset = f"{base}:{size}"
    return command(rung, preset, ground.settings, ground.config, amount, epochs)


def _yardstick(ground: Ground) -> str:
    return "bits per byte" if ground.in_bytes else "bits per token"


def _about(ground: Ground) -> dict[str, str]:
    def told(name: str) -> str:
        tally = ground.splits[name].tally
        return f"{tally.documents:,} documents, {tally.tokens:,} tokens, {tally.bytes:,} bytes"

    return {
        "text": ", ".join(ground.settings.data.text),
        "training": told("train"),
        "validation": told("valid"),
        "test": told("test"),
        "tokenizer": f"{ground.tokenizer.kind}, {ground.tokenizer.size:,} tokens",
        "budget": ground.settings.budget,
        "seed": str(ground.settings.seed),
    }


def _notes(ground: Ground) -> Iterable[str]:
    if not ground.in_bytes:
        yield "The tokenizer loses some of the text, so scores are per token, not per byte."
    for name, said in zip(HELD_OUT, ("validation", "test"), strict=True):
        count, again = ground.splits[name].tally.documents, ground.repeated(name)
        if again > _REPEATED * count:
            yield f"{again:,} of {count:,} {said} documents also stand in the training text: long n-grams know them."
        if count < FEW:
            yield (
                f"The {said} text has only {count} document{'s' * (count != 1)}: intervals come from drawing blocks of "
                "some 50 tokens anew, and are rather too narrow."
            )


# --- the beginning ------------------------------------------------------------------------------------------------


def _settled(settings: Settings, texts: Iterable[str] | None) -> Settings:
    """Everything that can be read only once is kept in a file and named by it."""
    spool, data = default_cache() / "spool", settings.data
    names = {field: settled(getattr(data, field), spool) for field in ("text", "valid", "test")}
    if texts is not None:
        names["text"] = (kept(texts, spool),)
    return replace(settings, data=replace(data, **names))


def _place(out: Path | None, settings: Settings | None) -> Folder:
    """The folder asked for, or the first below runs/ that is free or has this ladder; another ladder is refused."""
    if out is None:
        names = ["runs/ladder", *(f"runs/ladder-{number}" for number in range(2, 10_000))]
        return next(place for place in map(Folder, map(Path, names)) if _is_ours(place, settings))
    folder = Folder(out)
    if settings is not None and not _is_ours(folder, settings):
        do = f"choose another --out, or go on with it: firth ladder --out {out}"
        raise FirthError("another ladder, or something else, is in this folder", where=out, do=do)
    if settings is None and not folder.exists and not _is_free(out):
        raise FirthError("no ladder is in this folder, but other things are", where=out, do="choose another --out")
    return folder


def _is_ours(folder: Folder, settings: Settings | None) -> bool:
    if folder.exists:
        return folder.read()["settings"] == to_dict(settings)
    return _is_free(folder.path)


def _is_free(path: Path) -> bool:
    """Whether nothing is there but what an early crash leaves."""
    return not path.exists() or (path.is_dir() and all(entry.name.startswith(".") for entry in path.iterdir()))


def _settings(folder: Folder) -> Settings:
    try:
        return from_dict(Settings, folder.read()["settings"])
    except FirthError as error:
        raise FirthError(error.what, where=folder.path / "ladder.json", do=error.do) from None


def _marks(ground: Ground) -> dict[str, Any]:
    """What a ladder is known by."""
    keys = {name: split.key for name, split in ground.splits.items()}
    return {"settings": to_dict(ground.settings), "tokenizer": ground.tokenizer.hash, "splits": keys}


def _require_same_text(folder: Folder, ground: Ground) -> None:
    """Refuse text or a tokenizer that is not what the first rungs had."""
    before, now = folder.read(), _marks(ground)
    for key, what in (("splits", "the text"), ("tokenizer", "tokenizer.json")):
        if before.get(key, now[key]) != now[key]:
            do = "restore it, or choose another --out"
            raise FirthError(f"{what} has changed since this ladder began", where=folder.path, do=do)
    folder.write({**before, **now})


def _words(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
