"""Attacks on whoever uses a received run folder: what is done to the folder, and what is then done with it.

`try_attack` answers what broke, or nothing if firth held: files outside the folder are as before, and every command
ends with exit code 0, or with exit code 2 and one line.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LIMIT = 300  # seconds, after which a command counts as waiting for ever
TEXT = "".join(f"{' '.join(str(n * m % 97) for m in range(12))}\n" for n in range(60))
SMALL = {
    "tokenizer.model": "byte", "backbone.width": 16, "batching.batch_size": 4, "batching.length": 8,
    "train.budget": "6 steps", "train.evaluate_every": 3, "train.checkpoint_every": 3, "train.threads": 1,
}  # fmt: skip
CHECKPOINT = "state/step-000006"


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


class Attack(NamedTuple):
    """What is done to the folder, with a folder outside that is the victim's; and with it, `RUN` being its path."""

    prepare: Callable[[Path, Path], object]
    commands: tuple[str, ...]
    must_refuse: bool = True


def make_run(folder: Path) -> Path:
    """The run that is sent: a trained language model."""
    import firth

    (folder / "text.txt").write_text(TEXT)
    firth.train("lstm-lm:tiny", text=str(folder / "text.txt"), out=folder / "run", settings=SMALL)
    return folder / "run"


def make_victim(folder: Path) -> Path:
    """Somebody's folder: files with any names, hidden ones too, and what looks like checkpoints."""
    for name in ("letter.txt", ".config/key", "step-000001/a", "step-000099/thesis.txt", ".step-000002.new/b"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}: precious\n")
    return folder


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every name in a folder, and the content of files."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def call(words: list[str]) -> Outcome:
    """A `firth` command in this process."""
    from firth.cli.main import run

    out, err, before = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), sys.argv
    try:
        sys.argv = ["firth", *words]
        with redirect_stdout(out), redirect_stderr(err), _alarm():
            run()
    except SystemExit as end:
        out.flush()
        return Outcome(int(end.code or 0), out.buffer.getvalue().decode(), err.getvalue())
    finally:
        sys.argv = before
    raise AssertionError("no exit code")


@contextmanager
def _alarm() -> Iterator[None]:
    """Ends what waits for ever for a pipe or a device."""

    def waits(*_: object) -> None:
        raise TimeoutError("it waits for ever")

    before = signal.signal(signal.SIGALRM, waits)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def try_attack(attack: Attack, sent: Path, folder: Path) -> str:
    """What broke, or nothing; `sent` is a clean run or ladder, `folder` an empty one to work in."""
    run, victim = Path(shutil.copytree(sent, folder / "received")), make_victim(folder / "home")
    attack.prepare(run, victim)
    before = snapshot(victim)
    for command in attack.commands:
        found = call([str(run) if word == "RUN" else word for word in command.split()])
        if snapshot(victim) != before:
            return f"{command}: files outside the folder were changed"
        if found.code not in (0, 2) or "internal error" in found.err or "Traceback" in found.err:
            return f"{command}: exit code {found.code}, {found.err.strip()}"
        if attack.must_refuse and found.code != 2:
            return f"{command}: accepted"
        if found.code == 2 and (found.err.count("\n") != 1 or not found.err.startswith("firth: ")):
            return f"{command}: more than one line: {found.err.strip()}"
    return ""


# --- out of the folder ------------------------------------------------------------------------------------------------


def link(name: str, target: str = "letter.txt") -> Callable[[Path, Path], object]:
    """A file or folder of the run is a link to the victim's, with the same content if it is a file."""

    def prepare(run: Path, victim: Path) -> None:
        if (run / name).is_file():
            shutil.copyfile(run / name, victim / target)
        _remove(run / name)
        (run / name).symlink_to(victim / target)

    return prepare


def hard_link(name: str) -> Callable[[Path, Path], object]:
    """A file of the run is the victim's under another name."""

    def prepare(run: Path, victim: Path) -> None:
        content = (run / name).read_bytes()
        (victim / "letter.txt").write_bytes(content)
        _remove(run / name)
        os.link(victim / "letter.txt", run / name)

    return prepare


def planted(name: str) -> Callable[[Path, Path], object]:
    """The temporary names that a process could use to write a file are links to the victim's."""

    def prepare(run: Path, victim: Path) -> None:
        for number in range(os.getpid(), os.getpid() + 3):
            (run / f".{name}.{number}.new").symlink_to(victim / "letter.txt")

    return prepare


def pipe(name: str) -> Callable[[Path, Path], object]:
    """A file of the run is a pipe, which never ends."""

    def prepare(run: Path, victim: Path) -> None:
        _remove(run / name)
        os.mkfifo(run / name)

    return prepare


def device(name: str) -> Callable[[Path, Path], object]:
    """A file of the run is a link to a device that never ends."""

    def prepare(run: Path, victim: Path) -> None:
        _remove(run / name)
        (run / name).symlink_to("/dev/zero")

    return prepare


def elsewhere(marked: bool) -> Callable[[Path, Path], object]:
    """The run says that its checkpoints are in the victim's folder, which may be that of another run."""

    def prepare(run: Path, victim: Path) -> None:
        values = {"folder": str(victim), "id": "0" * 32}
        (run / "state.json").write_text(json.dumps(values))
        if marked:
            (victim / ".firth-run.json").write_text(json.dumps({"run": "/home/run", "id": "0" * 32}))

    return prepare


def foreign(name: str) -> Callable[[Path, Path], object]:
    """A checkpoint that would be removed holds something else: the folder is then the victim's own."""

    def prepare(run: Path, victim: Path) -> None:
        shutil.rmtree(victim)
        (run / name).mkdir(parents=True, exist_ok=True)
        (run / name / "thesis.txt").write_text("precious")
        victim.symlink_to(run / name)

    return prepare


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _unfinished_rung(ladder: Path, victim: Path) -> None:
    (ladder / "results/2-gram.json").unlink()
    link("rungs/2-gram", ".")(ladder, victim)


TRAIN, EVAL, RUN, INFO = "train RUN --quiet", "eval RUN", "run RUN --max-length 1", "info RUN"
ALL = (INFO, RUN, EVAL, TRAIN)
ESCAPES = {
    "the lock is a link": Attack(link(".lock"), (EVAL, TRAIN), must_refuse=False),
    "state is a link to a folder": Attack(link("state", "."), (TRAIN,)),
    "state is a link to a folder, scored": Attack(link("state", "."), (INFO, EVAL), must_refuse=False),
    "a checkpoint is a link to a folder": Attack(link("state/step-000099", "step-000099"), (TRAIN,)),
    "an unfinished checkpoint is a link": Attack(link("state/.step-000009.new", ".config"), (TRAIN,)),
    "tokenizers is a link": Attack(link("tokenizers", "."), (TRAIN,)),
    **{f"{name} is a link": Attack(link(name), (INFO, EVAL, TRAIN), must_refuse=False)
       for name in ("log.jsonl", "scores.json", "report.html", "model.safetensors", "config.json")},
    **{f"{name} is a hard link": Attack(hard_link(name), (EVAL, TRAIN), must_refuse=False)
       for name in ("log.jsonl", "scores.json", "report.html", "model.safetensors", ".lock")},
    **{f"the temporary name of {name} is planted": Attack(planted(name), (EVAL, TRAIN), must_refuse=False)
       for name in ("log.jsonl", "scores.json", "report.html", "model.safetensors")},
    "state.json names a folder outside": Attack(elsewhere(False), (INFO, TRAIN)),
    "state.json names another run's folder": Attack(elsewhere(True), (INFO, TRAIN)),
    "a newer checkpoint holds other files": Attack(foreign("state/step-000099"), (TRAIN,)),
    "an unfinished checkpoint holds other files": Attack(foreign("state/.step-000009.new"), (TRAIN,)),
    "a hidden folder in state is not ours": Attack(foreign("state/.cache"), (TRAIN,), must_refuse=False),
    **{f"{name} is a pipe": Attack(pipe(name), (INFO, RUN, TRAIN), must_refuse=False)
       for name in ("log.jsonl", "scores.json", "report.html", "model.safetensors", "config.json", ".lock", "state",
                    "tokenizers/text.json", f"{CHECKPOINT}/manifest.json", f"{CHECKPOINT}/weights.safetensors")},
    **{f"{name} is a device": Attack(device(name), (INFO, RUN), must_refuse=False)
       for name in ("log.jsonl", "scores.json", "model.safetensors", "config.json", "tokenizers/text.json",
                    f"{CHECKPOINT}/training.json")},
}  # fmt: skip


# --- damage -----------------------------------------------------------------------------------------------------------


def content(name: str, data: bytes | str) -> Callable[[Path, Path], object]:
    """A file has other content; a manifest that lists it agrees."""

    def prepare(run: Path, victim: Path) -> None:
        (run / name).write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
        agree(run)

    return prepare


def changed(name: str, **values: Any) -> Callable[[Path, Path], object]:
    """A JSON file has other values; a manifest that lists it agrees."""

    def prepare(run: Path, victim: Path) -> None:
        whole = json.loads((run / name).read_text())
        (run / name).write_text(json.dumps({**whole, **values}))
        agree(run)

    return prepare


def in_config(**values: Any) -> Callable[[Path, Path], object]:
    """config.json has other values in its configuration, and the weights and checkpoints agree."""

    def prepare(run: Path, victim: Path) -> None:
        path = run / "config.json"
        record = json.loads(path.read_text())
        for dotted, value in values.items():
            place = record
            *parents, last = dotted.split("__")
            for parent in parents:
                place = place[parent]
            place[last] = value
        path.write_text(json.dumps(record))
        digest = sha256(path.read_bytes()).hexdigest()
        rewrite_weights(run, lambda tensors, metadata: metadata.update(config=digest))
        for state in (run / "state").glob("step-*/training.json"):
            state.write_text(json.dumps({**json.loads(state.read_text()), "config": digest}))
        agree(run)

    return prepare


def rewrite_weights(run: Path, change: Callable[[dict[str, np.ndarray], dict[str, Any]], object]) -> None:
    """Change tensors and metadata; the checksum agrees."""
    from safetensors.numpy import load, save

    from firth.runs.weights import METADATA_KEY, digest

    path = run / "model.safetensors"
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    metadata = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][METADATA_KEY])
    tensors = {name: array.copy() for name, array in load(data).items()}
    change(tensors, metadata)
    metadata["sha256"] = digest(save(tensors))
    path.write_bytes(save(tensors, {METADATA_KEY: json.dumps(metadata)}))


def weights(change: Callable[[dict[str, np.ndarray], dict[str, Any]], object]) -> Callable[[Path, Path], object]:
    """The weights are others."""
    return lambda run, victim: rewrite_weights(run, change)


def _spoil(number: float) -> Callable[[dict[str, np.ndarray], dict[str, Any]], object]:
    def change(tensors: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
        tensors[max(tensors)].reshape(-1)[-1] = number

    return change


def _reshape(tensors: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
    name = max(tensors)
    tensors[name] = np.zeros((3, 5), np.float32)


def manifest(**entries: Any) -> Callable[[Path, Path], object]:
    """The newest checkpoint's manifest has other entries."""
    return lambda run, victim: _write_manifest(run, {name.replace("__", "/"): entry for name, entry in entries.items()})


def _write_manifest(run: Path, entries: dict[str, Any]) -> None:
    path = run / CHECKPOINT / "manifest.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, **entries} if entries else {}))


def agree(run: Path) -> None:
    """The manifests have the checksums of what is there."""
    for path in (run / "state").glob("step-*/manifest.json"):
        try:
            names = list(json.loads(path.read_bytes()).keys())
        except (ValueError, RecursionError, AttributeError):
            continue
        files = {name: (path.parent / name).read_bytes() for name in names if (path.parent / name).is_file()}
        entries = {name: {"sha256": sha256(data).hexdigest(), "bytes": len(data)} for name, data in files.items()}
        path.write_text(json.dumps(entries))


DEEP = "[" * 100_000 + "]" * 100_000
NESTED = '{"a":' * 200 + "1" + "}" * 200
CONTENTS = {
    "deep": DEEP, "nested": NESTED, "empty": "", "null": "null", "a list": "[[1]]", "bytes": b"\xff\x00\xfe",
    "a number": "-5", "text": '"text"', "surrogates": '{"step": 1, "seconds": 1, "name": "\\ud800"}',
}  # fmt: skip
_ENTRY = {"sha256": "0" * 64, "bytes": 8}
FILES = {  # JSON files, and the commands that read them
    "config.json": ALL,
    "tokenizers/text.json": ALL,
    "scores.json": (INFO, EVAL),
    "log.jsonl": (INFO, TRAIN),
    f"{CHECKPOINT}/training.json": (INFO, TRAIN),
    f"{CHECKPOINT}/manifest.json": (INFO, TRAIN),
    "state.json": (INFO, TRAIN),
}
_LENIENT = ("log.jsonl", f"{CHECKPOINT}/manifest.json")  # a damaged line or checkpoint is passed over
DAMAGES = {
    **{f"{name}: {kind}": Attack(content(name, data), commands, must_refuse=name not in _LENIENT)
       for name, commands in FILES.items() for kind, data in CONTENTS.items()},
    "the header of the weights has 2^63 bytes": Attack(
        content("model.safetensors", struct.pack("<Q", 1 << 63) + b"{}"), (INFO, RUN)),
    "the header of the weights is nested": Attack(
        content("model.safetensors", struct.pack("<Q", len(DEEP)) + DEEP.encode()), (INFO, RUN)),
    "the metadata of the weights is a list": Attack(
        content("model.safetensors", struct.pack("<Q", 32) + b'{"__metadata__":{"firth":"[1]"}}'), (INFO, RUN)),
    "weights that are NaN": Attack(weights(_spoil(float("nan"))), (RUN, EVAL, "run RUN 1 --score")),
    "weights that are infinite": Attack(weights(_spoil(float("inf"))), (RUN, EVAL, "run RUN 1 --score")),
    "weights of another shape": Attack(weights(_reshape), (RUN, EVAL)),
    "a tensor too many": Attack(weights(lambda t, m: t.update(extra=np.zeros(2, np.float32))), (RUN,)),
    "a tensor too few": Attack(weights(lambda t, m: t.pop(max(t))), (RUN,)),
    "metadata without configuration": Attack(weights(lambda t, m: m.pop("config")), (RUN,)),
    "metadata of other types": Attack(weights(lambda t, m: m.update(tokenizers=[1])), (RUN,)),
    "an empty manifest": Attack(manifest(), (INFO, TRAIN), must_refuse=False),
    "a manifest with a device": Attack(manifest(__dev__zero=_ENTRY), (INFO, TRAIN), must_refuse=False),
    "a manifest that leads out": Attack(manifest(**{"..__..__..__x": _ENTRY}), (INFO, TRAIN), must_refuse=False),
    "a manifest of other types": Attack(manifest(**{"training.json": 7}), (INFO, TRAIN), must_refuse=False),
    "a step below 0": Attack(changed(f"{CHECKPOINT}/training.json", step=-5), (INFO, TRAIN)),
    "a step that is text": Attack(changed(f"{CHECKPOINT}/training.json", step="6"), (INFO, TRAIN)),
    "a cursor of other types": Attack(changed(f"{CHECKPOINT}/training.json", cursor=[1, 2]), (TRAIN,)),
    "a cursor below 0": Attack(changed(f"{CHECKPOINT}/training.json", cursor={"epoch": -1, "index": 0}), (TRAIN,)),
    "a loss that is text": Attack(changed(f"{CHECKPOINT}/training.json", best_loss="low"), (TRAIN,)),
    "a state with another key": Attack(changed(f"{CHECKPOINT}/training.json", more=1), (TRAIN,)),
    "weights of a checkpoint that are none": Attack(content(f"{CHECKPOINT}/weights.safetensors", b"1234"), (TRAIN,)),
    "an optimizer state that is none": Attack(content(f"{CHECKPOINT}/training.safetensors", b"1234"), (TRAIN,)),
    "scores of other types": Attack(content("scores.json", '[{"name": 1, "value": [], "signature": 3}]'), (INFO, EVAL)),
    "log lines of other types": Attack(
        content("log.jsonl", '{"step": 1, "seconds": 1, "loss": "a", "tokens": [], "split": "valid"}\n'
                '{"step": true, "seconds": 2}\n{"step": 1, "seconds": 1e400, "notes": 3}\n'), (INFO, TRAIN), False),
    "a stream that leads out": Attack(in_config(tokenizers={"../../x": "0"}), (INFO, RUN)),
    "byte counts of other types": Attack(in_config(data__byte_counts="many"), (INFO, RUN)),
    "splits of other types": Attack(in_config(data__splits=[1]), (INFO, RUN, EVAL)),
    "labels of other types": Attack(in_config(data__labels=3), (INFO, RUN)),
    "machine of another type": Attack(in_config(machine=3), (INFO, RUN, TRAIN)),
    "a format that is text": Attack(in_config(format="3"), (INFO, RUN)),
    "a width that does not fit": Attack(in_config(config__backbone__width=18), (RUN, EVAL)),
    "a width that is a list": Attack(in_config(config__backbone__width=[16]), (INFO, RUN)),
    "a width beyond memory": Attack(in_config(config__backbone__width=1 << 40), (RUN,)),
    "a depth that does not fit": Attack(in_config(config__backbone__depth=3), (RUN, TRAIN)),
    "a kind that is none": Attack(in_config(config__backbone__kind=["recurrent"]), (INFO, RUN)),
    "a number beyond all numbers": Attack(in_config(config__seed=10**400), (INFO, RUN)),
}  # fmt: skip

ATTACKS = ESCAPES | DAMAGES

# --- ladders ----------------------------------------------------------------------------------------------------------


def make_ladder(folder: Path) -> Path:
    """The ladder that is sent."""
    import firth

    (folder / "text.txt").write_text("".join(f"{n} times {n} is {n * n}.\n\n" for n in range(60)))
    firth.run_ladder(folder / "text.txt", out=folder / "ladder", rungs="1-gram,2-gram")
    return folder / "ladder"


RESUME = ("ladder --out RUN --quiet",)
LADDER_FILES = ("ladder.json", "tokenizer.json", "results/2-gram.json")
LADDER_ATTACKS = {
    **{f"{name} is a link": Attack(link(name), RESUME, must_refuse=False)
       for name in (".lock", "report.html", *LADDER_FILES)},
    "results is a link to a folder": Attack(link("results", "."), RESUME),
    "rungs is a link to a folder": Attack(link("rungs", "."), RESUME, must_refuse=False),  # all of them are done
    "a rung that is to be trained is a link to a folder": Attack(_unfinished_rung, RESUME),
    **{f"{name} is a pipe": Attack(pipe(name), RESUME) for name in LADDER_FILES},
    **{f"{name}: {kind}": Attack(content(name, data), RESUME)
       for name in LADDER_FILES for kind, data in CONTENTS.items()},
    "settings of other types": Attack(changed("ladder.json", settings=[1]), RESUME),
    "a rung that is none": Attack(changed("ladder.json", settings={"rungs": ["x"], "data": {"text": ["."]}}), RESUME),
    "splits of other types": Attack(changed("ladder.json", splits="a"), RESUME),
    "the result of another rung": Attack(changed("results/2-gram.json", rung="lstm-lm"), RESUME),
    "a result of other types": Attack(changed("results/2-gram.json", curve=[{"seconds": "a"}]), RESUME),
    "a result without scores": Attack(
        changed("results/2-gram.json", test={"perplexity": 1.0, "nats": [], "sizes": []}), RESUME),
    "a result whose scores are NaN": Attack(
        changed("results/2-gram.json", test={"perplexity": 1.0, "nats": [float("nan")], "sizes": [1.0]}), RESUME),
    "a result that took less than no time": Attack(changed("results/2-gram.json", seconds=-5.0), RESUME),
    "a result with fewer scores": Attack(
        changed("results/2-gram.json", valid={"perplexity": 1.0, "nats": [1.0], "sizes": [2.0]}), RESUME),
}  # fmt: skip


def make_task_ladder(folder: Path) -> Path:
    """A ladder of a labelled task that is sent."""
    import firth

    lines = (f"{'ab'[n % 2]}\t{'left' if n % 2 else 'right'} number {n} and {n * n}.\n" for n in range(60))
    (folder / "labels.tsv").write_text("".join(lines))
    rungs = "majority-class,naive-bayes"
    firth.run_ladder(folder / "labels.tsv", task="classification", out=folder / "tasks", rungs=rungs)
    return folder / "tasks"


def _counts(value: float, width: int = 2) -> Callable[[Path, Path], object]:
    """Every item of a result has these counts."""

    def prepare(ladder: Path, victim: Path) -> None:
        path = ladder / "results/naive-bayes.json"
        whole = json.loads(path.read_text())
        path.write_text(json.dumps({**whole, "test": [[value] * width for _ in whole["test"]]}))

    return prepare


TASK_RESULT = "results/naive-bayes.json"
TASK_LADDER_ATTACKS = {
    **{f"{name} is a link": Attack(link(name), RESUME, must_refuse=False) for name in ("ladder.json", TASK_RESULT)},
    **{f"{name} is a pipe": Attack(pipe(name), RESUME) for name in ("ladder.json", TASK_RESULT)},
    **{f"{TASK_RESULT}: {kind}": Attack(content(TASK_RESULT, data), RESUME) for kind, data in CONTENTS.items()},
    "the result of another metric": Attack(changed(TASK_RESULT, metric="bits per byte"), RESUME),
    "a metric that is none": Attack(changed(TASK_RESULT, metric="x"), RESUME),
    "counts of other types": Attack(changed(TASK_RESULT, test=[["a"]]), RESUME),
    "too few counts": Attack(changed(TASK_RESULT, test=[[1.0, 1.0]]), RESUME),
    "counts of different widths": Attack(changed(TASK_RESULT, valid=[[1.0], [1.0, 2.0]]), RESUME),
    "counts of another width": Attack(_counts(1.0, 7), RESUME),
    "counts that are NaN": Attack(_counts(float("nan")), RESUME),
    "counts that are infinite": Attack(_counts(float("inf")), RESUME),
    "seconds that are NaN": Attack(changed(TASK_RESULT, seconds=float("nan")), RESUME),
    "milliseconds below 0": Attack(changed(TASK_RESULT, milliseconds=-1.0), RESUME),
}  # fmt: skip
