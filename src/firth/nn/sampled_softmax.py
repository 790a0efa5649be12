"""Sampled softmax: training on a sample of the vocabulary as negatives (Bengio and Senécal 2003)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def sampling_probabilities(vocabulary: int, expected_samples: int) -> Tensor:
    """The probability that each token is sampled, `expected_samples` of them on average: 1, or decreasing with its
    rank.

    Vocabularies are sorted by frequency, or nearly; if one is not, the normaliser's estimate only has higher variance.
    """
    ranks = np.arange(1, vocabulary + 1)
    harmonic = np.cumsum(1 / ranks)
    # expected samples if the probabilities are min(1, a rank / each rank)
    expected = ranks * (1 + harmonic[-1] - harmonic)
    always = ranks[min(int(np.searchsorted(expected, expected_samples)), vocabulary - 1)]
    return torch.from_numpy(np.minimum(1.0, always / ranks)).float()


def sampled_cross_entropy(
    states: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    weights: Tensor,
    sampling_probabilities: Tensor,
) -> Tensor:
    """An estimate of the sum of `weights` (n) × -log softmax(states weightᵀ + bias) at `targets` (n); states (n,
    width).

    Sampled negatives are weighted by the inverse of their sampling probability, so that the normaliser is unbiased; its
    logarithm, and so the loss, is slightly too small."""
    sampled = (torch.rand_like(sampling_probabilities) < sampling_probabilities).nonzero().squeeze(-1)
    correction = -sampling_probabilities[sampled].log()
    # One embedding lookup, since the gradient of each is as large as the whole weight.
    negative_weight, target_weight = F.embedding(torch.cat([sampled, targets]), weight).split(
        [len(sampled), len(targets)]
    )
    target_logits = (states * target_weight).sum(-1)
    if bias is not None:
        correction, target_logits = correction + bias[sampled], target_logits + bias[targets]
    negative_logits = F.linear(states, negative_weight)
    negative_logits = negative_logits.to(torch.promote_types(negative_logits.dtype, torch.float32)) + correction
    column = torch.full_like(sampling_probabilities, -1, dtype=torch.long)
    column[sampled] = torch.arange(len(sampled), device=sampled.device)
    hits = (column[targets] >= 0).nonzero().squeeze(-1)
    negative_logits[hits, column[targets[hits]]] = -torch.inf  # a target is not its own negative
    logits = torch.cat([target_logits.unsqueeze(-1).to(negative_logits.dtype), negative_logits], -1)
    return torch.dot(logits.logsumexp(-1) - logits[:, 0], weights.to(logits.dtype))
