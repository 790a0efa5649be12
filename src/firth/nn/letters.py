"""Networks of letters beside one of words: one reads words that the vocabulary lacks, one spells them (Luong and
Manning 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Recurrent
from firth.nn.recurrent import RecurrentLayers
from firth.text.letters import END, LONGEST, PAD, SIZE

SPREAD = 0.3  # of the start values of letters


class LetterReader(nn.Module):
    """A vector for a word, from its letters."""

    def __init__(self, width: int, out: int):
        super().__init__()
        self.letters = nn.Parameter(torch.empty(SIZE, width).uniform_(-SPREAD, SPREAD))
        self.layers = RecurrentLayers(Recurrent(cell="gru", width=width, depth=1), width)
        self.out = nn.Linear(width, out)

    def forward(self, letters: Tensor) -> Tensor:
        """letters (words, longest) -> vectors (words, out)."""
        lengths = (letters != PAD).sum(1)
        vectors = F.embedding(letters[:, : int(lengths.max())], self.letters)
        _, live = self.layers(vectors, self.layers.start(len(letters), letters.device), lengths)
        return self.out(live["hidden"][:, -1])


class LetterWriter(nn.Module):
    """Spells a word, beginning with the state of the network of words at the place of the word."""

    def __init__(self, width: int, state: int):
        super().__init__()
        self.letters = nn.Parameter(torch.empty(SIZE, width).uniform_(-SPREAD, SPREAD))
        self.begin = nn.Linear(state, width)
        self.layers = RecurrentLayers(Recurrent(cell="gru", width=width, depth=1), width)
        self.out = nn.Linear(width, SIZE)

    def forward(self, states: Tensor, letters: Tensor) -> Tensor:
        """The sum of -log p of all letters (words, longest), given states (words, width)."""
        read = F.pad(letters[:, :-1], (1, 0), value=PAD)
        found, _ = self.layers(F.embedding(read, self.letters), self._begun(states))
        told = letters != PAD
        return F.cross_entropy(self.out(found[told]), letters[told], reduction="sum")

    @torch.no_grad()
    def spell(self, states: Tensor) -> list[list[int]]:
        """The most probable letter each time, up to the end of the word; states (words, width)."""
        last, live = torch.full((len(states),), PAD, device=states.device), self._begun(states)
        found = []
        for _ in range(LONGEST):
            step, live = self.layers(F.embedding(last[:, None], self.letters), live)
            last = self.out(step[:, -1]).index_fill(1, torch.tensor([PAD]), -torch.inf).argmax(-1)
            found.append(last)
        rows = torch.stack(found, 1).tolist()
        return [row[: row.index(END)] if END in row else row for row in rows]

    def _begun(self, states: Tensor) -> dict[str, Tensor]:
        return {"hidden": self.begin(states).tanh()[:, None]}
