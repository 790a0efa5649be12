"""Model families: a configuration's type decides which module trains and loads it.

A family module has `fit(order) -> model` and `load(run) -> model`; the model has the verbs its family offers.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from firth.config import schema

FAMILIES = {
    schema.Neural: "firth.families.neural",
    schema.Vectors: "firth.families.vectors",
    schema.BagClassifier: "firth.families.classifier",
    schema.NgramModel: "firth.families.ngram",
    schema.AlignmentModel: "firth.families.aligning",
}


def family(config: schema.System) -> ModuleType:
    """The module for a configuration."""
    return importlib.import_module(FAMILIES[type(config)])
