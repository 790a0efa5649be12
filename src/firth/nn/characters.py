"""Character-level encoders of words (CNN, bidirectional LSTM), and the encoder and decoder of out-of-vocabulary words
of hybrid models (Luong and Manning 2016). Characters are bytes, as `tokenizers/characters.py` codes them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.config.schema import Recurrent
from firth.jit import kernel
from firth.nn.linear import compute_dtype
from firth.nn.pooling import last
from firth.nn.recurrent import RecurrentLayers
from firth.tokenizers.characters import END, MAX_WORD_BYTES, PAD, VOCAB_SIZE

_LEAST = 1 << 14  # bytes of a batch, padding counted, from which loading the compiled kernel is worthwhile
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


class CharacterCNN(nn.Module):
    """A word embedding from the word's characters: the maximum of each filter over all windows (Ma and Hovy 2016)."""

    def __init__(self, config: schema.CharacterCNN):
        super().__init__()
        self.dropout, self.embedding = config.dropout, _scaled_embedding(config.embedding)
        self.filters = nn.ModuleList(
            nn.Conv1d(config.embedding, config.filters, width, padding=width - 1) for width in config.filter_widths
        )

    def forward(self, characters: Tensor) -> Tensor:
        """characters (words, characters) -> word vectors (words, filters)."""
        if self._is_fast_compiled(characters):
            return torch.from_numpy(self._compiled(characters.numpy())).to(compute_dtype(self.embedding)).tanh()
        real = characters != PAD
        vectors = F.embedding(characters, self.embedding) * real[..., None]
        vectors = F.dropout(vectors, self.dropout, self.training).transpose(1, 2)  # (words, width, characters)
        lengths = real.sum(1)
        maps = [layer(vectors) for layer in self.filters]  # (words, filters, characters + filter width - 1)
        extra = vectors.shape[2] - lengths
        return torch.cat([_highest(each, each.shape[2] - extra) for each in maps], 1).tanh()

    def _is_fast_compiled(self, characters: Tensor) -> bool:
        on_cpu = characters.device.type == "cpu" and self.embedding.dtype == torch.float32
        return on_cpu and characters.numel() >= _LEAST and not self.training and not torch.is_grad_enabled()

    def _compiled(self, characters: np.ndarray) -> np.ndarray:
        """The same before tanh, without dropout and gradients: a filter's part for each byte is computed beforehand, so
        that a window is a sum of few rows of a table."""
        embedding, lengths = self.embedding.detach().numpy(), (characters != PAD).sum(1)
        parts = []
        for layer in self.filters:
            assert isinstance(layer, nn.Conv1d) and layer.bias is not None
            taps = layer.weight.detach().numpy().transpose(2, 0, 1)  # (filter width, filters, embedding)
            tables = np.stack([embedding @ tap.T for tap in taps])
            out = np.full((len(characters), layer.out_channels), -np.inf, np.float32)
            _highest_windows(characters, lengths, tables, out)
            parts.append(out + layer.bias.detach().numpy())
        return np.concatenate(parts, 1)


@kernel
def _highest_windows(characters: np.ndarray, lengths: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    """The maximum (words, filters) over all windows that have a byte of the word; tables (filter width, bytes,
    filters)."""
    width, filters = len(tables), tables.shape[2]
    total = np.empty(filters, np.float32)
    for word in range(len(characters)):
        for first in range(1 - width, lengths[word]):
            total[:] = 0.0
            for at in range(max(0, -first), min(width, lengths[word] - first)):
                row = tables[at, characters[word, first + at]]
                for i in range(filters):
                    total[i] += row[i]
            for i in range(filters):
                out[word, i] = max(out[word, i], total[i])


def _highest(maps: Tensor, windows: Tensor) -> Tensor:
    """Feature maps (words, filters, windows) -> (words, filters): the maximum over each word's own windows, so that
    padding changes nothing."""
    outside = torch.arange(maps.shape[2], device=maps.device) >= windows[:, None]
    return maps.masked_fill(outside[:, None], -torch.inf).amax(2)


class CharacterBiLSTM(nn.Module):
    """A word embedding from the word's characters: an LSTM's last state in each direction (Lample et al. 2016)."""

    def __init__(self, config: schema.CharacterBiLSTM):
        super().__init__()
        self.dropout, self.embedding = config.dropout, _scaled_embedding(config.embedding)
        layers = Recurrent(cell="lstm", width=config.states, depth=1, bidirectional="concatenate")
        self.layers = RecurrentLayers(layers, config.embedding)

    def forward(self, characters: Tensor) -> Tensor:
        """characters (words, characters) -> word vectors (words, 2 × states)."""
        vectors = F.dropout(F.embedding(characters, self.embedding), self.dropout, self.training)
        start = self.layers.start(len(characters), characters.device)
        real = characters != PAD
        states, _ = self.layers(vectors, start, real.sum(1), final_state=False)
        return last(states, real, directions=2)


def _scaled_embedding(width: int) -> nn.Parameter:
    """Byte embeddings, initialised uniformly in ±√(3/width) (Ma and Hovy 2016)."""
    limit = math.sqrt(3 / width)
    return nn.Parameter(torch.empty(VOCAB_SIZE, width).uniform_(-limit, limit))


CHARACTER_ENCODERS: dict[type, Callable[..., nn.Module]] = {
    schema.CharacterCNN: CharacterCNN,
    schema.CharacterBiLSTM: CharacterBiLSTM,
}


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
