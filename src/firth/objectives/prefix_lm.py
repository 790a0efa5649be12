"""Prefix language modelling: predict the rest of a text from a prefix that is encoded bidirectionally (Raffel et al.
2020)."""

from __future__ import annotations

from firth.config import schema
from firth.errors import FirthError
from firth.nn.attention.mask import mask_pattern
from firth.objectives.causal_lm import CausalLMObjective


class PrefixLMObjective(CausalLMObjective):
    """Negative log-likelihood of the next token, after the prefix."""

    allows_bidirectional = True

    def __init__(self, config: schema.Neural, width: int):
        super().__init__(config, width)
        if not isinstance(config.backbone, schema.Transformer) or mask_pattern(config.backbone).needs != "prefix":
            do = "set backbone.mask=prefix"
            raise FirthError("prefix language modelling needs a prefix mask", where="backbone.mask", do=do)
