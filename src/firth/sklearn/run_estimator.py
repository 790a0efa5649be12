"""The base of the estimators: parameters are a preset and its settings, a fit is a run, and a run folder is what is
saved and pickled."""

from __future__ import annotations

import inspect
import json
import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from firth import api
from firth.arguments import as_path
from firth.config import core, schema
from firth.config.short_names import ARGUMENTS
from firth.presets import PRESETS
from firth.runs import json_files, state_folder
from firth.runs.run_folder import Run
from firth.sklearn.input_checks import InputError
from firth.sklearn.training_files import TrainingFiles

FILE = "estimator.json"  # what a run folder does not have: parameters and classes
_LEFT_OUT = (".lock", state_folder.FOLDER, state_folder.LOCATION)
_TOP_LEVEL = {field.name for kind in get_args(schema.System) for field in fields(kind)}  # refit, calibration, …
_Plain = str | int | float | bool | None


class RunEstimator(BaseEstimator):
    """Parameters of an estimator that trains a preset. Settings have the short names of `firth.train` (`width=64`), or
    full names with two underscores for each dot (`backbone__width=64`)."""

    takes: ClassVar[str]  # the data it trains on, for messages

    def __init__(
        self,
        preset: str,
        *,
        size: str | None = None,
        out: str | Path | None = None,
        random_state: Any = None,
        progress: str = "quiet",
        **settings: Any,
    ) -> None:
        self.preset, self.size, self.out = preset, size, out
        self.random_state, self.progress = random_state, progress
        self._settings = settings

    # --- parameters -----------------------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters and settings."""
        return super().get_params(deep) | self._settings

    def set_params(self, **params: Any) -> Self:
        """Change parameters and settings; an error for what is neither."""
        own = inspect.signature(type(self)).parameters
        for name in params:
            if name not in own and name not in ARGUMENTS and "__" not in name and name not in _TOP_LEVEL:
                what = f"Invalid parameter {name!r} for estimator {type(self).__name__}"
                raise InputError(what, do="give a setting as group__name=value; firth presets PRESET lists them")
        for name, value in params.items():
            if name in own:
                setattr(self, name, value)
            else:
                self._settings = {**self._settings, name: value}
        return self

    def configure(self, **changes: str) -> api.NamedConfig:
        """The configuration of the preset with the settings, and with those changes that it has a place for."""
        name = f"{self.preset}:{self.size}" if self.size else str(self.preset)
        short = {ARGUMENTS[key]: _written(value) for key, value in self._settings.items() if key in ARGUMENTS}
        full = {key.replace("__", "."): value for key, value in self._settings.items() if key not in ARGUMENTS}
        named = api.resolve_config(name, [f"{key}={_written(value)}" for key, value in full.items()], short)
        self._require_data(named)
        overrides = [f"{key}={value}" for key, value in changes.items() if core.has(named.config, key)]
        seed = [] if self.random_state is None else [f"seed={_seed(self.random_state)}"]
        return replace(named, config=core.override(named.config, [*overrides, *seed]))

    def _require_data(self, named: api.NamedConfig) -> None:
        if not self.fits(named.config):
            names = [name for name, each in PRESETS.items() if self.fits(each.sizes[each.default])]
            what = f"{named.name} is not trained on {self.takes}"
            raise InputError(what, do=f"choose one of {', '.join(names)}")

    @staticmethod
    @abstractmethod
    def fits(config: schema.System) -> bool:
        """Whether the estimator can train such a configuration."""

    # --- training -------------------------------------------------------------------------------------------------

    def _folder(self) -> Path:
        """A temporary folder, which is removed with the estimator."""
        self._temporary = tempfile.TemporaryDirectory(prefix="firth-sklearn-")
        return Path(self._temporary.name)

    def _train(self, named: api.NamedConfig, files: TrainingFiles, folder: Path, **data: Any) -> None:
        """Train in `out`, or in a temporary folder."""
        known = {field.name for field in fields(named.config.data)}
        values = {"text": (files.text,), "valid": (files.valid,) if files.valid else (), "test": (), **data}
        values |= {"test_fraction": 0.0}
        own = replace(named.config.data, **{name: value for name, value in values.items() if name in known})
        named = replace(named, config=replace(named.config, data=own))
        run = self.out if self.out not in (None, "") else folder / "run"
        self.model_ = api.train_config(named, run, self.progress, cache=folder / "cache")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.model_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.target_tags.required = True
        return tags

    # --- files ----------------------------------------------------------------------------------------------------

    @property
    def run_(self) -> Run:
        """The run folder of the fitted model."""
        run: Run = self._fitted().run
        return run

    def save(self, path: str | Path) -> Path:
        """Write the run folder, with the parameters and classes: `load` and `firth.load` read it."""
        content = json.dumps({"estimator": type(self).__name__, "params": self._plain_params(), **self._learned()})
        target = self._fitted().save(path)
        Run(target).gate.replace(FILE, content.encode())
        return Path(target)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The estimator of a folder that `save` wrote, or of any run of such a preset."""
        run = Run.open(as_path(path))
        if not cls.fits(run.record.config):
            raise InputError(f"{run.record.preset} is not trained on {cls.takes}", where=path, do="call firth.load")
        values: dict[str, Any] = {"estimator": cls.__name__, "params": {"preset": run.record.preset}}
        if run.gate.exists(FILE):
            values = json_files.read(run.gate, FILE, dict[str, Any], "save the estimator again")
        params = values.get("params")
        if values.get("estimator") != cls.__name__ or not isinstance(params, dict):
            raise InputError(f"saved from {values.get('estimator')!r}", where=run.path / FILE, do="load it as that")
        estimator = cls(**params)
        estimator.model_ = api.load(run.path)
        estimator._restore(values)
        return estimator

    def _plain_params(self) -> dict[str, _Plain | list[Any]]:
        params = {name: str(value) if isinstance(value, Path) else value for name, value in self.get_params().items()}
        for name, value in params.items():
            if not isinstance(value, (str, int, float, bool, list, tuple, type(None))):
                raise InputError(f"the parameter {name} is a {type(value).__name__}", do="set a number or a string")
        return params

    def _learned(self) -> Mapping[str, Any]:
        """What `save` writes beside the parameters."""
        return {}

    def _restore(self, values: Mapping[str, Any]) -> None:
        """Set what was learned, from the saved values and the model."""

    def __getstate__(self) -> dict[str, Any]:
        """Parameters, classes, and the bytes of the run folder's files."""
        state = dict(super().__getstate__())
        state.pop("_temporary", None)
        model = state.pop("model_", None)
        if model is not None:
            state["_files"] = _read_files(model.run.path)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("_files", None)
        super().__setstate__(state)
        if files is not None:
            run = self._folder() / "run"
            for name, content in files.items():
                (run / name).parent.mkdir(parents=True, exist_ok=True)
                (run / name).write_bytes(content)
            self.model_ = api.load(run)


def _read_files(folder: Path) -> dict[str, bytes]:
    """The files of a run that `firth.load` needs, without checkpoints."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = {path: path.relative_to(folder) for path in paths}
    return {str(name): path.read_bytes() for path, name in names.items() if name.parts[0] not in _LEFT_OUT}


def _seed(random_state: Any) -> int:
    """A number as it is; one drawn from a generator of NumPy."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _written(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple, np.ndarray)) else str(value)


def as_objects(rows: Sequence[Any]) -> np.ndarray:
    """Lists of different lengths as an array of lists, which scikit-learn can index and join."""
    array = np.empty(len(rows), object)
    array[:] = rows
    return array
