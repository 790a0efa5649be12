"""Character-level encoder and decoder of out-of-vocabulary words (hybrid models; Luong and Manning 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config.schema import Recurrent
from firth.nn.recurrent import RecurrentLayers
from firth.tokenizers.characters import END, MAX_WORD_BYTES, PAD, VOCAB_SIZE

INIT_RANGE = 0.3  # character embeddings are initialised uniformly in ±INIT_RANGE


class CharacterEncoder(nn.Module):
    """A word embedding from the word's characters, by a GRU."""

    def __init__(self, width: int, out: int):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(VOCAB_SIZE, width).uniform_(-INIT_RANGE, INIT_RANGE))
        self.layers = RecurrentLayers(Recurrent(cell="gru", width=width, depth=1), width)
        self.out = nn.Linear(width, out)

    def forward(self, characters: Tensor) -> Tensor:
        """characters (words, characters) -> word vectors (words, out)."""
        lengths = (characters != PAD).sum(1)
        vectors = F.embedding(characters[:, : int(lengths.max())], self.embedding)
        _, live = self.layers(vectors, self.layers.start(len(characters), characters.device), lengths)
        words: Tensor = self.out(live["hidden"][:, -1])
        return words


class CharacterDecoder(nn.Module):
    """Generates a word character by character, starting from the word-level decoder's state."""

    def __init__(self, width: int, state: int):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(VOCAB_SIZE, width).uniform_(-INIT_RANGE, INIT_RANGE))
        self.initial_proj = nn.Linear(state, width)
        self.layers = RecurrentLayers(Recurrent(cell="gru", width=width, depth=1), width)
        self.out = nn.Linear(width, VOCAB_SIZE)

    def forward(self, states: Tensor, characters: Tensor) -> Tensor:
        """The summed negative log-likelihood of the characters (words, characters), given states (words, width)."""
        inputs = F.pad(characters[:, :-1], (1, 0), value=PAD)
        hidden, _ = self.layers(F.embedding(inputs, self.embedding), self._initial_state(states))
        real = characters != PAD
        return F.cross_entropy(self.out(hidden[real]), characters[real], reduction="sum")

    @torch.no_grad()
    def generate(self, states: Tensor) -> list[list[int]]:
        """Character ids of each word by greedy decoding, up to the end-of-word symbol; states (words, width)."""
        last, live = torch.full((len(states),), PAD, device=states.device), self._initial_state(states)
        generated = []
        for _ in range(MAX_WORD_BYTES):
            hidden, live = self.layers(F.embedding(last[:, None], self.embedding), live)
            last = self.out(hidden[:, -1]).index_fill(1, torch.tensor([PAD]), -torch.inf).argmax(-1)
            generated.append(last)
        words = torch.stack(generated, 1).tolist()
        return [word[: word.index(END)] if END in word else word for word in words]

    def _initial_state(self, states: Tensor) -> dict[str, Tensor]:
        return {"hidden": self.initial_proj(states).tanh()[:, None]}
