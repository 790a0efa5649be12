"""Two-stream attention (XLNet; Yang et al. 2019): a content stream of tokens, and a query stream of positions whose
tokens are predicted.

Both go through the same layers side by side; keys and values are those of the content stream alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from firth.nn.attention.mask import AttentionMask


class QueryStream(NamedTuple):
    """Positions whose tokens are predicted, each field (batch, queries)."""

    position: Tensor  # in the sequence; one past its end is the next token
    rank: Tensor  # the highest rank in the factorisation order that each attends to
    document: Tensor | None = None
    segment: Tensor | None = None


def two_stream_mask(mask: AttentionMask, query_stream: QueryStream, past: int) -> AttentionMask:
    """The attention mask of the content stream (as queries) followed by the query stream."""
    content = mask.queries
    batch_size, count = query_stream.position.shape
    position = torch.cat([content.position.expand(batch_size, -1), query_stream.position + past], 1)
    real = torch.ones(batch_size, count, dtype=torch.bool, device=position.device)
    document = None
    if content.document is not None:
        assert query_stream.document is not None
        document = torch.cat([content.document, query_stream.document], 1)
    assert content.rank is not None  # of a factorisation order
    queries = content._replace(
        position=position,
        mask=torch.cat([content.mask, real], 1),
        document=document,
        rank=torch.cat([content.rank, query_stream.rank], 1),
    )
    return replace(mask, queries=queries)
