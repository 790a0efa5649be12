"""Labels and their numbers, whatever is labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from firth.data.examples import Split
from firth.errors import FirthError

OTHER = -1  # the number of a label that the training examples do not have


def label_names(train: Split) -> tuple[str, ...]:
    """The labels of the training examples, from frequent to rare; each example has at most one."""
    several = next((found for found in train.labels if len(found) > 1), None)
    if several:
        what = f"a text with {len(several)} labels ({', '.join(several)}), and the network tells one"
        raise FirthError(what, where=train.name, do="give one label each, or train fasttext-classifier")
    counted = Counter(label for found in train.labels for label in found)
    return tuple(sorted(counted, key=lambda label: (-counted[label], label)))


def numbered(labels: Iterable[Sequence[str]], names: Sequence[str]) -> np.ndarray:
    """The number of each example's label, or OTHER."""
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers.get("".join(found[:1]), OTHER) for found in labels], np.int64)
