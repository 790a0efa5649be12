"""Deterministic top-k over log-probabilities: of equal values the first is taken, every time."""

from __future__ import annotations

import torch
from torch import Tensor


def stable_topk(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k highest values of each row (rows, k), best first, and their indices; ties go to the lower index."""
    if k >= values.shape[-1]:
        return values.sort(dim=-1, descending=True, stable=True)
    top, indices = values.topk(k + 1)
    indices, threshold = indices[:, :k].sort(-1).values, top[:, -1]
    tied = (top[:, -2] == threshold) & (threshold > -torch.inf)  # topk leaves open which of equal values it takes
    for row in tied.nonzero().squeeze(-1).tolist():
        indices[row] = _first_indices(values[row], threshold[row], k)
    top, order = values.gather(1, indices).sort(dim=-1, descending=True, stable=True)
    return top, indices.gather(1, order)


def _first_indices(row: Tensor, threshold: Tensor, k: int) -> Tensor:
    """Indices of the k highest values of a row, ascending, when more than k values reach the threshold."""
    candidates = (row >= threshold).nonzero().squeeze(-1)
    return candidates[row[candidates].sort(descending=True, stable=True).indices[:k]].sort().values


def top_tokens(log_probs: Tensor, k: int, banned: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities and ids of the k best tokens that are not banned (rows, k); -inf where there are fewer.

    Only the top of each row is filtered: rows are as long as the vocabulary, and there are many."""
    top, tokens = stable_topk(log_probs, min(k + len(banned), log_probs.shape[-1]))
    if not len(banned):
        return top, tokens
    top = top.masked_fill(torch.isin(tokens, banned), -torch.inf)
    top, order = top.sort(dim=-1, descending=True, stable=True)
    return top[:, :k], tokens.gather(1, order[:, :k])


def force_end(log_probs: Tensor, tokens: Tensor, end: int) -> None:
    """Put [END] with probability 1 where no token is possible (models without smoothing). In place."""
    dead_end = log_probs[:, 0].isneginf()
    if bool(dead_end.any()):
        log_probs[dead_end, 0], tokens[dead_end, 0] = 0.0, end
