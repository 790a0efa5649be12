"""Transformers against their peers: one part or several (default: all).

bert: training by masks and reading, against Hugging Face's.
longformer: time and memory of long texts, what they grow with, and the time beside Hugging Face's.
memory: bits per byte of a small Transformer-XL against the length of its memory.
reformer: memory over depth and length, beside plain residuals, dense attention and Hugging Face's.
"""

from __future__ import annotations

import long
import masked
import reformer
import remembering
import sides

PARTS: dict[str, sides.Part] = {
    "bert": masked.bert,
    "longformer": long.longformer,
    "memory": remembering.memory,
    "reformer": reformer.reformer,
}


if __name__ == "__main__":
    sides.run_parts(PARTS, __doc__)
