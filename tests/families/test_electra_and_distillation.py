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
from firth.config import schema
from firth.datasets.collators.batches import corrupt_batches, make_batches
from firth.errors import FirthError
from firth.families.distillation import initialise_student
from firth.models.build import build
from firth.objectives.distillation import Teacher
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet
from firth.runs.run_folder import read_log
from firth.types import Cursor

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
SETTINGS = {
    "tokenizer.model": "word",
    "tokenizer.vocabulary_size": 300,
    "backbone.width": 32,
    "backbone.depth": 2,
    "backbone.heads": 2,
    "batching.batch_size": 8,
    "batching.length": 16,
    "train.budget": "60 steps",
    "train.evaluate_every": 30,
    "train.checkpoint_every": 30,
    "train.threads": 1,
    "train.optimizer.learning_rate": 0.01,
    "train.schedule.warmup_steps": 10,
}
STUDENT = {
    name: value for name, value in SETTINGS.items() if not name.startswith(("tokenizer", "backbone", "batching"))
}


@pytest.fixture(scope="module")
def electra(tmp_path_factory):
    out = tmp_path_factory.mktemp("electra") / "run"
    # a post-norm discriminator of this size learns nothing at the rate of the others
    own = {
        "inputs.text.width": 16,
        "backbone.dropout": 0.0,
        "train.budget": "150 steps",
        "train.optimizer.learning_rate": 3e-3,
    }
    return firth.train("electra:tiny", text=DOCUMENTS, out=out, settings={**SETTINGS, **own})


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return firth.train("bert:tiny", text=DOCUMENTS, out=tmp_path_factory.mktemp("bert") / "run", settings=SETTINGS)


@pytest.fixture(scope="module")
def student(bert, tmp_path_factory):
    out = tmp_path_factory.mktemp("student") / "run"
    return firth.train("distilbert:tiny", text=DOCUMENTS, out=out, teacher=bert.run.path, settings=STUDENT)


# --- ELECTRA -------------------------------------------------------------------------------------------------------


def test_generator_and_discriminator_are_scored_reproducibly(electra):
    scores = {score.name: score.value for score in electra.evaluate()}
    assert set(scores) == {"masked_perplexity", "replaced_accuracy", "replaced_recall"}
    assert scores["masked_perplexity"] < 25
    assert 0.5 < scores["replaced_accuracy"] <= 1 and 0 <= scores["replaced_recall"] <= 1
    again = {score.name: score.value for score in firth.load(electra.run.path).evaluate()}
    assert again == scores


def test_the_generator_decides_which_weights_are_best(electra, bert):
    """The total loss is often lowest where the generator has learned little yet: its samples are easily detected."""
    for model, selected in ((electra, True), (bert, False)):
        entries = [entry for entry in read_log(model.run.path / "log.jsonl") if entry.get("split") == "valid"]
        expected = [math.log(entry["value"]) if selected else None for entry in entries]
        assert [entry.get("selection_score") for entry in entries] == pytest.approx(expected)


def test_masks_are_filled_by_the_generator(electra):
    (predictions,) = electra.fill("3 [MASK] 4 are friends", 300)
    batch = electra.batch([electra._encode("3 [MASK] 4 are friends")])
    companion, text = electra.system.objective.companion, batch.streams["text"]
    with torch.no_grad():
        states = companion(electra.system.embed("text", text), text)[0, 2]
        probabilities = companion.head.log_probabilities(states, electra.system.embedding_weight).exp()
    expected = {electra._token_text(token): value for token, value in enumerate(probabilities.tolist())}
    assert {each.text: each.probability for each in predictions} == pytest.approx(expected, abs=1e-6)
    assert predictions[0].text in ("and", "are")


def test_every_token_has_a_probability_of_being_replaced(electra):
    tokens = electra.detect_replaced("3 and 4 are friends")
    assert [each.text for each in tokens] == ["3", "and", "4", "are", "friends"]
    assert all(0 <= each.probability <= 1 for each in tokens)
    replaced = electra.detect_replaced("3 friends 4 are friends")
    assert replaced[1].probability > tokens[1].probability
    answer = electra.answer("3 and 4 are friends", {})
    assert [row["text"] for row in answer["replaced"]] == [each.text for each in tokens]
    assert "and" in electra.format_answer(answer)
    assert "predictions" in electra.answer("3 and [MASK]", {"count": 2})
    with pytest.raises(FirthError, match="--count has no effect"):
        electra.answer("3 and 4", {"count": 2})


def test_embeddings_are_the_discriminators(electra):
    assert electra.embed(["3 and 4", "5"]).shape == (2, 32)


# --- DistilBERT ----------------------------------------------------------------------------------------------------


def batch_of(model, config):
    tokens = model.tokenised_split(split="valid")
    batches = make_batches(config.batching, tokens, model.tokenizer.special, 1)
    return corrupt_batches(batches, config.objective, model.tokenizer, 1).batch(Cursor()).to()


def test_a_student_takes_its_sizes_and_tokenizer_from_the_teacher(bert, student):
    assert student.config.backbone == replace(bert.config.backbone, depth=1)
    assert student.config.inputs["text"].segments == 0
    assert student.tokenizer.hash == bert.tokenizer.hash
    assert {score.name: score.value for score in student.evaluate()}["masked_perplexity"] < 25
    assert student.fill("3 [MASK] 4 are friends")[0][0].text == "and"


def test_the_loss_is_the_formula(bert, student):
    objective = replace(student.config.objective, distil_tokens="all")
    config, teacher = replace(student.config, objective=objective), bert.system
    system = build(config, student.tokenizer.vocab_size).eval()
    system.objective.teacher = Teacher(teacher)
    batch = batch_of(student, config)
    terms = {term.name: term for term in system(batch)[0]}
    assert {name: term.weight for name, term in terms.items()} == {"tokens": 2.0, "soft": 5.0, "states": 1.0}
    mask, predicted = batch.streams["text"].mask, batch.targets["text"].weight > 0
    with torch.no_grad():
        ours, theirs = (part.encode(batch).states for part in (system, teacher))
        p = (teacher.log_probabilities(theirs[mask]) / 2.0).softmax(-1)
        q = (system.log_probabilities(ours[mask]) / 2.0).log_softmax(-1)
        soft = 4.0 * (p * (p.log() - q)).sum()
        values = batch.targets["text"].values[predicted]
        hard = F.nll_loss(system.log_probabilities(ours[predicted]), values, reduction="sum")
        ones = torch.ones(int(mask.sum()))
        states = F.cosine_embedding_loss(ours[mask], theirs[mask], ones, reduction="sum")
    for name, expected in (("soft", soft), ("tokens", hard), ("states", states)):
        torch.testing.assert_close(terms[name].sum, expected, atol=1e-4, rtol=1e-5)
    assert terms["soft"].count == terms["states"].count == float(mask.sum())
    assert {name: term.count for name, term in terms.items()} == system.objective.counts(batch)


def test_the_teacher_is_frozen_and_not_saved(bert, student):
    teacher, system = build(bert.config, bert.tokenizer.vocab_size), build(student.config, student.tokenizer.vocab_size)
    system.objective.teacher = Teacher(teacher)
    sum(term.sum for term in system.train()(batch_of(student, student.config))[0]).backward()
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert not teacher.training
    saved = safetensors.torch.load_file(student.run.path / "model.safetensors")
    assert not any("teacher" in name for name in saved)
    assert sum(tensor.numel() for tensor in saved.values()) < sum(p.numel() for p in teacher.parameters())


def test_terms_without_a_weight_are_left_out(student, bert):
    objective = schema.Distillation(distillation_weight=0.0, cosine_weight=0.0, distil_tokens="masked")
    system = build(replace(student.config, objective=objective), student.tokenizer.vocab_size)
    system.objective.teacher = Teacher(bert.system)
    batch = batch_of(student, student.config)
    assert [term.name for term in system(batch)[0]] == ["tokens"]


def test_a_student_of_the_same_depth_starts_as_its_teacher(bert):
    inputs = bert.config.inputs.replace("text", segments=0)
    config = replace(bert.config, inputs=inputs, objective=schema.Distillation())
    system = build(config, bert.tokenizer.vocab_size).eval()
    assert "tensors initialised from the teacher" in initialise_student(system, bert.system)
    one_segment = replace(bert.config, batching=replace(bert.config.batching, pairs="none"))
    batch = batch_of(bert, one_segment)
    with torch.no_grad():
        ours, theirs = (part.encode(batch).states for part in (system, bert.system))
        log_probs = [part.log_probabilities(states) for part, states in ((system, ours), (bert.system, theirs))]
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(*log_probs, atol=1e-4, rtol=1e-4)


def test_a_student_of_half_the_depth_starts_with_every_second_layer(bert):
    deep = build(replace(bert.config, backbone=replace(bert.config.backbone, depth=4)), bert.tokenizer.vocab_size)
    half = build(bert.config, bert.tokenizer.vocab_size)
    initialise_student(half, deep)
    for mine, his in ((0, 0), (1, 2)):
        ours, theirs = (part.state_dict() for part in (half.backbone.blocks[mine], deep.backbone.blocks[his]))
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


class Stopper(Quiet):
    """Sends this process a signal at a certain step."""

    def step(self, entry):
        if entry["step"] == 17:
            os.kill(os.getpid(), signal.SIGTERM)


def test_an_interrupted_student_resumes_with_the_same_teacher_only(bert, student, tmp_path):
    teacher = tmp_path / "teacher"
    shutil.copytree(bert.run.path, teacher)
    settings = {**STUDENT, "train.budget": "30 steps", "train.evaluate_every": 10, "train.checkpoint_every": 10}

    def train(out, **more):
        return firth.train("distilbert:tiny", text=DOCUMENTS, out=out, teacher=teacher, settings=settings, **more)

    whole = train(tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(tmp_path / "cut", progress=Stopper())
    gone = tmp_path / "gone"
    teacher.rename(gone)
    with pytest.raises(FirthError, match="no such run folder"):
        firth.resume(tmp_path / "cut")
    shutil.copytree(student.run.path, teacher)  # another masked language model
    with pytest.raises(FirthError, match="the teacher has changed"):
        firth.resume(tmp_path / "cut")
    shutil.rmtree(teacher)
    gone.rename(teacher)
    firth.resume(tmp_path / "cut")
    one, two = (path / "model.safetensors" for path in (whole.run.path, tmp_path / "cut"))
    assert one.read_bytes() == two.read_bytes()
    teacher.rename(gone)
    assert np.isfinite(firth.load(tmp_path / "cut").embed(["3 and 4"])).all()  # loading needs no teacher


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no teacher is given"),
        ({"objective.teacher": "nowhere"}, "no such run folder"),
    ],
)
def test_a_student_without_a_teacher_is_refused(settings, message, tmp_path):
    with pytest.raises(FirthError, match=message):
        firth.train("distilbert:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=settings)


def test_a_run_that_is_no_masked_language_model_is_no_teacher(electra, bert, tmp_path):
    with pytest.raises(FirthError, match="cannot be a teacher"):
        firth.train("distilbert:tiny", text=DOCUMENTS, out=tmp_path / "a", teacher=electra.run.path)
    with pytest.raises(FirthError, match="a student of width 16 for a teacher of width 32"):
        settings = {**STUDENT, "backbone.width": 16}
        firth.train("distilbert:tiny", text=DOCUMENTS, out=tmp_path / "b", teacher=bert.run.path, settings=settings)
