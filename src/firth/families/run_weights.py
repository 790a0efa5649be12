"""The weights of a trained run, also of one that is an adapter: they are merged into those of its base, the run that it
starts from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.models.build import System, build
from firth.nn.lora import add_adapters, is_adapter, merge_adapters
from firth.runs.run_folder import Run
from firth.runs.weights import Metadata, read_metadata
from firth.training.checkpoint import RESTORE, load_model, load_tensors, read_model, read_weights
from firth.training.partial_weights import copy_shared, restore
from firth.types import Sizes


def load_weights(run: Run, system: System, *, merge: bool = True, above: tuple[Path, ...] = ()) -> Metadata:
    """Read the weights of a run into its network. Adapters are merged into them, or else stay beside them. `above` are
    the folders of runs whose base this one is."""
    if run.path.resolve() in above:
        raise FirthError("this run is an adapter of itself", where=run.path, do=RESTORE)
    adapter = run.record.config.train.adapter
    if isinstance(adapter, schema.NoAdapter):
        return load_model(run.weights, system, run.config_digest())
    metadata, tensors = read_model(run.weights, run.config_digest())
    add_adapters(system.backbone, adapter)
    if adapter.saved_alone:
        copy_shared(system, read_merged(base_run(run), (*above, run.path.resolve())))
        _require_adapters(system, tensors, run.weights)
        tensors = restore(tensors, system.state_dict())
    load_tensors(system, tensors, run.weights)
    if merge:
        merge_adapters(system.backbone)
    return metadata


def read_merged(run: Run, above: tuple[Path, ...] = ()) -> dict[str, Tensor]:
    """The weights of a run, adapters merged into them."""
    config = run.record.config
    if isinstance(config.train.adapter, schema.NoAdapter):
        return read_weights(run.weights)[1]
    system = build(config, run_sizes(run))
    load_weights(run, system, above=above)
    return dict(system.state_dict())


def run_sizes(run: Run) -> Sizes:
    """The sizes of a run's network."""
    return Sizes.of_run(run.tokenizers(), run.record.data)


def base_metadata(init_from: str) -> dict[str, str]:
    """The digest of the base's weights, for the record."""
    return {"base": read_metadata(Run.open(init_from).weights)["sha256"]}


def base_run(run: Run) -> Run:
    """The base of an adapter, where it was or beside the adapter's folder; refused if it is missing or has changed."""
    path, digest = Path(run.record.config.init_from), run.record.data.get("base")
    places = [place for place in (path, run.path.parent / path.name) if (place / "config.json").is_file()]
    if not places:
        what = f"this run is an adapter of the run {path}, which is not there"
        raise FirthError(what, where=run.path, do="restore that run, or put it beside this one")
    for place in places:
        base = Run.open(place)
        if base.is_trained and read_metadata(base.weights)["sha256"] == digest:
            return base
    what = "this run is an adapter of another run, whose weights have changed since"
    raise FirthError(what, where=places[0], do=RESTORE)


def without_adapter(config: schema.Neural) -> schema.Neural:
    """The configuration of a network whose adapters are merged."""
    adapted: Any = replace(config.train, adapter=schema.NoAdapter())
    return replace(config, train=adapted)


def _require_adapters(system: System, tensors: dict[str, Tensor], where: Path) -> None:
    missing = [name for name in system.state_dict() if is_adapter(name) and name not in tensors]
    if missing:
        raise FirthError(f"the weights do not fit config.json, in {missing[0]}", where=where, do=RESTORE)
