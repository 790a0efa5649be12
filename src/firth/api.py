"""The public functions of the package: train, resume, load, evaluate, compare, import, export, plan. The command line
calls them too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Unpack

from firth.arguments import as_count, as_path, as_text
from firth.config import core, schema
from firth.config.short_names import ARGUMENTS, SHORT_NAMES, SYNONYMS, argument
from firth.config.train_arguments import TrainArguments
from firth.errors import FirthError, unknown
from firth.families import FAMILIES
from firth.presets import preset as find_preset
from firth.runs.progress import Progress, Style, parse_budget, progress
from firth.runs.run_folder import Run, free_folder
from firth.runs.state_folder import LOCATION
from firth.runs.trained_model import TrainedModel

if TYPE_CHECKING:
    from firth.display import Table
    from firth.families.fasttext_classifier import FastTextClassifier
    from firth.families.word_embeddings import WordVectorModel
    from firth.metrics.score import Score
    from firth.pipelines.language_model import LanguageModel
    from firth.runs.summary import Comparison
    from firth.tokenizers.tokenizer import Tokenizer
    from firth.training.planner import Plan

    Model = LanguageModel | WordVectorModel | FastTextClassifier

WEIGHTS = ("float32", "half", "int8")


@dataclass(frozen=True)
class NamedConfig:
    """A configuration to train, with the name of its preset."""

    name: str  # of the preset, with its size: `lstm-lm:medium`
    config: schema.System  # resolved: every setting has its value
    tokenizers: Mapping[str, Tokenizer] = field(default_factory=dict)  # ready ones, by stream


def resolve_config(
    what: str | Path, settings: Iterable[str] = (), short: Mapping[str, str] = MappingProxyType({})
) -> NamedConfig:
    """A preset (`lstm-lm`, `lstm-lm:medium`) or a TOML file, overridden by settings: the configuration of a run.

    `settings` are by full name (`["backbone.width=256"]`), `short` by the names of the flags (`{"lr": "0.01"}`). With
    `init-from`, a pre-trained run, the network is that run's; and `what` may be a run instead of a preset."""
    if not isinstance(what, str):
        what = str(as_path(what, "preset"))
    if what.endswith(".toml"):
        values = core.read_toml(Path(what))
        if not isinstance(values.get("preset"), str):
            raise FirthError("no preset is named", where=what, do='add a line such as preset = "lstm-lm"')
        name = values.pop("preset")
        try:
            config = core.merge(find_preset(name), values)
        except FirthError as error:
            raise FirthError(str(error), where=what) from None
    elif "init-from" in short and Path(what).is_dir():  # trained like that run, but starting from its weights
        from firth.families.initialisation import reset_intervals

        record = Run.open(what).record
        name, config = record.preset, reset_intervals(record.config)
    else:
        name, config = what, find_preset(what)
    named = [setting for key, value in short.items() for setting in _settings(key, value, config, name)]
    overrides = [*named, *(as_text(setting, "setting") for setting in settings)]
    config, preset = core.override(config, overrides), config
    teacher = core.has(config, "objective.teacher") and config.objective.teacher
    if teacher and config.init_from:
        what = "--teacher and --init-from both decide the initial weights"
        raise FirthError(what, do="leave one out: a student starts from its teacher")
    if isinstance(config, schema.Neural) and config.init_from:
        from firth.families.initialisation import configure_from_run, freeze_pretrained_head

        config = _override_pretrained(configure_from_run(config, config.init_from), overrides, config.init_from)
        if not any(setting.startswith("train.frozen=") for setting in overrides):
            config = freeze_pretrained_head(config)
    if isinstance(config, schema.Neural) and config.train.adapter.kind != "none" and not config.init_from:
        what, do = "an adapter is trained for a pre-trained network", "name its run: --init-from runs/bert"
        raise FirthError(what, where="train.adapter", do=do)
    if core.has(config, "inputs.words.encoder.init_from"):
        from firth.families.pretrained_encoder import configure_encoder

        config = configure_encoder(config)
    if teacher:
        from firth.families.distillation import configure_student

        config = _override_pretrained(configure_student(preset, teacher), overrides, teacher)
    if core.has(config, "objective.noise"):
        from firth.datasets.collators.corruption.denoising import check_noise

        check_noise(config)
    if core.has(config, "train.budget"):
        parse_budget(config.train.budget)  # an error now rather than after the text is read
    return NamedConfig(name, config)


def train(
    preset: str | Path,
    *,
    text: str | Path | Iterable[str] | None = None,
    out: Path | str | None = None,
    settings: Mapping[str, object] | None = None,
    progress: Style | Progress = "quiet",
    state_dir: Path | str | None = None,
    **short: Unpack[TrainArguments],
) -> Model:
    """Train a preset (`lstm-lm`, `lstm-lm:medium`) or a TOML recipe, and return the model with its best weights.

    `text` names the training text (a file, a folder, a built-in name, several with commas), or is an iterable of
    documents; None takes the preset's own. `out` is the run folder, by default the next free one below `runs/`; a run
    that was begun there is continued. `state_dir` is a folder elsewhere for the checkpoints.

    Further settings by short name (`width=256`, `budget="5m"`; see `TrainArguments`) or in `settings` by full name
    (`{"backbone.width": 256}`). `progress` is `quiet`, `plain` (lines), `live` (a bar), `json`, `auto`, or an object
    of yours with the methods of `firth.runs.progress.Progress`; training ends early when its `evaluation` returns True.
    """
    return train_config(resolve_arguments(preset, text, settings, short), out, progress, state_dir)


def resolve_arguments(
    preset: str | Path,
    text: str | Path | Iterable[str] | None,
    settings: Mapping[str, object] | None,
    short: Mapping[str, object],
) -> NamedConfig:
    """The configuration that the arguments of `train` mean."""
    if not isinstance(settings or {}, Mapping):
        raise FirthError("settings: not a dictionary", do='write {"backbone.width": 256}')
    dotted = [f"{name}={_text(value)}" for name, value in (settings or {}).items()]
    named = resolve_config(preset, dotted, _by_flag(short))
    if text is None:
        return named
    data = replace(named.config.data, text=_source_names(text, named.config.data))
    return replace(named, config=replace(named.config, data=data))


def train_config(
    named: NamedConfig,
    out: Path | str | None = None,
    style: Style | Progress = "quiet",
    state_dir: Path | str | None = None,
    cache: Path | None = None,
) -> Model:
    """Train a resolved configuration in a folder (the next free one below runs/ by default); `cache` is the folder of
    its tokenised text, by default the user's."""
    run = Run(run_folder(named, out), state_dir)
    request = _make_request(replace(named, config=_resolve_paths(named.config)), run, style, cache)
    if not run.exists:
        _require_unused(run.path)
        return _fit(request)
    if run.record.request_digest != request.request_digest:
        raise FirthError(
            "another run is in this folder",
            where=run.path,
            do=f"choose another --out, or continue it: firth train {run.path}",
        )
    return resume(run.path, progress=style, state_dir=state_dir)


def run_folder(named: NamedConfig, out: Path | str | None = None) -> Path:
    """The folder of a run: the one given, or the next free one below runs/."""
    return free_folder(Path("runs"), named.name.replace(":", "-")) if out in (None, "") else as_path(out, "out")


def resume(path: Path | str, *, progress: Style | Progress = "quiet", state_dir: Path | str | None = None) -> Model:
    """Continue an interrupted run from its newest checkpoint to its end, and return the model; a finished run is
    loaded. The text must be where it was, unchanged. With `state_dir`, its checkpoints are in that folder from now
    on."""
    run = Run(Run.open(path).path, state_dir)
    return _fit(_make_request(NamedConfig(run.record.preset, run.record.config), run, progress))


def _fit(request: Any) -> Model:
    request.progress.stage("")  # the first import of torch takes seconds
    try:
        return family(request.config).fit(request)
    finally:
        request.progress.stop()


def load(path: Path | str, *, weights: str = "float32", threads: int = 0) -> Model:
    """The trained model of a run folder. A network is faster with its weights as "half" or quantized to "int8"; with
    `threads` it uses so many from now on, as everything else in this process that computes with torch."""
    run, threads = Run.open(path), as_count(threads, "threads", least=0)
    if threads and isinstance(run.record.config, schema.Neural):
        import torch

        torch.set_num_threads(threads)
    if weights not in WEIGHTS:
        raise unknown("weight format", weights, WEIGHTS)
    if weights == "float32":
        return family(run.record.config).load(run)
    if not isinstance(run.record.config, schema.Neural):
        raise FirthError(f"only neural models have weights as {weights}", where=path, do="leave it out")
    return family(run.record.config).load(run, weights)


def evaluate(
    model: Model | Path | str, text: str | Path | Iterable[Any] | None = None, split: str = "test"
) -> Table[Score]:
    """The signed scores of a model or a run folder, on a split (`train`, `valid`, `test`) of its own text.

    With `text`, on that instead: a name (a file, a folder, a built-in name) or an iterable of documents or examples.
    """
    loaded = model if isinstance(model, TrainedModel) else load(run_path(model))
    return loaded.evaluate(text, split)


def compare(*runs: Model | Run | Path | str) -> Comparison:
    """Runs side by side, a row each, with notes where their scores cannot be compared."""
    from firth.runs.summary import Comparison

    if not runs:
        raise FirthError("no runs to compare", do="give run folders or models: firth.compare(one, other)")
    return Comparison.of([str(run_path(run)) for run in runs])


def import_model(
    path: Path | str, *, out: Path | str | None = None, say: Callable[[str], None] = lambda _: None
) -> Model:
    """Import a model of another program as a run: a network from a Hugging Face folder, n-grams from an ARPA file.

    `out` is the run folder, by default the next free one below `runs/`. `say` is called with notes about the import.
    Nothing in the folder is executed; pickled weights are refused."""
    path = as_path(path)
    if not path.exists():
        raise FirthError("no such file or folder", where=path, do="name a Hugging Face folder or an ARPA file")
    run = Run(out or import_folder(path))
    if not run.exists:
        _require_unused(run.path)
    if path.is_dir():
        from firth.families.huggingface import import_run

        model, notes = import_run(path, run)
        for note in notes:
            say(note)
        return model
    from firth.families.arpa_import import import_arpa

    return import_arpa(path, run, say)


def import_folder(path: Path) -> Path:
    """The next free folder below runs/ for an imported model."""
    name = path.resolve().name
    return free_folder(Path("runs"), (name if path.is_dir() else name.partition(".")[0]) or "imported")


def export_model(path: Path | str, *, to: str, out: Path | str, verify: bool = False) -> str:
    """Export a run for other programs, and return a line that says what was written where.

    `to` is `arpa` (n-gram models: a file), `huggingface` (networks: a folder), `huggingface:FAMILY`, such as
    `huggingface:roberta`, or `peft` (LoRA adapters: a folder). With `verify` a Hugging Face folder is imported again
    and its logits are compared."""
    run, to, out = Run.open(path), as_text(to, "to"), as_path(out, "out")
    if isinstance(run.record.config, schema.Neural):
        from firth.families.huggingface import export

        return export(run, to, out, verify=verify)
    model = load(path)
    if verify or not hasattr(model, "export"):
        what = "cannot be read back to compare" if verify else "cannot be exported yet"
        raise FirthError(f"{run.record.preset} {what}", where=path, do="networks and n-gram models can be exported")
    model.export(to, out)
    return f"{out}: {out.stat().st_size:,} bytes"


def plan(named: NamedConfig, in_bf16: bool = True) -> Plan:
    """Parameters, steps, time, memory and disk of a run, estimated from a few timed steps; no run folder is written.

    `named` comes from `resolve_config`. With `in_bf16` also those in mixed precision, where the CPU has bf16
    instructions."""
    from firth.training.device import has_bf16

    if not isinstance(named, NamedConfig):
        raise FirthError("not a resolved configuration", do='firth.plan(firth.resolve_config("lstm-lm", settings))')
    request = _make_request(replace(named, config=_resolve_paths(named.config)), Run(""), "quiet")
    estimated = family(named.config).estimate(request)
    if not in_bf16 or named.config.train.precision == "bf16" or not has_bf16():
        return estimated
    train = replace(named.config.train, precision="bf16")
    return replace(estimated, in_bf16=plan(replace(named, config=replace(named.config, train=train))))


def family(config: schema.System) -> ModuleType:
    """The module that trains and loads a configuration."""
    return import_module(FAMILIES[type(config)])


def _make_request(named: NamedConfig, run: Run, style: Style | Progress, cache: Path | None = None) -> Any:
    from firth.datasets.token_cache import default_cache
    from firth.runs.run_folder import TrainRequest

    return TrainRequest(named.name, named.config, run, cache or default_cache(), progress(style), named.tokenizers)


def _resolve_paths(config: schema.System) -> schema.System:
    """The configuration with absolute paths, and with what can be read only once (standard input) kept in a file."""
    from firth.datasets.sources import resolve_names
    from firth.datasets.token_cache import default_cache

    spool, data = default_cache() / "spool", config.data
    names = {field: resolve_names(getattr(data, field), spool) for field in ("text", "valid", "test")}
    config = replace(config, data=replace(data, **names))
    # a run may be resumed from another working directory
    if isinstance(config, (schema.WordEmbeddings, schema.Neural)) and config.init_from:
        config = replace(config, init_from=str(Path(config.init_from).absolute()))
    if isinstance(config, schema.Neural):
        for name, part in config.inputs.items():
            if part.pretrained_vectors:
                vectors = str(Path(part.pretrained_vectors).absolute())
                config = replace(config, inputs=config.inputs.replace(name, pretrained_vectors=vectors))
    if core.has(config, "inputs.words.encoder.init_from") and config.inputs["words"].encoder.init_from:
        part = config.inputs["words"]
        encoder = replace(part.encoder, init_from=str(Path(part.encoder.init_from).absolute()))
        config = replace(config, inputs=config.inputs.replace("words", encoder=encoder))
    if core.has(config, "objective.teacher") and config.objective.teacher:
        teacher = str(Path(config.objective.teacher).absolute())
        config = replace(config, objective=replace(config.objective, teacher=teacher))
    return config


def _source_names(text: str | Path | Iterable[Any], data: Any) -> tuple[str, ...]:
    """The name of a text; documents, or tagged sentences, from Python are kept in a file, whose name it is."""
    from firth.datasets import dialogue_dataset, tagged_sentences
    from firth.datasets.sources import keep_documents
    from firth.datasets.token_cache import default_cache

    if isinstance(text, (str, Path)):
        return (str(text),)
    as_documents: Mapping[type, Callable[[Any], Iterable[str]]] = {
        schema.TaggedWords: tagged_sentences.as_documents,
        schema.Dialogues: dialogue_dataset.as_documents,
    }
    documents = as_documents[type(data)](text) if type(data) in as_documents else text
    return (keep_documents(documents, default_cache() / "spool"),)


def run_path(run: Any) -> Path:
    """The folder of a run, given as one, as its model or as a path."""
    run = getattr(run, "run", run)
    return as_path(getattr(run, "path", run), "run")


def _by_flag(short: Mapping[str, object]) -> dict[str, str]:
    """Arguments as flags, their values as text; None is as if it were left out."""
    synonyms = {name.replace("-", "_"): argument(flag) for name, flag in {**SYNONYMS, "lr": "lr"}.items()}
    for name in short:
        if name not in ARGUMENTS:
            raise unknown("argument", name, [*ARGUMENTS, "out", "settings", "progress"], synonyms=synonyms)
    return {ARGUMENTS[name]: _text(value) for name, value in short.items() if value is not None}


def _override_pretrained(pretrained: schema.Neural, overrides: Iterable[str], where: str) -> schema.Neural:
    """The configuration of a pre-trained network, overridden by settings; the tokenizer must stay."""
    config = core.override(pretrained, overrides)
    before, after = (getattr(each.data, "vocabularies", "") for each in (pretrained, config))
    if config.tokenizer != pretrained.tokenizer or before != after:
        what = "the tokenizer of that run is kept, since its embeddings belong to its tokens"
        raise FirthError(what, where=where, do="leave settings of the tokenizer out, or train from scratch")
    return config


def _require_unused(path: Path) -> None:
    """Refuse a folder with other files; what an early crash leaves in it does not count."""
    names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    if any(name not in ("tokenizers", LOCATION) and not name.startswith(".") for name in names):
        raise FirthError("this folder has other files in it", where=path, do="choose an empty or a new one with --out")


def _settings(short: str, value: str, config: schema.System, preset: str) -> list[str]:
    """A short name's settings by full name: its group's, if it has one, and its own."""
    group = SHORT_NAMES[short].group if short in SHORT_NAMES else ""
    chosen = [group] if group and core.has(config, group.partition("=")[0]) else []
    names = _full_names(short, core.override(config, chosen), preset)
    return [*chosen, *(f"{name}={value}" for name in names)]


def _full_names(short: str, config: schema.System, preset: str) -> list[str]:
    """The full names of a short name in a configuration: the first alternative it has, or all of those joined by +."""
    if short not in SHORT_NAMES:
        known = [*SHORT_NAMES, "out", "settings", "progress"]
        raise unknown("argument", short, known, synonyms=SYNONYMS)
    for alternative in SHORT_NAMES[short].names:
        names = alternative.split("+")
        if all(core.has(config, name) for name in names):
            return names
    raise FirthError(f"{preset} has no setting {short!r}", do=f"firth presets {preset} lists them all")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
