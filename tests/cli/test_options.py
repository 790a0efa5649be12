"""Options derived from configuration fields, and the help of `firth`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args, get_origin

import pytest
from cli_samples import assert_done

from firth.cli import main
from firth.cli.config_options import ConfigOptions
from firth.config import schema
from firth.config.short_names import SECTIONS, SHORT_NAMES, ShortName

TRAIN = ConfigOptions(SECTIONS, get_args(schema.System))


@dataclass(frozen=True)
class Inner:
    """A group of fields."""

    width: int = 8  # of a layer
    # one above,
    shape: Literal["round", "square"] = "round"  # one beside


@dataclass(frozen=True)
class Other:
    """Another group of fields."""

    width: int = 9
    shape: Literal["flat"] = "flat"
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Config:
    """Two alternatives for one group."""

    inner: Inner | Other = field(default_factory=Inner)
    deterministic: bool = False
    rate: float = 0.5


OPTIONS = ConfigOptions(
    {
        "Shape": {
            "width": ShortName("Hidden size.", ("inner.width",)),
            "shape": ShortName("Its outline.", ("inner.shape",)),
            "names": ShortName("Its names.", ("inner.names",)),
        },
        "Rest": {
            "deterministic": ShortName("Same bytes.", ("deterministic",)),
            "lr": ShortName("Learning rate.", ("rate",)),
        },
    },
    (Config,),
)


def test_types_and_choices_come_from_the_fields():
    assert OPTIONS.type("width") is int and OPTIONS.type("lr") is float and OPTIONS.type("deterministic") is bool
    assert get_args(OPTIONS.type("shape")) == ("round", "square", "flat")  # of both alternatives
    assert OPTIONS.type("names") is str  # a list, with commas


@pytest.mark.parametrize("name", SHORT_NAMES)
def test_every_option_of_train_names_fields_of_one_type(name):
    hints = [hint for _, hint in TRAIN._fields(name)]
    kinds = {get_origin(hint) or hint for hint in hints}
    assert len(kinds) == 1


def test_the_help_of_train_has_sections_types_and_choices(command):
    shown = assert_done(command("train", "--help")).out
    assert "--lr <float>" in shown and "--batch-size <int>" in shown and "--precision <float32|bf16>" in shown
    models = "|".join(get_args(TRAIN.type("tokenizer")))
    assert f"--tokenizer <{models}>" in shown
    titles = [line.rstrip(":") for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Arguments", *SECTIONS, "Options"]


def test_the_verbs_are_shown_in_sections(command):
    shown = assert_done(command("--help")).out
    titles = [line.rstrip(":") for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options", *main.SECTIONS]
