"""All taggings of a short sentence, one by one: the oracle of structured decoding."""

from itertools import pairwise, product

import numpy as np

from firth.generation.structured.linear_chain import LinearChain


def random_chain(rng, tags, forbidden=0.0, scale=1.0):
    """Random scores; each transition, start and end is forbidden with a probability."""
    shapes = (tags, tags), (tags,), (tags,)
    arrays = [rng.normal(size=shape) * scale for shape in shapes]
    return LinearChain(*(np.where(rng.random(array.shape) < forbidden, -np.inf, array) for array in arrays))


def taggings(emissions, chain):
    """Every tagging of emissions (time, tags) with its score."""
    found = {}
    for tags in product(range(chain.tags), repeat=len(emissions)):
        score = sum(emissions[t, tag] for t, tag in enumerate(tags))
        score += sum(chain.transitions[a, b] for a, b in pairwise(tags))
        found[tags] = score + (chain.start[tags[0]] + chain.end[tags[-1]] if tags else 0.0)
    return found


def probabilities(emissions, chain):
    """The probability of every tagging, and the log-normaliser."""
    scores = taggings(emissions, chain)
    normaliser = np.logaddexp.reduce(list(scores.values()))
    return {tags: np.exp(score - normaliser) for tags, score in scores.items()}, normaliser
