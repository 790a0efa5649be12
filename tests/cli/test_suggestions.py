"""Words of other programs lead to those of this one."""

from __future__ import annotations

import pytest
from cli_samples import assert_refused

from firth.cli.suggestions import COMMANDS
from firth.config.short_names import SHORT_NAMES, SYNONYMS
from firth.presets import PRESETS
from firth.presets import SYNONYMS as PRESET_SYNONYMS


@pytest.mark.parametrize(
    "option, meant",
    [
        ("--learning-rate", "--lr"),
        ("--learning_rate", "--lr"),
        ("--batch_size", "--batch-size"),
        ("--batchsize", "--batch-size"),
        ("--learningrate", "--lr"),
        ("--max_tokens", "--max-length"),
        ("--num-layers", "--depth"),
        ("--n_layers", "--depth"),
        ("--hidden-size", "--width"),
        ("--dim", "--width"),
        ("--vector_size", "--width"),
        ("--window-size", "--window"),
        ("--num_train_epochs", "--epochs"),
        ("--max_steps", "--budget"),
        ("--output_dir", "--out"),
        ("--bugdet", "--budget"),
    ],
)
def test_options_of_training(command, option, meant):
    assert_refused(command("train", "lstm-lm", option, "3"), f"no such option: {option}; did you mean {meant}?")


@pytest.mark.parametrize(
    "words, meant",
    [
        (["run", "x", "a", "--max-new-tokens", "3"], "--max-length"),
        (["run", "x", "a", "--num_beams", "3"], "--beam"),
        (["run", "x", "a", "--num_return_sequences", "3"], "--count"),
        (["vectors", "neighbours", "x", "a", "--topn", "3"], "--count"),
        (["tokenizer", "train", "x", "--vocab_size", "3"], "--vocab-size"),
    ],
)
def test_options_of_other_commands(command, words, meant):
    assert_refused(command(*words), f"did you mean {meant}?")


def test_an_option_that_the_command_lacks_is_not_suggested(command):
    found = command("doctor", "--learning-rate", "3")
    assert found.code == 2 and "--lr" not in found.err


@pytest.mark.parametrize(
    "verb, meant",
    [
        ("generate", "run RUN"),
        ("tag", "run RUN"),
        ("predict", "run RUN"),
        ("evaluate", "eval RUN"),
        ("test", "eval RUN"),
        ("list", "presets"),
        ("finetune", "train PRESET --init-from RUN"),
        ("similar", "vectors neighbours"),
        ("neighbours", "vectors neighbours"),
        ("concordance", "corpus concordance"),
        ("surprisal", "lm surprisal"),
    ],
)
def test_commands(command, verb, meant):
    assert_refused(command(verb, "x"), f"unknown command {verb!r}; did you mean firth {meant}?")


def test_a_misspelled_command_has_the_nearest(command):
    assert_refused(command("trian", "x"), "did you mean 'train'?")


@pytest.mark.parametrize(
    "name, meant",
    [
        ("LSTM-LM", "lstm-lm"),
        ("lstm", "lstm-lm"),
        ("word2vec", "skipgram"),
        ("bert-tiny", "bert:tiny"),
        ("gpt2", "gpt-2"),
        ("kneser-ney", "ngram-lm"),
        ("glvoe", "glove"),
    ],
)
def test_presets(command, name, meant):
    assert_refused(command("presets", name), f"unknown preset {name!r}; did you mean '{meant}'?")


def test_every_synonym_leads_somewhere(command):
    from typer.main import get_command

    from firth.cli.main import app

    group = get_command(app)
    assert set(SYNONYMS.values()) <= {*SHORT_NAMES, "out"} and not set(SYNONYMS) & set(SHORT_NAMES)
    assert set(PRESET_SYNONYMS.values()) <= set(PRESETS) and not set(PRESET_SYNONYMS) & set(PRESETS)
    for words in COMMANDS.values():
        first, *rest = words.split()
        found = None if first.startswith("--") else group.get_command(None, first)
        if hasattr(found, "list_commands"):
            assert rest[0] in found.list_commands(None)
    assert not set(COMMANDS) & set(group.list_commands(None))
