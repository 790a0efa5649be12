"""Where sentences end, told from tokens alone."""

from __future__ import annotations

import numpy as np

from firth.text.tokenizer import Tokenizer

_ENDS = (".", "!", "?", "…", "。", "！", "？", "।", "؟")
_CLOSING = "\"'”’»)]"  # may stand after the end


def sentence_ends(tokenizer: Tokenizer) -> np.ndarray:
    """Which tokens end a sentence (vocabulary): those whose text ends in . ! ? or their like."""
    found = np.zeros(tokenizer.size, bool)
    hidden = tokenizer.special.ids | {*tokenizer.sentinels}
    for number in {*tokenizer.vocabulary().values()} - hidden:
        text = tokenizer.decode([number]).strip()
        found[number] = text.endswith(_ENDS) or text.rstrip(_CLOSING).endswith(_ENDS)
    return found
