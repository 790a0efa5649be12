"""A second network that an objective trains or asks beside the system's own."""

from __future__ import annotations

from torch import Tensor, nn

from firth.types import Tokens


class Companion(nn.Module):
    """A backbone and a head of its own that read the system's input."""

    def __init__(self, backbone: nn.Module, head: nn.Module):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, vectors: Tensor, tokens: Tokens) -> Tensor:
        """vectors of the system's input (batch, time, input width) -> states (batch, time, width)."""
        return self.backbone(vectors, tokens).states

    def share(self, other: nn.Module, *names: str) -> None:
        """Take these parts of the backbone from another, if they have weights of the same shapes.

        They stay the other's: here they are no parameters, so that none is trained or saved twice."""
        for name in names:
            mine, its = getattr(self.backbone, name), getattr(other, name)
            shapes = [[tensor.shape for tensor in part.parameters()] for part in (mine, its)]
            if shapes[0] and shapes[0] == shapes[1]:
                delattr(self.backbone, name)
                object.__setattr__(self.backbone, name, its)  # unseen by the module's own book-keeping
