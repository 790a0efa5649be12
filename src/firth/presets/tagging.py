"""Taggers: parts of speech, chunks, named entities."""

from __future__ import annotations

from dataclasses import replace

from firth.config.schema import (
    CasingEmbedding,
    CharacterBiLSTM,
    CharacterCNN,
    Inputs,
    Neural,
    NoPart,
    Optimizer,
    Recurrent,
    Schedule,
    SubwordRows,
    Supervised,
    TaggedWords,
    TaggingHead,
    Train,
    WordInput,
    WordRows,
    WordVectors,
)
from firth.presets.fine_tuned import BERT_CLASSIFIER_SIZES

_TRAIN = Train(
    budget="30 epochs",
    optimizer=Optimizer(name="adam", learning_rate=2e-3, gradient_clip=5.0),
    schedule=Schedule(shape="linear"),
    best_by="metric",
)
# Lample et al. 2016: words and a BiLSTM over characters, rare words unknown half of the time, a tanh layer, a CRF.
LSTM_CRF = Neural(
    data=TaggedWords(tasks=("ner",), scheme="bioes"),
    batching=WordRows(tokens_per_batch=400, batch_size=16),
    inputs=Inputs(
        words=WordInput(
            vectors=WordVectors(width=100, lowercase="yes", word_dropout=0.05),
            characters=CharacterBiLSTM(embedding=25, states=25),
            dropout=0.5,
        )
    ),
    backbone=Recurrent(cell="lstm", width=100, depth=1, bidirectional="concatenate"),
    head=TaggingHead(decoder="crf", hidden=100),
    objective=Supervised(),
    train=_TRAIN,
)
# Ma and Hovy 2016: words and a CNN over characters, dropout before and after the BiLSTM, a CRF.
BILSTM_CNN_CRF = replace(
    LSTM_CRF,
    inputs=Inputs(
        words=WordInput(
            vectors=WordVectors(width=100, lowercase="yes", word_dropout=0.05),
            characters=CharacterCNN(embedding=30, filters=30, filter_widths=(3,), dropout=0.5),
            dropout=0.5,
        )
    ),
    backbone=Recurrent(cell="lstm", width=200, depth=1, bidirectional="concatenate", dropout=0.5),
    head=TaggingHead(decoder="crf"),
)
# Our own: the same with casing, and more of what regularises on small data.
NER = replace(
    BILSTM_CNN_CRF,
    inputs=BILSTM_CNN_CRF.inputs.replace("words", shape=CasingEmbedding(width=10)),
)
# More of the characters, words made unknown more often and less dropout, for endings that tell parts of speech: on
# Turkish-IMST 0.89 of validation words after five epochs; with the input of `ner` and the same batches 0.85.
POS = replace(
    NER,
    data=TaggedWords(tasks=("tagging",)),
    batching=WordRows(tokens_per_batch=800, batch_size=32),
    inputs=Inputs(
        words=WordInput(
            vectors=WordVectors(width=100, lowercase="yes", word_dropout=0.2),
            characters=CharacterCNN(embedding=30, filters=40, filter_widths=(2, 3, 4, 5), dropout=0.2),
            shape=CasingEmbedding(width=10),
            dropout=0.33,
        )
    ),
    backbone=replace(NER.backbone, dropout=0.33),
    head=TaggingHead(decoder="softmax"),
)


def _tiny(config: Neural) -> Neural:
    """Small enough for a minute on the world."""
    words = config.inputs["words"]
    assert isinstance(words, WordInput) and not isinstance(words.vectors, NoPart)
    vectors = replace(words.vectors, width=32)
    train = replace(config.train, budget="30s", optimizer=replace(config.train.optimizer, learning_rate=1e-2))
    return replace(
        config,
        inputs=config.inputs.replace("words", vectors=vectors, dropout=0.2),
        backbone=replace(config.backbone, width=48, dropout=0.0),
        batching=replace(config.batching, tokens_per_batch=800, batch_size=0),
        train=train,
    )


LSTM_CRF_SIZES = {"tiny": _tiny(LSTM_CRF), "small": LSTM_CRF}
BILSTM_CNN_CRF_SIZES = {"tiny": _tiny(BILSTM_CNN_CRF), "small": BILSTM_CNN_CRF}
NER_SIZES = {"tiny": _tiny(NER), "small": NER}
POS_SIZES = {"tiny": _tiny(POS), "small": POS}
# Devlin et al. 2019: a softmax over the state of each word's first subword.
BERT_TAGGER_SIZES = {
    size: replace(
        config,
        data=TaggedWords(tasks=("ner",)),
        batching=SubwordRows(tokens_per_batch=32 * 64, length=config.batching.length),
        head=TaggingHead(decoder="softmax", dropout=0.1),
        train=replace(config.train, best_by="metric"),
    )
    for size, config in BERT_CLASSIFIER_SIZES.items()
}
