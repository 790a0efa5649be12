"""Write a damaged text anew, or what it lacks (Lewis et al. 2020; Raffel et al. 2020)."""

from __future__ import annotations

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.causal import Causal


class Denoise(Causal):
    """Surprise at each token that is written, given what was read and what was written before it."""

    told = "target"

    def __init__(self, config: schema.Neural, width: int):
        super().__init__(config, width)
        if not isinstance(config.backbone, schema.EncoderDecoder):
            do = "set backbone.kind=encoder-decoder"
            raise FirthError("a network that reads one text and writes another has two parts", where="backbone", do=do)
