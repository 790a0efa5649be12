"""Presets: the systems of the textbook as values. Nothing here computes, and nothing heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass

from firth.config.schema import System
from firth.errors import unknown
from firth.presets import (
    alignment,
    classifiers,
    denoising,
    finetuned,
    gpt,
    longformer,
    memory,
    ngram,
    pictures,
    recurrent,
    reformer,
    transformer,
    translation,
    vectors,
)


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
    "gpt-1": Preset(
        "the first GPT: norms after each part, learned places, 512 tokens",
        gpt.GPT_ONE_SIZES,
        "plain text",
        "Radford et al. 2018",
    ),
    "gpt-2": Preset(
        "the second: norms before each part, bytes, 1024 tokens, three of the paper's sizes",
        gpt.GPT_TWO_SIZES,
        "plain text",
        "Radford et al. 2019",
    ),
    "bert": Preset(
        "Transformer that reads both ways and fills gaps",
        transformer.BERT_SIZES,
        "plain text",
        "Devlin et al. 2019; Liu et al. 2019",
    ),
    "transformer-xl": Preset(
        "Transformer language model that remembers the rows before, with distances for places",
        memory.XL_SIZES,
        "plain text",
        "Dai et al. 2019",
    ),
    "xlnet": Preset(
        "Transformer that predicts tokens in any order, each from those before it in the order",
        memory.XLNET_SIZES,
        "plain text",
        "Yang et al. 2019",
    ),
    "shortformer": Preset(
        "Transformer language model of short rows that look at the row before",
        memory.SHORTFORMER_SIZES,
        "plain text",
        "Press et al. 2021",
    ),
    "electra": Preset(
        "Transformer that tells which tokens of a text a smaller one has replaced",
        denoising.ELECTRA_SIZES,
        "plain text",
        "Clark et al. 2020",
    ),
    "distilbert": Preset(
        "BERT at half its depth that learns from a trained one (--teacher)",
        denoising.DISTIL_SIZES,
        "plain text",
        "Sanh et al. 2019",
    ),
    "bart": Preset(
        "encoder and decoder that mend damaged text", denoising.BART_SIZES, "plain text", "Lewis et al. 2020"
    ),
    "t5": Preset(
        "encoder and decoder that write what is missing in a text",
        denoising.T5_SIZES,
        "plain text",
        "Raffel et al. 2020",
    ),
    "t5-v1.1": Preset(
        "T5 with gated feed-forward networks",
        denoising.T5_GATED_SIZES,
        "plain text",
        "Raffel et al. 2020; Shazeer 2020",
    ),
    "seq2seq-lstm": Preset(
        "translator of two LSTMs, the second knowing only the last state of the first",
        translation.LSTM_SIZES,
        "pairs of texts",
        "Sutskever et al. 2014",
    ),
    "bahdanau": Preset(
        "translator of two GRUs; the second looks at what the first has read both ways",
        translation.BAHDANAU_SIZES,
        "pairs of texts",
        "Bahdanau et al. 2015",
    ),
    "luong": Preset(
        "translator of two LSTMs; the second looks at what the first has read, and feeds on what it saw",
        translation.LUONG_SIZES,
        "pairs of texts",
        "Luong et al. 2015",
    ),
    "transformer-mt": Preset(
        "translator of two Transformers",
        translation.TRANSFORMER_SIZES,
        "pairs of texts",
        "Vaswani et al. 2017",
    ),
    "hybrid-mt": Preset(
        "translator of words that reads and spells rare ones by letters",
        translation.HYBRID_SIZES,
        "pairs of texts",
        "Luong and Manning 2016",
    ),
    "pointer-summary": Preset(
        "network that writes summaries and may copy words",
        translation.POINTER_SIZES,
        "pairs of texts",
        "See et al. 2017",
    ),
    "text-to-text": Preset(
        "T5 that learns tasks: a text is read, its answer is written",
        denoising.TEXT_TO_TEXT_SIZES,
        "pairs of texts",
        "Raffel et al. 2020",
    ),
    "prefix-lm": Preset(
        "language model that sees the beginning of a text both ways",
        denoising.PREFIX_SIZES,
        "plain text",
        "Raffel et al. 2020",
    ),
    "longformer": Preset(
        "Transformer that reads long texts both ways and fills gaps, its time linear in their length",
        longformer.LONGFORMER_SIZES,
        "plain text, long documents",
        "Beltagy et al. 2020",
    ),
    "longformer-lm": Preset(
        "language model of long rows, each token seeing those near before it; rows grow while it learns",
        longformer.LONGFORMER_LM_SIZES,
        "plain text",
        "Beltagy et al. 2020",
    ),
    "reformer": Preset(
        "language model for long texts: tokens look at what is near and at tokens alike; memory is flat in depth",
        reformer.SIZES,
        "plain text",
        "Kitaev et al. 2020",
    ),
    "ibm-1": Preset(
        "links between the words of translations, whatever their places",
        alignment.IBM_1,
        "pairs of texts",
        "Brown et al. 1993",
    ),
    "ibm-2": Preset(
        "links between the words of translations, with a table of places for each pair of lengths",
        alignment.IBM_2,
        "pairs of texts",
        "Brown et al. 1993",
    ),
    "fast-align": Preset(
        "links between the words of translations, near the diagonal",
        alignment.DIAGONAL,
        "pairs of texts",
        "Dyer et al. 2013",
    ),
    "hmm-aligner": Preset(
        "links between the words of translations, each place near the one before; both directions agree",
        alignment.HMM,
        "pairs of texts",
        "Vogel et al. 1996; Och and Ney 2003; Liang et al. 2006",
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
    "classifier": Preset(
        "labels of texts or of pairs of texts by a Transformer that reads both ways; --start takes a pre-trained one",
        finetuned.CLASSIFIER_SIZES,
        "labelled texts",
        "Devlin et al. 2019",
    ),
    "gpt-classifier": Preset(
        "the same by a Transformer that reads from the left, with start, delimiter and extract tokens",
        finetuned.GPT_CLASSIFIER_SIZES,
        "labelled texts",
        "Radford et al. 2018",
    ),
    "vit": Preset(
        "labels of pictures by a Transformer that reads them patch by patch",
        pictures.VIT_SIZES,
        "labelled pictures",
        "Dosovitskiy et al. 2021",
    ),
    "sentence-encoder": Preset(
        "vectors of texts: those that belong together near each other, the others of the batch far",
        finetuned.SENTENCE_SIZES,
        "pairs of texts",
        "Reimers and Gurevych 2019; Gao et al. 2021",
    ),
    "simcse": Preset(
        "vectors of texts without any pairs: a text read twice with dropout is its own pair",
        finetuned.SIMCSE_SIZES,
        "plain text, a line each",
        "Gao et al. 2021",
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
