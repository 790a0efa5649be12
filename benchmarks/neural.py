"""Neural language models against plain PyTorch and Hugging Face: a part of lm.py, each model in a process of its own.

`python neural.py ours|theirs training|generation KIND NUMBER` answers each line on standard input with the seconds of
some work; the number is 1 for bf16, or how many rows to generate, where the kind is that of our weights.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

import workers

VOCABULARY, RATE, CLIP = 8000, 1e-3, 1.0
STEPS = 4  # to a round
GPT = {"rows": 4, "length": 256, "width": 384, "depth": 6, "heads": 6}
RECURRENT = {"rows": 20, "length": 35, "width": 200, "depth": 2}
PROMPT, NEW = 16, 100  # tokens of a prompt, and to be generated
SEED = 7
_SETTLED = ExitStack()  # memory and arithmetic as `firth train` has them, until the process ends


class Shape(NamedTuple):
    """How large a model and its batches are."""

    rows: int
    length: int
    width: int
    depth: int
    heads: int = 0


SHAPES = {"gpt": Shape(**GPT), **{cell: Shape(**RECURRENT) for cell in ("lstm", "gru", "tanh")}}


def batches(shape: Shape) -> list[tuple[np.ndarray, np.ndarray]]:
    """Inputs and next tokens, drawn with a distribution like that of words."""
    draw = np.random.default_rng(0)
    text = (draw.zipf(1.2, (64, shape.rows, shape.length + 1)) - 1) % VOCABULARY
    return [(part[:, :-1].copy(), part[:, 1:].copy()) for part in text.astype(np.int64)]


# --- ours ---


def our_config(kind: str, bf16: bool):
    from firth.config import schema

    shape = SHAPES[kind]
    if kind == "gpt":
        backbone = schema.Transformer(width=shape.width, depth=shape.depth, heads=shape.heads, context=512)
        batching = schema.Windows(rows=shape.rows, length=shape.length)
    else:
        backbone = schema.Recurrent(cell=kind, width=shape.width, depth=shape.depth)
        batching = schema.Contiguous(rows=shape.rows, length=shape.length)
    optimizer, schedule = schema.Optimizer(rate=RATE, clip=CLIP), schema.Schedule(shape="constant")
    precision = "bf16" if bf16 else "float32"
    train = schema.Train(optimizer=optimizer, schedule=schedule, precision=precision, evaluate=10**9, save=10**9)
    head = schema.LanguageHead(bias=kind != "gpt")
    return schema.Neural(batching=batching, backbone=backbone, head=head, train=train)


def our_training(kind: str, bf16: bool) -> Callable[[], float]:
    """The package's own trainer, its log included; seconds of a round."""
    from firth.types import Batch, Cursor, Target, Tokens

    config, made = our_config(kind, bf16), batches(SHAPES[kind])
    ones = np.ones(made[0][0].shape, np.float32)

    class Given:
        """The same batches as the peer's."""

        def count(self, epoch: int) -> int:
            return len(made)

        def batch(self, at: Cursor) -> Batch:
            ids, values = made[at.index]
            fresh = kind == "gpt" or at.index == 0
            return Batch({"text": Tokens(ids, ones > 0)}, {"text": Target(values, ones)}, at, fresh)

    return stepping(config, VOCABULARY, Given())


def stepping(config, vocabulary: int, given) -> Callable[[], float]:
    """The package's own trainer over given batches; seconds of a round."""
    from firth.build import build
    from firth.runs.progress import Quiet
    from firth.training.devices import devices
    from firth.training.loop import Job, Trainer

    system, folder = build(config, vocabulary), Path(tempfile.mkdtemp())
    here = _SETTLED.enter_context(devices(config.train))
    trainer = Trainer(Job(system, config.train, 10**9, given, None, folder, {"config": ""}, 1, here, Quiet()))
    trainer.start()
    shutil.rmtree(folder, ignore_errors=True)

    def run() -> float:
        began = time.perf_counter()
        for _ in range(STEPS):
            trainer.step(0)
        return time.perf_counter() - began

    return run


def our_generation(weights: str, rows: int) -> Callable[[], float]:
    """Tokens drawn one after the other from the whole distribution, with the cache."""
    import torch

    from firth.build import build
    from firth.decoding.sample import Sampling, generate
    from firth.families.stepper import NeuralStepper
    from firth.nn.linear import lighten
    from firth.types import Batch, Tokens

    system = build(our_config("gpt", False), VOCABULARY).eval()
    if weights != "float32":
        lighten(system, weights)
    stepper = NeuralStepper(system, VOCABULARY)
    ids = torch.randint(VOCABULARY, (rows, PROMPT))
    prompts = Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {})

    def run() -> float:
        began = time.perf_counter()
        found = generate(stepper, prompts, NEW, Sampling(), SEED, end=-1)
        assert all(len(one.ids) == NEW for one in found)
        return time.perf_counter() - began

    return run


# --- theirs ---


def gpt2():
    import transformers

    shape = SHAPES["gpt"]
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=512, n_embd=shape.width, n_layer=shape.depth, n_head=shape.heads,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def plain_recurrent(kind: str):
    import torch
    from torch import nn

    shape = SHAPES[kind]
    module = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN}[kind]
    embed, out = nn.Embedding(VOCABULARY, shape.width), nn.Linear(shape.width, VOCABULARY)
    out.weight = embed.weight
    layers = module(shape.width, shape.width, shape.depth, batch_first=True)
    model, kept = nn.ModuleList([embed, layers, out]), [None]

    def loss(ids, values):
        states, after = layers(embed(ids), kept[0])
        kept[0] = tuple(t.detach() for t in after) if isinstance(after, tuple) else after.detach()
        return torch.nn.functional.cross_entropy(out(states).flatten(0, 1), values.flatten())

    return model, loss


def their_training(kind: str, bf16: bool) -> Callable[[], float]:
    """The loop anyone would write; Hugging Face's model works out its own loss."""
    import torch

    if kind == "gpt":
        model = gpt2().train()

        def loss(ids, values):  # it moves the labels itself: the last token of a row is not predicted
            return model(input_ids=ids, labels=ids, use_cache=False).loss
    else:
        model, loss = plain_recurrent(kind)
    return plain_stepping(model, loss, [tuple(map(torch.from_numpy, pair)) for pair in batches(SHAPES[kind])], bf16)


def plain_stepping(model, loss, made: list, bf16: bool) -> Callable[[], float]:
    """A loop over batches as it is usually written; seconds of a round."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    done = [0]

    def run() -> float:
        began = time.perf_counter()
        for _ in range(STEPS):
            with torch.autocast("cpu", torch.bfloat16, enabled=bool(bf16)):
                total = loss(*made[done[0] % len(made)])
            optimizer.zero_grad()
            total.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            done[0] += 1
        return time.perf_counter() - began

    return run


def their_generation(_: str, rows: int) -> Callable[[], float]:
    """`generate` with its cache, drawing from the whole distribution, in float32 whatever ours has."""
    import torch

    model, ids = gpt2().eval(), torch.randint(VOCABULARY, (rows, PROMPT))
    how = {"do_sample": True, "top_k": 0, "max_new_tokens": NEW, "min_new_tokens": NEW}

    def run() -> float:
        began = time.perf_counter()
        with torch.no_grad():
            found = model.generate(ids, attention_mask=torch.ones_like(ids), **how)
        assert found.shape == (rows, PROMPT + NEW)
        return time.perf_counter() - began

    return run


# --- by turns ---

WORK = {
    ("ours", "training"): our_training,
    ("theirs", "training"): their_training,
    ("ours", "generation"): our_generation,
    ("theirs", "generation"): their_generation,
}


def compare(what: str, kind: str, number: int, rounds: int) -> tuple[list[float], list[float]]:
    """(seconds of ours and theirs, memory of ours and theirs): medians of rounds by turns."""
    return workers.compare(__file__, (what, kind, str(number)), rounds)


def main() -> None:
    who, what, kind, number = sys.argv[1:]
    import torch

    torch.manual_seed(SEED)
    workers.serve(WORK[who, what](kind, int(number)))


if __name__ == "__main__":
    main()
