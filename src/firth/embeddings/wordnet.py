"""WordNet as a test set of word vectors: pairs of words with their similarity in the taxonomy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firth.datasets.records import Pair
from firth.embeddings.lookup import most_frequent
from firth.errors import FirthError
from firth.lexicon.semantic_similarity import word_similarity
from firth.types import generator

if TYPE_CHECKING:
    from firth.embeddings.word_vectors import WordVectors
    from firth.lexicon.lexical_database import Lexicon

SIMILARITY_BINS, TRIES_PER_PAIR = 10, 12  # equal bins of similarity, and sampled pairs per kept pair


def wordnet_pairs(
    lexicon: Lexicon, vectors: WordVectors, count: int = 1000, max_vocab: int = 10_000, seed: int = 0
) -> list[Pair]:
    """A similarity test set: pairs of frequent words with their Wu-Palmer similarity, balanced over its range."""
    words = [word for word in (vectors.words[n] for n in most_frequent(vectors, max_vocab)) if word.isalpha()]
    words = [word for word in words if any(lexicon.hypernym_ids(synset.id) for synset in lexicon.synsets(word))]
    if len(words) < 2:
        what = f"{len(words)} of the frequent words are nouns or verbs of {lexicon.name}"
        raise FirthError(what, do="give vectors of the lexicon's language")
    bins: dict[int, dict[tuple[str, str], float]] = {}
    for i, j in generator(seed, "wordnet").integers(0, len(words), (TRIES_PER_PAIR * count, 2)).tolist():
        left, right = words[min(i, j)], words[max(i, j)]
        similarity = word_similarity(lexicon, left, right, "wu-palmer") if i != j else None
        if similarity is not None:
            index = min(int(similarity.value * SIMILARITY_BINS), SIMILARITY_BINS - 1)
            bins.setdefault(index, {})[left, right] = similarity.value
    per_bin = -(-count // SIMILARITY_BINS)
    balanced = (item for key in sorted(bins) for item in list(bins[key].items())[:per_bin])
    return [Pair(left, right, score=value) for (left, right), value in balanced]
