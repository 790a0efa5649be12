"""What each rung trains, and the command that trains it alone."""

import shlex

import pytest

from firth import api
from firth.climbing.choices import Share, chosen, command, shared_out
from firth.climbing.rungs import RUNGS, fitting_size, in_order
from firth.climbing.settings import Settings, read
from firth.config import schema
from firth.errors import FirthError
from firth.presets import PRESETS
from firth.runs.budget import parse

TOKENIZER = schema.Tokenizer(model="word", size=500, lower="yes", split="whitespace", file="/somewhere/tokenizer.json")


def test_neural_rungs_share_the_time_that_n_grams_leave():
    settings = read({"budget": "30m"})
    assert shared_out(settings, 10**6, spent=100.0) == Share("340.0s", 10**6)
    assert shared_out(settings, 10**6, spent=10**6) == Share("180.0s", 10**6)  # half of it is theirs
    assert shared_out(read({"budget": "30 steps"}), 10**7, spent=50.0) == Share("30 steps", 10**7)


@pytest.mark.parametrize(
    ("name", "budget", "size", "chosen"),
    [
        ("lstm-lm", "340s", 10**6, "small"),
        ("gpt", "340s", 10**6, "tiny"),  # which reads a fifth as fast
        ("gpt", "1700s", 10**6, "small"),
        ("lstm-lm", "340s", 1000, "tiny"),  # so little text needs no more
        ("lstm-lm", "8640s", 10**7, "medium"),
        ("gpt", "8640s", 10**7, "small"),
        ("gpt", "30 steps", 10**7, "tiny"),
    ],
)
def test_a_rung_is_as_large_as_it_can_learn_in_the_time(name, budget, size, chosen):
    assert fitting_size(RUNGS[name], parse(budget), size) == chosen


@pytest.mark.parametrize("name", [*RUNGS, "gpt:small", "lstm-lm:medium"])
def test_all_rungs_have_the_same_text_tokenizer_and_seed(name):
    settings = read({"text": "a.txt,b.txt", "seed": "7", "threads": "1"})
    choice = chosen(name, settings, TOKENIZER, Share("5s", 10**6))
    config = choice.config
    assert (config.data, config.tokenizer, config.seed) == (settings.data, TOKENIZER, 7)
    if RUNGS[name.partition(":")[0]].neural:
        assert (config.train.budget, config.train.threads) == ("5s", 1)
        assert choice.name.endswith(name.partition(":")[2] or "tiny")
        assert config.train.evaluate_batches * config.batching.rows * config.batching.length >= 30_000
    else:
        assert config.method.order == int(name[0])


@pytest.mark.parametrize("name", ["3-gram", "lstm-lm", "gpt:small"])
def test_the_command_trains_what_the_rung_did(name):
    settings = read({"text": "my text.txt", "valid": "v.txt", "document": "line", "seed": "7", "errors": "replace"})
    choice = chosen(name, settings, TOKENIZER, Share("5s", 10**6))
    first, verb, preset, *words = shlex.split(command(name, choice.name, settings, TOKENIZER, "5s"))
    assert (first, verb) == ("firth", "train") and len(words) % 2 == 0
    pairs = list(zip(words[::2], words[1::2], strict=True))
    found = api.choose(preset, [v for k, v in pairs if k == "--set"], {k[2:]: v for k, v in pairs if k != "--set"})
    given = {"file": ""}
    wanted = schema.Tokenizer(**{**vars(TOKENIZER), **given})
    assert found.config.data == settings.data and found.config.tokenizer == wanted and found.config.seed == 7
    for part in ("backbone", "method", "batching", "input"):
        assert getattr(found.config, part, None) == getattr(choice.config, part, None)
    if hasattr(choice.config, "train"):
        assert found.config.train.optimizer == choice.config.train.optimizer and found.config.train.budget == "5s"


def test_rungs_go_from_the_simplest_up_whatever_their_order():
    assert in_order(["gpt", "5-gram", "gru-lm:small", "1-gram"]) == ["1-gram", "5-gram", "gru-lm:small", "gpt"]
    assert in_order(Settings().rungs) == list(Settings().rungs)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"rungs": "5-gram,lstm"}, "did you mean 'lstm-lm'"),
        ({"rungs": "gpt:huge"}, "unknown size of gpt 'huge'"),
        ({"rungs": "gpt,gpt"}, "twice"),
        ({"rungs": ""}, "rung"),
        ({"budget": "soon"}, "not a budget"),
        ({"vocabulary": "3"}, "size"),
        ({"tokenizer": "words"}, "tokenizer"),
        ({"seed": "-1"}, "seed"),
        ({"widht": "3"}, "unknown argument 'widht'"),
    ],
)
def test_what_cannot_be_is_refused_at_once(given, said):
    with pytest.raises(FirthError) as error:
        read(given)
    assert said in str(error.value)


def test_what_is_read_often_is_trained_with_dropout():
    settings, share = read({}), Share("100.0s", 10**6)
    for epochs, dropout in ((1.0, 0.0), (6.0, 0.2), (50.0, 0.4)):
        config = chosen("lstm-lm", settings, TOKENIZER, share, epochs).config
        assert (config.input.dropout, config.backbone.dropout) == (dropout, dropout)
        words = command("lstm-lm", "lstm-lm:tiny", settings, TOKENIZER, "100.0s", epochs)
        assert f"--set backbone.dropout={dropout}" in words
    assert chosen("5-gram", settings, TOKENIZER, share, 50.0).config.method.order == 5
    steps = chosen("gpt", settings, TOKENIZER, Share("10 steps", 10**6)).config
    assert steps.backbone.dropout == PRESETS["gpt"].sizes["tiny"].backbone.dropout


def test_a_size_of_counts_and_parts_of_steps_are_refused():
    with pytest.raises(FirthError, match="5-gram has no sizes"):
        read({"rungs": "5-gram:large"})
    for budget in ("0.5 steps", "1.5 epochs"):
        with pytest.raises(FirthError, match="whole steps or epochs"):
            read({"budget": budget})


def test_smaller_sizes_come_first():
    assert in_order(["gpt:small", "lstm-lm:small", "lstm-lm:tiny", "lstm-lm"]) == [
        "lstm-lm:tiny", "lstm-lm", "lstm-lm:small", "gpt:small",
    ]  # fmt: skip
