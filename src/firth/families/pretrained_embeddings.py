"""Pre-trained word vectors as the initialisation of a network's token or word embeddings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from firth.config import schema
from firth.datasets.token_cache import Split
from firth.datasets.training_data import Tokenizers
from firth.datasets.word_dataset import WordSplit
from firth.datasets.word_vocabulary import add_words
from firth.embeddings.loading import load_vectors
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.models.build import System
from firth.tokenizers.tokenizer import Tokenizer


def with_known_words(
    config: schema.Neural, ready: Tokenizers, tokenizers: Tokenizers, splits: Mapping[str, Split]
) -> tuple[Tokenizers, dict[str, Split]]:
    """The vocabularies of words with all words of the data that pre-trained vectors have, and the splits by them; those
    that were ready stay as they are."""
    for name, part in config.used_inputs.items():
        if not isinstance(part, schema.WordInput) or not part.pretrained_vectors or name in ready:
            continue
        words = {word for split in splits.values() if isinstance(split, WordSplit) for word in split.spellings}
        store = load_vectors(part.pretrained_vectors)
        known = sorted(word for word in words if _name(word, store))
        tokenizers = {**tokenizers, name: add_words(tokenizers[name], known)}
        splits = {
            key: split.with_words(tokenizers[name]) if isinstance(split, WordSplit) else split
            for key, split in splits.items()
        }
    return tokenizers, dict(splits)


def _name(word: str, store: WordVectors) -> str:
    """The name under which vectors have a word: as it is written, else in lower case; empty if they lack it."""
    return next((name for name in (word, word.lower()) if name and name in store), "")


def load_pretrained_vectors(system: System, stream: str, path: str, tokenizer: Tokenizer) -> str:
    """Set the embeddings of a stream's tokens that are words of the file; others keep their initialisation. Returns a
    summary."""
    module = system.input_of(stream)
    table = module.weight
    store = load_vectors(path)
    if store.width != table.shape[1]:
        what = f"vectors of width {store.width} for an input of width {table.shape[1]}"
        do = f"set inputs.{stream}.{module.width_setting}={store.width}"
        raise FirthError(what, where=path, do=do)
    words = {token: tokenizer.decode([token]).strip() for token in range(tokenizer.vocab_size)}
    known = {token: name for token, word in words.items() if (name := _name(word, store))}
    if not known:
        do = "use the tokenizer model word, or vectors of this language"
        raise FirthError("no token of this text has a vector there", where=path, do=do)
    with torch.no_grad():
        table[list(known)] = torch.from_numpy(np.ascontiguousarray(store.matrix(known.values()), np.float32))
    return f"{len(known):,} of {tokenizer.vocab_size:,} tokens initialised from {path}"
