"""Tagging head: a tag for each word in one or several layers of tags, by a softmax or a linear-chain CRF."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.generation.structured import forward_backward
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.viterbi import viterbi
from firth.models.heads.task_head import TaskHead, make_terms
from firth.nn.crf import UNKNOWN, LinearChainCRF
from firth.nn.words import pool_words
from firth.types import Encoded, Target, Term

INIT_STD = 0.02  # standard deviation of the initial weights


class SoftmaxTags(nn.Module):
    """Each word's tag by itself."""

    def __init__(self, tags: int):
        super().__init__()
        self.tags = tags

    def loss(self, emissions: Tensor, target: Target, mask: Tensor) -> Tensor:
        """The weighted sum of cross-entropies; emissions (batch, words, tags), targets (batch, words)."""
        losses = F.cross_entropy(emissions.flatten(0, 1), target.values.flatten(), reduction="none")
        return (losses * target.weight.flatten()).sum()

    def chain(self) -> LinearChain:
        """No scores of neighbouring tags."""
        return LinearChain.independent(self.tags)


class CRFTags(LinearChainCRF):
    """The tags of a sentence together (Lafferty et al. 2001)."""

    def loss(self, emissions: Tensor, target: Target, mask: Tensor) -> Tensor:
        """The negative log-likelihood of the tags of all sentences; a word of weight 0 may have any tag."""
        tags = torch.where(target.weight > 0, target.values, UNKNOWN)
        return -self.log_likelihood(emissions, tags, mask).sum()


DECODERS: dict[str, type[SoftmaxTags | CRFTags]] = {"softmax": SoftmaxTags, "crf": CRFTags}


class TaggingHead(TaskHead):
    """A linear layer and a decoder for each layer of tags, over the states of words."""

    def __init__(self, config: schema.TaggingHead, labels: Mapping[str, int], width: int, embedding_width: int):
        super().__init__()
        self.subwords, self.dropout = config.subwords, config.dropout
        self.hidden = nn.Linear(width, config.hidden) if config.hidden else None
        self.emission = nn.ModuleDict({name: nn.Linear(config.hidden or width, n) for name, n in labels.items()})
        self.decoder = nn.ModuleDict({name: DECODERS[config.decoder](n) for name, n in labels.items()})
        for layer in self.emission.values():
            assert isinstance(layer, nn.Linear)
            nn.init.normal_(layer.weight, std=INIT_STD)
            nn.init.zeros_(layer.bias)

    def emissions(self, encoded: Encoded) -> tuple[dict[str, Tensor], Tensor]:
        """The score of each tag by layer (batch, words, tags), and the mask (batch, words)."""
        states, mask = encoded.states, encoded.mask
        word_of = None if encoded.tokens is None else encoded.tokens.word_of
        if word_of is not None:
            states, mask = pool_words(states, word_of, self.subwords)
        states = F.dropout(states, self.dropout, self.training)
        if self.hidden is not None:
            states = torch.tanh(self.hidden(states))
        return {name: layer(states).float() for name, layer in self.emission.items()}, mask

    def loss(self, encoded: Encoded, targets: Mapping[str, Target]) -> list[Term]:
        """The loss of each layer of tags; the metric is the accuracy of all, which costs time and is left out in
        training."""
        emissions, mask = self.emissions(encoded)
        targets = {name: _narrow(targets[name], mask.shape[1]) for name in emissions}
        losses = {name: self._decoder(name).loss(emissions[name], targets[name], mask) for name in emissions}
        hits = mask.new_zeros((), dtype=torch.float32)
        if not self.training:
            hits = hits + sum(self._hits(name, emissions[name], targets[name], mask) for name in emissions)
        return make_terms(losses, hits, targets)

    def scores(self, encoded: Encoded) -> dict[str, Tensor]:
        """The marginal probability of every tag at every word, by layer (batch, words, tags)."""
        emissions, mask = self.emissions(encoded)
        lengths = mask.sum(1).cpu().numpy()
        marginals = {
            name: forward_backward.marginals(each.detach().cpu().numpy(), lengths, self.chain(name))
            for name, each in emissions.items()
        }
        return {name: torch.from_numpy(each).to(mask.device, torch.float32) for name, each in marginals.items()}

    def chain(self, name: str) -> LinearChain:
        """The scores of neighbouring tags of a layer."""
        return self._decoder(name).chain()

    def _hits(self, name: str, emissions: Tensor, target: Target, mask: Tensor) -> Tensor:
        best = viterbi(emissions.detach().cpu().numpy(), mask.sum(1).cpu().numpy(), self.chain(name))
        tags = torch.zeros_like(target.values)
        for row, tagging in zip(tags, best, strict=True):
            row[: len(tagging.tags)] = torch.tensor(tagging.tags, dtype=row.dtype)
        return ((tags == target.values) * target.weight).sum()

    def _decoder(self, name: str) -> SoftmaxTags | CRFTags:
        decoder = self.decoder[name]
        assert isinstance(decoder, SoftmaxTags | CRFTags)
        return decoder


def _narrow(target: Target, words: int) -> Target:
    """The targets of the first words: in a part of a batch, the longest sentence may be elsewhere."""
    return Target(target.values[:, :words], target.weight[:, :words])
