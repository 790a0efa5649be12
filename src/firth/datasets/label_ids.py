"""Label encoding: the labels of a data set and their ids, for texts and images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from firth.datasets.labelled_dataset import Split
from firth.errors import FirthError

UNKNOWN_LABEL = -1  # the id of a label that the training examples do not have


def label_names(train: Split) -> tuple[str, ...]:
    """The labels of the training examples, from frequent to rare; each example has at most one."""
    several = next((labels for labels in train.labels if len(labels) > 1), None)
    if several:
        what = f"a text with {len(several)} labels ({', '.join(several)}), but the network predicts one"
        raise FirthError(what, where=train.name, do="give one label each, or train fasttext-classifier")
    counts = Counter(label for labels in train.labels for label in labels)
    return tuple(sorted(counts, key=lambda label: (-counts[label], label)))


def encode_labels(labels: Iterable[Sequence[str]], names: Sequence[str]) -> np.ndarray:
    """The id of each example's label, or UNKNOWN_LABEL (examples,)."""
    ids = {name: number for number, name in enumerate(names)}
    return np.array([ids.get("".join(each[:1]), UNKNOWN_LABEL) for each in labels], np.int64)
