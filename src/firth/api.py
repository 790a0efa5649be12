"""The public functions: what the command line calls, and what Python users call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from firth.config import core, schema
from firth.errors import FirthError, unknown
from firth.families import family
from firth.presets import preset as find_preset
from firth.runs.budget import parse
from firth.runs.folder import Run, free_name
from firth.runs.progress import Progress, Style, progress

if TYPE_CHECKING:
    from firth.families.classifier import ClassifierModel
    from firth.families.language import LanguageModel
    from firth.families.vectors import VectorModel
    from firth.training.calibrate import Plan

    Model = LanguageModel | VectorModel | ClassifierModel

WEIGHTS = ("float32", "half", "int8")
# The settings people change most, by short names: flags of the command line and arguments of `train`. Where families
# name a thing differently, the first name that a configuration has is meant.
SHORT = {
    "text": ("data.text",),
    "valid": ("data.valid",),
    "test": ("data.test",),
    "source": ("data.source",),
    "target": ("data.target",),
    "valid-source": ("data.valid_source",),
    "valid-target": ("data.valid_target",),
    "test-source": ("data.test_source",),
    "test-target": ("data.test_target",),
    "document": ("data.document",),
    "encoding": ("data.encoding",),
    "errors": ("data.errors",),
    "tokenizer": ("tokenizer.model",),
    "vocabulary": ("tokenizer.size",),
    "lower": ("tokenizer.lower",),
    "min-count": ("tokenizer.min_count",),
    "width": ("backbone.width", "method.width", "backbone.encoder.width+backbone.decoder.width"),
    "depth": ("backbone.depth", "backbone.encoder.depth+backbone.decoder.depth"),
    "dropout": ("backbone.dropout", "backbone.encoder.dropout+backbone.decoder.dropout"),
    "window": ("method.window",),
    "negatives": ("method.negatives",),
    "phrases": ("phrases.rounds",),
    "ngrams": ("method.word_ngrams",),
    "order": ("method.order",),
    "smoothing": ("method.smoothing", "objective.smoothing"),
    "start": ("start",),
    "teacher": ("objective.teacher",),
    "noise": ("objective.noise",),
    "vectors": ("input.vectors",),
    "batch": ("batching.rows",),
    "length": ("batching.length",),
    "rate": ("train.optimizer.rate", "method.rate"),
    "budget": ("train.budget",),
    "epochs": ("train.epochs",),
    "precision": ("train.precision",),
    "threads": ("train.threads",),
    "deterministic": ("train.deterministic",),
    "seed": ("seed",),
}


@dataclass(frozen=True)
class Choice:
    """What to train: a name for the folder and the record, and the configuration."""

    name: str
    config: schema.System


def choose(what: str, settings: Iterable[str] = (), short: Mapping[str, str] = MappingProxyType({})) -> Choice:
    """A preset (`lstm-lm`, `lstm-lm:medium`) or a TOML file, with settings put over it, by short and by full name.

    With `start`, a run, the network is that run's; and its configuration may be named instead of a preset's."""
    if what.endswith(".toml"):
        values = core.read_toml(Path(what))
        if not isinstance(values.get("preset"), str):
            raise FirthError("no preset is named", where=what, do='add a line such as preset = "lstm-lm"')
        name = values.pop("preset")
        try:
            config = core.merge(find_preset(name), values)
        except FirthError as error:
            raise FirthError(str(error), where=what) from None
    elif "start" in short and Path(what).is_dir():  # as a run was trained, but from its end
        from firth.families.starting import anew

        record = Run.open(what).record
        name, config = record.preset, anew(record.config)
    else:
        name, config = what, find_preset(what)
    named = [f"{full}={value}" for key, value in short.items() for full in _full_names(key, config, name)]
    said = [*named, *settings]
    config, preset = core.override(config, said), config
    taught = core.has(config, "objective.teacher") and config.objective.teacher
    if taught and config.start:
        what = "--teacher and --start both say which weights a network begins with"
        raise FirthError(what, do="leave one out: a pupil begins as its teacher")
    if isinstance(config, schema.Neural) and config.start:
        from firth.families.starting import inherit

        config = _with(inherit(config, config.start), said, config.start)
    if taught:
        from firth.families.teaching import follow

        config = _with(follow(preset, config.objective.teacher), said, config.objective.teacher)
    if core.has(config, "objective.noise"):
        from firth.data.corrupt.denoising import check_noise

        check_noise(config)
    if core.has(config, "train.budget"):
        parse(config.train.budget)  # refused now rather than after the text is read
    return Choice(name, config)


def train(
    preset: str,
    *,
    text: str | Iterable[str] | None = None,
    out: Path | str | None = None,
    settings: Mapping[str, object] | None = None,
    progress: Style | Progress = "quiet",
    **short: object,
) -> Model:
    """Train a preset: on a named text (a file, a folder, a built-in name) or on documents from any iterable.

    Further settings by short name (`width=256`, `budget="5m"`) or in `settings` by full name
    (`{"backbone.width": 256}`). An unfinished run in `out` is continued. `progress` may be an object of yours with the
    methods of `firth.runs.progress.Progress`; training ends early when its `evaluation` returns True.
    """
    dotted = [f"{name}={_text(value)}" for name, value in (settings or {}).items()]
    choice = choose(preset, dotted, {name.replace("_", "-"): _text(value) for name, value in short.items()})
    if text is not None:
        data = replace(choice.config.data, text=_names(text))
        choice = replace(choice, config=replace(choice.config, data=data))
    return start(choice, out, progress)


def start(choice: Choice, out: Path | str | None = None, style: Style | Progress = "quiet") -> Model:
    """Train a chosen configuration in a folder (the next free one below runs/ by default)."""
    run = Run(out or free_name(Path("runs"), choice.name.replace(":", "-")))
    order = _order(choice.name, _settled(choice.config), run, style)
    if not run.exists:
        _refuse_used(run.path)
        return family(order.config).fit(order)
    if run.record.asked != order.asked:
        raise FirthError(
            "another run is in this folder",
            where=run.path,
            do=f"choose another --out, or continue it: firth train {run.path}",
        )
    return resume(run.path, progress=style)


def resume(path: Path | str, *, progress: Style | Progress = "quiet") -> Model:
    """Continue an interrupted run to its end."""
    run = Run.open(path)
    return family(run.record.config).fit(_order(run.record.preset, run.record.config, run, progress))


def load(path: Path | str, *, weights: str = "float32") -> Model:
    """The trained model of a run folder. A network reads and writes faster with its weights as "half" or "int8"."""
    run = Run.open(path)
    if weights not in WEIGHTS:
        raise unknown("form of weights", weights, WEIGHTS)
    if weights == "float32":
        return family(run.record.config).load(run)
    if not isinstance(run.record.config, schema.Neural):
        raise FirthError(f"no network, so that it has no weights as {weights}", where=path, do="leave it out")
    return family(run.record.config).load(run, weights)


def import_model(
    path: Path | str, *, out: Path | str | None = None, say: Callable[[str], None] = lambda _: None
) -> Model:
    """A model of another program as a run folder: a network from a Hugging Face folder, n-grams from an ARPA file.

    `say` is told what there is to know of it."""
    path = Path(path)
    if not path.exists():
        raise FirthError("no such file or folder", where=path, do="name a Hugging Face folder or an ARPA file")
    name = path.resolve().name
    run = Run(out or free_name(Path("runs"), (name if path.is_dir() else name.partition(".")[0]) or "imported"))
    if not run.exists:
        _refuse_used(run.path)
    if path.is_dir():
        from firth.families.huggingface import bring_in as bring_in_network

        model, notes = bring_in_network(path, run)
        for note in notes:
            say(note)
        return model
    from firth.families.arpa import bring_in

    return bring_in(path, run)


def export_model(path: Path | str, *, to: str, out: Path | str, verify: bool = False) -> str:
    """Write a run for other programs (`arpa`, `huggingface`, `huggingface:roberta`); says what was written.

    With `verify` what was written is read back and compared."""
    run = Run.open(path)
    if isinstance(run.record.config, schema.Neural):
        from firth.families.huggingface import export

        return export(run, to, Path(out), verify=verify)
    model = load(path)
    if verify or not hasattr(model, "export"):
        what = "cannot be read back to compare" if verify else "cannot be exported yet"
        raise FirthError(f"{run.record.preset} {what}", where=path, do="networks and n-gram models can be exported")
    model.export(to, out)
    return f"{out}: {Path(out).stat().st_size:,} bytes"


def plan(choice: Choice, in_bf16: bool = True) -> Plan:
    """Parameters, steps, time, memory and disk of a run, from a short calibration; no run folder is written. Beside it
    what the run would take in bf16, where the processor has instructions for it."""
    from firth.training.devices import has_bf16

    found = family(choice.config).foresee(_order(choice.name, _settled(choice.config), Run(""), "quiet"))
    if not in_bf16 or choice.config.train.precision == "bf16" or not has_bf16():
        return found
    train = replace(choice.config.train, precision="bf16")
    return replace(found, in_bf16=plan(replace(choice, config=replace(choice.config, train=train))))


def _order(name: str, config: schema.System, run: Run, style: Style | Progress) -> Any:
    from firth.data.cache import default_cache
    from firth.families.order import Order

    return Order(name, config, run, default_cache(), progress(style))


def _settled(config: schema.System) -> schema.System:
    """The configuration with everything that can be read only once (standard input) kept in a file and named by it."""
    from firth.data.cache import default_cache
    from firth.data.sources import settled

    spool, data = default_cache() / "spool", config.data
    names = {field: settled(getattr(data, field), spool) for field in ("text", "valid", "test")}
    config = replace(config, data=replace(data, **names))
    # a run may be continued from another folder
    if isinstance(config, (schema.Vectors, schema.Neural)) and config.start:
        config = replace(config, start=str(Path(config.start).absolute()))
    if isinstance(config, schema.Neural) and config.input.vectors:
        config = replace(config, input=replace(config.input, vectors=str(Path(config.input.vectors).absolute())))
    if core.has(config, "objective.teacher") and config.objective.teacher:
        teacher = str(Path(config.objective.teacher).absolute())
        config = replace(config, objective=replace(config.objective, teacher=teacher))
    return config


def _names(text: str | Path | Iterable[str]) -> tuple[str, ...]:
    """A text by name; documents from Python are kept in a file and named by it."""
    from firth.data.cache import default_cache
    from firth.data.sources import kept

    return (str(text),) if isinstance(text, (str, Path)) else (kept(text, default_cache() / "spool"),)


def _with(begun: schema.Neural, said: Iterable[str], where: str) -> schema.Neural:
    """The configuration of a network that goes on from another's, with settings put over it."""
    config = core.override(begun, said)
    sides = [getattr(each.data, "vocabularies", "") for each in (config, begun)]
    if config.tokenizer != begun.tokenizer or sides[0] != sides[1]:
        what = "the tokenizer of that run is kept, for its vectors belong to its tokens"
        raise FirthError(what, where=where, do="leave settings of the tokenizer out, or train from scratch")
    return config


def _refuse_used(path: Path) -> None:
    """A run gets a folder of its own; what an early crash leaves in it does not count."""
    found = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    if any(name != "tokenizers" and not name.startswith(".") for name in found):
        raise FirthError("this folder has other things in it", where=path, do="choose an empty or a new one with --out")


def _full_names(short: str, config: schema.System, preset: str) -> list[str]:
    """The settings that a short name stands for here: the first of its choices, or all of those joined by +."""
    if short not in SHORT:
        raise unknown("argument", short, [*SHORT, "out", "settings", "progress"])
    for choice in SHORT[short]:
        names = choice.split("+")
        if all(core.has(config, name) for name in names):
            return names
    raise FirthError(f"{preset} has no setting {short!r}", do=f"firth presets {preset} lists them all")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
