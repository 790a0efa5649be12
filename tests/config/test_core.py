"""Configuration: round trips, overrides, and errors that help."""

import re
import tomllib
from dataclasses import replace

import pytest

from firth.config import core, from_dict, merge, override, to_dict
from firth.config.schema import ImageRows, Inputs, Neural, Packed, PatchInput, Seq2Seq, SourceTarget, System, TokenInput
from firth.config.streams import Streams
from firth.config.toml import to_toml
from firth.errors import FirthError
from firth.presets import PRESETS, preset

EVERY = [f"{name}:{size}" for name, entry in PRESETS.items() for size in entry.sizes]


@pytest.mark.parametrize("name", EVERY)
def test_a_preset_survives_dictionaries_and_toml(name):
    config = preset(name)
    assert from_dict(System, to_dict(config)) == config
    assert from_dict(System, tomllib.loads(to_toml(to_dict(config)))) == config
    assert merge(config, tomllib.loads(to_toml(to_dict(config)))) == config


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
        ("input.dropout=0.3", "unknown key 'input.dropout'; did you mean 'inputs.text.dropout'?"),
        ("input.kind=patches", "unknown key 'input.kind'; did you mean 'inputs.text.kind'?"),
        ("inputs.dropout=0.3", "unknown key 'inputs.dropout'; did you mean 'inputs.text.dropout'?"),
        ("inputs.txt.dropout=0.3", "inputs: unknown stream 'txt'; did you mean 'text'?"),
        ("inputs.image.width=8", "inputs: unknown stream 'image'; known: text"),
        ("inputs.text.dropuot=0.3", "unknown key 'inputs.text.dropuot'; did you mean 'inputs.text.dropout'?"),
        ("inputs.text.dropout=7", "inputs.text.dropout = 7.0: must be at most 0.95"),
        ("inputs=tokens", "inputs has groups of settings by stream; set a key of one, as inputs.text.kind"),
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


# --- settings by stream -------------------------------------------------------------------------------------------

SEQ2SEQ = Neural(batching=SourceTarget(), objective=Seq2Seq())


def test_an_input_is_set_by_its_stream_and_keeps_its_kind():
    vit = Neural(batching=ImageRows(), inputs=Inputs(image=PatchInput()))
    config = override(vit, ["inputs.image.dropout=0.3"])
    assert config.inputs == {"image": PatchInput(dropout=0.3)} and config.used_inputs == dict(config.inputs)
    assert merge(vit, {"inputs": {"image": {"dropout": 0.3}}}) == config
    assert from_dict(System, to_dict(config)) == config
    assert core.has(config, "inputs.image.dropout") and not core.has(config, "inputs.text.dropout")
    assert not core.has(config, "inputs.image.dropout.more") and not core.has(config, "inputs.image.segments")


@pytest.mark.parametrize("settings", [["inputs.source.dropout=0.3", "inputs.text.width=8"], ["inputs.text.width=8"]])
def test_a_stream_has_the_input_of_text_until_it_has_one_of_its_own(settings):
    """Which starts as that of `text`, in whichever order the settings come."""
    config = override(SEQ2SEQ, settings)
    dropout = 0.3 if "source" in settings[0] else 0.0
    assert config.input_of("source") == TokenInput(width=8, dropout=dropout)
    assert config.input_of("target") == config.input_of("text") == TokenInput(width=8)
    assert list(config.used_inputs) == ["text", "source"][: len(settings)]


def test_the_other_settings_decide_which_streams_there_are():
    settings = ["inputs.image.image_size=16", "batching.kind=images"]
    config = override(Neural(), settings)
    assert config.used_inputs == {"image": PatchInput(image_size=16)}
    tables = {"inputs": {"image": {"image_size": 16}}, "batching": {"kind": "images"}}
    assert merge(Neural(), tables) == config
    assert from_dict(System, to_dict(config)) == config
    with pytest.raises(FirthError, match=r"inputs: unknown stream 'label'; known: source, target, text"):
        override(SEQ2SEQ, ["inputs.label.width=3"])


def test_settings_by_stream_are_one_value():
    one, other = Streams(b=1, a=2), Streams({"a": 2}, b=1)
    assert one == other == {"a": 2, "b": 1} and hash(one) == hash(other) and list(one) == ["a", "b"]
    assert repr(one) == "Streams(a=2, b=1)" and one.map(str) == {"a": "2", "b": "1"}
    assert Inputs(text=TokenInput()).replace("text", width=3) == {"text": TokenInput(width=3)}
    with pytest.raises(AttributeError):
        one.c = 3
    assert hash(SEQ2SEQ) == hash(replace(SEQ2SEQ))
