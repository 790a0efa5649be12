"""Words as byte sequences, for character-level (byte-level) models of out-of-vocabulary words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PAD, END = 0, 1
VOCAB_SIZE = 2 + 256  # the 256 bytes follow PAD and END
MAX_WORD_BYTES = 96  # with END; longer words are truncated


def encode_word(word: str) -> np.ndarray:
    """The byte ids of a word, with END, padded with PAD (MAX_WORD_BYTES,)."""
    ids = np.full(MAX_WORD_BYTES, PAD, np.int64)
    data = np.frombuffer(word.encode(), np.uint8)[: MAX_WORD_BYTES - 1]
    ids[: len(data)], ids[len(data)] = data.astype(np.int64) + 2, END
    return ids


def decode_word(ids: Sequence[int]) -> str:
    """The word of byte ids; bytes that are not valid UTF-8 are left out."""
    return bytes(i - 2 for i in ids if i > END).decode(errors="ignore")
