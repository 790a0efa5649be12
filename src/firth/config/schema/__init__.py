"""The configuration schema: frozen dataclasses, one field per choice, a union per part with several kinds."""

# ruff: noqa: F401 - the names are used from here

from __future__ import annotations

from firth.config.schema.adapters import Adapter, LoRA, NoAdapter
from firth.config.schema.backbones import (
    Backbone,
    Convolutional,
    EncoderDecoder,
    NoBackbone,
    Recurrent,
    RNNAttention,
    Window,
)
from firth.config.schema.batching import (
    Batching,
    Bucketed,
    ChoiceRows,
    Contiguous,
    DialogueRows,
    ImageRows,
    Layout,
    Packed,
    QuestionContext,
    RowLayout,
    SegmentPairs,
    SentencePairs,
    SourceTarget,
    SubwordRows,
    TwoTowers,
    Windows,
    WordRows,
)
from firth.config.schema.count_models import (
    Aligner,
    AlignmentModel,
    CountVectors,
    EpochTraining,
    FastText,
    FastTextClassifier,
    GloVe,
    Ngram,
    NgramModel,
    Phrases,
    Word2Vec,
    WordEmbeddings,
)
from firth.config.schema.data import (
    ChatTemplate,
    ChoiceQuestions,
    Dialogues,
    LabelledExamples,
    LabelledImages,
    NoTokenizer,
    Questions,
    TaggedWords,
    TaskExamples,
    Text,
    TextToText,
    Tokenizer,
)
from firth.config.schema.heads import (
    ChoiceHead,
    ClassificationHead,
    DiscriminatorHead,
    Head,
    LMHead,
    PointerGeneratorHead,
    PoolingHead,
    SpanHead,
    TaggingHead,
)
from firth.config.schema.inputs import Input, Inputs, PatchInput
from firth.config.schema.linear_models import (
    NBSVM,
    ConditionalRandomField,
    HashedNgramFeatures,
    HiddenMarkovModel,
    LinearClassifier,
    LinearTagger,
    LogisticRegression,
    MajorityClass,
    MostFrequentTag,
    NaiveBayes,
    NgramFeatures,
    RidgeRegression,
)
from firth.config.schema.neural import TEXT, Neural, Optimizer, Schedule, Train
from firth.config.schema.objectives import (
    CausalLM,
    Contrastive,
    Denoising,
    Distillation,
    MaskedLM,
    Masking,
    Objective,
    PermutationLM,
    PrefixLM,
    ReplacedTokenDetection,
    Seq2Seq,
    Supervised,
)
from firth.config.schema.token_inputs import TokenInput
from firth.config.schema.transformer import (
    LSH,
    ALiBi,
    Attention,
    AxialPositions,
    FeedForward,
    FullAttention,
    GatedFeedForward,
    InfusedPositions,
    LayerNorm,
    LearnedPositions,
    Local,
    NoMemory,
    NoPositions,
    Positions,
    ReformerAttention,
    RelativePositions,
    RMSNorm,
    RotaryPositions,
    SegmentRecurrence,
    SinusoidalPositions,
    T5Positions,
    Transformer,
    WindowAttention,
)
from firth.config.schema.word_inputs import (
    CasingEmbedding,
    CharacterBiLSTM,
    CharacterCNN,
    NoPart,
    SubwordEncoder,
    WordInput,
    WordVectors,
)

# the union of all families' configurations, told apart by `kind`
System = Neural | WordEmbeddings | FastTextClassifier | NgramModel | AlignmentModel | LinearClassifier | LinearTagger
