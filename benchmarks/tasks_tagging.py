"""Taggers trained on the same sentences: ours beside spaCy's blank pipeline and Stanza without anything pre-trained.

Our network trains for some epochs; spaCy, by its own defaults, for as much processor time at most, Stanza for twice as
much. Our CRF on features (`crf-tagger`) trains until it converges. Networks keep the weights that are best on the same
validation sentences. Scores are of the whole test split, speed is of its first sentences: from lists of words to lists
of tags, on one thread, which is all that spaCy has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import tasks_tagging_peers as peers
from benchmarks import texts
from benchmarks.harness import Options, Row, Settings, load_row, make_row, memory_row, note, speed_row
from benchmarks.processes import Comparison, Program, compare
from benchmarks.steps import prepare_torch
from benchmarks.tasks_tagging_peers import TIMED, Sentences, Tag, read_sentences

if TYPE_CHECKING:
    from firth.config.schema import TaggedWords

QUICK_SENTENCES = 300  # of each split
VALIDATION_SENTENCES = 500
WORLD = "-world"  # ends the name of a folder with built-in sentences
SPLITS = ("text", "valid", "test")
SHORT = {  # settings for a short training: less dropout than the presets, which are made for many epochs
    "inputs.words.dropout": 0.2,
    "inputs.words.characters.dropout": 0.1,
    "backbone.dropout": 0.3,
    "train.optimizer.learning_rate": 4e-3,
}
SETTINGS = Settings(1, clock="cpu")
PEERS = {"spacy": ("spaCy's blank pipeline", 1.0), "stanza": ("Stanza", 3.0)}  # names and targets of speed
OURS = {"ours": "network", "features": "CRF on features"}
TIMES = {"spacy": 1.0, "stanza": 2.0}  # processor time of their training, in that of ours


class TaggingTask(NamedTuple):
    """What is tagged, with which preset, trained on how many sentences for how many epochs."""

    what: str
    kind: str  # as `data.tasks` has it
    preset: str
    metric: str
    files: tuple[str, str, str]  # by split, in the data folder
    sentences: int
    epochs: int


TASKS = {
    "upos": TaggingTask(
        "parts of speech of English-EWT",
        "tagging",
        "pos-tagger",
        "accuracy",
        tuple(f"ud-english-ewt/en_ewt-ud-{split}.conllu.gz" for split in ("train", "dev", "test")),  # type: ignore[arg-type]
        6000,
        3,
    ),
    "ner": TaggingTask(
        "entities of CoNLL-2003",
        "ner",
        "ner",
        "F1",
        tuple(f"conll2003-ner/eng.{split}.gz" for split in ("train", "testa", "testb")),  # type: ignore[arg-type]
        1500,
        4,
    ),
}


# --- the sentences ---


def write_splits(options: Options, name: str) -> Path:
    """A folder with a file for each split: a word and its tag a line, entities as IOB2 tags."""
    from firth.config import schema
    from firth.datasets import tagged_sentences

    task = TASKS[name]
    paths = [texts.find(options, file) for file in task.files]
    found = {split: (str(path),) for split, path in zip(SPLITS, paths, strict=True) if path}
    data: TaggedWords = schema.TaggedWords(tasks=(task.kind,), scheme="iob2", **(found if all(paths) else {}))
    full = {"train": task.sentences, "valid": VALIDATION_SENTENCES, "test": None}
    folder = options.folder / (name if all(paths) else f"{name}{WORLD}")
    folder.mkdir(exist_ok=True)
    for split, part in tagged_sentences.read(data, 1).splits.items():
        kept = part.examples[: options.choose(QUICK_SENTENCES, full[split])]
        rows = ("\n".join(map("\t".join, zip(each.words, each.tags[0], strict=True))) for each in kept)
        (folder / f"{split}.tsv").write_text("\n\n".join(rows) + "\n\n", encoding="utf-8")
    return folder


# --- training, each model once ---


def train_ours(settings: Settings, task: str, files: str, out: str, epochs: int, seconds: float) -> Callable[[], None]:
    """Ours, for so many epochs."""
    import firth

    prepare_torch(settings)
    splits = {split: str(Path(files, f"{split}.tsv")) for split in ("train", "valid", "test")}

    def run() -> None:
        firth.train(
            TASKS[task].preset,
            text=splits["train"],
            valid=splits["valid"],
            test=splits["test"],
            out=out,
            budget=f"{epochs} epochs",
            threads=settings.threads,
            settings=SHORT,
        )

    return run


def train_features(
    settings: Settings, task: str, files: str, out: str, epochs: int, seconds: float
) -> Callable[[], None]:
    """Ours without a network."""
    import firth

    splits = {split: str(Path(files, f"{split}.tsv")) for split in ("train", "valid", "test")}
    own = {"data.tasks": TASKS[task].kind, "method.threads": settings.threads}

    def run() -> None:
        firth.train(
            "crf-tagger", text=splits["train"], valid=splits["valid"], test=splits["test"], out=out, settings=own
        )

    return run


TRAINERS = {
    "ours": Program(train_ours, SETTINGS),
    "features": Program(train_features, SETTINGS),
    "spacy": Program(peers.train_spacy, SETTINGS, "spacy"),
    "stanza": Program(peers.train_stanza, SETTINGS, "stanza"),
}


def train_all(options: Options, name: str, files: Path) -> dict[str, tuple[Path, float]]:
    """The folder of each model, and the processor time of its training; those that are kept are not trained again."""
    trained: dict[str, tuple[Path, float]] = {}
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files.iterdir()))).hexdigest()[:8]
    epochs = options.choose(4, TASKS[name].epochs)
    for program, trainer in TRAINERS.items():
        folder = (options.models or options.folder) / f"{name}-{program}-{epochs}-{digest}"
        seconds = folder.with_suffix(".json")
        if not seconds.exists():
            allowed = TIMES[program] * trained["ours"][1] if program in TIMES else 0.0
            arguments = {"task": name, "files": str(files), "out": str(folder), "epochs": epochs, "seconds": allowed}
            measured = compare({program: trainer}, 0, **arguments)
            if program not in measured:
                continue
            seconds.write_text(json.dumps(measured[program].warmup))
        trained[program] = folder, json.loads(seconds.read_text())
    return trained


# --- tagging ---


def our_tagging(settings: Settings, models: Mapping[str, str], files: str) -> Tag:
    """Ours."""
    import firth

    prepare_torch(settings)
    model: Any = firth.load(models["ours"], threads=settings.threads)
    if settings.precision == "bf16":
        model = with_bf16(model)
    return peers.tag_test(files, model.tag)


def tag_with_features(settings: Settings, models: Mapping[str, str], files: str) -> Tag:
    """Ours without a network."""
    import firth

    model: Any = firth.load(models["features"])
    return peers.tag_test(files, model.tag)


def with_bf16(model: Any) -> Any:
    """The model with its arithmetic in bf16."""
    from dataclasses import replace

    model.config = replace(model.config, train=replace(model.config.train, precision="bf16"))
    return model


def taggers(trained: Mapping[str, Any]) -> dict[str, Program]:
    """The programs whose models are trained; ours also in bf16, where the CPU has it."""
    from benchmarks.steps import precisions

    programs = {
        "ours": Program(our_tagging, SETTINGS),
        "features": Program(tag_with_features, SETTINGS),
        "spacy": Program(peers.tag_with_spacy, SETTINGS, "spacy"),
        "stanza": Program(peers.tag_with_stanza, SETTINGS, "stanza"),
    }
    programs = {name: program for name, program in programs.items() if name in trained}
    if "bf16" in precisions():
        programs["bf16"] = Program(our_tagging, Settings(1, "bf16", "cpu"))
    return programs


def title(name: str, files: Path) -> str:
    """What is tagged, and how much the taggers have seen."""
    what = f"{TASKS[name].preset} on the world" if files.name.endswith(WORLD) else TASKS[name].what
    return f"{what}, {len(read_sentences(str(files), 'train')):,} training sentences"


def score(task: TaggingTask, gold: Sentences, predicted: Sequence[Sequence[str]]) -> float:
    """Accuracy or F1 of predicted tags, in percent."""
    from firth.datasets.readers.tag_schemes import convert
    from firth.metrics import tagging

    right = [tags for _, tags in gold]
    if task.kind == "tagging":
        value = tagging.token_accuracy(right, predicted).score().value
    else:
        value = tagging.chunk_f1(right, [convert(tags, "iob2") for tags in predicted]).score().value
    return 100 * (value or 0.0)


def rows_of(name: str, options: Options) -> Iterator[Row]:
    """Speed, scores and training of a task's taggers."""
    task, files = TASKS[name], write_splits(options, name)
    trained = train_all(options, name, files)
    gold = read_sentences(str(files), "test")
    models = {program: str(folder) for program, (folder, _) in trained.items()}
    with Comparison(taggers(trained), models=models, files=str(files)) as comparison:
        whole = comparison.measure(0, most=len(gold))
        measured = comparison.measure(options.choose(5, 11), most=TIMED)
    words = sum(len(tags) for _, tags in gold[:TIMED])
    scores = {program: score(task, gold, each.result) for program, each in whole.items()}
    for peer, (full_name, target) in PEERS.items():
        theirs, what = measured.get(peer), f"{title(name, files)}: {full_name}"
        for program, mine in OURS.items():
            each = f"{what}, {mine}"
            yield speed_row(f"{each}, tagging", measured[program], theirs, words, "words/s", target)
            yield make_row(f"{each}, {task.metric}", scores[program], scores.get(peer), "%", 1.0, quality=True)
            taken = trained[program][1], trained[peer][1] if peer in trained else None
            yield make_row(f"{each}, processor time of the training", *taken, "s", lower_is_better=True)
            yield memory_row(f"{each}, tagging", measured[program], theirs)
            yield load_row(f"{each}, tagging", measured[program], theirs)
        if "bf16" in measured and theirs:
            yield speed_row(f"{what}, network, tagging", measured["bf16"], theirs, words, "words/s", mode="bf16")
    if "bf16" in measured:
        what = f"{title(name, files)}: {task.metric} in bf16 beside float32"
        yield make_row(what, scores["bf16"], scores["ours"], "%", quality=True)


def tagging(options: Options) -> Iterator[Row]:
    """Parts of speech, and entities; quick runs have parts of speech alone."""
    if not options.data.is_dir():
        note("tagging: sentences of the world, which are too simple to tell taggers apart")
    for name in options.choose(("upos",), tuple(TASKS)):
        yield from rows_of(name, options)
