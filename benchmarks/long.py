"""Longformer at growing lengths and against Hugging Face's, a part of transformers.py: each in a process of its own.

`python long.py ours|theirs LENGTH`: seconds of the CPU for reading a text forward and back, on one thread.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import workers
from sides import row

LENGTHS, SHORT, AGAINST = (1024, 2048, 4096, 8192, 16384), 16, 4096
WINDOW, WIDTH, DEPTH, HEADS, VOCABULARY = 256, 256, 2, 4, 1000  # WINDOW: on each side
EXPONENT, FASTER = 1.1, 2.0


def ours(ids: Any) -> Callable[[], Any]:
    """The states of a Longformer whose first token sees all."""
    from firth.build import build
    from firth.config import schema
    from firth.types import Batch, Tokens

    backbone = schema.Transformer(
        width=WIDTH, depth=DEPTH, heads=HEADS, activation="gelu", norm_at="post", norm_input=True, sees="all",
        window=WINDOW, central="first", central_projections=True, kernel="banded",
    )  # fmt: skip
    batching = schema.Framed(length=max(LENGTHS))
    system = build(schema.Neural(batching=batching, backbone=backbone, objective=schema.Masked()), VOCABULARY)
    batch = Batch({"text": Tokens(ids, ids >= 0)}, {})
    return lambda: system.encode(batch).states


def theirs(ids: Any) -> Callable[[], Any]:
    """The same by Hugging Face."""
    import torch

    from transformers import LongformerConfig, LongformerModel

    config = LongformerConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=DEPTH, num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH, max_position_embeddings=max(LENGTHS) + 2, attention_window=[2 * WINDOW] * DEPTH,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = LongformerModel(config, add_pooling_layer=False)
    first = torch.zeros_like(ids)
    first[:, 0] = 1
    return lambda: model(ids, global_attention_mask=first).last_hidden_state


SIDES = {"ours": ours, "theirs": theirs}


def reading(side: str, length: int) -> Callable[[], float]:
    """Forward and back over one text; seconds."""
    import torch

    torch.set_num_threads(1)
    states = SIDES[side](torch.randint(10, VOCABULARY, (1, length)))

    def work() -> float:
        began = time.process_time()
        states().sum().backward()
        return time.process_time() - began

    return work


def measured(side: str, length: int, rounds: int) -> tuple[float, float]:
    """(seconds, MB): the least time of some rounds, and the most memory."""
    worker = workers.Worker(__file__, side, str(length))
    found = [worker.round() for _ in range(rounds + 1)]
    worker.close()
    return min(each["seconds"] for each in found[1:]), max(each["memory"] for each in found)


def exponent(values: list[float]) -> float:
    """How values grow with LENGTHS: the slope of a line through their logarithms."""
    x, y = ([math.log(each) for each in part] for part in (LENGTHS, values))
    mean = sum(x) / len(x)
    return sum((a - mean) * b for a, b in zip(x, y, strict=True)) / sum((a - mean) ** 2 for a in x)


def longformer(rounds: int) -> list[dict]:
    """Time and memory over lengths, what they grow with, and the time beside Hugging Face's."""
    base = measured("ours", SHORT, 1)[1]
    found = [measured("ours", length, rounds) for length in LENGTHS]
    seconds, memory = [each[0] for each in found], [each[1] - base for each in found]
    rows = [
        row(f"longformer, {length:,} tokens: {name}", value, None, None, unit)
        for length, *pair in zip(LENGTHS, seconds, memory, strict=True)
        for name, value, unit in zip(("forward and back", "memory above none"), pair, ("s", "MB"), strict=True)
    ]
    for name, values in (("time", seconds), ("memory", memory)):
        rows.append(row(f"longformer, {name} grows with length to (limit)", exponent(values), EXPONENT, 1.0, "", False))
    peer = measured("theirs", AGAINST, rounds)
    mine = found[LENGTHS.index(AGAINST)]
    rows.append(row(f"longformer, {AGAINST:,} tokens: HF", AGAINST / mine[0], AGAINST / peer[0], FASTER, "tokens/s"))
    rows.append(row(f"longformer memory, {AGAINST:,} tokens: HF", mine[1], peer[1], None, "MB", False))
    return rows


if __name__ == "__main__":
    workers.serve(reading(sys.argv[1], int(sys.argv[2])))
