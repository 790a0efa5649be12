"""Presets: the systems of the textbook as values. Nothing here computes, and nothing heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass

from firth.config.schema import System
from firth.errors import unknown
from firth.presets import classifiers, ngram, recurrent, transformer, vectors


@dataclass(frozen=True)
class Preset:
    """A named configuration, with what a person needs to choose it."""

    summary: str
    sizes: dict[str, System]  # the first is the default
    takes: str  # the data it wants
    paper: str


PRESETS: dict[str, Preset] = {
    "ngram-lm": Preset(
        "language model of counted runs of a few tokens",
        ngram.SIZES,
        "plain text",
        "Kneser and Ney 1995; Chen and Goodman 1999",
    ),
    "lstm-lm": Preset(
        "language model of stacked LSTM layers with a tied output",
        recurrent.LSTM_SIZES,
        "plain text",
        "Zaremba et al. 2014; Press and Wolf 2017",
    ),
    "gru-lm": Preset(
        "language model of stacked GRU layers", recurrent.GRU_SIZES, "plain text", "Cho et al. 2014; Chung et al. 2014"
    ),
    "rnn-lm": Preset(
        "language model of stacked simple recurrent layers",
        recurrent.RNN_SIZES,
        "plain text",
        "Elman 1990; Mikolov et al. 2010",
    ),
    "window-lm": Preset(
        "language model that sees the last five tokens", recurrent.WINDOW_SIZES, "plain text", "Bengio et al. 2003"
    ),
    "gpt": Preset(
        "language model of Transformer layers, each token seeing those before it",
        transformer.GPT_SIZES,
        "plain text",
        "Vaswani et al. 2017; Radford et al. 2019",
    ),
    "bert": Preset(
        "Transformer that reads both ways and fills gaps",
        transformer.BERT_SIZES,
        "plain text",
        "Devlin et al. 2019; Liu et al. 2019",
    ),
    "skipgram": Preset(
        "word vectors: each word predicts its neighbours", vectors.SKIP_GRAM, "plain text", "Mikolov et al. 2013"
    ),
    "cbow": Preset("word vectors: neighbours predict the word", vectors.CBOW, "plain text", "Mikolov et al. 2013"),
    "fasttext": Preset(
        "word vectors made of parts of words, so that unseen words have one too",
        vectors.FAST_TEXT,
        "plain text",
        "Bojanowski et al. 2017",
    ),
    "glove": Preset(
        "word vectors that give the logarithms of co-occurrence", vectors.GLOVE, "plain text", "Pennington et al. 2014"
    ),
    "ppmi": Preset("word vectors by SVD of associations", vectors.PPMI, "plain text", "Levy et al. 2015"),
    "lsa": Preset("word vectors by SVD of words and documents", vectors.LSA, "plain text", "Deerwester et al. 1990"),
    "hellinger": Preset(
        "word vectors by PCA of shares of neighbours", vectors.HELLINGER, "plain text", "Lebret and Collobert 2014"
    ),
    "items": Preset(
        "vectors of products, places or pages that occur in the same line, for recommending",
        vectors.ITEMS,
        "a line of items for each basket",
        "Barkan and Koenigstein 2016; Caselles-Dupré et al. 2018",
    ),
    "fasttext-classifier": Preset(
        "labels of texts from the mean of the vectors of their words and pairs of words",
        classifiers.FAST_TEXT,
        "labelled texts",
        "Joulin et al. 2017",
    ),
}


def preset(name: str) -> System:
    """The configuration of `lstm-lm` (its default size) or `lstm-lm:medium`."""
    base, _, size = name.partition(":")
    if base not in PRESETS:
        raise unknown("preset", base, PRESETS)
    sizes = PRESETS[base].sizes
    size = size or next(iter(sizes))
    if size not in sizes:
        raise unknown(f"size of {base}", size, sizes)
    return sizes[size]
