"""Vectors of words: word embeddings, character-level vectors, casing, an encoder's states; side by side or added."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firth.config import schema
from firth.errors import FirthError
from firth.models.inputs.subword_encoder import PretrainedEncoder
from firth.nn.characters import CHARACTER_ENCODERS
from firth.tokenizers.casing import CASINGS
from firth.tokenizers.special_tokens import SPECIAL_TOKENS, UNK
from firth.types import Stream, Tokens, Words, expect

_UNKNOWN = SPECIAL_TOKENS.index(UNK)
_INIT_RANGE = 0.1  # casing embeddings are initialised uniformly in ±_INIT_RANGE


class WordEmbedding(nn.Module):
    """The parts of words' vectors that are configured. `weight` (vocabulary, width) are the word embeddings, if any."""

    width_setting = "vectors.width"  # of the word embeddings, in the configuration

    def __init__(self, config: schema.WordInput, vocabulary: int, width: int, backbone: nn.Module | None = None):
        super().__init__()
        _check(config)
        self.config, self.weight = config, None
        if isinstance(config.vectors, schema.WordVectors):
            limit = config.vectors.init_range
            values = torch.empty(vocabulary, config.vectors.width).uniform_(-limit, limit)
            self.weight = nn.Parameter(values, requires_grad=not config.vectors.frozen)
        encoder = CHARACTER_ENCODERS.get(type(config.characters))
        self.characters = encoder(config.characters) if encoder else None
        self.casing = None
        if isinstance(config.shape, schema.CasingEmbedding):
            values = torch.empty(len(CASINGS), config.shape.width).uniform_(-_INIT_RANGE, _INIT_RANGE)
            self.casing = nn.Parameter(values)
        self.encoder = None
        if isinstance(config.encoder, schema.SubwordEncoder):
            self.encoder = PretrainedEncoder(config.encoder, expect(backbone, nn.Module))

    @property
    def depth(self) -> int:
        """The layers of the encoder, if there is one."""
        return 0 if self.encoder is None else self.encoder.depth

    def depth_of(self, name: str) -> int:
        """The number of the encoder's layer that a parameter belongs to; the other parts are beside the last one."""
        part, _, rest = name.partition(".")
        return self.encoder.depth_of(rest) if self.encoder is not None and part == "encoder" else self.depth

    def backbone_inputs(self, stream: Stream) -> tuple[Tensor, Tokens]:
        """Embeddings (batch, words, width), and the words as tokens for the backbone."""
        words = expect(stream, Words)
        return self(words), Tokens(words.ids, words.mask)

    def forward(self, words: Words) -> Tensor:
        """Words (batch, words) -> embeddings (batch, words, width)."""
        parts = []
        if self.weight is not None:
            parts.append(self._word_vectors(words))
        if self.characters is not None:
            parts.append(self._character_vectors(words, self.characters))
        if self.casing is not None:
            parts.append(F.embedding(expect(words.shape, Tensor), self.casing))
        if self.encoder is not None:
            parts.append(self.encoder(expect(words.subwords, Tokens), words.ids.shape[1]))
        together = torch.cat(parts, -1) if self.config.combine == "concatenate" else torch.stack(parts).sum(0)
        return F.dropout(together, self.config.dropout, self.training)

    def _word_vectors(self, words: Words) -> Tensor:
        config, ids = expect(self.config.vectors, schema.WordVectors), words.ids
        if self.training and config.word_dropout:
            ids = ids.masked_fill(torch.rand(ids.shape, device=ids.device) < config.word_dropout, _UNKNOWN)
        return F.dropout(F.embedding(ids, expect(self.weight, Tensor)), config.dropout, self.training)

    @staticmethod
    def _character_vectors(words: Words, encoder: nn.Module) -> Tensor:
        """The vector of each word (batch, words, width), computed once for each spelling."""
        characters = expect(words.characters, Tensor)[words.mask]  # (real words, characters)
        index = torch.arange(len(characters), device=characters.device)
        if words.spelling is not None:
            spellings, which = torch.unique(words.spelling[words.mask], return_inverse=True)
            index = torch.zeros_like(spellings).scatter_(0, which, index)  # a word of each spelling, whichever
        else:
            which = index
        vectors = encoder(characters[index].long())
        rows = torch.zeros_like(words.ids).masked_scatter_(words.mask, which)
        return F.embedding(rows, vectors) * words.mask[..., None].to(vectors.dtype)


def _check(config: schema.WordInput) -> None:
    """Refuse an input without parts, and parts of several widths to be added."""
    widths = {name: width for name, width in config.part_widths.items() if width}
    if not widths:
        do = "set inputs.words.vectors.kind=learned, or inputs.words.characters.kind=cnn"
        raise FirthError("an input without parts", where="inputs.words", do=do)
    if config.pretrained_vectors and isinstance(config.vectors, schema.NoPart):
        do = "set inputs.words.vectors.kind=learned"
        raise FirthError("pre-trained vectors initialise word embeddings, which are left out", do=do)
    if config.combine == "add" and len({*widths.values()}) > 1:
        what = "parts of several widths cannot be added: " + ", ".join(f"{name} {n}" for name, n in widths.items())
        raise FirthError(what, where="inputs.words", do="give them one width, or set inputs.words.combine=concatenate")
