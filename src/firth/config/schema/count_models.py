"""Models without a neural network: word embeddings, fastText classifiers, n-gram models, word alignment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded
from firth.config.schema.data import LabelledExamples, Text, TextToText, Tokenizer


@dataclass(frozen=True)
class EpochTraining:
    """How many epochs are trained, and by how many threads."""

    epochs: int = bounded(5, least=1, most=100_000)
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores
    deterministic: bool = False  # one thread updates the vectors: the same seed gives the same bytes
    patience: int = bounded(0, least=0)  # early stopping: epochs without improvement on held-out text; 0: never
    checkpoint_seconds: float = bounded(60.0, above=0.0)  # between checkpoints, about


@dataclass(frozen=True)
class Phrases:
    """Phrase detection: frequent bigrams such as new york become one token (Mikolov et al. 2013)."""

    passes: int = bounded(0, least=0, most=4)  # 0: none; 2 can join up to four words
    min_count: int = bounded(5, least=1)  # of a bigram; also the discount of every count
    threshold: float = bounded(10.0, least=0.0)  # higher: fewer phrases


@dataclass(frozen=True)
class Word2Vec:
    """word2vec (Mikolov et al. 2013); with character n-grams (min_n, max_n) fastText (Bojanowski et al. 2017)."""

    kind: ClassVar[str] = "word2vec"
    model: Literal["skip-gram", "cbow"] = "skip-gram"
    # softmax over the whole vocabulary only for small ones
    loss: Literal["negative-sampling", "nce", "hierarchical-softmax", "softmax"] = "negative-sampling"
    width: int = bounded(100, least=1, most=10_000)  # vector size
    window: int = bounded(5, least=1, most=1000)  # words on each side; the actual window is sampled up to it
    negatives: int = bounded(5, least=1, most=200)  # negative samples per positive
    noise_exponent: float = bounded(0.75, least=0.0, most=2.0)  # of the counts in the noise distribution
    subsample: float = bounded(1e-3, least=0.0, most=1.0)  # subsampling of words more frequent than this; 0: none
    learning_rate: float = bounded(0.025, least=0.0, most=1.0)
    min_learning_rate: float = bounded(1e-4, least=0.0, most=1.0)  # linear decay to it
    min_n: int = bounded(0, least=0, most=100)  # characters of the shortest character n-gram; 0 and 0: no subwords
    max_n: int = bounded(0, least=0, most=100)
    buckets: int = bounded(2_000_000, least=1, most=2**31 - 1)  # hash buckets of the n-grams


@dataclass(frozen=True)
class GloVe:
    """GloVe: dot products fit the logarithm of co-occurrence counts (Pennington et al. 2014)."""

    kind: ClassVar[str] = "glove"
    width: int = bounded(100, least=1, most=10_000)
    window: int = bounded(10, least=1, most=1000)
    context: Literal["symmetric", "left", "right"] = "symmetric"
    distance_weighting: Literal["inverse", "none"] = "inverse"  # a co-occurrence counts 1/distance, or 1
    x_max: float = bounded(10.0, above=0.0)  # counts from here on have weight 1; 100 for billions of words
    alpha: float = bounded(0.75, least=0.0, most=2.0)  # exponent of the weighting function below x_max
    learning_rate: float = bounded(0.05, above=0.0, most=1.0)


@dataclass(frozen=True)
class CountVectors:
    """Vectors by truncated SVD of a count matrix: PPMI, Hellinger PCA, LSA (tf-idf). No epochs, no initialisation."""

    kind: ClassVar[str] = "count-vectors"
    matrix: Literal["ppmi", "hellinger", "lsa"] = "ppmi"  # lsa: term-document matrix
    width: int = bounded(100, least=1, most=10_000)
    window: int = bounded(5, least=1, most=1000)
    context: Literal["symmetric", "left", "right"] = "symmetric"
    distance_weighting: Literal["inverse", "none"] = "none"
    shift: float = bounded(1.0, least=1.0)  # shifted PPMI: its logarithm is subtracted; as many negatives in word2vec
    context_smoothing: float = bounded(0.75, above=0.0, most=1.0)  # PPMI: exponent of the context counts
    weighting: Literal["count", "log10", "smooth"] = "log10"  # lsa: tf-idf variant
    singular_value_power: float = bounded(0.5, least=0.0, most=1.0)  # 0.5: U·Σ^½
    svd: Literal["exact", "randomized"] = "exact"


@dataclass(frozen=True)
class WordEmbeddings:
    """Word embeddings."""

    kind: ClassVar[str] = "word-embeddings"
    data: Text = field(default_factory=Text)
    tokenizer: Tokenizer = field(
        default_factory=lambda: Tokenizer(model="word", vocabulary_size=1_000_000, min_count=5)
    )
    phrases: Phrases = field(default_factory=Phrases)
    method: Word2Vec | GloVe | CountVectors = field(default_factory=Word2Vec)
    train: EpochTraining = field(default_factory=EpochTraining)
    init_from: str = ""  # a run or file of vectors to continue from; words it lacks are initialised anew
    seed: int = bounded(1, least=0, most=2**63 - 1)


@dataclass(frozen=True)
class FastText:
    """fastText classifier: mean of word, subword and word n-gram vectors, then a softmax (Joulin et al. 2017)."""

    kind: ClassVar[str] = "fasttext"
    # one-vs-all: a sigmoid for each label, for several labels at once
    loss: Literal["softmax", "hierarchical-softmax", "one-vs-all"] = "softmax"
    width: int = bounded(100, least=1, most=10_000)
    word_ngrams: int = bounded(1, least=1, most=100)  # words of the longest word n-gram; 1: words only
    min_n: int = bounded(0, least=0, most=100)  # characters of the shortest character n-gram; 0 and 0: no subwords
    max_n: int = bounded(0, least=0, most=100)
    buckets: int = bounded(2_000_000, least=1, most=1_000_000_000)  # hash buckets of all n-grams
    learning_rate: float = bounded(0.1, least=0.0, most=100.0)  # linear decay to 0


@dataclass(frozen=True)
class FastTextClassifier:
    """A bag-of-words text classifier."""

    kind: ClassVar[str] = "fasttext-classifier"
    data: LabelledExamples = field(default_factory=LabelledExamples)
    tokenizer: Tokenizer = field(
        default_factory=lambda: Tokenizer(model="word", vocabulary_size=1_000_000, lowercase="yes")
    )
    method: FastText = field(default_factory=FastText)
    train: EpochTraining = field(default_factory=EpochTraining)
    seed: int = bounded(1, least=0, most=2**63 - 1)


@dataclass(frozen=True)
class Ngram:
    """Counts of token n-grams, and how they become probabilities."""

    kind: ClassVar[str] = "ngram"
    order: int = bounded(5, least=1, most=10)
    # mle: maximum likelihood, no smoothing
    smoothing: Literal["mle", "add-k", "katz", "stupid-backoff", "kneser-ney", "modified-kneser-ney"] = (
        "modified-kneser-ney"
    )
    k: float = bounded(1.0, above=0.0)  # add-k: added to every count
    # for each order the count up to which n-grams are pruned, the last one for higher orders too; 0,0,1: 3-grams once
    prune: tuple[int, ...] = field(default=(), metadata={"least": 0})
    entropy_threshold: float = bounded(0.0, least=0.0)  # entropy pruning: relative change of perplexity; 0: none


@dataclass(frozen=True)
class NgramModel:
    """An n-gram language model."""

    kind: ClassVar[str] = "ngram-lm"
    data: Text = field(default_factory=Text)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    method: Ngram = field(default_factory=Ngram)
    seed: int = bounded(1, least=0, most=2**63 - 1)


@dataclass(frozen=True)
class Aligner:
    """Word alignment by expectation maximisation (Brown et al. 1993)."""

    kind: ClassVar[str] = "aligner"
    # distortion model. uniform: IBM Model 1; table: one for each pair of lengths (IBM Model 2); diagonal: fast_align
    # (Dyer et al. 2013); hmm: by the jump from the position before (Vogel et al. 1996)
    distortion: Literal["uniform", "table", "diagonal", "hmm"] = "hmm"
    model1_epochs: int = bounded(5, least=0, most=1000)  # epochs of Model 1 before those of train.epochs
    null_probability: float = bounded(0.08, above=0.0, most=0.9)  # diagonal, hmm: of a word aligned to NULL
    tension: float = bounded(4.0, above=0.0, most=100.0)  # diagonal: how strongly words keep to it, initially
    max_jump: int = bounded(5, least=1, most=100)  # hmm: wider jumps, to either side, share their probability
    # additive: smoothing_strength added to every count; variational: mean-field with a prior of that strength
    smoothing: Literal["none", "additive", "variational"] = "additive"
    smoothing_strength: float = bounded(0.01, above=0.0)
    agreement: bool = True  # alignment by agreement of both directions (Liang et al. 2006)
    identical_bonus: float = bounded(10.0, least=1.0)  # initially, of identical strings: names, numbers, punctuation
    max_length: int = bounded(100, least=1, most=1000)  # tokens; pairs with more on a side are not trained on
    # how the links of both directions are combined (Koehn et al. 2003), or those of one alone
    symmetrisation: Literal[
        "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "forward", "backward"
    ] = "grow-diag-final-and"


@dataclass(frozen=True)
class AlignmentModel:
    """A word alignment model of parallel text."""

    kind: ClassVar[str] = "alignment"
    data: TextToText = field(default_factory=lambda: TextToText(text=("world",), tasks=("translation",)))
    tokenizer: Tokenizer = field(
        default_factory=lambda: Tokenizer(model="word", vocabulary_size=1_000_000, lowercase="yes")
    )
    method: Aligner = field(default_factory=Aligner)
    train: EpochTraining = field(default_factory=EpochTraining)
    gold: str = ""  # Pharaoh lines (0-0 1-2) with the sure links of the test pairs
    gold_possible: str = ""  # the same with possible links: not wrong, though they need not be found
    seed: int = bounded(1, least=0, most=2**63 - 1)
