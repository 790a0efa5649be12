"""How a recurrent network that writes looks at what was read: one weight for each token of it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Looking
from firth.errors import FirthError

_BEYOND = "the source has {} tokens, and attention by location knows {} places"


class Score(nn.Module):
    """Products of states and what was read (Luong et al. 2015)."""

    def __init__(self, config: Looking, width: int, read: int):
        super().__init__()
        if width != read:
            what = f"states {width} wide cannot be multiplied with what was read, {read} wide"
            raise FirthError(what, where="backbone.looks.score", do="set it to general or additive")

    def keys(self, read: Tensor) -> Tensor:
        """What scores need of the source (batch, source, read width), worked out once."""
        return read

    def forward(self, queries: Tensor, keys: Tensor, covered: Tensor | None) -> Tensor:
        """queries (batch, time, width) -> a score for each token of the source (batch, time, source)."""
        return queries @ keys.transpose(1, 2)


class Scaled(Score):
    """The same over the root of the width (Vaswani et al. 2017)."""

    def forward(self, queries: Tensor, keys: Tensor, covered: Tensor | None) -> Tensor:
        return super().forward(queries, keys, covered) / math.sqrt(queries.shape[-1])


class Cosine(Score):
    """Cosines, made sharper by a learned number (Graves et al. 2014)."""

    def __init__(self, config: Looking, width: int, read: int):
        super().__init__(config, width, read)
        self.sharpness = nn.Parameter(torch.tensor(5.0))

    def keys(self, read: Tensor) -> Tensor:
        return F.normalize(read, dim=-1)

    def forward(self, queries: Tensor, keys: Tensor, covered: Tensor | None) -> Tensor:
        return super().forward(F.normalize(queries, dim=-1), keys, covered) * F.softplus(self.sharpness)


class General(Score):
    """Products over a matrix between them (Luong et al. 2015)."""

    def __init__(self, config: Looking, width: int, read: int):
        nn.Module.__init__(self)
        self.between = nn.Linear(read, width, bias=False)

    def keys(self, read: Tensor) -> Tensor:
        return self.between(read)


class Additive(Score):
    """A small network of both (Bahdanau et al. 2015); Luong's concat is the same sum of two products."""

    def __init__(self, config: Looking, width: int, read: int):
        nn.Module.__init__(self)
        inner = config.width or width
        self.of_state, self.of_source = nn.Linear(width, inner), nn.Linear(read, inner, bias=False)
        self.of_cover = nn.Linear(1, inner, bias=False) if config.coverage else None
        self.score = nn.Linear(inner, 1, bias=False)

    def keys(self, read: Tensor) -> Tensor:
        return self.of_source(read)

    def forward(self, queries: Tensor, keys: Tensor, covered: Tensor | None) -> Tensor:
        found = self.of_state(queries)[:, :, None] + keys[:, None]  # (batch, time, source, inner)
        if self.of_cover is not None:
            found = found + self.of_cover(covered[:, None, :, None])
        return self.score(found.tanh()).squeeze(-1)


class Location(Score):
    """By the state alone, whatever was read: a score for each place (Luong et al. 2015)."""

    def __init__(self, config: Looking, width: int, read: int):
        nn.Module.__init__(self)
        self.place = nn.Linear(width, config.places)

    def forward(self, queries: Tensor, keys: Tensor, covered: Tensor | None) -> Tensor:
        if keys.shape[1] > self.place.out_features:
            what = _BEYOND.format(keys.shape[1], self.place.out_features)
            raise FirthError(what, do="give a shorter text, or train with a larger batching.length")
        return self.place(queries)[..., : keys.shape[1]]


SCORES: dict[str, type[Score]] = {
    "additive": Additive,
    "concat": Additive,
    "dot": Score,
    "scaled": Scaled,
    "general": General,
    "cosine": Cosine,
    "location": Location,
}


class Look(nn.Module):
    """Weights over the source that sum to 1, or to less where a window's edge takes from them."""

    def __init__(self, config: Looking, width: int, read: int):
        super().__init__()
        self.config = config
        if config.coverage and SCORES[config.score] is not Additive:
            do = "set backbone.looks.score to additive, or leave coverage out"
            raise FirthError("products know nothing of what was looked at before", where="backbone.looks", do=do)
        self.score = SCORES[config.score](config, width, read)
        if config.reach == "predicted":
            self.place = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(
        self, queries: Tensor, keys: Tensor, mask: Tensor, begun: Tensor, covered: Tensor | None = None
    ) -> Tensor:
        """queries (batch, time, width), keys and mask of the source, tokens written before (batch, 1) -> weights."""
        scores = self.score(queries, keys, covered)
        seen = mask[:, None]  # (batch, 1, source)
        if self.config.reach == "all":
            return torch.softmax(scores.masked_fill(~seen, -torch.inf), -1)
        middle = self._middle(queries, mask, begun)  # (batch, time, 1)
        far = (torch.arange(keys.shape[1], device=keys.device) - middle).abs()
        weights = torch.softmax(scores.masked_fill(~seen | (far > self.config.window), -torch.inf), -1)
        if self.config.reach == "monotonic":
            return weights
        return weights * torch.exp(-2 * (far / self.config.window) ** 2)  # a deviation of half a window

    def _middle(self, queries: Tensor, mask: Tensor, begun: Tensor) -> Tensor:
        """The place of the source that each token looks around (batch, time, 1)."""
        last = mask.sum(1)[:, None, None] - 1
        if self.config.reach == "predicted":
            return last * torch.sigmoid(self.place(queries))
        at = begun[:, :, None] + torch.arange(queries.shape[1], device=queries.device)[:, None]
        return torch.minimum(at, last)
