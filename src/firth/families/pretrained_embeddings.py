"""Pre-trained word vectors as the initialisation of a network's token embeddings."""

from __future__ import annotations

import numpy as np
import torch

from firth.embeddings.loading import load_vectors
from firth.errors import FirthError
from firth.models.build import System
from firth.tokenizers.tokenizer import Tokenizer


def load_pretrained_vectors(system: System, stream: str, path: str, tokenizer: Tokenizer) -> str:
    """Set the embeddings of a stream's tokens that are words of the file; others keep their initialisation. Returns a
    summary."""
    table = system.input_of(stream).weight
    store = load_vectors(path)
    if store.width != table.shape[1]:
        what = f"vectors of width {store.width} for an input of width {table.shape[1]}"
        do = f"set inputs.{stream}.width={store.width} (or the backbone's width)"
        raise FirthError(what, where=path, do=do)
    words = {token: tokenizer.decode([token]).strip() for token in range(tokenizer.vocab_size)}
    known = {token: word for token, word in words.items() if word and word in store}
    if not known:
        do = "use the tokenizer model word, or vectors of this language"
        raise FirthError("no token of this text has a vector there", where=path, do=do)
    with torch.no_grad():
        table[list(known)] = torch.from_numpy(np.ascontiguousarray(store.matrix(known.values()), np.float32))
    return f"{len(known):,} of {tokenizer.vocab_size:,} tokens initialised from {path}"
