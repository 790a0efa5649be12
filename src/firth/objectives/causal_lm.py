"""Causal language modelling: predict each token from those before it."""

from __future__ import annotations

from firth.config import schema
from firth.errors import FirthError
from firth.objectives.objective import Objective, SystemProtocol
from firth.types import Batch, State, Term


class CausalLMObjective(Objective):
    """Negative log-likelihood of the next token; the target named `target_name` holds the next tokens (batch, time)."""

    allows_bidirectional = False
    target_name = "text"  # in `Batch.targets`

    def __init__(self, config: schema.Neural, width: int):
        super().__init__()
        if config.head.copies and not isinstance(config.objective, schema.Seq2Seq):
            do = f"set it to {schema.LMHead.kind}"
            raise FirthError("there is no source to copy from", where="head.kind", do=do)

    def counts(self, batch: Batch) -> dict[str, float]:
        """The number of predictions of each term, by which it is divided; known before the forward pass."""
        return {"tokens": float(batch.targets[self.target_name].weight.sum())}

    def terms(self, system: SystemProtocol, batch: Batch, state: State | None) -> tuple[list[Term], State | None]:
        """The summed negative log-likelihood, and the state carried on."""
        encoded = system.encode(batch, state)
        loss = system.lm_head.loss(encoded.states, batch.targets[self.target_name], system.embedding_weight)
        return [Term("tokens", loss, self.counts(batch)["tokens"])], encoded.state
