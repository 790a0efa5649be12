"""BERT against Hugging Face's, a part of transformers.py: each side in a process of its own.

`python masked.py ours|theirs training NUMBER` (1: bf16) or `… forward NUMBER` (1: rows of different lengths).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import workers
from neural import CLIP, RATE, SEED, STEPS, plain_stepping, stepping
from sides import precisions, row

VOCABULARY, MASK, SHARE = 8000, 4, 0.15
ROWS, LENGTH, WIDTH, DEPTH, HEADS = 16, 128, 256, 4, 4
READ = {"rows": 32, "length": 128, "width": 384, "depth": 6, "heads": 12}  # a small sentence encoder's size
PASSES = 4  # to a round


def masked_batches() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """What is shown, what is true, and where that is asked."""
    draw = np.random.default_rng(0)
    text = (draw.zipf(1.2, (32, ROWS, LENGTH)) % (VOCABULARY - 10) + 10).astype(np.int64)
    told = draw.random(text.shape) < SHARE
    return list(zip(np.where(told, MASK, text), text, told, strict=True))


def our_config(bf16: bool = False, **change: int):
    from firth.config import schema

    shape = {"width": WIDTH, "depth": DEPTH, "heads": HEADS, **change}
    backbone = schema.Transformer(
        **shape, activation="gelu", norm_at="post", norm_input=True, epsilon=1e-12, sees="all", context=512
    )
    train = schema.Train(
        optimizer=schema.Optimizer(rate=RATE, clip=CLIP), schedule=schema.Schedule(shape="constant"),
        precision="bf16" if bf16 else "float32", evaluate=10**9, save=10**9,
    )  # fmt: skip
    return schema.Neural(
        batching=schema.Framed(rows=ROWS, length=LENGTH), input=schema.TokenInput(segments=2), backbone=backbone,
        head=schema.LanguageHead(transform=True), objective=schema.Masked(), train=train,
    )  # fmt: skip


def their_bert(kind: str, **change: int):
    import transformers

    shape = {"width": WIDTH, "depth": DEPTH, "heads": HEADS, **change}
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=shape["width"], num_hidden_layers=shape["depth"],
        num_attention_heads=shape["heads"], intermediate_size=4 * shape["width"],
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return getattr(transformers, kind)(config)


def our_training(bf16: int) -> Callable[[], float]:
    from firth.types import Batch, Cursor, Target, Tokens

    made = masked_batches()

    class Given:
        """The same batches as the peer's."""

        def count(self, epoch: int) -> int:
            return len(made)

        def batch(self, at: Cursor) -> Batch:
            ids, values, told = made[at.index]
            text = Tokens(ids, np.ones(ids.shape, bool))
            return Batch({"text": text}, {"text": Target(values, told.astype(np.float32))}, at)

    return stepping(our_config(bool(bf16)), VOCABULARY, Given())


def their_training(bf16: int) -> Callable[[], float]:
    import torch

    model = their_bert("BertForMaskedLM").train()
    made = [
        (torch.from_numpy(ids), torch.from_numpy(np.where(told, values, -100)))
        for ids, values, told in masked_batches()
    ]
    return plain_stepping(model, lambda ids, labels: model(input_ids=ids, labels=labels).loss, made, bool(bf16))


def texts(ragged: int):
    """Tokens of rows, of one length or of lengths as sentences have, and which are real."""
    import torch

    draw = np.random.default_rng(0)
    rows, length = READ["rows"], READ["length"]
    sizes = np.clip(draw.lognormal(3.3, 0.6, rows), 5, length).astype(int) if ragged else np.full(rows, length)
    mask = torch.from_numpy(np.arange(sizes.max()) < sizes[:, None])
    return torch.from_numpy(draw.integers(10, VOCABULARY, mask.shape)) * mask, mask


def our_forward(ragged: int) -> Callable[[], float]:
    import torch

    from firth.build import build
    from firth.types import Batch, Tokens

    size = {name: READ[name] for name in ("width", "depth", "heads")}
    system, (ids, mask) = build(our_config(**size), VOCABULARY).eval(), texts(ragged)
    batch = Batch({"text": Tokens(ids, mask)}, {})
    return _passes(torch.no_grad()(lambda: system.encode(batch)))


def their_forward(ragged: int) -> Callable[[], float]:
    import torch

    model = their_bert("BertModel", **{name: READ[name] for name in ("width", "depth", "heads")}).eval()
    ids, mask = texts(ragged)
    return _passes(torch.no_grad()(lambda: model(input_ids=ids, attention_mask=mask.long())))


def _passes(read: Callable[[], object]) -> Callable[[], float]:
    def run() -> float:
        began = time.perf_counter()
        for _ in range(PASSES):
            read()
        return time.perf_counter() - began

    return run


WORK = {
    ("ours", "training"): our_training,
    ("theirs", "training"): their_training,
    ("ours", "forward"): our_forward,
    ("theirs", "forward"): their_forward,
}


def bert(rounds: int) -> list[dict]:
    """Training by masks in tokens a second, and reading rows of one length and of many, where ours skips padding."""
    tokens, rows = STEPS * ROWS * LENGTH, []
    for bf16, name in enumerate(precisions()):
        (mine, theirs), memory = workers.compare(__file__, ("training", str(bf16)), rounds)
        rows.append(row(f"bert, masked training, {name}", tokens / mine, tokens / theirs, 1.25, "tokens/s"))
        rows.append(row("bert, its peak memory", *memory, 1.0, "MB", False))
    for ragged, (name, target) in enumerate((("equal lengths", 1.0), ("ragged lengths", 1.5))):
        (mine, theirs), _ = workers.compare(__file__, ("forward", str(ragged)), rounds)
        texts = PASSES * READ["rows"]
        rows.append(row(f"bert, reading, {name}", texts / mine, texts / theirs, target, "texts/s"))
    return rows


def main() -> None:
    who, what, number = sys.argv[1:]
    import torch

    torch.manual_seed(SEED)
    workers.serve(WORK[who, what](int(number)))


if __name__ == "__main__":
    main()
