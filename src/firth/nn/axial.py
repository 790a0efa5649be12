"""Places as rows and columns (Ho et al. 2019; Kitaev et al. 2020): long texts without a long table."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Transformer
from firth.errors import FirthError
from firth.nn.places import Positions


class AxialPlaces(Positions):
    """A vector for each row and each column, side by side, added to the token's; text fills row after row."""

    def __init__(self, config: Transformer, width: int):
        super().__init__(config, width)
        rows, self.columns = grid(config)
        first = config.axial.width or width // 2
        if not 0 < first < width:
            what = f"backbone.axial.width = {first} leaves nothing for columns in vectors {width} wide"
            raise FirthError(what, do="set it to less, or to 0 for a half")
        self.rows_weight = nn.Parameter(torch.empty(rows, first).normal_(std=config.spread))
        self.columns_weight = nn.Parameter(torch.empty(self.columns, width - first).normal_(std=config.spread))

    def embed(self, vectors: Tensor, at: Tensor) -> Tensor:
        row, column = at // self.columns, at % self.columns
        return vectors + torch.cat([F.embedding(row, self.rows_weight), F.embedding(column, self.columns_weight)], -1)


def grid(config: Transformer) -> tuple[int, int]:
    """Rows and columns, whose product is the context."""
    rows, columns, context = config.axial.rows, config.axial.columns, config.context
    if not rows and not columns:
        rows = max(n for n in range(1, math.isqrt(context) + 1) if context % n == 0)
    rows, columns = rows or context // columns, columns or context // rows
    if rows * columns != context:
        what = f"{rows} rows of {columns} places are {rows * columns}, and the model reads {context} tokens"
        raise FirthError(
            what, where="backbone.axial", do="make rows × columns the length of a row of a batch, or set 0"
        )
    return rows, columns
