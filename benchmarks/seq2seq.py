"""Reading one text and writing another, against peers: one part or several (default: all).

training: an encoder and a decoder of Transformers against Hugging Face's, the same pairs.
decoding: greedy writing and a beam of 5, one text and 32 at once, against transformers and CTranslate2, same weights.
"""

from __future__ import annotations

import decoders
import sides
import written

PARTS: dict[str, sides.Part] = {"training": written.training, "decoding": decoders.decoding}


if __name__ == "__main__":
    sides.run_parts(PARTS, __doc__)
