"""Tagged sentences and configurations shared by the tests of words."""

from __future__ import annotations

from hypothesis import strategies as st

from firth.config import schema
from firth.config.streams import Streams
from firth.datasets.examples import TaggedSentence
from firth.datasets.labelled_dataset import make_split as sentence_split
from firth.datasets.word_dataset import WordSplit, make_split, make_tokenizers
from firth.tokenizers.special_tokens import SpecialTokens

WORDS = ["the", "The", "river", "日本", "don't", "Işık", "3.14", "B2B", "\u200d", "e\u0301", "x" * 120, "[SEP]", "a b"]
TAGS = ("A", "B", "C")
SPECIAL = SpecialTokens(*range(7))  # of tokenizers that are trained here
READS = {
    "words": schema.WordRows(),
    "subwords": schema.SubwordRows(),
}


def config(reads: str = "words", **more: object) -> schema.Neural:
    """A tagger of words, with embeddings alone."""
    inputs = {"words": schema.WordInput(schema.WordVectors(width=8), schema.NoPart())}
    if reads == "subwords":
        inputs = {"text": schema.TokenInput(width=8)}
    settings = {
        "data": schema.TaggedWords(),
        "tokenizer": schema.Tokenizer(model="char", vocabulary_size=200),
        "batching": READS[reads],
        "inputs": Streams(inputs),
        "backbone": schema.NoBackbone(width=8),
        "head": schema.TaggingHead(decoder="softmax"),
        "objective": schema.Supervised(),
    }
    return schema.Neural(**{**settings, **more})


def tagged(sentences: list[list[str]]) -> list[TaggedSentence]:
    """The sentences with a tag for every word."""
    return [
        TaggedSentence(tuple(words), (tuple(TAGS[(len(word) + n) % 3] for n, word in enumerate(words)),), "file", lines)
        for words in sentences
        for lines in [range(1, len(words) + 1)]
    ]


def split(sentences: list[list[str]], system: schema.Neural, labels: tuple[str, ...] = TAGS) -> WordSplit:
    """A split of these sentences, by tokenizers trained on them."""
    tokenizers = make_tokenizers(system, sentences, {})
    return make_split(sentence_split("train", tagged(sentences)), {"upos": labels}, tokenizers, system)


def sentences(least: int = 1) -> st.SearchStrategy[list[list[str]]]:
    """Sentences of words of many scripts."""
    words = st.sampled_from(WORDS) | st.text("abcé日", min_size=1, max_size=5)
    return st.lists(st.lists(words, min_size=least, max_size=12), min_size=1, max_size=9)
