"""A second network that an objective trains beside the system's own, such as ELECTRA's generator."""

from __future__ import annotations

from torch import Tensor, nn

from firth.models.heads.lm_head import LMHead
from firth.types import Tokens


class Companion(nn.Module):
    """A backbone and head of its own over the system's input."""

    def __init__(self, backbone: nn.Module, head: LMHead):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, vectors: Tensor, tokens: Tokens) -> Tensor:
        """Embeddings of the system's input (batch, time, input width) -> hidden states (batch, time, width)."""
        states: Tensor = self.backbone(vectors, tokens).states
        return states

    def share(self, other: nn.Module, *names: str) -> None:
        """Tie these parts of the backbone to another's, where their parameters have the same shapes.

        The parameters stay the other's: here they are not registered, so that none is trained or saved twice."""
        for name in names:
            own, shared = getattr(self.backbone, name), getattr(other, name)
            shapes = [[tensor.shape for tensor in part.parameters()] for part in (own, shared)]
            if shapes[0] and shapes[0] == shapes[1]:
                delattr(self.backbone, name)
                object.__setattr__(self.backbone, name, shared)  # not registered as a submodule
