"""What a network says of whole texts, each read by itself however many are read together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from firth.build import System
from firth.config import schema
from firth.data.batches.examples import Framed, framed, stacked
from firth.text.special import Special
from firth.text.tokenizer import Tokenizer
from firth.training.loop import autocast
from firth.types import Batch, Encoded

TOKENS_AT_ONCE = 8192  # padding counted


@torch.no_grad()
def read_texts(
    system: System,
    rows: Sequence[Framed],
    special: Special,
    train: schema.Train,
    say: Callable[[Encoded], Tensor],
    *,
    segments: bool = False,
) -> np.ndarray:
    """What is said of each row (rows, …): `say` turns the states of some rows into it."""
    found: list[Tensor] = []
    order: list[int] = []
    for members in grouped([len(row.ids) for row in rows]):
        text = stacked([rows[index] for index in members], special, segments=segments)
        with autocast(train):
            found.append(say(system.encode(Batch({"text": text}, {}).to("cpu"))).float())
        order += members
    values = torch.cat(found).numpy()
    back = np.empty_like(values)
    back[order] = values
    return back


def frame_texts(
    texts: Sequence[Sequence[str]], tokenizer: Tokenizer, config: schema.Joined | schema.Apart
) -> list[Framed]:
    """Texts, or pairs of texts, as the network was trained to read them."""
    parts = [len(sides) for sides in texts]
    ids = iter(tokenizer.encode_batch([text for sides in texts for text in sides]))
    return [framed([next(ids) for _ in range(count)], config, tokenizer.special) for count in parts]


def grouped(lengths: Sequence[int]) -> list[list[int]]:
    """Rows of similar length together, within a budget."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not groups or (len(groups[-1]) + 1) * lengths[index] > TOKENS_AT_ONCE:
            groups.append([])
        groups[-1].append(index)
    return groups
