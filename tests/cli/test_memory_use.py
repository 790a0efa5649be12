"""`firth eval --memory`: another memory than the one a model was trained with."""

import json

from cli_samples import OPTIONS, assert_done, assert_refused


def test_eval_takes_another_memory(command, corpus, tmp_path):
    out = tmp_path / "run"
    more = ["--set", "backbone.memory.length=8", "--set", "backbone.depth=1"]
    assert_done(command("train", "transformer-xl:tiny", "--text", corpus, "--out", out, "--quiet", *OPTIONS, *more))
    found = {
        memory: json.loads(assert_done(command("eval", out, "--memory", memory, "--json")).out)[1]
        for memory in (0, 8, 32)
    }
    assert all(f"|ctx:memory/{memory}/8|" in score["signature"] for memory, score in found.items())
    assert json.loads(assert_done(command("eval", out, "--json")).out)[1] == found[8]
    assert len({score["value"] for score in found.values()}) == 3
    kept = json.loads((out / "scores.json").read_text())
    assert {score["signature"] for score in kept} >= {score["signature"] for score in found.values()}


def test_models_without_a_memory_are_told_so(command, trained):
    assert_refused(command("eval", trained, "--memory", 8), "this model has no memory", trained)
