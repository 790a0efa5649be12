"""Training runs on random tokens, in which nothing but the loop happens."""

import math

import numpy as np

from firth.config import override
from firth.config.schema import Contiguous, Inputs, Neural, Recurrent, TokenInput, Train
from firth.datasets.collators.batches import make_batches
from firth.datasets.token_cache import Split, Tally
from firth.models.build import build
from firth.runs.progress import Quiet
from firth.tokenizers.special_tokens import SpecialTokens
from firth.training.clock import StepClock
from firth.training.device import Distributed, training_environment
from firth.training.loop import Evaluation, TrainingTask, train

SPECIAL = SpecialTokens(pad=0, unknown=1, start=2, end=3, mask=4, cls=5, sep=6)
CONFIG = Neural(
    batching=Contiguous(batch_size=4, length=8),
    inputs=Inputs(text=TokenInput()),
    backbone=Recurrent(width=12, depth=2),
    train=Train(budget="6 steps", evaluate_every=3, checkpoint_every=3, threads=1),
)


def text(seed=0, tokens=600):
    ids = np.random.default_rng(seed).integers(7, 40, tokens).astype(np.uint16)
    ids[19::20] = SPECIAL.end
    starts = np.concatenate([[0], np.flatnonzero(ids == SPECIAL.end) + 1])
    return Split("train", "key", ids, starts, Tally(len(starts) - 1, tokens, 0, ()))


class Recorder(Quiet):
    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


def make_task(folder, *settings, evaluate=None, system=None, progress=None):
    config = override(CONFIG, settings)
    folder.mkdir(exist_ok=True)
    batches = make_batches(config.batching, text(), SPECIAL, config.seed)
    steps = int(config.train.budget.split()[0])
    evaluate = evaluate or (lambda: Evaluation(1.0, "perplexity", math.e))
    return TrainingTask(
        system or build(config, 40),
        config.train,
        StepClock(config.train, steps),
        batches,
        evaluate,
        folder,
        {"config": "", "tokenizers": {}},
        config.seed,
        Distributed(),
        progress or Recorder(),
    )


def weights(task):
    return {name: tensor.clone() for name, tensor in task.system.state_dict().items()}


def trained(folder, *settings, **more):
    with training_environment(CONFIG.train):
        task = make_task(folder, *settings, **more)
        state = train(task)
    return task, state
