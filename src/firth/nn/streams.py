"""Two streams in one pass (Yang et al. 2019): tokens that are read, and places that are asked what stands there.

Both go through the same layers side by side; keys and values are those of the tokens alone."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from firth.nn.patterns import View


class Asked(NamedTuple):
    """Places whose tokens are to be told, each (batch, asked)."""

    place: Tensor  # in the row; one past its end is what comes next
    rank: Tensor  # the highest that each sees
    document: Tensor | None = None
    segment: Tensor | None = None


def joined(view: View, asked: Asked, past: int) -> View:
    """The view of the tokens (as queries) followed by the places that are asked."""
    marks = view.queries
    rows, count = asked.place.shape
    place = torch.cat([marks.place.expand(rows, -1), asked.place + past], 1)
    real = torch.ones(rows, count, dtype=torch.bool, device=place.device)
    document = None if marks.document is None else torch.cat([marks.document, asked.document], 1)
    queries = marks._replace(
        place=place,
        mask=torch.cat([marks.mask, real], 1),
        document=document,
        rank=torch.cat([marks.rank, asked.rank], 1),
    )
    return replace(view, queries=queries)
