"""Word vectors, bags of words, n-grams and aligners: what is learned without a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded
from firth.config.schema.texts import Examples, TaskTexts, Text, Tokenizer


@dataclass(frozen=True)
class Passes:
    """How often the text is read, and by how many threads."""

    epochs: int = bounded(5, least=1, most=100_000)
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores
    deterministic: bool = False  # one thread changes the vectors: the same seed gives the same bytes
    patience: int = bounded(0, least=0)  # epochs without a gain on held-out text before stopping early; 0: never
    save: float = bounded(60.0, above=0.0)  # seconds between checkpoints, about


@dataclass(frozen=True)
class Phrases:
    """Joining pairs of words that belong together, such as new york, into one."""

    rounds: int = bounded(0, least=0, most=4)  # 0: none; 2 can join up to four words
    least: int = bounded(5, least=1)  # times that a pair must occur; as many are taken off every count
    threshold: float = bounded(10.0, least=0.0)  # higher: fewer phrases


@dataclass(frozen=True)
class WordToVec:
    """Vectors of words that predict each other (Mikolov et al. 2013), or of words and their parts (fastText)."""

    kind: ClassVar[str] = "word2vec"
    model: Literal["skip-gram", "cbow"] = "skip-gram"
    predict: Literal["negative", "nce", "hierarchical", "softmax"] = "negative"  # softmax: small vocabularies
    width: int = bounded(100, least=1, most=10_000)
    window: int = bounded(5, least=1, most=1000)  # words on each side; each time a reach up to it is drawn
    negatives: int = bounded(5, least=1, most=200)
    exponent: float = bounded(0.75, least=0.0, most=2.0)  # of the counts in the noise distribution
    sample: float = bounded(1e-3, least=0.0, most=1.0)  # words more frequent than this are thinned out; 0: none
    rate: float = bounded(0.025, least=0.0, most=1.0)
    least_rate: float = bounded(1e-4, least=0.0, most=1.0)  # falls to it in a straight line
    least_part: int = bounded(0, least=0, most=100)  # characters of a word's parts; 0 and 0: words have no parts
    most_part: int = bounded(0, least=0, most=100)
    buckets: int = bounded(2_000_000, least=1, most=2**31 - 1)  # parts share so many vectors


@dataclass(frozen=True)
class GloVe:
    """Vectors whose products are the logarithms of co-occurrence (Pennington et al. 2014)."""

    kind: ClassVar[str] = "glove"
    width: int = bounded(100, least=1, most=10_000)
    window: int = bounded(10, least=1, most=1000)
    side: Literal["both", "left", "right"] = "both"
    distance: Literal["inverse", "none"] = "inverse"  # how much a neighbour counts: 1/distance, or 1
    top: float = bounded(10.0, above=0.0)  # x_max: cells from here on weigh 1; 100 for billions of words
    exponent: float = bounded(0.75, least=0.0, most=2.0)  # of the weight of rarer cells
    rate: float = bounded(0.05, above=0.0, most=1.0)


@dataclass(frozen=True)
class Counted:
    """Vectors from a matrix of counts, weighed and reduced; no passes over the text, no start values."""

    kind: ClassVar[str] = "counted"
    matrix: Literal["ppmi", "hellinger", "documents"] = "ppmi"  # documents: LSA
    width: int = bounded(100, least=1, most=10_000)
    window: int = bounded(5, least=1, most=1000)
    side: Literal["both", "left", "right"] = "both"
    distance: Literal["inverse", "none"] = "none"
    shift: float = bounded(1.0, least=1.0)  # PPMI: log of it is taken off; as many negatives in word2vec
    smoothing: float = bounded(0.75, above=0.0, most=1.0)  # PPMI: exponent of the contexts' counts
    weighting: Literal["count", "log10", "smooth"] = "log10"  # documents: tf-idf
    power: float = bounded(0.5, least=0.0, most=1.0)  # of the singular values
    method: Literal["exact", "randomized"] = "exact"


@dataclass(frozen=True)
class Vectors:
    """Vectors of words."""

    kind: ClassVar[str] = "vectors"
    data: Text = field(default_factory=Text)
    tokenizer: Tokenizer = field(default_factory=lambda: Tokenizer(model="word", size=1_000_000, min_count=5))
    phrases: Phrases = field(default_factory=Phrases)
    method: WordToVec | GloVe | Counted = field(default_factory=WordToVec)
    train: Passes = field(default_factory=Passes)
    start: str = ""  # a run or file of vectors to go on from; words it does not have begin anew
    seed: int = bounded(1, least=0, most=2**63 - 1)


@dataclass(frozen=True)
class Bag:
    """The mean of the vectors of a text's words, of their parts and of runs of words (Joulin et al. 2017)."""

    kind: ClassVar[str] = "bag"
    predict: Literal["softmax", "hierarchical", "ova"] = "softmax"  # ova: each label by itself, for several at once
    width: int = bounded(100, least=1, most=10_000)
    word_ngrams: int = bounded(1, least=1, most=100)  # words of the longest run; 1: no runs
    least_part: int = bounded(0, least=0, most=100)  # characters of a word's parts; 0 and 0: words have no parts
    most_part: int = bounded(0, least=0, most=100)
    buckets: int = bounded(2_000_000, least=1, most=1_000_000_000)  # runs and parts share so many vectors
    rate: float = bounded(0.1, least=0.0, most=100.0)  # falls to 0 in a straight line


@dataclass(frozen=True)
class BagClassifier:
    """A classifier of texts as bags of words."""

    kind: ClassVar[str] = "classifier"
    data: Examples = field(default_factory=Examples)
    tokenizer: Tokenizer = field(default_factory=lambda: Tokenizer(model="word", size=1_000_000, lower="yes"))
    method: Bag = field(default_factory=Bag)
    train: Passes = field(default_factory=Passes)
    seed: int = bounded(1, least=0, most=2**63 - 1)


@dataclass(frozen=True)
class Ngram:
    """Counts of runs of tokens, and how they become probabilities."""

    kind: ClassVar[str] = "ngram"
    order: int = bounded(5, least=1, most=10)  # tokens of the longest runs
    smoothing: Literal["none", "add-k", "katz", "stupid", "kneser-ney", "modified-kneser-ney"] = "modified-kneser-ney"
    k: float = bounded(1.0, above=0.0)  # add-k: added to every count
    # for each order the count up to which runs are left out, the last one for longer runs too; 0,0,1: 3-grams met once
    prune: tuple[int, ...] = field(default=(), metadata={"least": 0})
    entropy: float = bounded(0.0, least=0.0)  # leave out what changes perplexity by less than this share; 0: nothing


@dataclass(frozen=True)
class NgramModel:
    """A language model of counted runs of tokens."""

    kind: ClassVar[str] = "ngram-model"
    data: Text = field(default_factory=Text)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    method: Ngram = field(default_factory=Ngram)
    seed: int = bounded(1, least=0, most=2**63 - 1)


@dataclass(frozen=True)
class Aligner:
    """How words of a text and of its translation find each other, by counting (Brown et al. 1993)."""

    kind: ClassVar[str] = "aligner"
    # how probable the place is that a word comes from: all alike (Model 1); by a table for each pair of lengths (Model
    # 2); near the diagonal (Dyer et al. 2013); by the distance from the place before (the HMM; Vogel et al. 1996)
    places: Literal["even", "table", "diagonal", "jumps"] = "jumps"
    first: int = bounded(5, least=0, most=1000)  # passes with all places alike, before those of train.epochs
    null: float = bounded(0.08, above=0.0, most=0.9)  # diagonal, jumps: the share of words that come from none
    tension: float = bounded(4.0, above=0.0, most=100.0)  # diagonal: how strongly words keep to it, at the start
    jump: int = bounded(5, least=1, most=100)  # jumps: wider ones, to either side, share their weight
    # additive: strength more for every count; variational: mean-field with a prior of that strength, for rare words
    smoothing: Literal["none", "additive", "variational"] = "additive"
    strength: float = bounded(0.01, above=0.0)
    agree: bool = True  # words count as a pair as far as both directions say so (Liang et al. 2006)
    same: float = bounded(10.0, least=1.0)  # how much likelier the same spelling is at first: names, numbers, marks
    longest: int = bounded(100, least=1, most=1000)  # tokens; pairs with more on a side teach nothing
    # how the links of both directions are joined (Koehn et al. 2003), or those of one alone
    join: Literal[
        "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "forward", "backward"
    ] = "grow-diag-final-and"


@dataclass(frozen=True)
class AlignmentModel:
    """A model of which words belong together in texts and their translations."""

    kind: ClassVar[str] = "alignment"
    data: TaskTexts = field(default_factory=lambda: TaskTexts(text=("world",), tasks=("translation",)))
    tokenizer: Tokenizer = field(default_factory=lambda: Tokenizer(model="word", size=1_000_000, lower="yes"))
    method: Aligner = field(default_factory=Aligner)
    train: Passes = field(default_factory=Passes)
    gold: str = ""  # Pharaoh lines (0-0 1-2) with the right links of the test pairs
    possible: str = ""  # more of them with links that are not wrong, though they need not be found
    seed: int = bounded(1, least=0, most=2**63 - 1)
