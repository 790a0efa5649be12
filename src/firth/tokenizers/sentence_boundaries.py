"""Sentence boundaries in token sequences: which tokens end a sentence."""

from __future__ import annotations

import numpy as np

from firth.tokenizers.tokenizer import Tokenizer

_ENDS = (".", "!", "?", "…", "。", "！", "？", "।", "؟")
_CLOSING = "\"'”’»)]"  # may follow the end


def sentence_ends(tokenizer: Tokenizer) -> np.ndarray:
    """Which tokens end a sentence (vocab_size,): those whose text ends in sentence-final punctuation."""
    ends = np.zeros(tokenizer.vocab_size, bool)
    special = tokenizer.special.ids | {*tokenizer.sentinels}
    for i in {*tokenizer.vocabulary().values()} - special:
        text = tokenizer.decode([i]).strip()
        ends[i] = text.endswith(_ENDS) or text.rstrip(_CLOSING).endswith(_ENDS)
    return ends
