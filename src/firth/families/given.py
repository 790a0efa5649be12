"""Word vectors that were made elsewhere as the vectors a network starts from."""

from __future__ import annotations

import numpy as np
import torch

from firth.build import System
from firth.config.schema import TokenInput
from firth.errors import FirthError
from firth.text.tokenizer import Tokenizer
from firth.vectors.opening import open_vectors


def put_vectors(system: System, config: TokenInput, tokenizer: Tokenizer) -> str:
    """Give each token that is a word of the file its vector there; others keep their own. Says how many there were."""
    store, table = open_vectors(config.vectors), system.input.weight
    if store.width != table.shape[1]:
        what = f"vectors of width {store.width} for an input of width {table.shape[1]}"
        raise FirthError(what, where=config.vectors, do=f"set input.width={store.width} (or the backbone's width)")
    words = {number: tokenizer.decode([number]).strip() for number in range(tokenizer.size)}
    known = {number: word for number, word in words.items() if word and word in store}
    if not known:
        do = "use the tokenizer model word, or vectors of this language"
        raise FirthError("no token of this text has a vector there", where=config.vectors, do=do)
    with torch.no_grad():
        table[list(known)] = torch.from_numpy(np.ascontiguousarray(store.matrix(known.values()), np.float32))
    return f"{len(known):,} of {tokenizer.size:,} tokens start from {config.vectors}"
