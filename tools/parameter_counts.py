"""Writes src/firth/presets/parameter_counts.py: the parameters of every neural preset, counted on the meta device.

`python tools/parameter_counts.py` after a preset was added or changed; a test sees to it that this was done.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from firth.config import schema
from firth.presets import PRESETS
from firth.training.flops import meta_system
from firth.types import Sizes

TABLE = Path(__file__).parent.parent / "src" / "firth" / "presets" / "parameter_counts.py"
BYTES_AND_SPECIAL_TOKENS = 260
HEADER = '''"""The parameters of each neural preset with its own vocabulary size and two labels: written by
tools/parameter_counts.py, so that `firth presets` can show them without torch."""

PARAMETERS = {
'''


def counts() -> Iterator[tuple[str, int]]:
    """`preset:size` and its number of parameters."""
    for name, preset in PRESETS.items():
        for size, config in preset.sizes.items():
            if isinstance(config, schema.Neural):
                yield f"{name}:{size}", count(config)


def count(config: schema.Neural) -> int:
    """The number of parameters with as many tokens as the tokenizer may have."""
    tokenizer = config.tokenizer
    vocabulary = tokenizer.vocabulary_size if isinstance(tokenizer, schema.Tokenizer) else 0
    if vocabulary and tokenizer.model == "byte":
        vocabulary = BYTES_AND_SPECIAL_TOKENS
    separate = isinstance(config.data, schema.TextToText) and config.data.vocabularies == "separate"
    system = meta_system(config, Sizes(vocabulary, {"source": vocabulary} if separate else {}))
    return sum(parameter.numel() for parameter in system.parameters())


def table() -> str:
    """The module's text."""
    return HEADER + "".join(f'    "{name}": {number:_},\n' for name, number in counts()) + "}\n"


if __name__ == "__main__":
    TABLE.write_text(table())
