"""Laws of ELECTRA's and DistilBERT's runs, on small models of their own."""

import math
import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch
from torch.nn import functional as F

import firth
from firth.build import build
from firth.config import schema
from firth.data.batching import batches
from firth.data.corrupt import corrupted
from firth.errors import FirthError
from firth.families.teaching import begin_as
from firth.objectives.distil import Teacher
from firth.runs import log
from firth.runs.progress import Quiet
from firth.training.guard import Interrupted
from firth.types import Cursor

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
SETTINGS = {
    "tokenizer.model": "word",
    "tokenizer.size": 300,
    "backbone.width": 32,
    "backbone.depth": 2,
    "backbone.heads": 2,
    "batching.rows": 8,
    "batching.length": 16,
    "train.budget": "60 steps",
    "train.evaluate": 30,
    "train.save": 30,
    "train.threads": 1,
    "train.optimizer.rate": 0.01,
    "train.schedule.warmup": 10,
}
TAUGHT = {name: value for name, value in SETTINGS.items() if not name.startswith(("tokenizer", "backbone", "batching"))}


@pytest.fixture(scope="module")
def electra(tmp_path_factory):
    out = tmp_path_factory.mktemp("electra") / "run"
    return firth.train("electra:tiny", text=DOCUMENTS, out=out, settings={**SETTINGS, "input.width": 16})


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return firth.train("bert:tiny", text=DOCUMENTS, out=tmp_path_factory.mktemp("bert") / "run", settings=SETTINGS)


@pytest.fixture(scope="module")
def pupil(bert, tmp_path_factory):
    out = tmp_path_factory.mktemp("pupil") / "run"
    return firth.train("distilbert:tiny", text=DOCUMENTS, out=out, teacher=bert.run.path, settings=TAUGHT)


# --- ELECTRA -------------------------------------------------------------------------------------------------------


def test_both_networks_are_scored_and_the_scores_come_back(electra):
    found = {score.name: score.value for score in electra.evaluate()}
    assert set(found) == {"masked_perplexity", "replaced_accuracy", "replaced_found"}
    assert found["masked_perplexity"] < 25
    assert 0.5 < found["replaced_accuracy"] <= 1 and 0 <= found["replaced_found"] <= 1
    again = {score.name: score.value for score in firth.load(electra.run.path).evaluate()}
    assert again == found


def test_the_small_network_decides_which_weights_are_best(electra, bert):
    """The loss of both is often least where the small one has learned little yet: its guesses are easily told."""
    for model, ranked in ((electra, True), (bert, False)):
        told = [entry for entry in log.read(model.run.path / "log.jsonl") if entry.get("split") == "valid"]
        ranks = [math.log(entry["value"]) if ranked else None for entry in told]
        assert [entry.get("rank") for entry in told] == pytest.approx(ranks)


def test_gaps_are_filled_by_the_small_network(electra):
    (found,) = electra.fill("3 [MASK] 4 are friends", 300)
    batch = electra._batch([electra._framed("3 [MASK] 4 are friends")])
    companion, text = electra.system.objective.companion, batch.streams["text"]
    with torch.no_grad():
        states = companion(electra.system.input(text), text)[0, 2]
        chances = companion.head.log_probabilities(states, electra.system.table).exp()
    wanted = {electra._shown(token): chance for token, chance in enumerate(chances.tolist())}
    assert {each.text: each.probability for each in found} == pytest.approx(wanted, abs=1e-6)
    assert found[0].text in ("and", "are")  # small as it is, it knows what words are for


def test_every_token_is_told_how_wrong_it_looks(electra):
    found = electra.replaced("3 and 4 are friends")
    assert [each.text for each in found] == ["3", "and", "4", "are", "friends"]
    assert all(0 <= each.probability <= 1 for each in found)
    right, wrong = electra.replaced("3 and 4 are friends")[1], electra.replaced("3 friends 4 are friends")[1]
    assert wrong.probability > right.probability
    answer = electra.answer("3 and 4 are friends", {})
    assert [row["text"] for row in answer["replaced"]] == [each.text for each in found]
    assert "and" in electra.shown(answer)
    assert "fillers" in electra.answer("3 and [MASK]", {"count": 2})
    with pytest.raises(FirthError, match="--count has no use"):
        electra.answer("3 and 4", {"count": 2})


def test_vectors_are_the_large_networks(electra):
    assert electra.embed(["3 and 4", "5"]).shape == (2, 32)


# --- DistilBERT ----------------------------------------------------------------------------------------------------


def batch_of(model, config):
    part = model.part(split="valid")
    whole = batches(config.batching, part, model.tokenizer.special, 1)
    return corrupted(whole, config.objective, model.tokenizer, 1).batch(Cursor()).to()


def test_a_pupil_takes_its_sizes_and_tokenizer_from_the_teacher(bert, pupil):
    assert pupil.config.backbone == schema.Transformer(**{**vars(bert.config.backbone), "depth": 1})
    assert pupil.config.input.segments == 0
    assert pupil.tokenizer.hash == bert.tokenizer.hash
    assert {score.name: score.value for score in pupil.evaluate()}["masked_perplexity"] < 25
    assert pupil.fill("3 [MASK] 4 are friends")[0][0].text == "and"


def test_the_loss_is_the_formula(bert, pupil):
    config, teacher = pupil.config, bert.system
    system = build(config, pupil.tokenizer.size).eval()
    system.objective.teacher = Teacher(teacher)
    batch = batch_of(pupil, config)
    terms = {term.name: term for term in system(batch)[0]}
    assert {name: term.weight for name, term in terms.items()} == {"tokens": 2.0, "soft": 5.0, "states": 1.0}
    mask, told = batch.streams["text"].mask, batch.targets["text"].weight > 0
    with torch.no_grad():
        ours, theirs = (part.encode(batch).states for part in (system, teacher))
        p = (teacher.log_probabilities(theirs[mask]) / 2.0).softmax(-1)
        q = (system.log_probabilities(ours[mask]) / 2.0).log_softmax(-1)
        soft = 4.0 * (p * (p.log() - q)).sum()
        values = batch.targets["text"].values[told]
        hard = F.nll_loss(system.log_probabilities(ours[told]), values, reduction="sum")
        ones = torch.ones(int(mask.sum()))
        states = F.cosine_embedding_loss(ours[mask], theirs[mask], ones, reduction="sum")
    for name, wanted in (("soft", soft), ("tokens", hard), ("states", states)):
        torch.testing.assert_close(terms[name].sum, wanted, atol=1e-4, rtol=1e-5)
    assert terms["soft"].count == terms["states"].count == float(mask.sum())
    assert {name: term.count for name, term in terms.items()} == system.objective.counts(batch)


def test_the_teacher_is_asked_only(bert, pupil):
    teacher, system = build(bert.config, bert.tokenizer.size), build(pupil.config, pupil.tokenizer.size)
    system.objective.teacher = Teacher(teacher)
    sum(term.sum for term in system.train()(batch_of(pupil, pupil.config))[0]).backward()
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert not teacher.training
    kept = safetensors.torch.load_file(pupil.run.path / "model.safetensors")
    assert not any("teacher" in name for name in kept)
    assert sum(tensor.numel() for tensor in kept.values()) < sum(p.numel() for p in teacher.parameters())


def test_terms_without_a_weight_are_left_out(pupil, bert):
    objective = schema.Distil(soft_weight=0.0, state_weight=0.0, told="hidden")
    system = build(replace(pupil.config, objective=objective), pupil.tokenizer.size)
    system.objective.teacher = Teacher(bert.system)
    batch = batch_of(pupil, pupil.config)
    assert [term.name for term in system(batch)[0]] == ["tokens"]


def test_a_pupil_of_the_same_depth_begins_as_its_teacher(bert):
    config = replace(bert.config, input=replace(bert.config.input, segments=0), objective=schema.Distil())
    system = build(config, bert.tokenizer.size).eval()
    assert "tensors start from the teacher's" in begin_as(system, bert.system)
    batch = batch_of(bert, bert.config)
    with torch.no_grad():
        ours, theirs = (part.encode(batch).states for part in (system, bert.system))
        chances = [part.log_probabilities(states) for part, states in ((system, ours), (bert.system, theirs))]
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(*chances, atol=1e-4, rtol=1e-4)


def test_a_pupil_half_as_deep_begins_with_every_second_layer(bert):
    deep = build(replace(bert.config, backbone=replace(bert.config.backbone, depth=4)), bert.tokenizer.size)
    half = build(bert.config, bert.tokenizer.size)
    begin_as(half, deep)
    for mine, his in ((0, 0), (1, 2)):
        ours, theirs = (part.state_dict() for part in (half.backbone.blocks[mine], deep.backbone.blocks[his]))
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


class Stopper(Quiet):
    """Sends this process a signal at a certain step."""

    def step(self, entry):
        if entry["step"] == 17:
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_stopped_pupil_goes_on_with_the_same_teacher_alone(bert, pupil, tmp_path):
    teacher = tmp_path / "teacher"
    shutil.copytree(bert.run.path, teacher)
    settings = {**TAUGHT, "train.budget": "30 steps", "train.evaluate": 10, "train.save": 10}

    def train(out, **more):
        return firth.train("distilbert:tiny", text=DOCUMENTS, out=out, teacher=teacher, settings=settings, **more)

    whole = train(tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(tmp_path / "cut", progress=Stopper())
    gone = tmp_path / "gone"
    teacher.rename(gone)
    with pytest.raises(FirthError, match="no such run folder"):
        firth.resume(tmp_path / "cut")
    shutil.copytree(pupil.run.path, teacher)  # another one that fills gaps
    with pytest.raises(FirthError, match="the teacher has changed"):
        firth.resume(tmp_path / "cut")
    shutil.rmtree(teacher)
    gone.rename(teacher)
    firth.resume(tmp_path / "cut")
    one, two = (path / "model.safetensors" for path in (whole.run.path, tmp_path / "cut"))
    assert one.read_bytes() == two.read_bytes()
    teacher.rename(gone)
    assert np.isfinite(firth.load(tmp_path / "cut").embed(["3 and 4"])).all()  # to use it, no teacher is needed


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no teacher to follow"),
        ({"objective.teacher": "nowhere"}, "no such run folder"),
    ],
)
def test_a_pupil_without_a_teacher_is_refused(settings, message, tmp_path):
    with pytest.raises(FirthError, match=message):
        firth.train("distilbert:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)


def test_a_run_that_fills_no_gaps_is_no_teacher(electra, bert, tmp_path):
    with pytest.raises(FirthError, match="is no teacher"):
        firth.train("distilbert:tiny", text=DOCUMENTS, out=tmp_path / "a", teacher=electra.run.path)
    with pytest.raises(FirthError, match="a pupil 16 wide for a teacher 32 wide"):
        settings = {**TAUGHT, "backbone.width": 16}
        firth.train("distilbert:tiny", text=DOCUMENTS, out=tmp_path / "b", teacher=bert.run.path, settings=settings)
