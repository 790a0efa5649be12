"""n-gram language models."""

from dataclasses import replace

from firth.config.schema import Ngram, NgramModel, Tokenizer

SMALL = NgramModel(tokenizer=Tokenizer(model="byte-bpe", size=8000), method=Ngram(order=5))
SIZES = {
    "small": SMALL,
    "tiny": replace(SMALL, tokenizer=replace(SMALL.tokenizer, size=2000), method=Ngram(order=3)),
    "large": replace(SMALL, method=Ngram(order=6)),
}
