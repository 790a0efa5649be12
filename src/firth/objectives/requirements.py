"""What objectives need of the rest of a configuration."""

from __future__ import annotations

from firth.config import schema
from firth.errors import FirthError
from firth.nn.attention.mask import mask_pattern
from firth.types import expect

PooledHead = schema.ClassificationHead | schema.PoolingHead


def is_causal(backbone: schema.Backbone) -> bool:
    """Whether hidden states depend on no later token."""
    if isinstance(backbone, schema.Transformer):
        return mask_pattern(backbone).causal
    return not isinstance(backbone, schema.EncoderDecoder) and backbone.bidirectional == "no"


def require(config: schema.Neural, head: type[PooledHead], *batching: type[schema.Batching]) -> None:
    """Refuse a head, batching or backbone that the objective does not support, and pooling of a first token that
    attends to nothing."""
    kind = config.objective.kind
    for name, types in (("head", (head,)), ("batching", batching)):
        if not isinstance(getattr(config, name), types):
            kinds = " or ".join(type_.kind for type_ in types)
            what = f"the objective {kind} needs {name}.kind = {kinds}"
            raise FirthError(what, where=name, do=f"set {name}.kind={types[0].kind}")
    backbone = config.backbone
    if isinstance(backbone, schema.EncoderDecoder):
        do = "start from an encoder or decoder, such as bert or gpt-2"
        raise FirthError(f"the objective {kind} does not support encoder-decoders", where="backbone", do=do)
    if is_causal(backbone) and expect(config.head, head).pooling == "first":
        what = "with a causal mask the first token attends to nothing of the text"
        raise FirthError(what, where="head.pooling", do="set head.pooling=last and batching.layout=cls-last")
