"""Taggers without networks."""

from firth.config.schema import (
    ConditionalRandomField,
    HiddenMarkovModel,
    LinearTagger,
    MostFrequentTag,
    System,
    TaggedWords,
)

MOST_FREQUENT_TAG: dict[str, System] = {"small": LinearTagger(method=MostFrequentTag())}
HMM: dict[str, System] = {"small": LinearTagger(method=HiddenMarkovModel())}
CRF: dict[str, System] = {"small": LinearTagger(data=TaggedWords(scheme="bioes"), method=ConditionalRandomField())}
