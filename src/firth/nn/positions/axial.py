"""Axial position embeddings (Ho et al. 2019; Kitaev et al. 2020): long sequences without a large embedding table."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.nn.positions.encodings import PositionEncoding


class AxialPositions(PositionEncoding):
    """Positions as a grid: embeddings of row and column, concatenated, are added to the token embedding."""

    reusable_states = False

    def __init__(self, config: schema.Transformer, width: int):
        super().__init__(config, width)
        assert isinstance(config.positions, schema.AxialPositions)
        rows, self.columns = axial_shape(config.positions, config.context)
        row_width = config.positions.width or width // 2
        if not 0 < row_width < width:
            what = (
                f"backbone.positions.width = {row_width} leaves no dimension for columns in embeddings of width {width}"
            )
            raise FirthError(what, do=f"set it below {width}, or to 0 for half of it")
        self.rows_weight = nn.Parameter(torch.empty(rows, row_width).normal_(std=config.init_std))
        self.columns_weight = nn.Parameter(torch.empty(self.columns, width - row_width).normal_(std=config.init_std))

    def embed(self, vectors: Tensor, positions: Tensor) -> Tensor:
        row, column = positions // self.columns, positions % self.columns
        return vectors + torch.cat([F.embedding(row, self.rows_weight), F.embedding(column, self.columns_weight)], -1)


def axial_shape(config: schema.AxialPositions, context: int) -> tuple[int, int]:
    """Rows and columns of the grid, whose product is the context length."""
    rows, columns = config.rows, config.columns
    if not rows and not columns:
        rows = max(n for n in range(1, math.isqrt(context) + 1) if context % n == 0)
    rows, columns = rows or context // columns, columns or context // rows
    if rows * columns != context:
        what = f"{rows} rows × {columns} columns are {rows * columns} positions, and the context is {context} tokens"
        raise FirthError(
            what, where="backbone.positions", do="make rows × columns the context length, or set both to 0"
        )
    return rows, columns
