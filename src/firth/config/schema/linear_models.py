"""Linear models of labelled texts (naive Bayes, logistic regression, NBSVM, ridge regression) and taggers of words
(most frequent tag, hidden Markov model, conditional random field)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from firth.config.core import bounded
from firth.config.schema.data import TaggedWords, TaskExamples, Tokenizer


@dataclass(frozen=True)
class NgramLengths:
    """Which n-grams are features, and what is in their columns."""

    word_ngrams: int = bounded(1, least=0, most=20)  # tokens of the longest word n-gram; 0: no word n-grams
    min_n: int = bounded(0, least=0, most=100)  # characters of the shortest character n-gram; 0 and 0: none
    max_n: int = bounded(0, least=0, most=100)  # n-grams do not cross words, whose ends count as a character
    # binary: 1 for each n-gram of the text, however often; tf-idf: with L2-normalised rows
    weighting: Literal["counts", "binary", "tf-idf"] = "binary"


@dataclass(frozen=True)
class NgramFeatures(NgramLengths):
    """A bag of n-grams: each word n-gram and each character n-gram of the training texts is a feature."""

    kind: ClassVar[str] = "ngrams"
    min_documents: int = bounded(1, least=1)  # n-grams of fewer training texts are left out


@dataclass(frozen=True)
class HashedNgramFeatures(NgramLengths):
    """A bag of n-grams hashed into buckets (Weinberger et al. 2009): nothing to store, but features have no names."""

    kind: ClassVar[str] = "hashed-ngrams"
    buckets: int = bounded(1 << 20, least=1, most=2**31 - 1)  # columns of word n-grams; as many of character n-grams


@dataclass(frozen=True)
class MajorityClass:
    """Always the most frequent label of the training texts: the baseline of every classifier."""

    kind: ClassVar[str] = "majority-class"


@dataclass(frozen=True)
class NaiveBayes:
    """Naive Bayes: features are independent given the label; computed at once (McCallum and Nigam 1998)."""

    kind: ClassVar[str] = "naive-bayes"
    # complement: by the texts of all other labels, for unbalanced labels (Rennie et al. 2003)
    event_model: Literal["multinomial", "bernoulli", "complement"] = "multinomial"
    # additive smoothing of the counts; of several values the one with the lowest validation loss
    alpha: tuple[float, ...] = field(default=(1.0,), metadata={"above": 0.0})


@dataclass(frozen=True)
class LogisticRegression:
    """Logistic regression with an L2 penalty, by L-BFGS: a softmax over the labels, a sigmoid for multi-label texts."""

    kind: ClassVar[str] = "logistic-regression"
    # penalty λ/2·‖w‖² of the loss summed over the texts (1/C of scikit-learn and LIBLINEAR); of several values the one
    # with the lowest validation loss
    l2: tuple[float, ...] = field(default=(100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01), metadata={"above": 0.0})
    # balanced: a label's texts weigh the more the fewer they are, so that rare labels count as much as frequent ones
    class_weights: Literal["none", "balanced"] = "none"
    tolerance: float = bounded(1e-5, above=0.0)  # largest partial derivative of the mean loss at the end
    max_iterations: int = bounded(1000, least=1)  # of L-BFGS, for each penalty
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores; the result does not depend on it


@dataclass(frozen=True)
class NBSVM(LogisticRegression):
    """Logistic regression on features scaled by the log-count ratios of naive Bayes (Wang and Manning 2012)."""

    kind: ClassVar[str] = "nbsvm"
    alpha: float = bounded(1.0, above=0.0)  # additive smoothing of the counts in the log-count ratios
    # interpolation of the weights with their mean magnitude; 0: naive Bayes, 1: logistic regression
    interpolation: float = bounded(0.5, least=0.0, most=1.0)


@dataclass(frozen=True)
class RidgeRegression:
    """Linear regression of scores, such as the similarity of two texts, with an L2 penalty (Hoerl and Kennard 1970)."""

    kind: ClassVar[str] = "ridge-regression"
    # penalty λ/2·‖w‖² of half the sum of squared errors; of several values the one with the lowest validation loss
    l2: tuple[float, ...] = field(default=(100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1), metadata={"above": 0.0})
    tolerance: float = bounded(1e-5, above=0.0)  # largest partial derivative of the mean loss at the end
    max_iterations: int = bounded(1000, least=1)  # of L-BFGS, for each penalty
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores; the result does not depend on it


@dataclass(frozen=True)
class LinearClassifier:
    """A linear model of texts or text pairs: scores of labels, or values, linear in n-gram features."""

    kind: ClassVar[str] = "linear-classifier"
    data: TaskExamples = field(default_factory=TaskExamples)
    tokenizer: Tokenizer = field(
        default_factory=lambda: Tokenizer(model="word", vocabulary_size=1_000_000, lowercase="yes")
    )
    features: NgramFeatures | HashedNgramFeatures = field(default_factory=NgramFeatures)
    method: MajorityClass | NaiveBayes | LogisticRegression | NBSVM | RidgeRegression = field(
        default_factory=LogisticRegression
    )
    # single-label: each text has one; multi-label: any number, each label predicted by itself (one versus rest)
    problem_type: Literal["single-label", "multi-label"] = "single-label"
    # temperature: probabilities are calibrated on every second validation example, the others choose penalty or alpha
    calibration: Literal["none", "temperature"] = "temperature"
    # after penalty and temperature are chosen: train again, on the training and the validation examples together
    refit: bool = False
    seed: int = bounded(1, least=0, most=2**63 - 1)


@dataclass(frozen=True)
class TagLexicon:
    """The tags of a word: those it had in training; of unknown words, those of words that end alike."""

    suffix_length: int = bounded(10, least=0, most=50)  # characters of the longest suffix
    rare_count: int = bounded(10, least=1)  # suffixes are those of words that occur at most so often
    # how often each word is thought to have been seen with the tags of its suffix; 0: a known word keeps to its tags
    pseudo_count: float = bounded(0.1, least=0.0)


@dataclass(frozen=True)
class MostFrequentTag(TagLexicon):
    """The most frequent tag of each word: the baseline of every tagger."""

    kind: ClassVar[str] = "most-frequent-tag"


@dataclass(frozen=True)
class HiddenMarkovModel(TagLexicon):
    """A hidden Markov model of tags and words, interpolated and with suffixes as in TnT (Brants 2000)."""

    kind: ClassVar[str] = "hmm"
    order: int = bounded(2, least=1, most=2)  # tags before that a tag depends on; 1: bigrams, 2: trigrams


@dataclass(frozen=True)
class ConditionalRandomField:
    """A linear-chain conditional random field on features of words, by L-BFGS (Lafferty et al. 2001)."""

    kind: ClassVar[str] = "crf"
    window: int = bounded(2, least=0, most=10)  # words on each side that are features
    affixes: int = bounded(4, least=0, most=20)  # characters of the longest prefix and suffix
    min_count: int = bounded(1, least=1)  # rarer features are left out
    weights: Literal["seen", "all"] = "seen"  # weights of a feature for the tags that it was seen with, or for all
    # layers of the data that are known beforehand, such as pos: their tags are features, and words are written word|pos
    given: tuple[str, ...] = ()
    # penalty λ/2·‖w‖² of the loss summed over the sentences; of several values the best on the validation sentences
    l2: tuple[float, ...] = field(default=(1.0,), metadata={"above": 0.0})
    tolerance: float = bounded(1e-5, above=0.0)  # largest partial derivative of the mean loss per word at the end
    max_iterations: int = bounded(500, least=1)  # of L-BFGS, for each penalty
    delta: float = bounded(3e-4, least=0.0)  # relative change of the loss in ten iterations that ends the search too
    memory: int = bounded(6, least=1, most=100)  # steps that L-BFGS keeps
    threads: int = bounded(0, least=0, most=1024)  # 0: all cores; the result does not depend on it


@dataclass(frozen=True)
class LinearTagger:
    """A tagger without a network."""

    kind: ClassVar[str] = "linear-tagger"
    data: TaggedWords = field(default_factory=TaggedWords)
    method: MostFrequentTag | HiddenMarkovModel | ConditionalRandomField = field(default_factory=HiddenMarkovModel)
    seed: int = bounded(1, least=0, most=2**63 - 1)
