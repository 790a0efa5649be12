"""Presets: named configurations, as values; a paper's name means the paper's architecture, at every size.

Nothing here computes, and nothing heavy is imported. `firth.presets()`, the module called, is their table.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from firth.config.schema import System
from firth.errors import FirthError, unknown
from firth.presets import (
    alignment,
    bag_of_ngrams,
    chat,
    counted_tags,
    denoising,
    embeddings,
    fasttext,
    fine_tuned,
    longformer,
    ngram,
    recurrent,
    reformer,
    tagging,
    text_classifiers,
    transformer,
    transformer_xl,
    translation,
    vit,
)

if TYPE_CHECKING:
    from firth.presets.preset_table import PresetTable


@dataclass(frozen=True)
class Preset:
    """A named system, with what a person needs to choose it."""

    summary: str  # the system's name and what it is, in the field's terms
    sizes: Mapping[str, System]  # from the smallest to the largest
    takes: str  # the data it wants
    paper: str
    default: str = "small"  # the size without a name


TEXT, LONG, PAIRS, LABELLED = "plain text", "plain text, long documents", "parallel text", "labelled texts"
TAGGED, DIALOGUES = "sentences with tagged words", "dialogues or instructions"

PRESETS: dict[str, Preset] = {
    "ngram-lm": Preset(
        "n-gram language model with modified Kneser-Ney smoothing",
        ngram.SIZES,
        TEXT,
        "Kneser and Ney 1995; Chen and Goodman 1999",
    ),
    "window-lm": Preset(
        "fixed-window neural language model (feed-forward, five words of context)",
        recurrent.WINDOW_SIZES,
        TEXT,
        "Bengio et al. 2003",
    ),
    "rnn-lm": Preset("Elman RNN language model", recurrent.RNN_SIZES, TEXT, "Elman 1990; Mikolov et al. 2010"),
    "gru-lm": Preset("GRU language model", recurrent.GRU_SIZES, TEXT, "Cho et al. 2014; Chung et al. 2014"),
    "lstm-lm": Preset(
        "LSTM language model with tied embeddings",
        recurrent.LSTM_SIZES,
        TEXT,
        "Zaremba et al. 2014; Press and Wolf 2017",
    ),
    "transformer-lm": Preset(
        "causal Transformer language model, pre-norm with rotary positions",
        transformer.TRANSFORMER_LM_SIZES,
        TEXT,
        "Vaswani et al. 2017; Su et al. 2021",
    ),
    "gpt-1": Preset(
        "GPT-1: causal Transformer, post-norm, learned positions", transformer.GPT1_SIZES, TEXT, "Radford et al. 2018"
    ),
    "gpt-2": Preset(
        "GPT-2: causal Transformer, pre-norm, learned positions, byte-level BPE",
        transformer.GPT2_SIZES,
        TEXT,
        "Radford et al. 2019",
    ),
    "transformer-xl": Preset(
        "Transformer-XL: segment recurrence with relative position encoding",
        transformer_xl.XL_SIZES,
        TEXT,
        "Dai et al. 2019",
    ),
    "shortformer": Preset(
        "Shortformer: position-infused attention over cached short segments, staged training",
        transformer_xl.SHORTFORMER_SIZES,
        TEXT,
        "Press et al. 2021",
    ),
    "reformer": Preset(
        "Reformer: LSH attention, reversible layers, axial positions", reformer.SIZES, TEXT, "Kitaev et al. 2020"
    ),
    "longformer-lm": Preset(
        "Longformer's language model: dilated sliding windows that grow by layer, relative positions",
        longformer.LONGFORMER_LM_SIZES,
        TEXT,
        "Beltagy et al. 2020",
    ),
    "prefix-lm": Preset(
        "prefix language model: T5's layers, bidirectional prefix", denoising.PREFIX_SIZES, TEXT, "Raffel et al. 2020"
    ),
    "bert": Preset(
        "BERT: masked language model with next-sentence prediction",
        transformer.BERT_SIZES,
        TEXT,
        "Devlin et al. 2019; Turc et al. 2019",
        "mini",
    ),
    "modern-encoder": Preset(
        "masked language model with rotary positions, pre-norm RMS norms and gated feed-forward layers",
        transformer.MODERN_ENCODER_SIZES,
        TEXT,
        "Liu et al. 2019; Su et al. 2021; Shazeer 2020",
        "mini",
    ),
    "distilbert": Preset(
        "DistilBERT: knowledge distillation of a masked language model (--teacher)",
        denoising.DISTIL_SIZES,
        TEXT,
        "Sanh et al. 2019",
    ),
    "electra": Preset("ELECTRA: replaced token detection", denoising.ELECTRA_SIZES, TEXT, "Clark et al. 2020", "mini"),
    "xlnet": Preset(
        "XLNet: permutation language model with two-stream attention and segment recurrence",
        transformer_xl.XLNET_SIZES,
        TEXT,
        "Yang et al. 2019",
    ),
    "longformer": Preset(
        "Longformer: masked language model with sliding-window and global attention",
        longformer.LONGFORMER_SIZES,
        LONG,
        "Beltagy et al. 2020",
    ),
    "bart": Preset(
        "BART: denoising encoder-decoder (text infilling, sentence permutation)",
        denoising.BART_SIZES,
        TEXT,
        "Lewis et al. 2020",
    ),
    "t5": Preset(
        "T5: encoder-decoder with span corruption and relative position bias",
        denoising.T5_SIZES,
        TEXT,
        "Raffel et al. 2020",
        "mini",
    ),
    "t5-v1.1": Preset(
        "T5 v1.1: gated feed-forward layers, untied output",
        denoising.T5_V11_SIZES,
        TEXT,
        "Raffel et al. 2020; Shazeer 2020",
        "mini",
    ),
    "text-to-text": Preset(
        "T5 trained on tasks as text to text", denoising.TEXT_TO_TEXT_SIZES, PAIRS, "Raffel et al. 2020", "mini"
    ),
    "seq2seq-lstm": Preset(
        "LSTM encoder-decoder without attention, source reversed",
        translation.LSTM_SIZES,
        PAIRS,
        "Sutskever et al. 2014",
    ),
    "bahdanau": Preset(
        "GRU encoder-decoder with additive attention", translation.BAHDANAU_SIZES, PAIRS, "Bahdanau et al. 2015"
    ),
    "luong": Preset(
        "LSTM encoder-decoder with general attention and input feeding",
        translation.LUONG_SIZES,
        PAIRS,
        "Luong et al. 2015",
    ),
    "hybrid-mt": Preset(
        "hybrid word-character encoder-decoder for out-of-vocabulary words",
        translation.HYBRID_SIZES,
        PAIRS,
        "Luong and Manning 2016",
    ),
    "pointer-summary": Preset(
        "pointer-generator network with coverage, for summarisation",
        translation.POINTER_SIZES,
        PAIRS,
        "See et al. 2017",
    ),
    "transformer-mt": Preset(
        "Transformer encoder-decoder for translation", translation.TRANSFORMER_SIZES, PAIRS, "Vaswani et al. 2017"
    ),
    "modern-mt": Preset(
        "Transformer encoder-decoder, pre-norm with rotary positions",
        translation.MODERN_SIZES,
        PAIRS,
        "Vaswani et al. 2017; Su et al. 2021",
    ),
    "ibm-1": Preset("IBM Model 1: word alignment by EM", alignment.IBM_1, PAIRS, "Brown et al. 1993"),
    "ibm-2": Preset("IBM Model 2: word alignment with a distortion table", alignment.IBM_2, PAIRS, "Brown et al. 1993"),
    "fast-align": Preset(
        "fast_align: word alignment that prefers the diagonal", alignment.DIAGONAL, PAIRS, "Dyer et al. 2013"
    ),
    "hmm-aligner": Preset(
        "HMM word alignment, both directions trained to agree",
        alignment.HMM,
        PAIRS,
        "Vogel et al. 1996; Och and Ney 2003; Liang et al. 2006",
    ),
    "skipgram": Preset("word2vec: skip-gram with negative sampling", embeddings.SKIP_GRAM, TEXT, "Mikolov et al. 2013"),
    "cbow": Preset("word2vec: continuous bag of words", embeddings.CBOW, TEXT, "Mikolov et al. 2013"),
    "fasttext": Preset(
        "fastText: skip-gram with subword (character n-gram) vectors",
        embeddings.FAST_TEXT,
        TEXT,
        "Bojanowski et al. 2017",
    ),
    "glove": Preset("GloVe word vectors", embeddings.GLOVE, TEXT, "Pennington et al. 2014"),
    "ppmi": Preset("PPMI matrix with truncated SVD", embeddings.PPMI, TEXT, "Levy et al. 2015"),
    "lsa": Preset(
        "latent semantic analysis: tf-idf with truncated SVD", embeddings.LSA, TEXT, "Deerwester et al. 1990"
    ),
    "hellinger": Preset("Hellinger PCA of co-occurrence", embeddings.HELLINGER, TEXT, "Lebret and Collobert 2014"),
    "items": Preset(
        "item2vec: vectors of items that occur in the same line, for recommendation",
        embeddings.ITEMS,
        "a line of items for each basket",
        "Barkan and Koenigstein 2016; Caselles-Dupré et al. 2018",
    ),
    "fasttext-classifier": Preset(
        "fastText text classifier: bag of words and word n-grams", fasttext.FAST_TEXT, LABELLED, "Joulin et al. 2017"
    ),
    "majority-class": Preset(
        "majority class: always the most frequent label, the baseline of every classifier",
        bag_of_ngrams.MAJORITY_CLASS,
        LABELLED,
        "none: a baseline",
    ),
    "naive-bayes": Preset(
        "multinomial naive Bayes on words, computed at once; also Bernoulli and complement",
        bag_of_ngrams.NAIVE_BAYES,
        LABELLED,
        "McCallum and Nigam 1998; Rennie et al. 2003",
    ),
    "logistic-regression": Preset(
        "logistic regression on word n-grams with an L2 penalty, by L-BFGS",
        bag_of_ngrams.LOGISTIC_REGRESSION,
        LABELLED,
        "Berger et al. 1996",
    ),
    "nbsvm": Preset(
        "NBSVM: logistic regression on word n-grams scaled by naive Bayes' log-count ratios",
        bag_of_ngrams.NBSVM_SIZES,
        LABELLED,
        "Wang and Manning 2012",
    ),
    "ridge-regression": Preset(
        "ridge regression of the similarity of two texts, on n-grams and overlaps",
        bag_of_ngrams.RIDGE_REGRESSION,
        "text pairs with scores",
        "Hoerl and Kennard 1970",
    ),
    "bert-classifier": Preset(
        "BERT sequence classifier of texts or text pairs, from the state of [CLS]; --init-from takes a pre-trained run",
        fine_tuned.BERT_CLASSIFIER_SIZES,
        LABELLED,
        "Devlin et al. 2019",
        "mini",
    ),
    "classifier": Preset(
        "Transformer encoder with mean pooling, sequence classifier of texts or text pairs; learns from scratch too",
        fine_tuned.CLASSIFIER_SIZES,
        LABELLED,
        "firth's own",
        "mini",
    ),
    "gpt-classifier": Preset(
        "GPT-1 sequence classifier with start, delimiter and extract tokens",
        fine_tuned.GPT_CLASSIFIER_SIZES,
        LABELLED,
        "Radford et al. 2018",
    ),
    "bert-qa": Preset(
        "BERT for extractive question answering (SQuAD 1.1 and 2.0): start and end of the answer in a context",
        fine_tuned.BERT_QA_SIZES,
        "questions with contexts",
        "Devlin et al. 2019; Rajpurkar et al. 2018",
        "mini",
    ),
    "bert-multiple-choice": Preset(
        "BERT for multiple choice: a score for each choice, with a context or without (SWAG, RACE)",
        fine_tuned.BERT_CHOICE_SIZES,
        "questions with choices",
        "Devlin et al. 2019",
        "mini",
    ),
    "chat-lm": Preset(
        "chat model: causal Transformer that learns the replies of dialogues, or of instructions (instruction tuning)",
        chat.CHAT_LM_SIZES,
        DIALOGUES,
        "firth's own; after Wolf et al. 2019; Ouyang et al. 2022",
    ),
    "chat-seq2seq": Preset(
        "chat model: Transformer encoder-decoder, from the turns so far to the reply",
        chat.CHAT_SEQ2SEQ_SIZES,
        DIALOGUES,
        "firth's own; after Vinyals and Le 2015; Roller et al. 2021",
    ),
    "siamese-classifier": Preset(
        "classifier of text pairs by a siamese network (bi-encoder): softmax over u, v and |u - v| (Sentence-BERT)",
        fine_tuned.SIAMESE_SIZES,
        "text pairs with labels",
        "Reimers and Gurevych 2019",
        "mini",
    ),
    "averaged-vectors": Preset(
        "deep averaging network: text classifier from the mean of word vectors, with one hidden layer",
        text_classifiers.AVERAGED_SIZES,
        LABELLED,
        "Iyyer et al. 2015",
    ),
    "text-cnn": Preset(
        "CNN text classifier: filters over three, four and five words, maximum over time",
        text_classifiers.CNN_SIZES,
        LABELLED,
        "Kim 2014",
    ),
    "lstm-classifier": Preset(
        "LSTM text classifier, from the last hidden state", text_classifiers.LSTM_SIZES, LABELLED, "Wang et al. 2015"
    ),
    "bilstm-classifier": Preset(
        "bidirectional LSTM text classifier, from the last state of each direction",
        text_classifiers.BILSTM_SIZES,
        LABELLED,
        "Graves and Schmidhuber 2005; Tai et al. 2015",
    ),
    "attention-classifier": Preset(
        "bidirectional GRU text classifier with attention pooling (one level of a hierarchical attention network)",
        text_classifiers.BIGRU_ATTENTION_SIZES,
        LABELLED,
        "Yang et al. 2016",
    ),
    "bilstm-regressor": Preset(
        "bidirectional LSTM that predicts a value of a text or text pair: similarity, rating",
        text_classifiers.REGRESSOR_SIZES,
        "texts or text pairs with scores",
        "Graves and Schmidhuber 2005",
    ),
    "most-frequent-tag": Preset(
        "most frequent tag of each word, of unknown words by their suffix: the baseline of every tagger",
        counted_tags.MOST_FREQUENT_TAG,
        TAGGED,
        "none: a baseline",
    ),
    "hmm-tagger": Preset(
        "hidden Markov model of tags: trigrams, with suffixes for unknown words (TnT)",
        counted_tags.HMM,
        TAGGED,
        "Brants 2000",
    ),
    "crf-tagger": Preset(
        "linear-chain conditional random field on features of words, by L-BFGS",
        counted_tags.CRF,
        TAGGED,
        "Lafferty et al. 2001; Sha and Pereira 2003",
    ),
    "ner": Preset(
        "named-entity tagger: words, character CNN and casing, bidirectional LSTM, conditional random field",
        tagging.NER_SIZES,
        TAGGED,
        "firth's own; after Ma and Hovy 2016",
    ),
    "pos-tagger": Preset(
        "part-of-speech tagger: words, character CNN and casing, bidirectional LSTM",
        tagging.POS_SIZES,
        TAGGED,
        "firth's own; after Plank et al. 2016",
    ),
    "lstm-crf": Preset(
        "LSTM-CRF: bidirectional LSTMs over characters and words, conditional random field",
        tagging.LSTM_CRF_SIZES,
        TAGGED,
        "Lample et al. 2016",
    ),
    "bilstm-cnn-crf": Preset(
        "BiLSTM-CNN-CRF: character CNN, bidirectional LSTM over words, conditional random field",
        tagging.BILSTM_CNN_CRF_SIZES,
        TAGGED,
        "Ma and Hovy 2016",
    ),
    "bert-tagger": Preset(
        "BERT token classifier: a softmax over the state of each word's first subword; --init-from takes a run",
        tagging.BERT_TAGGER_SIZES,
        TAGGED,
        "Devlin et al. 2019",
        "mini",
    ),
    "sentence-encoder": Preset(
        "sentence encoder (two towers) with in-batch negatives",
        fine_tuned.SENTENCE_SIZES,
        "text pairs",
        "Reimers and Gurevych 2019; Gao et al. 2021",
        "mini",
    ),
    "simcse": Preset(
        "unsupervised SimCSE: dropout as the only difference between two views",
        fine_tuned.SIMCSE_SIZES,
        "plain text, a line each",
        "Gao et al. 2021",
        "mini",
    ),
    "vit": Preset(
        "Vision Transformer (ViT), image classification", vit.VIT_SIZES, "labelled images", "Dosovitskiy et al. 2021"
    ),
}


# What a system is called elsewhere -> its preset.
SYNONYMS: Mapping[str, str] = {
    "word2vec": "skipgram",
    "w2v": "skipgram",
    "sgns": "skipgram",
    "skip-gram": "skipgram",
    "n-gram": "ngram-lm",
    "kneser-ney": "ngram-lm",
    "bigram": "ngram-lm",
    "trigram": "ngram-lm",
    "nnlm": "window-lm",
    "elman": "rnn-lm",
    "gpt": "gpt-2",
    "llama": "transformer-lm",
    "transformer": "transformer-lm",
    "roberta": "bert",
    "mlm": "bert",
    "mt": "transformer-mt",
    "nmt": "transformer-mt",
    "attention": "bahdanau",
    "seq2seq": "seq2seq-lstm",
    "summarization": "pointer-summary",
    "sbert": "sentence-encoder",
    "sentence-bert": "sentence-encoder",
    "sentence-transformers": "sentence-encoder",
    "pmi": "ppmi",
    "svd": "lsa",
    "item2vec": "items",
    "image-classifier": "vit",
    "text-classifier": "classifier",
    "pos": "pos-tagger",
    "bilstm-crf": "bilstm-cnn-crf",
    "crf": "lstm-crf",
    "tagger": "pos-tagger",
    "multiple-choice": "bert-multiple-choice",
    "swag": "bert-multiple-choice",
    "squad": "bert-qa",
    "qa": "bert-qa",
    "question-answering": "bert-qa",
    "sbert-classifier": "siamese-classifier",
    "dan": "averaged-vectors",
    "kim-cnn": "text-cnn",
    "giza": "ibm-2",
}


def preset(name: str) -> System:
    """The configuration of `lstm-lm` (its default size) or `lstm-lm:medium`."""
    base, _, size = name.partition(":")
    if base not in PRESETS:
        stem, _, size = base.lower().rpartition("-")  # bert-base is bert:base here
        if stem in PRESETS and size in PRESETS[stem].sizes:
            raise FirthError(f"unknown preset {base!r}", do=f"did you mean '{stem}:{size}'?")
        raise unknown("preset", base, PRESETS, synonyms=SYNONYMS)
    entry = PRESETS[base]
    size = size or entry.default
    if size not in entry.sizes:
        raise unknown(f"size of {base}", size, entry.sizes)
    return entry.sizes[size]


class _CallableModule(ModuleType):
    """A module that is a function too: `firth.presets()` beside `from firth.presets import preset`."""

    def __call__(self) -> PresetTable:
        """The table of all presets: it prints as `firth presets` does."""
        from firth.presets.preset_table import preset_table

        return preset_table()


sys.modules[__name__].__class__ = _CallableModule
