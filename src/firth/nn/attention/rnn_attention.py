"""Attention of RNN decoders: score functions and attention weights (Bahdanau et al. 2015; Luong et al. 2015)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import RNNAttention
from firth.errors import FirthError

_TOO_LONG = "the source has {} tokens; location-based attention was trained for at most {} positions"


class DotScore(nn.Module):
    """Dot-product score of decoder states and encoder states (Luong et al. 2015)."""

    def __init__(self, config: RNNAttention, width: int, source_width: int):
        super().__init__()
        if width != source_width:
            what = f"a dot-product score needs equal widths; the decoder's is {width}, the encoder's {source_width}"
            raise FirthError(what, where="backbone.attention.score", do="set it to general or additive")

    def keys(self, states: Tensor) -> Tensor:
        """The keys of the encoder states (batch, source, source width), computed once per source."""
        return states

    def forward(self, queries: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        """queries (batch, time, width) -> a score for each source token (batch, time, source)."""
        return queries @ keys.transpose(1, 2)


class ScaledDotScore(DotScore):
    """Dot-product score divided by the square root of the width (Vaswani et al. 2017)."""

    def forward(self, queries: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        return super().forward(queries, keys, coverage) / math.sqrt(queries.shape[-1])


class CosineScore(DotScore):
    """Cosine similarity times a learned sharpness (content-based addressing; Graves et al. 2014)."""

    def __init__(self, config: RNNAttention, width: int, source_width: int):
        super().__init__(config, width, source_width)
        self.sharpness = nn.Parameter(torch.tensor(5.0))

    def keys(self, states: Tensor) -> Tensor:
        return F.normalize(states, dim=-1)

    def forward(self, queries: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        return super().forward(F.normalize(queries, dim=-1), keys, coverage) * F.softplus(self.sharpness)


class GeneralScore(DotScore):
    """Bilinear score: dot product of queries and linearly projected encoder states (Luong et al. 2015)."""

    def __init__(self, config: RNNAttention, width: int, source_width: int):
        nn.Module.__init__(self)
        self.key_proj = nn.Linear(source_width, width, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.key_proj(states)
        return keys


class AdditiveScore(DotScore):
    """Additive score: v · tanh(W query + U key) (Bahdanau et al. 2015); Luong's concat score is the same function."""

    def __init__(self, config: RNNAttention, width: int, source_width: int):
        nn.Module.__init__(self)
        hidden = config.width or width
        self.query_proj, self.key_proj = nn.Linear(width, hidden), nn.Linear(source_width, hidden, bias=False)
        self.coverage_proj = nn.Linear(1, hidden, bias=False) if config.coverage else None
        self.score = nn.Linear(hidden, 1, bias=False)

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.key_proj(states)
        return keys

    def forward(self, queries: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        hidden = self.query_proj(queries)[:, :, None] + keys[:, None]  # (batch, time, source, hidden)
        if self.coverage_proj is not None:
            assert coverage is not None
            hidden = hidden + self.coverage_proj(coverage[:, None, :, None])
        scores: Tensor = self.score(hidden.tanh())
        return scores.squeeze(-1)


class LocationScore(DotScore):
    """Location-based score: a score for each source position from the decoder state alone (Luong et al. 2015)."""

    def __init__(self, config: RNNAttention, width: int, source_width: int):
        nn.Module.__init__(self)
        self.location_proj = nn.Linear(width, config.max_positions)

    def forward(self, queries: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        if keys.shape[1] > self.location_proj.out_features:
            what = _TOO_LONG.format(keys.shape[1], self.location_proj.out_features)
            raise FirthError(what, do="give a shorter text, or train with a larger batching.length")
        scores: Tensor = self.location_proj(queries)
        return scores[..., : keys.shape[1]]


SCORES: dict[str, type[DotScore]] = {
    "additive": AdditiveScore,
    "concat": AdditiveScore,
    "dot": DotScore,
    "scaled": ScaledDotScore,
    "general": GeneralScore,
    "cosine": CosineScore,
    "location": LocationScore,
}


class DecoderAttention(nn.Module):
    """Attention weights over the source: global, or local within a window (local-m, local-p; Luong et al. 2015).

    They sum to 1, or to less under the Gaussian of local-p."""

    def __init__(self, config: RNNAttention, width: int, source_width: int):
        super().__init__()
        self.config = config
        if config.coverage and SCORES[config.score] is not AdditiveScore:
            do = "set backbone.attention.score to additive, or leave coverage out"
            what = "coverage needs the additive score; dot products do not take it as input"
            raise FirthError(what, where="backbone.attention.coverage", do=do)
        self.score = SCORES[config.score](config, width, source_width)
        if config.attention_span == "local-p":
            self.position_predictor = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(
        self, queries: Tensor, keys: Tensor, mask: Tensor, step: Tensor, coverage: Tensor | None = None
    ) -> Tensor:
        """Attention weights (batch, time, source) of queries (batch, time, width), after `step` (batch, 1) target
        tokens."""
        scores = self.score(queries, keys, coverage)
        visible = mask[:, None]  # (batch, 1, source)
        if self.config.attention_span == "global":
            return torch.softmax(scores.masked_fill(~visible, -torch.inf), -1)
        centre = self._window_centre(queries, mask, step)  # (batch, time, 1)
        distance = (torch.arange(keys.shape[1], device=keys.device) - centre).abs()
        weights = torch.softmax(scores.masked_fill(~visible | (distance > self.config.window), -torch.inf), -1)
        if self.config.attention_span == "local-m":
            return weights
        # Gaussian with a standard deviation of half a window
        return weights * torch.exp(-2 * (distance / self.config.window) ** 2)

    def _window_centre(self, queries: Tensor, mask: Tensor, step: Tensor) -> Tensor:
        """The source position that each token's window is centred on (batch, time, 1)."""
        last = mask.sum(1)[:, None, None] - 1
        if self.config.attention_span == "local-p":
            return last * torch.sigmoid(self.position_predictor(queries))
        position = step[:, :, None] + torch.arange(queries.shape[1], device=queries.device)[:, None]
        return torch.minimum(position, last)
