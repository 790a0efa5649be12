"""Model families: a configuration's type decides which module trains and loads it.

A family module has `fit(request) -> model`, `load(run) -> model` and `estimate(request) -> plan`; the model has the
methods of its pipeline.
"""

from __future__ import annotations

from firth.config import schema

FAMILIES = {
    schema.Neural: "firth.families.neural",
    schema.WordEmbeddings: "firth.families.word_embeddings",
    schema.FastTextClassifier: "firth.families.fasttext_classifier",
    schema.NgramModel: "firth.families.ngram",
    schema.AlignmentModel: "firth.families.alignment",
    schema.LinearClassifier: "firth.families.linear_classifier",
    schema.LinearTagger: "firth.families.linear_tagger",
}
