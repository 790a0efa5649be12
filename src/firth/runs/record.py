"""config.json of a run: the resolved configuration, its data, tokenizers and machine."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Required, TypedDict

import firth
from firth.config import from_dict, migrations, to_dict
from firth.config.schema import System
from firth.errors import FirthError
from firth.runs import json_files
from firth.runs.json_files import Natural

FORMAT = 4  # of config.json; a newer one is refused, an older one is migrated
DAMAGED = "the folder was edited or cut short; restore it, or train again"
_STREAM = re.compile(r"[a-z]+")


class Origin(TypedDict):
    """Of an edited run: where it comes from."""

    run: str
    step: Natural
    tokenizer: str
    added: Natural
    removed: Natural


class Data(TypedDict, total=False):
    """What a run stores of its data."""

    splits: Required[dict[str, str]]
    byte_counts: Required[list[Natural]]
    steps: Natural
    training: str
    labels: list[str] | dict[str, list[str]]  # for each target, if there are several
    schemes: dict[str, str]  # of layers of tags: the tagging scheme
    parts: Natural
    origin: Origin
    phrases: list[list[list[str]]]
    start: str
    teacher: str
    base: str
    lacks: str
    family: str
    parameters: Natural


class RecordFile(TypedDict):
    """The content of config.json, of today's format."""

    preset: str
    request_digest: str
    config: dict[str, Any]
    tokenizers: dict[str, str]
    data: Data
    machine: dict[str, Any]
    firth: str
    format: Natural


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
        values = json_files.parse(text, dict[str, Any], where, DAMAGED)
        try:
            if json_files.convert(int, values["format"], "format") > FORMAT:
                raise FirthError("written by a newer firth: upgrade with pip install -U firth")
            if values["format"] < 2:
                values = migrations.rename(values, migrations.RECORD) | {"config": migrations.migrate(values["config"])}
            config = migrations.inputs_by_stream(migrations.keep_split(values["config"]))
            values = {**values, "config": config}
            values = json_files.convert(RecordFile, values)
            record = cls(**{**values, "config": from_dict(System, values["config"])})
        except (ValueError, TypeError, KeyError, AttributeError, LookupError, ArithmeticError) as error:
            raise FirthError(f"damaged ({error})", where=where, do=DAMAGED) from None
        except FirthError as error:
            raise FirthError(error.what, where=where, do=DAMAGED) from None
        if not all(map(_STREAM.fullmatch, record.tokenizers)) or len(record.data["byte_counts"]) not in (0, 256):
            raise FirthError("damaged", where=where, do=DAMAGED)
        return record
