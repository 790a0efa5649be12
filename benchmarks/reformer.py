"""Reformer's memory over depth and length, a part of transformers.py: each model in a process of its own.

`python reformer.py SIDE DEPTH LENGTH`: seconds of the CPU for reading a text forward and back, on one thread.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import workers
from sides import row

DEPTHS, LENGTHS, SHORT = (2, 4, 8, 12), (1024, 2048, 4096, 8192), 64
DEPTH, LENGTH = 2, 2048  # of the curves over the other
WIDTH, HEADS, CHUNK, ROUNDS, VOCABULARY = 256, 4, 64, 2, 1000
FLAT = 1.1  # memory of the deepest against the shallowest, at most


def ours(depth: int, length: int, **options: Any) -> Callable[[Any], Any]:
    """A Reformer, or one with other options."""
    from firth.build import build
    from firth.config import schema
    from firth.types import Batch, Tokens

    settings = {"attends": ("local", "lsh"), "residual": "reversible", **options}
    backbone = schema.Transformer(
        width=WIDTH, depth=depth, heads=HEADS, activation="relu", positions="axial", local=schema.Local(chunk=CHUNK),
        lsh=schema.LSH(chunk=CHUNK, rounds=ROUNDS), **settings,
    )  # fmt: skip
    system = build(schema.Neural(batching=schema.Windows(length=length), backbone=backbone), VOCABULARY).train()
    return lambda ids: system.encode(Batch({"text": Tokens(ids, ids >= 0)}, {})).states


def theirs(depth: int, length: int) -> Callable[[Any], Any]:
    """The same by Hugging Face."""
    from transformers import ReformerConfig, ReformerModel

    config = ReformerConfig(
        attn_layers=["local", "lsh"] * (depth // 2), num_hidden_layers=depth, vocab_size=VOCABULARY, hidden_size=WIDTH,
        num_attention_heads=HEADS, attention_head_size=WIDTH // HEADS, feed_forward_size=4 * WIDTH,
        axial_pos_shape=(length // 32, 32), axial_pos_embds_dim=(WIDTH // 2, WIDTH // 2), lsh_attn_chunk_length=CHUNK,
        local_attn_chunk_length=CHUNK, num_hashes=ROUNDS, num_buckets=max(2, 2 * length // CHUNK), is_decoder=True,
        hidden_dropout_prob=0.0, lsh_attention_probs_dropout_prob=0.0, local_attention_probs_dropout_prob=0.0,
        max_position_embeddings=length, use_cache=False,
    )  # fmt: skip
    model = ReformerModel(config).train()
    return lambda ids: model(ids).last_hidden_state


SIDES: dict[str, Callable[[int, int], Callable[[Any], Any]]] = {
    "ours": ours,
    "plain": lambda depth, length: ours(depth, length, residual="plain"),
    "dense": lambda depth, length: ours(depth, length, residual="plain", attends=("full",)),
    "theirs": theirs,
}


def reading(side: str, depth: int, length: int) -> Callable[[], float]:
    """Forward and back over one text; seconds."""
    import torch

    torch.set_num_threads(1)
    states, ids = SIDES[side](depth, length), torch.randint(10, VOCABULARY, (1, length))

    def work() -> float:
        began = time.process_time()
        states(ids).sum().backward()
        return time.process_time() - began

    return work


@contextmanager
def tight() -> Iterator[None]:
    """Workers begun here give memory back as soon as it is free, so that their most is what they needed at once."""
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
    yield
    del os.environ["MALLOC_MMAP_THRESHOLD_"]


def answers(side: str, depth: int, length: int, rounds: int) -> list[dict[str, float]]:
    """Seconds and memory of some rounds after a first one."""
    worker = workers.Worker(__file__, side, str(depth), str(length))
    found = [worker.round() for _ in range(rounds + 1)]
    worker.close()
    return found[1:]


def seconds(side: str, length: int, rounds: int) -> float:
    """The least of some rounds."""
    return min(each["seconds"] for each in answers(side, DEPTH, length, rounds))


def memory(side: str, depth: int, length: int) -> float:
    """MB above what a short text takes, weights and their gradients included."""
    with tight():
        most, least = (answers(side, depth, time, 1)[0]["memory"] for time in (length, SHORT))
    return most - least


def reformer(rounds: int) -> list[dict]:
    """Memory over depth, reversible, plain and Hugging Face's; time and memory over length, against dense attention."""
    rows, found = [], {}
    for depth in DEPTHS:
        found[depth], plain = (memory(side, depth, LENGTH) for side in ("ours", "plain"))
        name = f"reformer, {depth} layers: plain residuals"
        rows.append(row(name, found[depth], plain, None, "MB", False))
    growth = found[DEPTHS[-1]] / found[DEPTHS[0]]
    rows.append(row(f"reformer, memory at depth {DEPTHS[-1]} / {DEPTHS[0]} (limit)", growth, FLAT, 1.0, "", False))
    theirs = memory("theirs", DEPTHS[-1], LENGTH)
    rows.append(row(f"reformer, {DEPTHS[-1]} layers: HF", found[DEPTHS[-1]], theirs, None, "MB", False))
    for length in LENGTHS:
        times = [seconds(side, length, rounds) for side in ("ours", "dense")]
        rows.append(row(f"reformer, {length:,} tokens: dense attention", *times, None, "s", False))
        sizes = [memory(side, DEPTH, length) for side in ("ours", "dense")]
        rows.append(row(f"reformer, {length:,} tokens: dense attention", *sizes, None, "MB", False))
    speeds = [LENGTH / seconds(side, LENGTH, rounds) for side in ("ours", "theirs")]
    rows.append(row(f"reformer, {LENGTH:,} tokens: HF", *speeds, None, "tokens/s"))
    return rows


if __name__ == "__main__":
    workers.serve(reading(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
