"""From configuration to system: the tables of inputs, backbones, heads and objectives."""

from __future__ import annotations

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
from firth.models.heads.discriminator import DiscriminatorHead
from firth.models.heads.lm_head import CopyDistribution, LMHead
from firth.models.heads.pointer_generator import PointerGeneratorHead
from firth.models.heads.sentence_embedding import PoolingHead
from firth.models.heads.sequence_classification import ClassificationHead
from firth.models.inputs.image_patches import PatchEmbedding
from firth.models.inputs.token_embedding import TokenEmbedding
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
from firth.types import Batch, Encoded, State, Term, Tokens, derive_seed, expect

INPUTS = {schema.TokenInput: TokenEmbedding, schema.PatchInput: PatchEmbedding}
BACKBONES = {
    schema.Recurrent: RecurrentBackbone,
    schema.Window: WindowBackbone,
    schema.Transformer: TransformerBackbone,
    schema.EncoderDecoder: EncoderDecoderBackbone,
    schema.Convolutional: ConvolutionalBackbone,
    schema.NoBackbone: NoLayers,
}
HEADS = {
    schema.LMHead: LMHead,
    schema.PointerGeneratorHead: PointerGeneratorHead,
    schema.DiscriminatorHead: DiscriminatorHead,
    schema.ClassificationHead: ClassificationHead,
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
    """Input, backbone, head and objective in one module: the only one that is ever wrapped (DDP, FSDP, compile)."""

    input: TokenEmbedding | PatchEmbedding
    backbone: (
        RecurrentBackbone
        | WindowBackbone
        | TransformerBackbone
        | EncoderDecoderBackbone
        | ConvolutionalBackbone
        | NoLayers
    )
    head: LMHead | PointerGeneratorHead | DiscriminatorHead | ClassificationHead | PoolingHead
    objective: Objective

    def __init__(self, config: schema.Neural, vocabulary: int, classes: int = 2, source: int = 0) -> None:
        super().__init__()
        _check_input_kind(config)
        backbone, vocabulary = resolve_backbone(config), max(vocabulary, config.input.table_size)
        width = config.input.width or backbone.width
        self.input = INPUTS[type(config.input)](config.input, vocabulary, width)
        if source:  # the source has a vocabulary of its own
            self.source_input = INPUTS[type(config.input)](config.input, source, width)
        self.backbone = BACKBONES[type(config.backbone)](backbone, width)
        outputs = classes if config.head.outputs == "labels" else vocabulary
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
        """Hidden states of the backbone's input streams (with `keep_layers` of each layer), and the state carried
        on."""
        streams = [(name, batch.streams[name]) for name in self.input.streams or self.backbone.streams]
        inputs = [part for name, stream in streams for part in self.input_of(name).backbone_inputs(stream)]
        encoded: Encoded = self.backbone(*inputs, state, keep_layers=keep_layers)
        return encoded._replace(tokens=expect(inputs[-1], Tokens))

    def embed(self, stream: str, tokens: Tokens) -> Tensor:
        """Embeddings of a stream (batch, time, width), by the stream's own input if it has one."""
        embeddings: Tensor = self.input_of(stream)(tokens)
        return embeddings

    def input_of(self, stream: str) -> TokenEmbedding | PatchEmbedding:
        """The input module of a stream."""
        own: TokenEmbedding | PatchEmbedding = getattr(self, f"{stream}_input", self.input)
        return own

    @property
    def embedding_weight(self) -> Tensor:
        """The token embedding matrix, for tied output layers."""
        return expect(self.input.weight, Tensor)

    @property
    def lm_head(self) -> LMHead:
        """The head, of a system that predicts tokens."""
        return expect(self.head, LMHead)

    @property
    def depth(self) -> int:
        """The depth of the head: one more than there are layers."""
        return self.backbone.depth + 1

    def depth_of(self, name: str) -> int:
        """The depth of a parameter: 0 of the input, then the number of its layer, and last that of the head and of the
        objective's own parameters."""
        part, _, rest = name.partition(".")
        if part == "backbone":
            return self.backbone.depth_of(rest)
        return self.depth if part in ("head", "objective") else 0

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


def _check_input_kind(config: schema.Neural) -> None:
    """Refuse batches that do not fit the input, and character-level parts without sequence-to-sequence batches."""
    if config.batching.input_kind != config.input.kind:
        what = f"batching.kind = {config.batching.kind} gives {config.batching.input_kind}, and the input takes"
        raise FirthError(
            f"{what} {config.input.kind}", where="input.kind", do=f"set it to {config.batching.input_kind}"
        )
    parts = [part for part in ("input", "head") if getattr(config, part).character_width]
    if parts and not isinstance(config.batching, schema.SourceTarget):
        what = "out-of-vocabulary words by characters are for sequence-to-sequence models only"
        raise FirthError(what, where=f"{parts[0]}.character_width", do="set it to 0")


def resolve_backbone(config: schema.Neural) -> Any:
    """The backbone's configuration, with the context length of Transformers set to that of the batches if it is 0."""
    backbone = config.backbone
    if isinstance(backbone, schema.EncoderDecoder):
        # [START] and [END] take positions too
        parts = {
            name: _with_context(getattr(backbone, name), config, SPECIAL_TOKENS) for name in ("encoder", "decoder")
        }
        max_positions = backbone.attention.max_positions or config.batching.length + SPECIAL_TOKENS
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
    length = config.input.positions or batching.length + special_tokens
    if backbone.context and backbone.context < length:
        special = f" and {special_tokens} special tokens" if special_tokens else ""
        text = f"batching.length = {batching.length}{special}"
        sequence = f"the {length} positions of an image" if config.input.positions else text
        what = f"backbone.context = {backbone.context} is shorter than {sequence}"
        raise FirthError(what, do=f"set backbone.context to {length} or more, or to 0")
    return replace(backbone, context=backbone.context or length)


def build(config: schema.Neural, vocabulary: int, classes: int = 2, source: int = 0) -> System:
    """A system initialised from the seed alone; `classes` is the number of labels of a classifier, and `source` the
    size of the source vocabulary if it differs from the target's."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(config.seed, "start"))
        return System(config, vocabulary, classes, source)
