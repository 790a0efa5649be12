"""Permutation language modelling (XLNet; Yang et al. 2019): predict the last tokens of a factorisation order, each from
all tokens before it in that order."""

from __future__ import annotations

from torch import Tensor

from firth.config import schema
from firth.errors import FirthError
from firth.models.backbones.transformer import TransformerBackbone
from firth.nn.attention.mask import mask_pattern
from firth.nn.attention.two_stream import QueryStream
from firth.objectives.objective import Objective, SystemProtocol, text_of
from firth.types import Batch, State, Target, Term, Tokens, expect


class PermutationLMObjective(Objective):
    """Negative log-likelihood of the target tokens, predicted by the query stream of two-stream attention."""

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        if not isinstance(config.backbone, schema.Transformer) or not mask_pattern(config.backbone).query_stream:
            what = "permutation language modelling needs a Transformer with a permutation mask"
            raise FirthError(
                what, where="objective", do="set backbone.mask=permutation and backbone.positions=relative"
            )

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""
        return {"tokens": max(1.0, float(batch.targets["text"].weight.sum()))}

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The summed negative log-likelihood, and the state carried on."""
        text = text_of(batch)
        query_stream, target = select_targets(text, batch.targets["text"])
        backbone = expect(system.backbone, TransformerBackbone)
        encoded = backbone.forward_two_stream(system.embed("text", text), text, query_stream, state)
        loss = system.lm_head.loss(encoded.states, target, system.embedding_weight)
        return [Term("tokens", loss, self.counts(batch)["tokens"])], encoded.state


def select_targets(text: Tokens, target: Target) -> tuple[QueryStream, Target]:
    """The query stream of the positions to predict, and their targets; padded with targets of weight 0."""
    predicted, rank = target.weight > 0, expect(text.rank, Tensor)
    position = predicted.int().argsort(dim=1, descending=True, stable=True)[:, : int(predicted.sum(1).max())]
    document, segment = (
        None if field is None else field.gather(1, position) for field in (text.document, text.segment)
    )
    # a query does not attend to its own token
    query_stream = QueryStream(position, rank.gather(1, position) - 1, document, segment)
    return query_stream, Target(target.values.gather(1, position), target.weight.gather(1, position))
