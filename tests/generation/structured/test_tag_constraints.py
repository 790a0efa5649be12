"""Constraints of tagging schemes against their definition, and users' constraints, for softmax and CRF alike."""

from itertools import pairwise, product

import numpy as np
import pytest
from brute_force import random_chain, taggings

from firth.datasets.readers import tag_schemes
from firth.errors import FirthError
from firth.generation.structured.linear_chain import LinearChain
from firth.generation.structured.tag_constraints import EDGE, TagConstraints, restrict, scheme_constraints
from firth.generation.structured.viterbi import k_best, viterbi

TAGS = ["DET", "NOUN", "VERB"]


def is_allowed(chain, path):
    score = sum(chain.transitions[a, b] for a, b in pairwise(path))
    return chain.start[path[0]] + score + chain.end[path[-1]] == 0


@pytest.mark.parametrize("scheme", tag_schemes.SCHEMES)
def test_exactly_the_taggings_of_the_scheme_are_allowed(scheme):
    prefixes = sorted({*tag_schemes.SCHEMES[scheme][0], *tag_schemes.SCHEMES[scheme][1], "B"})
    tags = ["O", *(f"{prefix}-{label}" for prefix in prefixes for label in "XY")]
    chain = scheme_constraints(tags, scheme)
    for length in (1, 2, 3, 4 if len(tags) < 8 else 3):
        for path in product(range(len(tags)), repeat=length):
            assert is_allowed(chain, path) == (not tag_schemes.faults([tags[tag] for tag in path], scheme)), path


def test_io_allows_all():
    chain = scheme_constraints(["O", "I-X", "I-Y"], "IO")
    assert not chain.transitions.any() and not chain.start.any() and not chain.end.any()


@pytest.mark.parametrize(
    ("tags", "scheme"), [(["O", "B-X"], "io"), (["O", "NOUN"], "bio"), (["S-X"], "bio"), (["I-"], "io")]
)
def test_tags_of_another_scheme_are_refused(tags, scheme):
    with pytest.raises(FirthError, match="is not a tag of"):
        scheme_constraints(tags, scheme)


def test_names_without_labels_are_tags_too():
    assert is_allowed(scheme_constraints(["O", "B", "I"], "bio"), (1, 2, 0))


@pytest.mark.parametrize("independent", [True, False])
def test_decoding_obeys_and_is_best_among_what_is_left(independent):
    rng = np.random.default_rng(0)
    constraints = TagConstraints(
        words={"the": ["DET"], "saw": ["NOUN", "V*"]},
        forbidden=[("DET", "VERB"), ("DET", EDGE)],
        forced=[(EDGE, "DET"), (EDGE, "VERB"), ("VERB", EDGE), ("VERB", "DET")],
    )
    words = ["dogs", "saw", "the", "cat"]
    allowed = constraints.allowed(words, TAGS, {3: ["NOUN"]})
    for _ in range(20):
        emissions = rng.normal(size=(4, 3)) * 3
        scores = LinearChain.independent(3) if independent else random_chain(rng, 3)
        chain, limited = scores + constraints.chain(TAGS), restrict(emissions, allowed)
        legal = {
            path: score
            for path, score in taggings(emissions, scores).items()
            if path[0] in (0, 2) and path[1] in (1, 2) and path[2] == 0 and path[3] == 1
            and (0, 2) not in pairwise(path) and (2, 1) not in pairwise(path) and (2, 2) not in pairwise(path)
        }  # fmt: skip
        (best,) = viterbi(limited[None], np.array([4]), chain)
        assert tuple(best.tags) == max(legal, key=legal.get)
        assert [tuple(tagging.tags) for tagging in k_best(limited, chain, 9)] == sorted(legal, key=legal.get)[::-1]


def test_no_constraints_change_nothing():
    chain = random_chain(np.random.default_rng(0), 3)
    same = chain + TagConstraints().chain(TAGS)
    assert (same.transitions == chain.transitions).all() and (same.start == chain.start).all()
    assert TagConstraints().allowed(["a", "b"], TAGS).all()


def test_wildcards_do_not_stand_for_the_edge():
    chain = TagConstraints(forbidden=[("NOUN", "*")]).chain(TAGS)
    assert (chain.transitions[1] == -np.inf).all() and chain.end[1] == 0


def test_mistakes_are_named():
    with pytest.raises(FirthError, match="unknown tag 'NOUNS'"):
        TagConstraints(forbidden=[("NOUNS", "DET")]).chain(TAGS)
    with pytest.raises(FirthError, match="unknown tag 'X'"):
        TagConstraints({"a": ["X"]}).allowed(["a"], TAGS)
    with pytest.raises(FirthError, match="word 2 of a sentence of 2 words"):
        TagConstraints().allowed(["a", "b"], TAGS, {2: ["DET"]})
