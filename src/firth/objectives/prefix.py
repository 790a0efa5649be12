"""Predict the rest of a text from its beginning (Raffel et al. 2020)."""

from __future__ import annotations

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.causal import Causal


class Prefix(Causal):
    """Surprise at the next token, from the end of the part that is seen both ways on."""

    may_look_ahead = True

    def __init__(self, config: schema.Neural, width: int):
        super().__init__(config, width)
        if getattr(config.backbone, "sees", "") != "prefix":
            do = "set backbone.sees=prefix"
            raise FirthError("the beginning of a text is to be seen both ways", where="backbone.sees", do=do)
