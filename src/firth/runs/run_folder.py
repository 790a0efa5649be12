"""The run folder: configuration, tokenizers, weights, checkpoints, training log and scores of one model; nothing
executable. And the request to train in one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from firth.config import migrations, to_json
from firth.config.schema import System
from firth.errors import FirthError
from firth.runs import atomic_files, json_files, state_folder
from firth.runs.gate import Gate
from firth.runs.progress import Progress
from firth.runs.record import DAMAGED, Record
from firth.runs.run_lock import Lock, exclusive, take_lock
from firth.runs.training_log import Log, read_log
from firth.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from firth.display import Table

__all__ = ["Lock", "Log", "Record", "Run", "TrainRequest", "free_folder", "read_log"]
FILES = ("config.json", "model.safetensors", "scores.json", "log.jsonl", "report.html", ".lock", state_folder.LOCATION)


class ScoreEntry(TypedDict):
    """A score in scores.json."""

    name: str
    value: float | None
    signature: str
    note: NotRequired[str]


class Run:
    """One run folder on disk."""

    def __init__(self, path: Path | str, state_dir: Path | str | None = None) -> None:
        try:
            self.path, self.state_dir = Path(path), None if state_dir is None else Path(state_dir)
        except TypeError:
            raise FirthError(f"{path!r} is not a path", do="name a run folder") from None
        self.gate = Gate(self.path)

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
        run = cls.require(path)
        run.tokenizers()
        return run

    @classmethod
    def require(cls, path: Path | str) -> Run:
        """An existing run, which may be damaged."""
        run = cls(path)
        if not run.path.is_dir():
            raise FirthError("no such run folder", where=path, do=f"runs here: {_nearby(run.path)}")
        if not run.exists:
            raise FirthError(
                "not a run folder: it has no config.json", where=path, do="name a folder made by firth train"
            )
        return run

    @property
    def exists(self) -> bool:
        """Whether there is a run in the folder."""
        return self.gate.exists("config.json")

    @property
    def is_trained(self) -> bool:
        """Whether there are weights to load."""
        return self.gate.exists("model.safetensors")

    @property
    def weights(self) -> Path:
        """The weights of the best model on the validation split; an error if a link or a device has their name."""
        self.gate.exists("model.safetensors")
        return self.path / "model.safetensors"

    @cached_property
    def record(self) -> Record:
        """The content of config.json."""
        return Record.from_json(self.gate.read("config.json", json_files.MAX_BYTES), self.path / "config.json")

    def write_record(self, record: Record) -> None:
        """Write config.json: once, before the first step."""
        self.gate.replace("config.json", record.to_json().encode())

    def config_digest(self) -> str:
        """The sha256 of config.json, which the weights' metadata has too."""
        return atomic_files.digest(self.gate.read("config.json", json_files.MAX_BYTES))

    def write_tokenizer(self, stream: str, tokenizer: Tokenizer) -> None:
        """Save a stream's tokenizer."""
        atomic_files.make_folder(self.path)
        self.gate.make_folder("tokenizers")
        self.gate.replace(f"tokenizers/{stream}.json", tokenizer.to_json().encode())

    def write_report(self, page: str) -> None:
        """Write report.html."""
        self.gate.replace("report.html", page.encode())

    def tokenizer(self, stream: str) -> Tokenizer:
        """A stream's tokenizer; an error if it is not the one that the model was trained with."""
        path = self.path / "tokenizers" / f"{stream}.json"
        try:
            tokenizer = Tokenizer(self.gate.read(f"tokenizers/{stream}.json", json_files.MAX_BYTES).decode(), path)
        except OSError as error:
            raise FirthError(f"cannot read: {error.strerror}", where=path, do=DAMAGED) from None
        except (ValueError, RecursionError):
            raise FirthError("not a tokenizer file", where=path, do=DAMAGED) from None
        except FirthError as error:
            raise FirthError(error.what, where=path, do=DAMAGED) from None
        if tokenizer.hash != self.record.tokenizers.get(stream):
            raise FirthError("not the tokenizer this model was trained with", where=path, do=DAMAGED)
        return tokenizer

    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers of all streams."""
        return {stream: self.tokenizer(stream) for stream in self.record.tokenizers}

    def text_tokenizer(self) -> Tokenizer | None:
        """The tokenizer of the text; None for images, and for words that are not split."""
        return self.tokenizer("text") if "text" in self.record.tokenizers else None

    def scores(self) -> list[dict[str, Any]]:
        """The signed scores so far."""
        if not self.gate.exists("scores.json"):
            return []
        scores = json_files.read(self.gate, "scores.json", list[ScoreEntry], "delete it; firth eval writes it anew")
        names = ScoreEntry.__annotations__
        renamed = ({**score, "name": migrations.METRICS.get(score["name"], score["name"])} for score in scores)
        return [{name: score[name] for name in names if name in score} for score in renamed]

    def add_scores(self, scores: list[dict[str, Any]]) -> None:
        """Add signed scores; a score of the same name and signature is replaced. For a process that has the lock."""
        with exclusive(self.path):
            self._write_scores(scores)

    def offer_scores(self, scores: list[dict[str, Any]]) -> str:
        """Add scores, unless a process trains here or nothing can be written; returns why they are not saved."""
        try:
            with exclusive(self.path):
                lock = take_lock(self.gate)
                try:
                    self._write_scores(scores)
                finally:
                    lock.close()
        except FirthError as error:
            return error.what
        return ""

    def _write_scores(self, scores: list[dict[str, Any]]) -> None:
        fresh = {(score["name"], score["signature"]) for score in scores}
        kept = [score for score in self.scores() if (score["name"], score["signature"]) not in fresh]
        self.gate.replace("scores.json", (json.dumps(kept + scores, indent=2) + "\n").encode())

    def lock(self) -> Lock:
        """Lock the folder against other processes that write until the lock is closed or the process ends; the first
        thing that training does, so that what it could not write later is refused now."""
        atomic_files.make_folder(self.path)
        with atomic_files.explain_errors(self.path):
            for name in FILES:
                self.gate.exists(name)
            for name in ("tokenizers", state_folder.FOLDER):
                self.gate.names(name)
            with exclusive(self.path):
                lock = take_lock(self.gate)
        try:
            if self.state_dir is not None:
                state_folder.assign(self.path, self.state_dir, self.config_digest() if self.exists else "")
        except BaseException:
            lock.close()
            raise
        return lock


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
    """A configuration to train, the run folder, the token cache, the progress reporter, and tokenizers to use."""

    preset: str
    config: System
    run: Run
    cache: Path
    progress: Progress
    tokenizers: Mapping[str, Tokenizer] = field(default_factory=dict)  # ready ones, by stream

    @property
    def request_digest(self) -> str:
        """A digest of the configuration, which identifies the request in its folder."""
        return atomic_files.digest(to_json(self.config).encode())
