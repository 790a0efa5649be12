"""What objectives need of the rest of a configuration."""

from __future__ import annotations

from typing import get_args

from firth.config import schema
from firth.errors import FirthError
from firth.nn.attention.mask import mask_pattern


def is_causal(backbone: schema.Backbone) -> bool:
    """Whether hidden states depend on no later token."""
    if isinstance(backbone, schema.Transformer):
        return mask_pattern(backbone).causal
    return not isinstance(backbone, schema.EncoderDecoder) and backbone.bidirectional == "no"


def require_task(config: schema.Neural, *heads: str) -> None:
    """Refuse heads of no labelled task (or other heads than those of these kinds), batches without the head's targets,
    encoder-decoders, and a pooling that the backbone does not allow."""
    head, batching, kind = config.head, config.batching, config.objective.kind
    if head.predicts == "tokens" or (heads and head.kind not in heads):
        do = f"set head.kind={heads[0] if heads else 'classification'}"
        raise FirthError(f"the objective {kind} does not train the head {head.kind}", where="head.kind", do=do)
    if head.predicts != batching.targets:
        what = f"head.kind = {head.kind} predicts {head.predicts}, and batching.kind = {batching.kind} gives"
        fitting = [each.kind for each in get_args(schema.Batching) if each.targets == head.predicts]
        do = f"set batching.kind={' or '.join(fitting)}"
        raise FirthError(f"{what} {batching.targets}", where="batching.kind", do=do)
    if (batching.pair_encoding == "cross") != (head.combine == "none"):
        what = f"batching.pair_encoding = {batching.pair_encoding} does not fit head.combine = {head.combine}"
        do = "set head.combine=difference for siamese, sum for both-orders, none for cross"
        raise FirthError(what, where="head.combine", do=do)
    if isinstance(config.backbone, schema.EncoderDecoder) and {*batching.streams.values()} != {"tokens"}:
        what, do = "an encoder-decoder reads tokens", "set batching.kind=subwords, and give it the input of tokens"
        raise FirthError(what, where="batching.kind", do=do)
    _check_pooling(config.backbone, head.pooling)


def _check_pooling(backbone: schema.Backbone, pooling: str) -> None:
    """Refuse pooling of states that have not read the text."""
    if isinstance(backbone, schema.Recurrent) and backbone.bidirectional == "average" and "last" in pooling:
        what = "averaged directions have no common last state"
        raise FirthError(what, where="head.pooling", do="set backbone.bidirectional=concatenate, or head.pooling=max")
    if is_causal(backbone) and pooling == "first":
        what = "with a causal mask the first token attends to nothing of the text"
        raise FirthError(what, where="head.pooling", do="set head.pooling=last and batching.layout=cls-last")
