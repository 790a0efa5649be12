"""The input of words: embeddings, character-level vectors, casing, a pre-trained encoder; each may be left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded
from firth.config.schema.backbones import Recurrent
from firth.config.schema.batching import Layout
from firth.config.schema.token_inputs import TokenInput
from firth.config.schema.transformer import Transformer


@dataclass(frozen=True)
class NoPart:
    """This part is left out."""

    kind: ClassVar[str] = "none"
    width: ClassVar[int] = 0


@dataclass(frozen=True)
class WordVectors:
    """A learned embedding for each word of the vocabulary."""

    kind: ClassVar[str] = "learned"
    width: int = bounded(100, least=1)  # embedding size
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the embeddings
    min_count: int = bounded(1, least=1)  # rarer words of the training sentences are unknown
    lowercase: Literal["no", "yes", "turkish"] = "no"  # the vocabulary's; characters and casing keep the case
    frozen: bool = False  # embeddings are not trained
    # in training, words are made unknown with this probability, so that the vector of unknown words is trained
    word_dropout: float = bounded(0.0, least=0.0, most=0.95)
    init_range: float = bounded(0.1, least=0.0)  # initialised uniformly in ±init_range


@dataclass(frozen=True)
class CharacterCNN:
    """A convolution over the bytes of a word and the maximum over its positions (Ma and Hovy 2016)."""

    kind: ClassVar[str] = "cnn"
    embedding: int = bounded(30, least=1)  # width of the byte embeddings
    filters: int = bounded(30, least=1)  # filters of each width
    filter_widths: tuple[int, ...] = field(default=(3,), metadata={"least": 1, "most": 16})  # bytes that a filter sees
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the byte embeddings

    @property
    def width(self) -> int:
        """The width of a word's vector."""
        return self.filters * len(self.filter_widths)


@dataclass(frozen=True)
class CharacterBiLSTM:
    """The last states of a forward and a backward LSTM over the bytes of a word (Lample et al. 2016)."""

    kind: ClassVar[str] = "bilstm"
    embedding: int = bounded(25, least=1)  # width of the byte embeddings
    states: int = bounded(25, least=1)  # width of the LSTM in each direction
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the byte embeddings

    @property
    def width(self) -> int:
        """The width of a word's vector."""
        return 2 * self.states


@dataclass(frozen=True)
class CasingEmbedding:
    """An embedding of how a word is written: lower, title, upper or mixed case, number, … (Collobert et al. 2011)."""

    kind: ClassVar[str] = "casing"
    width: int = bounded(10, least=1)  # embedding size


@dataclass(frozen=True)
class SubwordEncoder:
    """The hidden states of a pre-trained network that reads the subwords of the sentence."""

    kind: ClassVar[str] = "run"
    init_from: str = ""  # the pre-trained run: its tokenizer, network and weights
    frozen: bool = True  # the network is not trained
    # mix: a learned weighted mean of its embeddings and all of its layers (Peters et al. 2018); last: the last layer
    layers: Literal["mix", "last"] = "mix"
    subwords: Literal["first", "last", "mean"] = "first"  # a word's state, from those of its subword tokens
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the words' states
    layout: Layout = "cls-first"  # special tokens around the subwords; taken from the run, as what follows
    input: TokenInput = field(default_factory=TokenInput)
    backbone: Recurrent | Transformer = field(default_factory=Transformer)

    @property
    def input_width(self) -> int:
        """The width of the token embeddings."""
        return self.input.width or self.backbone.width

    @property
    def width(self) -> int:
        """The width of a word's state."""
        backbone = self.backbone
        if isinstance(backbone, Transformer):
            return backbone.width
        return (backbone.projection or backbone.width) * (2 if backbone.bidirectional == "concatenate" else 1)


@dataclass(frozen=True)
class WordInput:
    """Vectors of words, made of several parts."""

    kind: ClassVar[str] = "words"
    takes: ClassVar[str] = "words"  # what the streams hold that it embeds
    positions: ClassVar[int] = 0  # as many as a row has
    table_size: ClassVar[int] = 0  # what only tokens have
    segments: ClassVar[int] = 0
    character_width: ClassVar[int] = 0
    vectors: WordVectors | NoPart = field(default_factory=WordVectors)
    characters: CharacterCNN | CharacterBiLSTM | NoPart = field(default_factory=CharacterCNN)
    shape: CasingEmbedding | NoPart = field(default_factory=NoPart)
    encoder: SubwordEncoder | NoPart = field(default_factory=NoPart)
    combine: Literal["concatenate", "add"] = "concatenate"  # the parts; added, they need one width
    dropout: float = bounded(0.0, least=0.0, most=0.95)  # dropout of the whole vectors
    # a file or run of word vectors, with which the words that it has are initialised. The vocabulary then has every
    # word of the data that has a vector
    pretrained_vectors: str = ""

    @property
    def width(self) -> int:
        """The width of a word's vector."""
        widths = self.part_widths.values()
        return sum(widths) if self.combine == "concatenate" else max(widths)

    @property
    def part_widths(self) -> dict[str, int]:
        """The width of each part, 0 if it is left out."""
        return {name: getattr(self, name).width for name in ("vectors", "characters", "shape", "encoder")}
