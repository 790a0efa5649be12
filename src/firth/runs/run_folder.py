"""The run folder: configuration, tokenizers, weights, checkpoints, training log and scores of one model; nothing
executable. And the request to train in one."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import firth
from firth.config import from_dict, migrations, to_dict, to_json
from firth.config.schema import System
from firth.errors import FirthError
from firth.runs import atomic_files
from firth.runs.progress import Progress
from firth.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from firth.display import Table

FORMAT = 3  # of config.json; a newer one is refused, an older one is migrated
_DAMAGED = "the folder was edited or cut short; restore it, or train again"


@dataclass(frozen=True)
class Record:
    """The content of config.json: the resolved configuration, its data, tokenizers and machine."""

    preset: str
    request_digest: str  # digest of the configuration before it was resolved: the same request again resumes the run
    config: System
    tokenizers: Mapping[str, str]  # stream -> sha256
    data: Mapping[str, Any]  # fingerprint, splits, byte model
    machine: Mapping[str, Any]  # torch version, instruction set, threads
    firth: str = firth.__version__
    format: int = FORMAT

    def to_json(self) -> str:
        """The text of config.json."""
        values = {**vars(self), "config": to_dict(self.config)}
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: bytes, where: Path) -> Record:
        """Parse config.json; errors name its path."""
        try:
            values = json.loads(text)
            if values["format"] > FORMAT:
                raise FirthError("written by a newer firth: upgrade with pip install -U firth")
            if values["format"] < 2:
                values = migrations.rename(values, migrations.RECORD) | {"config": migrations.migrate(values["config"])}
            values = {**values, "config": migrations.keep_split(values["config"])}
            record = cls(**{**values, "config": from_dict(System, values["config"])})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FirthError(f"damaged ({error})", where=where, do=_DAMAGED) from None
        except FirthError as error:
            raise FirthError(error.what, where=where, do=_DAMAGED) from None
        if not all(isinstance(part, dict) for part in (record.tokenizers, record.data, record.machine)):
            raise FirthError("damaged", where=where, do=_DAMAGED)
        if not {"splits", "byte_counts"} <= set(record.data):
            raise FirthError("damaged: its entries are incomplete", where=where, do=_DAMAGED)
        return record


class Run:
    """One run folder on disk."""

    def __init__(self, path: Path | str) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            raise FirthError(f"{path!r} is not a path", do="name a run folder") from None

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        from firth.display import html_facts
        from firth.runs.summary import format_summary, summary

        facts = format_summary(summary(self.path)) if self.exists else {"state": "no run yet"}
        return html_facts(f"Run {self.path}", {name.replace("_", " "): value for name, value in facts.items()})

    def history(self) -> Table[dict[str, Any]]:
        """The rows of its training log: step, loss, learning_rate, …"""
        from firth.display import Table

        return Table(read_log(self.path / "log.jsonl"))

    @classmethod
    def open(cls, path: Path | str) -> Run:
        """An existing run; its configuration and tokenizers are checked."""
        run = cls(path)
        if not run.path.is_dir():
            raise FirthError("no such run folder", where=path, do=f"runs here: {_nearby(run.path)}")
        if not run.exists:
            raise FirthError(
                "not a run folder: it has no config.json", where=path, do="name a folder made by firth train"
            )
        for stream in run.record.tokenizers:
            run.tokenizer(stream)
        return run

    @property
    def exists(self) -> bool:
        """Whether there is a run in the folder."""
        return (self.path / "config.json").is_file()

    @property
    def is_trained(self) -> bool:
        """Whether there are weights to load."""
        return self.weights.is_file()

    @property
    def weights(self) -> Path:
        """The weights of the best model on the validation split."""
        return self.path / "model.safetensors"

    @cached_property
    def record(self) -> Record:
        """The content of config.json."""
        path = self.path / "config.json"
        return Record.from_json(path.read_bytes(), path)

    def write_record(self, record: Record) -> None:
        """Write config.json: once, before the first step."""
        atomic_files.replace_file(self.path / "config.json", record.to_json().encode())

    def config_digest(self) -> str:
        """The sha256 of config.json, which the weights' metadata has too."""
        return atomic_files.digest_file(self.path / "config.json")

    def write_tokenizer(self, stream: str, tokenizer: Tokenizer) -> None:
        """Save a stream's tokenizer."""
        atomic_files.make_folder(self.path / "tokenizers")
        atomic_files.replace_file(self.path / "tokenizers" / f"{stream}.json", tokenizer.to_json().encode())

    def tokenizer(self, stream: str) -> Tokenizer:
        """A stream's tokenizer; an error if it is not the one that the model was trained with."""
        path = self.path / "tokenizers" / f"{stream}.json"
        try:
            tokenizer = Tokenizer.load(path)
        except FirthError as error:
            raise FirthError(error.what, where=path, do=_DAMAGED) from None
        if tokenizer.hash != self.record.tokenizers.get(stream):
            raise FirthError("not the tokenizer this model was trained with", where=path, do=_DAMAGED)
        return tokenizer

    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers of all streams."""
        return {stream: self.tokenizer(stream) for stream in self.record.tokenizers}

    def text_tokenizer(self) -> Tokenizer | None:
        """The tokenizer of the text; None for images."""
        return self.tokenizer("text") if self.record.tokenizers else None

    def scores(self) -> list[dict[str, Any]]:
        """The signed scores so far."""
        path = self.path / "scores.json"
        try:
            scores = json.loads(path.read_bytes()) if path.exists() else []
            rename = migrations.METRICS
            return [
                {
                    "name": rename.get(score["name"], score["name"]),
                    **{key: score[key] for key in ("value", "signature")},
                    **({"note": score["note"]} if "note" in score else {}),
                }
                for score in scores
            ]
        except (ValueError, TypeError, KeyError):
            raise FirthError("damaged", where=path, do="delete it; firth eval writes it anew") from None

    def add_scores(self, scores: list[dict[str, Any]]) -> None:
        """Add signed scores; a score of the same name and signature is replaced."""
        fresh = {(score["name"], score["signature"]) for score in scores}
        kept = [score for score in self.scores() if (score["name"], score["signature"]) not in fresh]
        atomic_files.replace_file(self.path / "scores.json", (json.dumps(kept + scores, indent=2) + "\n").encode())

    def lock(self) -> Lock:
        """Lock the folder against other training processes until the lock is closed or the process ends."""
        atomic_files.make_folder(self.path)
        with atomic_files.explain_errors(self.path):
            handle = (self.path / ".lock").open("w")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            raise FirthError("another process is training here", where=self.path, do="wait, or choose --out") from None
        return Lock(self, handle)


@dataclass(frozen=True)
class Lock:
    """An exclusive lock on a run folder."""

    run: Run
    handle: IO[str]

    def close(self) -> None:
        """Release the lock; the folder is removed if it has no run and nothing else in it."""
        if not self.run.exists:
            (self.run.path / ".lock").unlink(missing_ok=True)
            with suppress(OSError):
                self.run.path.rmdir()
        self.handle.close()


def free_folder(root: Path, preset: str) -> Path:
    """The first unused folder for a run of a preset: runs/lstm-lm, runs/lstm-lm-2, …"""
    names = [root / preset, *(root / f"{preset}-{number}" for number in range(2, 10_000))]
    return next(path for path in names if not path.exists())


def _nearby(path: Path) -> str:
    parent = path.parent
    names = sorted(p.parent.name for p in parent.glob("*/config.json")) if parent.is_dir() else []
    return ", ".join(str(parent / name) for name in names[:8]) or "none"


@dataclass(frozen=True)
class TrainRequest:
    """A configuration to train, the run folder, the token cache, and the progress reporter."""

    preset: str
    config: System
    run: Run
    cache: Path
    progress: Progress

    @property
    def request_digest(self) -> str:
        """A digest of the configuration, which identifies the request in its folder."""
        return atomic_files.digest(to_json(self.config).encode())


class Log:
    """Appends lines; each has a `step`, so that a resumed run can drop the lines after its checkpoint."""

    def __init__(self, path: Path, *, keep_to: int) -> None:
        self._path = path
        self._start(keep_to)

    def _start(self, keep_to: int) -> None:
        entries = [line for line in read_log(self._path) if line["step"] <= keep_to]
        self.seconds = max((line.get("seconds", 0.0) for line in entries), default=0.0)
        atomic_files.replace_file(self._path, b"".join(map(_line, entries)))
        self._file = self._path.open("ab", buffering=0)  # unbuffered: nothing is left to write on close

    def add(self, entry: Mapping[str, Any]) -> None:
        """Append one line."""
        with atomic_files.explain_errors(self._path):
            self._file.write(_line(entry))

    def drop_after(self, step: int) -> None:
        """Drop the lines after a step (training went back to its checkpoint)."""
        self._file.close()
        self._start(step)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The complete lines of a log; a last line cut by a crash is skipped."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and isinstance(entry.get("step"), int) and _is_number(entry.get("seconds")):
                yield migrations.rename(migrations.rename(entry, migrations.LOG), migrations.METRICS)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _line(entry: Mapping[str, Any]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False) + "\n").encode()
