"""Chat models on a few dialogues: replies are learned, nothing else is; history, scores, bad input; decoders of several
kinds and an encoder-decoder alike."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch

import firth
from firth import api
from firth.datasets.collators.batches import make_batches
from firth.datasets.dialogue_dataset import make_split
from firth.errors import FirthError
from firth.types import Cursor

COLOURS = {"sky": "blue", "grass": "light green", "snow": "white", "coal": "black"}


def dialogues():
    """The colours of things; "again" asks for the last reply, so it needs the turn before."""
    for number in range(60):
        thing = list(COLOURS)[number % 4]
        messages = [{"role": "system", "content": f"call {number % 7}"}] if (number // 4) % 3 else []
        messages += [{"role": "user", "content": f"colour of {thing} ?"}]
        messages += [{"role": "assistant", "content": COLOURS[thing]}]
        if (number // 4) % 2:
            again = [{"role": "user", "content": "again ?"}, {"role": "assistant", "content": COLOURS[thing]}]
            messages += again * (1 + (number // 8) % 3)
        yield {"messages": messages}


SETTINGS = {
    "tokenizer.model": "word",
    "batching.length": 64,
    "data.group_duplicates": False,
    "train.evaluate_every": 90,
}
SMALL = {"backbone.width": 32, "backbone.depth": 2, "backbone.dropout": 0, **SETTINGS}
TWO_STACKS = {
    **{f"backbone.{side}.{name}": value for side in ("encoder", "decoder") for name, value in
       (("width", 32), ("depth", 2), ("dropout", 0))},
    **SETTINGS,
}  # fmt: skip
MODELS = {
    "decoder": ("chat-lm:tiny", SMALL),
    "lstm": (
        "lstm-lm:tiny",
        {
            **SMALL,
            "backbone.width": 64,
            "backbone.depth": 1,
            "data": "dialogues",
            "batching": "dialogues",
            "train.schedule.shape": "constant",
        },
    ),
    "encoder-decoder": ("chat-seq2seq:tiny", TWO_STACKS),
}


# without attention the words of the question take longer to be found
STEPS, RATES = {"lstm": 400}, {"lstm": 1e-2}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("dialogues") / "colours.jsonl"
    path.write_text("".join(json.dumps(dialogue) + "\n" for dialogue in dialogues()))
    return path


@pytest.fixture(scope="module")
def models(file):
    trained = {}

    def get(kind):
        if kind not in trained:
            preset, settings = MODELS[kind]
            more = {
                "budget": f"{STEPS.get(kind, 90)} steps",
                "settings": {**settings, "batching.tokens_per_batch": 512},
            }
            out = file.parent / kind
            trained[kind] = firth.train(
                preset, text=str(file), out=out, learning_rate=RATES.get(kind, 5e-3), threads=1, **more
            )
        return trained[kind]

    return get


EVERY_KIND = pytest.mark.parametrize("kind", MODELS)


@EVERY_KIND
def test_it_learns_replies_from_the_turns_before_them(models, kind):
    model = models(kind)
    scores = {score.name: score.value for score in model.evaluate()}
    assert scores["exact_match"] == 1.0 and scores["reply_perplexity"] < 1.2
    assert model.chat("colour of grass ?") == "light green"
    history = [("user", "colour of snow ?"), ("assistant", "white"), ("user", "again ?")]
    assert model.chat(history) == "white"
    assert model.chat([{"role": role, "content": text.replace("snow", "coal").replace("white", "black")}
                       for role, text in history]) == "black"  # fmt: skip
    assert firth.load(model.run.path).reply(history) == model.reply(history)


@EVERY_KIND
def test_exact_match_is_that_of_greedy_replies(models, kind, tmp_path):
    """One pass with teacher forcing counts what generation gives, on dialogues of which some replies are wrong."""
    model = models(kind)
    wrong = [("user", "colour of sky ?"), ("assistant", "green"), ("user", "again ?"), ("assistant", "green")]
    given = [[(m["role"], m["content"]) for m in each["messages"]] for each in dialogues()]
    given = [*given[:12], wrong, wrong[:2]]
    generated = [
        model.chat(turns[:at]) == text
        for turns in given
        for at, (role, text) in enumerate(turns)
        if role == "assistant"
    ]
    scores = {score.name: score.value for score in model.evaluate(given)}
    assert scores["exact_match"] == np.mean(generated) < 1.0


@EVERY_KIND
def test_a_session_keeps_its_history(models, kind):
    session = models(kind).session(system="call 3")
    assert [session.say(turn).text for turn in ("colour of coal ?", "again ?")] == ["black", "black"]
    assert [each["role"] for each in session.messages] == ["system", "user", "assistant", "user", "assistant"]
    before = session.turns
    if kind != "lstm":  # which reads texts of any length
        with pytest.raises(FirthError, match="shorten it"):
            session.say("again " * 100)
        assert session.turns == before
    for _ in range(12):
        reply = session.say("colour of sky ?")
    assert session.dropped == reply.dropped and (session.dropped > 0 or kind == "lstm")


def test_only_replies_are_predicted(models, file):
    """Target weights are 1 within replies, so no objective has a special case: the loss is their mean, and the turns
    of others have no gradient of their own."""
    model = models("decoder")
    part = model.load_examples(str(file), "test")
    split = make_split(part, model.config, model.tokenizer)
    batch = make_batches(model.config.batching, split, model.tokenizer.special, 0).batch(Cursor())
    target, inputs = batch.targets["text"], batch.tokens("text")
    end = model.tokenizer.special.end
    for row in range(len(target.values)):
        weighted = target.values[row][target.weight[row] > 0].tolist()
        assert weighted.count(end) >= 1 and weighted[-1] == end
        assert {*model.tokenizer.decode(weighted).split()} <= {*" ".join(COLOURS.values()).split()}
    assert end not in inputs.ids[inputs.mask]  # the [END] of a turn is the [START] of the next
    terms, _ = model.system(batch.to())
    nll, _ = model.system.nll(batch.to())
    weight = torch.as_tensor(target.weight)
    torch.testing.assert_close(terms[0].sum, (nll * weight).sum(), rtol=1e-4, atol=1e-4)
    assert terms[0].count == weight.sum()


def test_the_oldest_turns_do_not_matter_once_they_are_dropped(models):
    model, new = models("decoder"), [("user", "colour of snow ?")]
    old = [("user", "colour of sky ?"), ("assistant", "blue")] * 30
    reply = model.reply([*old, *new])
    assert reply.dropped > 0
    kept = [*old, *new][reply.dropped :]
    assert model.reply(kept) == (reply.text, pytest.approx(reply.log_probability, abs=1e-5), 0)


def test_replies_are_sampled_and_searched(models):
    model = models("decoder")
    assert model.chat("colour of sky ?", beam=3) == "blue"
    assert model.chat("colour of sky ?", temperature=5.0, seed=1) != model.chat(
        "colour of sky ?", temperature=5.0, seed=2
    )
    with pytest.raises(FirthError, match="no --colour"):
        model.chat("colour of sky ?", colour=3)


def test_it_answers_files_of_dialogues_and_of_instructions(models, file, tmp_path):
    from firth.workflows.predict_file import Source, predict_file

    model = models("decoder")
    answers = [json.loads(line) for line in predict_file(model, Source(str(file)), {}, "jsonl")]
    assert len(answers) == 60 and answers[1]["messages"][-1]["role"] == "user" and answers[1]["reply"] == "light green"
    table = tmp_path / "asked.csv"
    table.write_text("instruction,input\ncolour of,sky ?\ncolour of coal ?,\n")
    header, *rows = predict_file(model, Source(str(table)), {})
    assert header == "turn\treply" and rows[1] == "colour of coal ?\tblack"


# --- from other runs ----------------------------------------------------------------------------------------------


# What pre-trained runs have read.
TEXT = [" ".join(["colour of", thing, "?", colour, "again ?", "call 3"]) for thing, colour in COLOURS.items()] * 12
PRETRAINED = {
    "transformer-lm:tiny": "chat-lm:tiny", "gpt-2:tiny": "chat-lm:tiny", "lstm-lm:tiny": "chat-lm:tiny",
    "t5:tiny": "chat-seq2seq:tiny", "bart:tiny": "chat-seq2seq:tiny",
}  # fmt: skip


@pytest.mark.parametrize("base", PRETRAINED)
@pytest.mark.parametrize("lora", [False, True])
def test_a_pretrained_run_learns_to_chat(base, lora, file, tmp_path):
    if lora and base == "lstm-lm:tiny":
        pytest.skip("LoRA is of Transformers")
    few = {"budget": "2 steps", "threads": 1, "settings": {"batching.length": 32}}
    firth.train(base, text=TEXT, out=tmp_path / "base", **few)
    more = {"lora": 4} if lora else {}
    out = tmp_path / "chat"
    model = firth.train(PRETRAINED[base], text=str(file), out=out, init_from=str(tmp_path / "base"), **few, **more)
    assert isinstance(model.chat("colour of sky ?", max_length=5), str)
    assert [score.name for score in model.evaluate()] == ["reply_perplexity", "exact_match"]
    again = firth.load(out)
    assert again.reply("colour of sky ?", max_length=5) == model.reply("colour of sky ?", max_length=5)


def test_dialogues_from_python_and_tables_of_instructions(tmp_path):
    few = {"budget": "2 steps", "threads": 1, "settings": SMALL}
    given = [[("user", f"colour of {thing} ?"), ("assistant", colour)] for thing, colour in COLOURS.items()] * 8
    model = firth.train("chat-lm:tiny", text=given, out=tmp_path / "python", **few)
    assert len(model.load_examples(None, "train").examples) > 10
    rows = [{"instruction": "Name the colour.", "input": thing, "output": colour} for thing, colour in COLOURS.items()]
    table = tmp_path / "alpaca.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows * 8))
    model = firth.train("chat-lm:tiny", text=str(table), out=tmp_path / "table", **few)
    turns = model.load_examples(None, "train").examples[0].turns
    assert [turn.role for turn in turns] == ["user", "assistant"] and turns[0].text.startswith("Name the colour.\n\n")
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": t, "completion": c}) + "\n" for t, c in [*COLOURS.items()] * 8))
    model = firth.train("chat-lm:tiny", text=str(prompts), out=tmp_path / "prompts", **few)
    assert model.load_examples(None, "train").examples[0].turns[0].text in COLOURS


# --- bad input ----------------------------------------------------------------------------------------------------


def refused(tmp_path, line, match, preset="chat-lm:tiny"):
    good = json.dumps(next(dialogues()))
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{good}\n{line if isinstance(line, str) else json.dumps(line)}\n{good}\n")
    with pytest.raises(FirthError, match=match) as error:
        firth.train(preset, text=str(path), out=tmp_path / "run", budget="1 steps")
    assert "bad.jsonl:2" in str(error.value) and "\n" not in str(error.value)


def test_an_unknown_role_is_refused(tmp_path):
    refused(tmp_path, {"messages": [{"role": "bot", "content": "hi"}]}, "unknown role 'bot'")


def test_a_dialogue_without_a_reply_is_refused(tmp_path):
    refused(tmp_path, {"messages": [{"role": "user", "content": "hi"}]}, "without a reply.*assistant")


def test_an_empty_reply_is_refused(tmp_path):
    refused(tmp_path, {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": " "}]}, "empty")


def test_an_empty_dialogue_is_refused(models, tmp_path):
    refused(tmp_path, {"messages": []}, "messages is empty")
    with pytest.raises(FirthError, match="empty dialogue"):
        models("decoder").chat([])
    with pytest.raises(FirthError, match="an empty turn"):
        models("decoder").chat("  ")
    with pytest.raises(FirthError, match="last turn is the assistant's"):
        models("decoder").chat([("user", "hi"), ("assistant", "hello")])
    with pytest.raises(FirthError, match="message 1 is not a role with its text"):
        models("decoder").chat([{"role": "user"}])


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
def test_a_turn_longer_than_the_model_is_cut_in_training_and_refused_in_a_chat(models, kind, tmp_path, capsys):
    long = {"messages": [{"role": "user", "content": "again " * 90}, {"role": "assistant", "content": "blue " * 90}]}
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in [*dialogues(), *[long] * 6]))
    preset, settings = MODELS[kind]
    said = {"budget": "1 steps", "settings": {**settings, "data.valid_fraction": 0.1}, "progress": "plain"}
    firth.train(preset, text=str(path), out=tmp_path / "run", threads=1, **said)
    out = capsys.readouterr()
    assert re.search(r"[3-6] of them are cut to 64 tokens", out.out + out.err)
    with pytest.raises(FirthError, match=r"a turn of 9\d tokens, and this model takes at most \d+; shorten it"):
        models(kind).chat("again " * 90)
    with pytest.raises(FirthError, match=r"beside the \d+ of the system prompt"):
        models(kind).chat([("system", "call 3"), ("user", "again " * 90)])


@EVERY_KIND
def test_a_turn_of_unknown_words_gets_a_reply(models, kind):
    assert isinstance(models(kind).chat("zebra xylophone quux", max_length=5), str)


def test_what_cannot_predict_replies_is_refused(file, tmp_path):
    for settings, match in (
        ({"batching": "windows"}, "batching.kind = windows does not predict replies"),
        ({"batching": "source-target"}, "objective.kind"),
    ):
        with pytest.raises(FirthError, match=match):
            firth.train("chat-lm:tiny", text=str(file), out=tmp_path / "run", settings=settings, budget="1 steps")
    with pytest.raises(FirthError, match="no dialogues to train on"):
        firth.train("transformer-lm:tiny", text=TEXT, settings={"batching": "dialogues"}, out=tmp_path / "run")
    with pytest.raises(FirthError, match="encoder-decoder"):
        firth.train("t5:tiny", text=TEXT, out=tmp_path / "t5", budget="1 steps")
        api.resolve_config("chat-lm:tiny", short={"init-from": str(tmp_path / "t5")})
