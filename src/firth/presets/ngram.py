"""n-gram language models."""

from dataclasses import replace

from firth.config.schema import Ngram, NgramModel, Tokenizer

SMALL = NgramModel(tokenizer=Tokenizer(model="byte-bpe", vocabulary_size=8000), method=Ngram(order=5))
SIZES = {
    "tiny": replace(SMALL, tokenizer=replace(SMALL.tokenizer, vocabulary_size=2000), method=Ngram(order=3)),
    "small": SMALL,
    "large": replace(SMALL, method=Ngram(order=6)),
}
