"""Where the checkpoints of a run are: in its folder `state`, or in another one (on a larger disk) named by --state-dir.

The run's file state.json names the other folder, and a file there names the run, with the same random id in both: a run
folder from elsewhere cannot name a folder that was not given to it here.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, TypedDict

from firth.errors import FirthError
from firth.runs import atomic_files, json_files
from firth.runs.gate import Gate

FOLDER, LOCATION, OWNER = "state", "state.json", ".firth-run.json"
CHECKPOINT, UNFINISHED = re.compile(r"step-([0-9]{1,18})"), re.compile(r"\.step-[0-9]{1,18}\.new")
_NAME_IT = "name the folder with its checkpoints again: firth train RUN --state-dir DIR"


class Location(TypedDict):
    """The content of state.json."""

    folder: str
    id: str


class Owner(TypedDict):
    """The content of the file in the other folder."""

    run: str
    id: str


def open_state(run: Path) -> Gate:
    """The folder of a run's checkpoints; an error if it is another one that is not this run's."""
    gate = Gate(run)
    if not gate.exists(LOCATION):
        return gate.below(FOLDER)
    location = _location(gate)
    state = Gate(Path(location["folder"]))
    if not state.path.is_absolute() or not state.path.is_dir():
        raise FirthError("the folder of this run's checkpoints is not there", where=state.path, do=_NAME_IT)
    if _owner(state) != {"run": _absolute(run), "id": location["id"]}:
        raise FirthError("not the folder of this run's checkpoints", where=state.path, do=_NAME_IT)
    return state


def assign(run: Path, folder: Path, config: str) -> None:
    """Keep the checkpoints in a folder: an empty one, or that of this run, whose configuration has this digest."""
    gate, state = Gate(run), Gate(folder.absolute())
    if gate.names(FOLDER):
        do = f"move them to {folder} first, or leave out --state-dir"
        raise FirthError("there are checkpoints in the run's own folder", where=run / FOLDER, do=do)
    atomic_files.make_folder(state.path)
    id = _location(gate)["id"] if gate.exists(LOCATION) else os.urandom(16).hex()
    _require_own(state, id, config)
    state.replace(OWNER, _json({"run": _absolute(run), "id": id}))
    gate.replace(LOCATION, _json({"folder": str(state.path), "id": id}))


def release(run: Path) -> None:
    """Undo `assign`, for a run that never began."""
    gate = Gate(run)
    if gate.exists(LOCATION):
        state = open_state(run)
        state.remove(OWNER)
        gate.remove(LOCATION)
        if not state.names():
            state.path.rmdir()


def _require_own(state: Gate, id: str, config: str) -> None:
    """Refuse a folder with other files in it, or with another run's checkpoints."""
    names = [name for name in state.names() if name != OWNER]
    for name in names:
        if not (CHECKPOINT.fullmatch(name) or UNFINISHED.fullmatch(name)):
            raise FirthError("this folder has other files in it", where=state.path / name, do="choose an empty one")
    if state.exists(OWNER) and _owner(state)["id"] == id:
        return
    if state.exists(OWNER) or not all(_has_config(state, name, config) for name in names):
        raise FirthError("another run keeps its checkpoints here", where=state.path, do="choose an empty folder")


def _has_config(state: Gate, name: str, config: str) -> bool:
    """Whether a checkpoint that was moved here belongs to this configuration."""
    try:
        return json_files.read(state, f"{name}/training.json", dict[str, Any], "")["config"] == config
    except (FirthError, KeyError):
        return False


def _location(gate: Gate) -> Location:
    return json_files.read(gate, LOCATION, Location, _NAME_IT)


def _owner(state: Gate) -> Owner:
    return json_files.read(state, OWNER, Owner, _NAME_IT)


def _absolute(path: Path) -> str:
    return os.path.realpath(path)


def _json(values: Location | Owner) -> bytes:
    return (json.dumps(values, indent=2) + "\n").encode()
