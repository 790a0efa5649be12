"""The configuration of each rung, and the command that trains it alone."""

import shlex

import pytest

from firth import api
from firth.config import schema
from firth.errors import FirthError
from firth.ladder.ladder_clock import LadderClock
from firth.ladder.rung_configs import RungBudget, choose_rung, divide_budget, train_command
from firth.ladder.rungs import RUNGS, choose_size, sort_rungs
from firth.ladder.settings import Settings, parse_settings
from firth.ladder.shared_data import SharedData
from firth.presets import PRESETS
from firth.runs.progress import Budget, parse_budget

TOKENIZER = schema.Tokenizer(
    model="word", vocabulary_size=500, lowercase="yes", split="whitespace", file="/somewhere/tokenizer.json"
)


def test_networks_share_the_time_or_have_the_same_steps():
    settings, clock = parse_settings({"budget": "30m"}), LadderClock(Budget(1800.0, "seconds"), 5)
    assert divide_budget(settings, 10**6, clock) == RungBudget(f"{0.95 * 360:.1f}s", 10**6)
    assert divide_budget(parse_settings({"budget": "30 steps"}), 10**7, clock) == RungBudget("30 steps", 10**7)


def test_the_held_out_text_of_a_ladder_follows_from_its_time():
    sizes = [parse_settings({"budget": budget}).data.max_heldout for budget in ("20s", "2m", "20m", "5h")]
    assert sizes == [60_000, 66_666, 666_666, 2_000_000]
    slow = parse_settings({"budget": "20m", "rungs": "5-gram,transformer-lm"}).data.max_heldout
    assert slow == parse_settings({"budget": "4m", "rungs": "lstm-lm"}).data.max_heldout
    for whole in ({"budget": "500 steps"}, {"budget": "2m", "rungs": "2-gram"}):
        assert parse_settings(whole).data.max_heldout == 2_000_000


@pytest.mark.parametrize(
    ("name", "budget", "text_bytes", "size"),
    [
        ("lstm-lm", "340s", 10**6, "small"),
        ("transformer-lm", "340s", 10**6, "tiny"),  # a fifth as fast
        ("transformer-lm", "1700s", 10**6, "small"),
        ("lstm-lm", "340s", 1000, "tiny"),  # too little text
        ("lstm-lm", "8640s", 10**7, "medium"),
        ("transformer-lm", "8640s", 10**7, "small"),
        ("transformer-lm", "30 steps", 10**7, "tiny"),
    ],
)
def test_the_size_of_a_rung_follows_from_budget_and_text(name, budget, text_bytes, size):
    assert choose_size(RUNGS[name], parse_budget(budget), text_bytes) == size


@pytest.mark.parametrize("name", [*RUNGS, "transformer-lm:small", "lstm-lm:medium"])
def test_all_rungs_have_the_same_text_tokenizer_and_seed(name):
    settings = parse_settings({"text": "a.txt,b.txt", "seed": "7", "threads": "1"})
    choice = choose_rung(name, settings, TOKENIZER, RungBudget("5s", 10**6))
    config = choice.config
    assert (config.data, config.tokenizer, config.seed) == (settings.data, TOKENIZER, 7)
    if RUNGS[name.partition(":")[0]].neural:
        assert (config.train.budget, config.train.threads) == ("5s", 1)
        assert choice.name.endswith(name.partition(":")[2] or "tiny")
        assert config.train.eval_batches * config.batching.batch_size * config.batching.length >= 30_000
    else:
        assert config.method.order == int(name[0])


@pytest.mark.parametrize("name", ["3-gram", "lstm-lm", "transformer-lm:small"])
def test_the_command_trains_the_configuration_of_the_rung(name):
    settings = parse_settings(
        {"text": "my text.txt", "valid": "v.txt", "document": "line", "seed": "7", "encoding-errors": "replace"}
    )
    choice = choose_rung(name, settings, TOKENIZER, RungBudget("5s", 10**6))
    first, verb, preset, *words = shlex.split(train_command(name, choice.name, settings, TOKENIZER, "5s"))
    assert (first, verb) == ("firth", "train") and len(words) % 2 == 0
    pairs = list(zip(words[::2], words[1::2], strict=True))
    parsed = api.resolve_config(
        preset, [v for k, v in pairs if k == "--set"], {k[2:]: v for k, v in pairs if k != "--set"}
    )
    expected = schema.Tokenizer(**{**vars(TOKENIZER), "file": ""})
    assert parsed.config.data == settings.data and parsed.config.tokenizer == expected and parsed.config.seed == 7
    for part in ("backbone", "method", "batching", "inputs"):
        assert getattr(parsed.config, part, None) == getattr(choice.config, part, None)
    if hasattr(choice.config, "train"):
        assert parsed.config.train.optimizer == choice.config.train.optimizer and parsed.config.train.budget == "5s"


def test_rungs_are_sorted_from_the_simplest_up():
    assert sort_rungs(["transformer-lm", "5-gram", "gru-lm:small", "1-gram"]) == [
        "1-gram",
        "5-gram",
        "gru-lm:small",
        "transformer-lm",
    ]
    assert sort_rungs(Settings().rungs) == list(Settings().rungs)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"rungs": "5-gram,lstm"}, "did you mean 'lstm-lm'"),
        ({"rungs": "transformer-lm:huge"}, "unknown size of transformer-lm 'huge'"),
        ({"rungs": "transformer-lm,transformer-lm"}, "twice"),
        ({"rungs": ""}, "rung"),
        ({"budget": "soon"}, "not a budget"),
        ({"vocab-size": "3"}, "size"),
        ({"tokenizer": "words"}, "tokenizer"),
        ({"seed": "-1"}, "seed"),
        ({"widht": "3"}, "unknown argument 'widht'"),
    ],
)
def test_invalid_settings_are_an_error_at_once(arguments, message):
    with pytest.raises(FirthError) as error:
        parse_settings(arguments)
    assert message in str(error.value)


def test_many_epochs_are_trained_with_dropout():
    settings, budget = parse_settings({}), RungBudget("100.0s", 10**6)
    for epochs, dropout in ((1.0, 0.0), (6.0, 0.2), (50.0, 0.4)):
        config = choose_rung("lstm-lm", settings, TOKENIZER, budget, epochs).config
        assert (config.inputs["text"].dropout, config.backbone.dropout) == (dropout, dropout)
        words = train_command("lstm-lm", "lstm-lm:tiny", settings, TOKENIZER, "100.0s", epochs)
        assert f"--set backbone.dropout={dropout}" in words
    assert choose_rung("5-gram", settings, TOKENIZER, budget, 50.0).config.method.order == 5
    steps = choose_rung("transformer-lm", settings, TOKENIZER, RungBudget("10 steps", 10**6)).config
    assert steps.backbone.dropout == PRESETS["transformer-lm"].sizes["tiny"].backbone.dropout


def test_a_size_of_n_grams_and_fractional_steps_are_an_error():
    with pytest.raises(FirthError, match="5-gram has no sizes"):
        parse_settings({"rungs": "5-gram:large"})
    for budget in ("0.5 steps", "1.5 epochs"):
        with pytest.raises(FirthError, match="whole steps or epochs"):
            parse_settings({"budget": budget})


def test_smaller_sizes_come_first():
    assert sort_rungs(["transformer-lm:small", "lstm-lm:small", "lstm-lm:tiny", "lstm-lm"]) == [
        "lstm-lm:tiny", "lstm-lm", "lstm-lm:small", "transformer-lm:small",
    ]  # fmt: skip


def test_the_command_has_the_limit_of_held_out_text_only_where_it_makes_a_difference():
    settings = parse_settings({"text": "a.txt", "budget": "2m"})
    for is_limited in (True, False):
        shared = SharedData(settings, None, TOKENIZER, {}, {}, is_limited)
        command = train_command("lstm-lm", "lstm-lm:tiny", shared.settings_shown, TOKENIZER, "5m")
        assert ("data.max_heldout=66666" in command) == ("max_heldout" in command) == is_limited
