"""Vocabulary surgery: the same model, with other tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import firth
from firth.errors import FirthError
from firth.families.vocabulary_surgery import edit_run, remap_rows, vocabulary_axes
from firth.runs.summary import format_summary, summary

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
SETTINGS = {
    "backbone.width": 12, "batching.batch_size": 4, "batching.length": 16, "train.budget": "30 steps",
    "train.evaluate_every": 15, "train.checkpoint_every": 15, "train.optimizer.learning_rate": 0.02,
    "train.threads": 1, "tokenizer.vocabulary_size": 300,
}  # fmt: skip
KINDS = {
    "tied": {"tokenizer.model": "byte-bpe", "head.tied": "true", "inputs.text.width": 8},
    "untied": {"tokenizer.model": "unigram", "head.tied": "false"},
    "words": {"tokenizer.model": "word", "head.tied": "true", "head.bias": "false"},
}


@pytest.fixture(scope="module", params=KINDS)
def model(request, tmp_path_factory):
    settings = {**SETTINGS, **KINDS[request.param]}
    return firth.train("lstm-lm:tiny", text=DOCUMENTS, out=tmp_path_factory.mktemp("run") / "run", settings=settings)


@pytest.fixture(scope="module")
def edited(model, tmp_path_factory):
    out = tmp_path_factory.mktemp("edited") / "run"
    edited = edit_run(model.run.path, out, add=["riverbank", "enemies"])
    return edited, firth.load(out)


def distributions(model, ids: list[int]) -> np.ndarray:
    """Log-probabilities of every token after each prefix."""
    from firth.types import Batch, Tokens

    stepper, rows = model._engine.stepper, []
    start = torch.tensor([[model.tokenizer.special.start]])
    state = stepper.start(Batch({"text": Tokens(start, torch.ones(1, 1, dtype=torch.bool))}, {}))
    for last in (int(start), *ids):
        row, state = stepper.step(torch.tensor([last]), state)
        rows.append(row[0].numpy())
    return np.stack(rows)


def test_without_new_tokens_the_old_tokens_share_the_probability_as_before(model, edited):
    """The only change is the probability that the new tokens take."""
    tokens, new = edited
    added = tokens.added
    old = [i for i, ids in enumerate(tokens.source_ids) if len(ids) == 1 and new.tokenizer.id_to_token(i) not in added]
    ids = model.tokenizer.encode(DOCUMENTS[5])
    same = new.tokenizer.encode(DOCUMENTS[5])
    assert [tokens.source_ids[i] for i in same] == [(i,) for i in ids]
    before, after = distributions(model, ids), distributions(new, same)[:, old]
    after -= np.log(np.exp(after).sum(-1, keepdims=True))
    assert after == pytest.approx(before[:, [tokens.source_ids[i][0] for i in old]], abs=1e-4)


def test_a_new_row_is_the_mean_of_its_subwords(model, edited):
    _, new = edited
    axes = vocabulary_axes(model.config)
    old_tensors, new_tensors = (load_file(m.run.weights) for m in (model, new))
    assert {name for name in old_tensors if old_tensors[name].shape != new_tensors[name].shape} == set(axes)
    assert len(axes) == 1 + ("head.bias" in old_tensors) + ("head.weight" in old_tensors)
    (i,) = new.tokenizer.encode("riverbank")
    subwords = model.tokenizer.encode("riverbank")
    for name, tensor in old_tensors.items():
        if name in axes:
            assert new_tensors[name][i].numpy() == pytest.approx(tensor[subwords].double().mean(0).numpy(), abs=1e-6)
        else:
            assert torch.equal(tensor, new_tensors[name])


def test_an_edited_run_evaluates_generates_and_records_its_origin(model, edited):
    tokens, new = edited
    assert math.isfinite(new.perplexity()) and math.isfinite(new.perplexity(["3 and 4 are enemies"]))
    assert new.generate("3 and", max_length=5, seed=1)[0].startswith("3 and")
    about = summary(new.run.path)
    assert (about["origin"]["run"], about["origin"]["added"]) == (str(model.run.path), len(tokens.added))
    assert format_summary(about)["origin"].startswith(f"{model.run.path} at step ")
    assert format_summary(about)["state"] == "open, step 0 of 30" and summary(model.run.path)["origin"] is None


def test_an_edited_run_continues_training_from_its_weights(model, tmp_path):
    edit_run(model.run.path, tmp_path / "new", add=["enemies"])
    start = firth.load(tmp_path / "new").perplexity()
    trained = firth.api.resume(tmp_path / "new")
    assert trained.perplexity() < start < 0.7 * model.tokenizer.vocab_size  # not from scratch
    assert format_summary(summary(tmp_path / "new"))["state"] == "done, step 30 of 30"


def test_the_probability_of_a_removed_token_goes_to_the_others(model, tmp_path):
    token = "friends" if model.tokenizer.kind == "word" else " friends"
    edited = edit_run(model.run.path, tmp_path / "new", remove=[token])
    new = firth.load(tmp_path / "new")
    (removed,) = {model.tokenizer.token_to_id(name) for name in edited.removed}
    ids = model.tokenizer.encode("3 and 4 are")
    before, after = distributions(model, ids), distributions(new, [edited.source_ids.index((i,)) for i in ids])
    rest = np.delete(before, removed, axis=1)
    assert after == pytest.approx(rest - np.log(np.exp(rest).sum(-1, keepdims=True)), abs=1e-4)


def test_rows_move_along_any_axis():
    tensor = torch.arange(12.0).view(3, 4)
    remapped = remap_rows({"a": tensor, "b": tensor}, [(2,), (0, 1)], {"a": 0, "b": 1})
    assert remapped["a"].tolist() == [[8, 9, 10, 11], [2, 3, 4, 5]]
    assert remapped["b"].tolist() == [[2, 0.5], [6, 4.5], [10, 8.5]]


def test_a_used_folder_and_an_empty_run_are_refused(model, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "x").touch()
    with pytest.raises(FirthError, match="other files in it"):
        edit_run(model.run.path, tmp_path / "used", add=["enemies"])
    with pytest.raises(FirthError, match="no such run folder"):
        edit_run(tmp_path / "none", tmp_path / "new", add=["enemies"])
    with pytest.raises(FirthError, match="no token"):
        edit_run(model.run.path, tmp_path / "new", remove=["Ж"])
    assert not (tmp_path / "new").exists()
