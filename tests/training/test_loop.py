"""Laws of the training loop."""

import json
import math
from dataclasses import replace

import pytest
import torch
from training_tasks import CONFIG, SPECIAL, Recorder, make_task, text, trained, weights

import firth
from firth.config import override
from firth.datasets.collators.batches import make_batches
from firth.errors import FirthError
from firth.models.build import build
from firth.runs import checkpoints
from firth.training.device import training_environment
from firth.training.loop import Evaluation, Trainer, train
from firth.types import Cursor


def test_two_micro_batches_are_one_batch(tmp_path):
    """Gradient accumulation: sequences of one batch in two micro-batches, or together, make the same step."""
    whole, _ = trained(tmp_path / "whole", "train.budget=3 steps")

    class Halves:
        def __init__(self, of):
            self.of = of

        def count(self, epoch):
            return 2 * self.of.count(epoch)

        def batch(self, at):
            whole = self.of.batch(replace(at, index=at.index // 2))
            half = whole.size // 2
            part = whole.slice_batch(0, half) if at.index % 2 == 0 else whole.slice_batch(half, whole.size)
            return replace(part, cursor=at, reset_state=True)

    class Fresh(Halves):
        def count(self, epoch):
            return self.of.count(epoch)

        def batch(self, at):
            return replace(self.of.batch(at), reset_state=True)

    with training_environment(CONFIG.train):
        one = make_task(tmp_path / "one", "train.budget=3 steps")
        train(replace(one, batches=Fresh(one.batches)))
        two = make_task(tmp_path / "two", "train.budget=3 steps", "train.gradient_accumulation=2")
        train(replace(two, batches=Halves(two.batches)))
    for name, tensor in weights(one).items():
        assert torch.allclose(tensor, weights(two)[name], atol=1e-6), name
        assert not torch.equal(tensor, build(CONFIG, 40).state_dict()[name]), name
    assert any(not torch.equal(weights(whole)[name], tensor) for name, tensor in weights(one).items())  # state matters


def test_dropout_repeats_with_the_seed_and_differs_between_steps(tmp_path):
    settings = ("backbone.dropout=0.5", "inputs.text.dropout=0.5")
    first, _ = trained(tmp_path / "first", *settings)
    second, _ = trained(tmp_path / "second", *settings)
    other, _ = trained(tmp_path / "other", *settings, "seed=2")
    assert all(torch.equal(tensor, weights(second)[name]) for name, tensor in weights(first).items())
    assert not torch.equal(weights(first)["inputs.text.weight"], weights(other)["inputs.text.weight"])


def test_each_micro_batch_of_each_step_has_a_seed_of_its_own(tmp_path):
    class Seeds(torch.nn.Module):
        def __init__(self, system):
            super().__init__()
            self.system, self.objective, self.seen = system, system.objective, []

        def forward(self, batch, state=None):
            self.seen.append(torch.initial_seed())
            return self.system(batch, state)

    settings = ("train.budget=3 steps", "train.gradient_accumulation=2")
    task, _ = trained(tmp_path / "run", *settings, system=Seeds(build(CONFIG, 40)))
    assert len(task.system.seen) == len(set(task.system.seen)) == 6


def test_training_leaves_the_callers_random_state_and_settings_alone(tmp_path):
    threads, mode, state = torch.get_num_threads(), torch.get_deterministic_debug_mode(), torch.get_rng_state()
    trained(tmp_path / "run", "backbone.dropout=0.5")
    assert torch.equal(state, torch.get_rng_state())
    assert (torch.get_num_threads(), torch.get_deterministic_debug_mode()) == (threads, mode)


def test_the_guard_rolls_back_and_halves_the_learning_rate(tmp_path):
    class Poison(torch.nn.Module):
        """A system whose loss is not a number once, at its fifth step."""

        def __init__(self, system):
            super().__init__()
            self.system, self.objective, self.steps, self.done = system, system.objective, 0, False

        def forward(self, batch, state=None):
            terms, state = self.system(batch, state)
            self.steps += 1
            if self.steps == 5 and not self.done:
                self.done = True
                terms = [replace(term, sum=term.sum * math.nan) for term in terms]
            return terms, state

    recorder = Recorder()
    with training_environment(CONFIG.train):
        task = make_task(tmp_path / "run", system=Poison(build(CONFIG, 40)), progress=recorder)
        state = train(task)
    assert state.finished and state.step == 6
    assert state.guard_factor == 0.5
    assert recorder.lines == ["step 5: the loss is not a number; back to step 3, on at 0.5 of the learning rate"]
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    rates = {line["step"]: line["learning_rate"] for line in lines if "learning_rate" in line}
    plain = make_task(tmp_path / "plain")
    assert sorted(rates) == [1, 2, 3, 4, 5, 6]
    assert rates[4] < 0.6 * plain.config.optimizer.learning_rate


def test_the_guard_gives_up_with_one_line(tmp_path):
    class Hopeless(torch.nn.Module):
        def __init__(self, system):
            super().__init__()
            self.system, self.objective = system, system.objective

        def forward(self, batch, state=None):
            terms, state = self.system(batch, state)
            return [replace(term, sum=term.sum * math.inf) for term in terms], state

    with pytest.raises(FirthError, match=r"the loss is not a number at step 1.*lower train.optimizer.learning_rate"):
        trained(tmp_path / "run", system=Hopeless(build(CONFIG, 40)))


def test_a_ruined_weight_is_not_saved_as_the_last_good_one(tmp_path):
    """A step that ruins a weight just before a checkpoint is undone too."""

    class Ruined(torch.nn.Module):
        def __init__(self, system):
            super().__init__()
            self.system, self.objective, self.steps = system, system.objective, 0

        def forward(self, batch, state=None):
            terms, state = self.system(batch, state)
            self.steps += 1
            if self.steps == 3:
                self.system.inputs["text"].weight.data[39] = math.inf  # a token the batch may not even have
            return terms, state

    with training_environment(CONFIG.train):
        task = make_task(tmp_path / "run", system=Ruined(build(CONFIG, 41)))
        state = train(task)
    assert state.finished and state.guard_factor == 0.5
    assert all(bool(p.isfinite().all()) for p in task.system.parameters())


def test_an_exploding_gradient_does_not_touch_the_weights(tmp_path):
    with training_environment(CONFIG.train):
        task = make_task(tmp_path / "run")
        trainer = Trainer(task)
        trainer.start()
        before = weights(task)
        trainer.module.inputs["text"].weight.register_hook(lambda gradient: gradient * math.inf)
        assert trainer.step(0) is None
        trainer.close()
    assert all(torch.equal(tensor, weights(task)[name]) for name, tensor in before.items())
    assert trainer.state.step == 0


def losses(*values):
    remaining = iter(values)
    return lambda: Evaluation(next(remaining), "perplexity", 1.0)


def test_early_stopping_counts_evaluations_without_improvement(tmp_path):
    settings = ("train.budget=100 steps", "train.evaluate_every=2", "train.patience=2")
    task, state = trained(tmp_path / "run", *settings, evaluate=losses(3.0, 2.0, 2.5, 2.0, 1.0))
    assert state.finished and state.step == 8
    assert (state.best_loss, state.best_step) == (2.0, 4)
    assert (task.folder / "model.safetensors").exists()


def test_the_plateau_schedule_lowers_the_learning_rate(tmp_path):
    schedule = ("train.schedule.shape=plateau", "train.schedule.factor=0.1")
    settings = ("train.budget=8 steps", "train.evaluate_every=2", *schedule)
    _, state = trained(tmp_path / "run", *settings, evaluate=losses(3.0, 3.5, 2.0, 2.5))
    assert state.plateau_factor == pytest.approx(0.01)


def test_the_best_model_is_kept_not_the_last(tmp_path):
    settings = ("train.budget=6 steps", "train.evaluate_every=2")
    task, _ = trained(tmp_path / "run", *settings, evaluate=losses(3.0, 2.0, 2.5))
    from firth.training.checkpoint import read_tensors

    best = read_tensors(task.folder / "model.safetensors")
    last = read_tensors(checkpoints.checkpoint_folder(task.folder, 6) / "weights.safetensors")
    at_best = read_tensors(checkpoints.checkpoint_folder(task.folder, 4) / "weights.safetensors")
    assert all(torch.equal(best[name], tensor) for name, tensor in at_best.items())
    assert any(not torch.equal(best[name], tensor) for name, tensor in last.items())


def test_two_checkpoints_are_kept(tmp_path):
    trained(tmp_path / "run", "train.budget=9 steps", "train.checkpoint_every=2")
    assert sorted(p.name for p in (tmp_path / "run" / "state").iterdir()) == ["step-000008", "step-000009"]


def test_a_finished_run_does_nothing_more(tmp_path):
    documents = [f"{n} plus one is {n + 1}" for n in range(60)]
    settings = {
        "tokenizer.model": "byte",
        "backbone.width": 8,
        "batching.batch_size": 2,
        "batching.length": 8,
        "train.budget": "4 steps",
        "train.evaluate_every": 2,
        "train.checkpoint_every": 2,
    }
    model = firth.train("lstm-lm:tiny", text=documents, out=tmp_path / "run", settings=settings)
    before = model.run.weights.stat().st_mtime_ns
    again = firth.resume(tmp_path / "run")
    assert model.run.weights.stat().st_mtime_ns == before
    assert again.perplexity() == model.perplexity()


def test_evaluation_and_the_saved_model_use_the_averaged_weights(tmp_path):
    from firth.training.checkpoint import read_tensors

    evaluated, names = [], ("train.budget=3 steps", "train.evaluate_every=3", "train.ema_decay=0.5")
    system = build(CONFIG, 40)

    def evaluate():
        evaluated.append({name: tensor.clone() for name, tensor in system.state_dict().items()})
        return Evaluation(1.0, "perplexity", math.e)

    task, _ = trained(tmp_path / "run", *names, evaluate=evaluate, system=system)
    average = read_tensors(checkpoints.checkpoint_folder(task.folder, 3) / "training.safetensors")
    saved = read_tensors(task.folder / "model.safetensors")
    for name, tensor in system.named_parameters():
        assert torch.equal(evaluated[0][name], average[f"average.{name}"]), name
        assert torch.equal(saved[name], average[f"average.{name}"]), name
        assert not torch.equal(tensor.detach(), evaluated[0][name]), name  # training goes on with its own weights


def test_dropout_is_off_in_validation_and_on_again_after_it(tmp_path):
    system, modes, states = build(override(CONFIG, ["backbone.dropout=0.5"]), 40), [], []

    def evaluate():
        modes.append({module.training for module in system.modules()})
        batch = make_batches(CONFIG.batching, text(), SPECIAL, 0).batch(Cursor()).to()
        states.append([system.encode(batch).states for _ in range(2)])
        return Evaluation(1.0, "perplexity", math.e)

    trained(tmp_path / "run", "train.evaluate_every=2", evaluate=evaluate, system=system)
    assert modes == [{False}] * 3
    assert all(torch.equal(*pair) for pair in states)
    assert system.training


def test_a_loaded_model_has_no_dropout(tmp_path):
    documents = [f"{n} plus one is {n + 1}" for n in range(60)]
    settings = {
        "tokenizer.model": "byte",
        "backbone.width": 8,
        "backbone.dropout": 0.5,
        "batching.batch_size": 2,
        "batching.length": 8,
        "train.budget": "2 steps",
    }
    firth.train("lstm-lm:tiny", text=documents, out=tmp_path / "run", settings=settings)
    model = firth.load(tmp_path / "run")
    assert model.perplexity() == model.perplexity()
