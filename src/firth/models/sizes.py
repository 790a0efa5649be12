"""What the shape of a network depends on besides its configuration: vocabularies and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from firth.tokenizers.tokenizer import Tokenizer

LABEL = "label"  # the target of examples with one label each
TEXT = "text"


@dataclass(frozen=True)
class Sizes:
    """The vocabulary of the text, those of streams that do not share it, and the outputs for each target."""

    vocabulary: int = 0
    own: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=lambda: {LABEL: 2})

    @classmethod
    def of(cls, tokenizers: Mapping[str, Tokenizer], labels: Sequence[str] | Mapping[str, Sequence[str]] = ()) -> Sizes:
        """Those of a run's tokenizers, and of its labels: their names, or the names for each target."""
        named: Mapping[str, Sequence[str]] = labels if isinstance(labels, Mapping) else {LABEL: labels}
        own = {stream: tokenizer.vocab_size for stream, tokenizer in tokenizers.items() if stream != TEXT}
        vocabulary = tokenizers[TEXT].vocab_size if TEXT in tokenizers else 0
        return cls(vocabulary, own, {target: len(names) or 2 for target, names in named.items()})

    @classmethod
    def of_run(cls, tokenizers: Mapping[str, Tokenizer], data: Mapping[str, Any]) -> Sizes:
        """Those of a run's tokenizers and of what its record says of the data."""
        return cls.of(tokenizers, data.get("labels", ()))
