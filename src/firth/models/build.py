"""From configuration to system: the tables of inputs, backbones, heads and objectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from firth.config import schema
from firth.errors import FirthError
from firth.models.backbones.bag import NoLayers
from firth.models.backbones.convolutional import ConvolutionalBackbone
from firth.models.backbones.encoder_decoder import EncoderDecoderBackbone
from firth.models.backbones.recurrent import RecurrentBackbone
from firth.models.backbones.transformer import TransformerBackbone
from firth.models.backbones.window import WindowBackbone
from firth.models.heads.choice import ChoiceHead
from firth.models.heads.discriminator import DiscriminatorHead
from firth.models.heads.lm_head import CopyDistribution, LMHead
from firth.models.heads.pointer_generator import PointerGeneratorHead
from firth.models.heads.sentence_embedding import PoolingHead
from firth.models.heads.sequence_classification import ClassificationHead
from firth.models.heads.span import SpanHead
from firth.models.heads.tagging import TaggingHead
from firth.models.heads.task_head import TaskHead
from firth.models.inputs.image_patches import PatchEmbedding
from firth.models.inputs.token_embedding import TokenEmbedding
from firth.models.inputs.word_embedding import WordEmbedding
from firth.objectives.causal_lm import CausalLMObjective
from firth.objectives.companion import Companion
from firth.objectives.contrastive import ContrastiveObjective
from firth.objectives.distillation import DistillationObjective
from firth.objectives.masked_lm import MaskedLMObjective
from firth.objectives.objective import Objective
from firth.objectives.permutation_lm import PermutationLMObjective
from firth.objectives.prefix_lm import PrefixLMObjective
from firth.objectives.replaced_token import ReplacedTokenDetectionObjective
from firth.objectives.seq2seq import Seq2SeqObjective
from firth.objectives.supervised import SupervisedObjective
from firth.types import Batch, Encoded, Sizes, State, Term, Tokens, derive_seed, expect

InputModule = TokenEmbedding | PatchEmbedding | WordEmbedding
BACKBONES = {
    schema.Recurrent: RecurrentBackbone,
    schema.Window: WindowBackbone,
    schema.Transformer: TransformerBackbone,
    schema.EncoderDecoder: EncoderDecoderBackbone,
    schema.Convolutional: ConvolutionalBackbone,
    schema.NoBackbone: NoLayers,
}


def _word_embedding(config: schema.WordInput, vocabulary: int, width: int) -> WordEmbedding:
    """The input of words, with the backbone of its encoder if it has one."""
    encoder = config.encoder
    if not isinstance(encoder, schema.SubwordEncoder):
        return WordEmbedding(config, vocabulary, width)
    if not encoder.input.table_size:
        do = "set inputs.words.encoder.init_from=RUN"
        raise FirthError("no pre-trained run is named", where="inputs.words.encoder", do=do)
    backbone = BACKBONES[type(encoder.backbone)](encoder.backbone, encoder.input_width)
    return WordEmbedding(config, vocabulary, width, backbone)


INPUTS: dict[type[schema.Input], Callable[..., InputModule]] = {
    schema.TokenInput: TokenEmbedding,
    schema.PatchInput: PatchEmbedding,
    schema.WordInput: _word_embedding,
}
HEADS = {
    schema.LMHead: LMHead,
    schema.PointerGeneratorHead: PointerGeneratorHead,
    schema.DiscriminatorHead: DiscriminatorHead,
    schema.ClassificationHead: ClassificationHead,
    schema.TaggingHead: TaggingHead,
    schema.SpanHead: SpanHead,
    schema.ChoiceHead: ChoiceHead,
    schema.PoolingHead: PoolingHead,
}
OBJECTIVES: dict[type[schema.Objective], type[Objective]] = {
    schema.CausalLM: CausalLMObjective,
    schema.MaskedLM: MaskedLMObjective,
    schema.ReplacedTokenDetection: ReplacedTokenDetectionObjective,
    schema.Distillation: DistillationObjective,
    schema.Seq2Seq: Seq2SeqObjective,
    schema.Denoising: Seq2SeqObjective,
    schema.PrefixLM: PrefixLMObjective,
    schema.PermutationLM: PermutationLMObjective,
    schema.Supervised: SupervisedObjective,
    schema.Contrastive: ContrastiveObjective,
}
SPECIAL_TOKENS = 2  # [START] and [END]


class System(nn.Module):
    """Inputs, backbone, head and objective in one module: the only one that is ever wrapped (DDP, FSDP, compile)."""

    backbone: (
        RecurrentBackbone
        | WindowBackbone
        | TransformerBackbone
        | EncoderDecoderBackbone
        | ConvolutionalBackbone
        | NoLayers
    )
    head: LMHead | PointerGeneratorHead | DiscriminatorHead | TaskHead | PoolingHead
    objective: Objective

    def __init__(self, config: schema.Neural, sizes: Sizes) -> None:
        super().__init__()
        _check_characters(config)
        backbone, predicted = resolve_backbone(config), config.input_of([*config.streams][-1])
        vocabulary, width = max(sizes.vocabulary, predicted.table_size), _embedding_width(config, backbone.width)
        self.inputs = _make_inputs(config, vocabulary, sizes.own, width)
        self.backbone = BACKBONES[type(config.backbone)](backbone, width)
        self.streams = tuple(config.streams)
        outputs = sizes.labels if config.head.outputs == "labels" else vocabulary
        self.head = HEADS[type(config.head)](config.head, outputs, self.backbone.width, width)
        self.objective = OBJECTIVES[type(config.objective)](config, self.backbone.width)
        if self.objective.companion_config is not None:
            self.objective.companion = self._companion(self.objective.companion_config(config), vocabulary, width)
        if self.backbone.bidirectional_setting and not self.objective.allows_bidirectional:
            what = "a bidirectional network cannot be trained to predict the next token"
            setting = self.backbone.bidirectional_setting
            causal = {"mask": "causal", "bidirectional": "no", "kind": "recurrent"}[setting.rpartition(".")[2]]
            raise FirthError(what, where=setting, do=f"set it to {causal}")

    def _companion(self, config: schema.Neural, vocabulary: int, width: int) -> Companion:
        """A second backbone and head, which share token embeddings, position embeddings and input norm with the
        system's own."""
        backbone = BACKBONES[type(config.backbone)](resolve_backbone(config), width)
        companion = Companion(backbone, HEADS[type(config.head)](config.head, vocabulary, backbone.width, width))
        companion.share(self.backbone, "positions", "input_norm")
        return companion

    def encode(self, batch: Batch, state: State | None = None, *, keep_layers: bool = False) -> Encoded:
        """Hidden states of the streams that the backbone reads (with `keep_layers` of each layer), and the state
        carried on."""
        streams = [(name, batch.streams[name]) for name in self.streams]
        flat = [(name, stream.flat() if isinstance(stream, Tokens) else stream) for name, stream in streams]
        if isinstance(self.backbone, EncoderDecoderBackbone) and len(flat) == 1:
            ((name, text),) = flat
            flat = [(name, each) for each in self.backbone.sources_of(expect(text, Tokens))]
        inputs = [part for name, stream in flat for part in self.input_of(name).backbone_inputs(stream)]
        encoded: Encoded = self.backbone(*inputs, state=state, keep_layers=keep_layers)
        last = streams[-1][1]
        sequences = last.sequences if isinstance(last, Tokens) else None
        return encoded._replace(tokens=expect(inputs[-1], Tokens), sequences=sequences)

    def embed(self, stream: str, tokens: Tokens) -> Tensor:
        """Embeddings of a stream (batch, time, width)."""
        embeddings: Tensor = self.input_of(stream)(tokens)
        return embeddings

    def input_of(self, stream: str) -> InputModule:
        """The input module of a stream: its own, or else that of `text`."""
        module: Any = self.inputs[stream if stream in self.inputs else schema.TEXT]
        own: InputModule = module
        return own

    @property
    def embedding_weight(self) -> Tensor:
        """The token embeddings of the stream that is predicted, for tied output layers."""
        return expect(self.input_of(self.streams[-1]).weight, Tensor)

    @property
    def lm_head(self) -> LMHead:
        """The head, of a system that predicts tokens."""
        return expect(self.head, LMHead)

    @property
    def depth(self) -> int:
        """The depth of the head: one more than there are layers."""
        return self._input_depth + self.backbone.depth + 1

    def depth_of(self, name: str) -> int:
        """The depth of a parameter: 0 is lowest in the inputs, then the number of its layer, and last that of the head
        and of the objective's own parameters."""
        part, _, rest = name.partition(".")
        if part == "inputs":
            stream, _, rest = rest.partition(".")
            module = self.input_of(stream)
            return self._input_depth - module.depth + module.depth_of(rest)
        return self._input_depth + self.backbone.depth_of(rest) if part == "backbone" else self.depth

    @property
    def _input_depth(self) -> int:
        """The layers of networks within the inputs."""
        return max(self.input_of(stream).depth for stream in self.inputs)

    def forward(self, batch: Batch, state: State | None = None) -> tuple[list[Term], State | None]:
        """The terms of the loss, and the state for the batch that continues this one."""
        return self.objective.terms(self, batch, state)

    def nll(self, batch: Batch, state: State | None = None) -> tuple[Tensor, State | None]:
        """Negative log-likelihood of each target (batch, time) without gradients, and the state for the next batch."""
        encoded = self.encode(batch, state)
        return self.lm_head.nll(encoded.states, batch.targets["text"].values, self.embedding_weight), encoded.state

    def log_probabilities(self, states: Tensor, *copying: CopyDistribution) -> Tensor:
        """Log-probabilities of the next token at each position; a pointer-generator head needs copy distributions."""
        return self.lm_head.log_probabilities(states, self.embedding_weight, *copying)


def _check_characters(config: schema.Neural) -> None:
    """Refuse character-level parts without sequence-to-sequence batches."""
    parts = {f"inputs.{name}": part for name, part in config.used_inputs.items()} | {"head": config.head}
    spelling = [name for name, part in parts.items() if part.character_width]
    if spelling and not isinstance(config.batching, schema.SourceTarget):
        what = "out-of-vocabulary words by characters are for sequence-to-sequence models only"
        raise FirthError(what, where=f"{spelling[0]}.character_width", do="set it to 0")


def _embedding_width(config: schema.Neural, backbone_width: int) -> int:
    """The width of the embeddings, which all streams have, since one backbone reads them."""
    widths = {name: part.width or backbone_width for name, part in config.used_inputs.items()}
    if len({*widths.values()}) > 1:
        what = " and ".join(f"inputs.{name}.width = {width}" for name, width in widths.items())
        raise FirthError(f"one backbone cannot read both {what}", do="give them the same width")
    return next(iter(widths.values()))


def _make_inputs(config: schema.Neural, vocabulary: int, own: Mapping[str, int], width: int) -> nn.ModuleDict:
    """The input of `text`, and of each stream that has one of its own or, in `own`, a vocabulary of its own."""
    names = {stream: stream if stream in config.inputs or stream in own else schema.TEXT for stream in config.streams}
    parts = {name: config.input_of(stream) for stream, name in names.items()}
    modules = nn.ModuleDict()
    for name in sorted(parts, key=lambda name: (name != schema.TEXT, name)):
        size = own[name] if name in own else max(vocabulary, parts[name].table_size)
        modules[name] = INPUTS[type(parts[name])](parts[name], size, width)
    return modules


def resolve_backbone(config: schema.Neural) -> Any:
    """The backbone's configuration, with the context length of Transformers set to that of the batches if it is 0."""
    backbone = config.backbone
    if isinstance(backbone, schema.EncoderDecoder):
        # [START] and [END] take positions too; a text by itself has its special tokens in its length
        special_tokens = 0 if schema.TEXT in config.streams else SPECIAL_TOKENS
        parts = {
            name: _with_context(getattr(backbone, name), config, special_tokens) for name in ("encoder", "decoder")
        }
        max_positions = backbone.attention.max_positions or config.batching.length + special_tokens
        return replace(backbone, **parts, attention=replace(backbone.attention, max_positions=max_positions))
    return _with_context(backbone, config)


def _with_context(backbone: Any, config: schema.Neural, special_tokens: int = 0) -> Any:
    if not isinstance(backbone, schema.Transformer):
        return backbone
    batching = config.batching
    if batching.carries_state and not backbone.memory.length:
        what = "contiguous batches need segment recurrence, which this Transformer lacks"
        raise FirthError(
            what, where="batching", do="set batching.kind=windows, or backbone.memory.kind=segment-recurrence"
        )
    positions = max(config.input_of(stream).positions for stream in config.streams)
    length = positions or batching.length + special_tokens
    if backbone.context and backbone.context < length:
        special = f" and {special_tokens} special tokens" if special_tokens else ""
        text = f"batching.length = {batching.length}{special}"
        sequence = f"the {length} positions of an image" if positions else text
        what = f"backbone.context = {backbone.context} is shorter than {sequence}"
        raise FirthError(what, do=f"set backbone.context to {length} or more, or to 0")
    return replace(backbone, context=backbone.context or length)


def build(config: schema.Neural, sizes: Sizes | int) -> System:
    """A system initialised from the seed alone; a number is the size of the vocabulary."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(config.seed, "start"))
        return System(config, sizes if isinstance(sizes, Sizes) else Sizes(sizes))
