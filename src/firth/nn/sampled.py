"""Learning from a part of the vocabulary: tokens are drawn as rivals of the right one (Bengio and Senécal 2003)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def chances(vocabulary: int, wanted: int) -> Tensor:
    """How probable it is that each token is drawn, `wanted` of them on average: 1, or less as its rank grows.

    Vocabularies are in order of frequency, or nearly. Where one is not, the sum under the softmax only varies more.
    """
    ranks = np.arange(1, vocabulary + 1)
    harmonic = np.cumsum(1 / ranks)
    drawn = ranks * (1 + harmonic[-1] - harmonic)  # on average, with the chances min(1, a rank / each rank)
    always = ranks[min(np.searchsorted(drawn, wanted), vocabulary - 1)]
    return torch.from_numpy(np.minimum(1.0, always / ranks)).float()


def sampled_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, values: Tensor, weights: Tensor, chances: Tensor
) -> Tensor:
    """About the sum of `weights` (n) × -log softmax(states weightᵀ + bias) at `values` (n); states (n, width).

    The right token counts in full, and each rival as often as it is seldom drawn: then the sum under the softmax
    is right on average, and its logarithm, so the loss, a little too small.
    """
    drawn = (torch.rand_like(chances) < chances).nonzero().squeeze(-1)
    shift = -chances[drawn].log()
    # One lookup, since each makes a gradient as large as the whole matrix.
    others, own = F.embedding(torch.cat([drawn, values]), weight).split([len(drawn), len(values)])
    right = (states * own).sum(-1)
    if bias is not None:
        shift, right = shift + bias[drawn], right + bias[values]
    rivals = F.linear(states, others)
    rivals = rivals.to(torch.promote_types(rivals.dtype, torch.float32)) + shift
    column = torch.full_like(chances, -1, dtype=torch.long)
    column[drawn] = torch.arange(len(drawn), device=drawn.device)
    hit = (column[values] >= 0).nonzero().squeeze(-1)
    rivals[hit, column[values[hit]]] = -torch.inf  # no token is its own rival
    scores = torch.cat([right.unsqueeze(-1).to(rivals.dtype), rivals], -1)
    return torch.dot(scores.logsumexp(-1) - scores[:, 0], weights.to(scores.dtype))
