"""Configuration: round trips, overrides, and errors that help."""

import re
import tomllib
from dataclasses import replace

import pytest

from firth.config import from_dict, merge, override, to_dict
from firth.config.schema import Neural, Packed, System
from firth.config.toml import to_toml
from firth.errors import FirthError
from firth.presets import PRESETS, preset

EVERY = [f"{name}:{size}" for name, entry in PRESETS.items() for size in entry.sizes]


@pytest.mark.parametrize("name", EVERY)
def test_a_preset_survives_dictionaries_and_toml(name):
    config = preset(name)
    assert from_dict(System, to_dict(config)) == config
    assert merge(type(config)(), tomllib.loads(to_toml(to_dict(config)))) == config


def test_overrides_are_read_as_their_field_is_typed():
    settings = ["backbone.width=256", "head.tied=no", "train.optimizer.betas=0.8,0.9", "data.text=a.txt,b.txt"]
    config = override(Neural(), settings)
    assert config.backbone.width == 256
    assert config.head.tied is False
    assert config.train.optimizer.betas == (0.8, 0.9)
    assert config.data.text == ("a.txt", "b.txt")
    assert replace(config, backbone=Neural().backbone) != Neural()


def test_a_kind_is_chosen_by_name_and_starts_from_its_defaults():
    config = override(Neural(), ["batching.kind=packed", "batching.length=64"])
    assert config.batching == Packed(length=64)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("backbone.widht=3", "unknown key 'backbone.widht'; did you mean 'backbone.width'?"),
        ("bakcbone.width=3", "unknown key 'bakcbone'; did you mean 'backbone'?"),
        ("backbone.width=0", "backbone.width = 0: must be at least 1"),
        ("backbone.width=2.5", "backbone.width = 2.5: expected int"),
        ("backbone.dropout=1.5", "backbone.dropout = 1.5: must be at most 0.95"),
        ("train.optimizer.betas=0.8,0.9,0.99", "train.optimizer.betas: expected 2 numbers, found 3"),
        ("train.optimizer.learning_rate=0", "train.optimizer.learning_rate = 0.0: must be above 0.0"),
        ("train.optimizer.learning_rate=nan", "train.optimizer.learning_rate = nan: not a finite number"),
        ("tokenizer.model=bep", "tokenizer.model = bep: not one of char, byte"),
        ("batching.kind=packt", "batching: unknown kind 'packt'; did you mean 'packed'?"),
        ("head.tied=perhaps", "head.tied = perhaps: expected bool"),
        ("backbone=lstm", "backbone: unknown kind 'lstm'; known: cnn, encoder-decoder, none, recurrent, transformer"),
        ("width", "cannot read setting 'width'; write it as key=value"),
    ],
)
def test_a_wrong_setting_is_one_helpful_line(setting, says):
    with pytest.raises(FirthError, match=re.escape(says)) as caught:
        override(Neural(), [setting])
    assert "\n" not in str(caught.value)


def test_toml_types_are_not_bent():
    with pytest.raises(FirthError, match="expected int"):
        merge(Neural(), {"backbone": {"width": "256"}})
    with pytest.raises(FirthError, match="expected int"):
        merge(Neural(), {"backbone": {"width": True}})


def test_an_unknown_preset_names_the_nearest():
    with pytest.raises(FirthError, match="did you mean 'lstm-lm'"):
        preset("lsmt-lm")
    with pytest.raises(FirthError, match="unknown size of lstm-lm 'huge'"):
        preset("lstm-lm:huge")


def test_a_whole_number_may_be_written_as_a_float_but_nothing_is_rounded():
    assert merge(Neural(), {"backbone": {"width": 64.0}}).backbone.width == 64
    with pytest.raises(FirthError, match=r"backbone.width = 64.5: expected int"):
        merge(Neural(), {"backbone": {"width": 64.5}})


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400, "0x" + "f" * 5000, str(1 << 63)])
def test_a_number_beyond_64_bits_is_one_line(number):
    """Of thousands of digits in TOML: Python neither makes a float of it nor writes it out."""
    for key in ("backbone.width", "backbone.dropout", "data.document", "data.text", "data.kind", "head.tied"):
        with pytest.raises(FirthError) as caught:
            merge(Neural(), tomllib.loads(f"{key} = {number}"))
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
