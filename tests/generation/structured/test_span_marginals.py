"""Probabilities of spans against sums over all taggings, for every scheme, CRF and softmax."""

import numpy as np
import pytest
from brute_force import probabilities, random_chain

from firth.datasets.readers.tag_schemes import SCHEMES, Span, tags_to_spans
from firth.errors import FirthError
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.span_marginals import TagDistribution
from firth.generation.structured.tag_constraints import scheme_constraints

TAGS = {scheme: ["O", *(f"{prefix}-{label}" for label in "XY" for prefix in sorted({*single, *several, "B"}))]
        for scheme, (single, several) in SCHEMES.items()} | {"io": ["O", "I-X", "I-Y"]}  # fmt: skip


def expected_spans(emissions, chain, tags):
    """The probability of each span that any tagging has."""
    found = {}
    for path, probability in probabilities(emissions, chain)[0].items():
        for span in tags_to_spans([tags[tag] for tag in path]):
            found[span] = found.get(span, 0.0) + probability
    return found


@pytest.mark.parametrize("kind", ["crf", "softmax", "crf within the scheme", "softmax within the scheme"])
@pytest.mark.parametrize("scheme", TAGS)
def test_spans_have_the_probability_of_all_taggings_with_them(scheme, kind):
    rng, tags = np.random.default_rng(0), TAGS[scheme]
    for time in (1, 2, 4 if len(tags) < 8 else 3):
        chain = random_chain(rng, len(tags)) if "crf" in kind else LinearChain.independent(len(tags))
        chain = chain + scheme_constraints(tags, scheme) if "within" in kind else chain
        emissions = rng.normal(size=(time, len(tags))) * 2
        distribution = TagDistribution(emissions, chain, tags)
        expected = expected_spans(emissions, chain, tags)
        for start in range(time):
            for end in range(start + 1, time + 1):
                for label in ("X", "Y"):
                    span = Span(start, end, label)
                    assert distribution.span_probability(span) == pytest.approx(expected.get(span, 0.0), abs=1e-12)
        for threshold in (0.01, 0.3):
            likely = distribution.likely_spans(threshold)
            assert [each.span for each in likely] == sorted(span for span, p in expected.items() if p >= threshold)
            assert [each.probability for each in likely] == pytest.approx([expected[each.span] for each in likely])
        best = distribution.best_spans()
        assert [each.span for each in best] == tags_to_spans(distribution.best_tags())
        assert [each.probability for each in best] == pytest.approx([expected[each.span] for each in best])


def test_by_hand():
    """Two words, each B with probability 1/2, I with 1/4 and O with 1/4."""
    emissions = np.log([[0.5, 0.25, 0.25]] * 2)
    distribution = TagDistribution(emissions, LinearChain.independent(3), ["B-X", "I-X", "O"])
    assert distribution.span_probability(Span(0, 2, "X")) == pytest.approx(0.75 * 0.25)
    assert distribution.span_probability(Span(0, 1, "X")) == pytest.approx(0.75 * 0.75)
    assert distribution.marginals.tolist() == [pytest.approx([0.5, 0.25, 0.25])] * 2


def test_labels_and_spans_that_cannot_be():
    distribution = TagDistribution(np.zeros((2, 2)), LinearChain.independent(2), ["O", "I-X"])
    assert distribution.span_probability(Span(0, 1, "Z")) == 0.0
    with pytest.raises(FirthError, match="not within 2 words"):
        distribution.span_probability(Span(1, 3, "X"))
    with pytest.raises(FirthError, match="threshold"):
        distribution.likely_spans(0.0)
    with pytest.raises(FirthError, match="no tagging"):
        TagDistribution(np.full((2, 2), -np.inf), LinearChain.independent(2), ["O", "I-X"])


def test_no_words():
    distribution = TagDistribution(np.zeros((0, 2)), LinearChain.independent(2), ["O", "I-X"])
    assert distribution.best_tags() == [] and distribution.best_spans() == [] and distribution.likely_spans(0.5) == []


def test_sentences_together_have_every_bit_of_each_alone():
    rng, tags = np.random.default_rng(2), TAGS["bioes"]
    chain = random_chain(rng, len(tags), 0.2)
    sentences = [rng.normal(size=(length, len(tags))) for length in [3, 1, 5, 0, 2] * 30]
    together = TagDistribution.of_sentences(sentences, chain, tags)
    for emissions, found in zip(sentences, together, strict=True):
        alone = TagDistribution(emissions, chain, tags)
        assert (found.marginals == alone.marginals).all() and found.marginals.shape == emissions.shape
        assert found.best_tags() == alone.best_tags()
        assert found.likely_spans(0.01) == alone.likely_spans(0.01)
    assert TagDistribution.of_sentences([], chain, tags) == []
