"""Norms of a Transformer: layer normalisation and RMS normalisation."""

from __future__ import annotations

from torch import nn

from firth.config.schema import RMSNorm, Transformer


def build_norm(config: Transformer, width: int = 0) -> nn.LayerNorm | nn.RMSNorm:
    """Layer normalisation (Ba et al. 2016) or RMS normalisation (Zhang and Sennrich 2019), by default of the
    Transformer's width."""
    width, epsilon = width or config.width, config.norm.epsilon
    if isinstance(config.norm, RMSNorm):
        return nn.RMSNorm(width, epsilon)
    return nn.LayerNorm(width, epsilon, bias=config.bias)
