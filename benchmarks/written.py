"""Training an encoder and a decoder against Hugging Face's, a part of seq2seq.py: each side in a process of its own.

`python written.py ours|theirs training NUMBER` (1: bf16). Both are given the same batches, of pairs of like length.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import workers
from neural import CLIP, RATE, SEED, STEPS, plain_stepping, stepping
from sides import precisions, row

VOCABULARY, PAD, END = 8000, 1, 2
WIDTH, DEPTH, HEADS = 256, 3, 4
TOKENS = 2048  # of a batch, about; a round has as many batches as steps, so that all rounds are alike


def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    """Tokens read and written (rows, longest), closed by END and padded, as sentences of a corpus are."""
    draw = np.random.default_rng(0)
    found = []
    for _ in range(STEPS):
        middle = int(np.clip(draw.lognormal(2.6, 0.4), 6, 40))
        rows = TOKENS // (middle + 3)
        sizes = draw.integers(middle - 2, middle + 3, (2, rows))
        found.append(tuple(_padded(draw, each) for each in sizes))
    return found


def _padded(draw: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    mask = np.arange(sizes.max() + 1) < sizes[:, None]
    ids = np.where(mask, draw.zipf(1.2, mask.shape) % (VOCABULARY - 10) + 10, PAD)
    ids[np.arange(len(sizes)), sizes] = END
    return ids.astype(np.int64)


def told() -> int:
    """Tokens that are written in a round."""
    return sum(int((target != PAD).sum()) for _, target in pairs())


def our_training(bf16: int) -> Callable[[], float]:
    from firth.config import schema
    from firth.types import Batch, Cursor, Target, Tokens

    made = pairs()

    class Given:
        """The same batches as the peer's."""

        def count(self, epoch: int) -> int:
            return len(made)

        def batch(self, at: Cursor) -> Batch:
            source, target = made[at.index]
            read = np.roll(target, 1, axis=1)
            read[:, 0] = END
            mask = target != PAD
            streams = {"source": Tokens(source, source != PAD), "target": Tokens(read, mask)}
            return Batch(streams, {"target": Target(target, mask.astype(np.float32))}, at)

    shape = {"width": WIDTH, "depth": DEPTH, "heads": HEADS, "norm_at": "post", "norm_input": True, "context": 64}
    stack = schema.Transformer(**shape, activation="gelu")
    backbone = schema.EncoderDecoder(schema.Transformer(**shape, activation="gelu", sees="all"), stack)
    train = schema.Train(
        optimizer=schema.Optimizer(rate=RATE, clip=CLIP), schedule=schema.Schedule(shape="constant"),
        precision="bf16" if bf16 else "float32", evaluate=10**9, save=10**9,
    )  # fmt: skip
    config = schema.Neural(
        batching=schema.Pairs(length=48), backbone=backbone, objective=schema.Written(first="end"), train=train
    )
    return stepping(config, VOCABULARY, Given())


def their_training(bf16: int) -> Callable[[], float]:
    import torch

    import transformers

    sizes = {f"{part}_{name}": value for part in ("encoder", "decoder") for name, value in _layers().items()}
    config = transformers.BartConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, max_position_embeddings=64, dropout=0.0, pad_token_id=PAD,
        eos_token_id=END, decoder_start_token_id=END, **sizes,
    )  # fmt: skip
    model = transformers.BartForConditionalGeneration(config).train()
    made = [tuple(map(torch.from_numpy, pair)) for pair in pairs()]

    def loss(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        labels = target.masked_fill(target == PAD, -100)
        return model(input_ids=source, attention_mask=source != PAD, labels=labels).loss

    return plain_stepping(model, loss, made, bool(bf16))


def _layers() -> dict[str, int]:
    return {"layers": DEPTH, "attention_heads": HEADS, "ffn_dim": 4 * WIDTH}


WORK = {"ours": our_training, "theirs": their_training}


def training(rounds: int) -> list[dict]:
    """Tokens written a second, with the optimizer's step; the peer in a plain loop, without what its Trainer adds."""
    rows, count = [], told()
    for bf16, name in enumerate(precisions()):
        (mine, theirs), memory = workers.compare(__file__, ("training", str(bf16)), rounds)
        rows.append(row(f"training, {name}", count / mine, count / theirs, 1.25, "tokens/s"))
        rows.append(row("training, peak memory", *memory, 1.0, "MB", False))
    return rows


def main() -> None:
    who, _, number = sys.argv[1:]
    import torch

    torch.manual_seed(SEED)
    workers.serve(WORK[who](int(number)))


if __name__ == "__main__":
    main()
