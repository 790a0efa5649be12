"""WordNet through `wn` or nltk, whichever is installed with its data: synsets, hypernyms, WordNet similarity (path, Wu
and Palmer) and lexical relations.

A synset is a value of the reader's package; it is hashable.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

from firth.errors import FirthError, unknown

if TYPE_CHECKING:
    from firth.datasets.records import Pair
    from firth.embeddings.word_vectors import WordVectors

Synset = Hashable
RELATIONS = ("form", "synonym", "antonym", "hypernym", "hyponym", "co-hyponym")  # by precedence
VERB_ROOT = "verbs"  # the verbs of WordNet have many roots; this is a common hypernym of all
SIMILARITY_BINS, TRIES_PER_PAIR = 10, 12  # of the test set: equal bins of similarity, and sampled pairs per kept pair
_INSTALL = (
    "pip install 'firth[wordnet]' and then python -m wn download oewn:2024, "
    "or pip install nltk and then python -m nltk.downloader wordnet"
)


class WordNetReader(Protocol):
    """The interface of a package that reads WordNet; words are lowercase, with spaces in multi-word lemmas."""

    name: str

    def lemmas(self, word: str) -> Iterable[str]: ...
    def synsets(self, word: str) -> Iterable[Synset]: ...
    def hypernyms(self, synset: Synset) -> Iterable[Synset]: ...
    def pos(self, synset: Synset) -> str: ...
    def antonyms(self, lemma: str) -> Iterable[str]: ...


class WordNet:
    """Word senses (synsets) in a taxonomy of hypernyms; results are cached."""

    def __init__(self, reader: WordNetReader) -> None:
        self.reader, self.name = reader, reader.name
        self._lemmas: dict[str, tuple[str, ...]] = {}
        self._synsets: dict[str, tuple[Synset, ...]] = {}
        self._hypernyms: dict[Synset, tuple[Synset, ...]] = {}
        self._closures: dict[Synset, dict[Synset, int]] = {}
        self._depths: dict[Synset, int] = {}

    def lemmas(self, word: str) -> tuple[str, ...]:
        """The lemmas of a word form."""
        if word not in self._lemmas:
            self._lemmas[word] = tuple(dict.fromkeys(self.reader.lemmas(normalise_word(word))))
        return self._lemmas[word]

    def synsets(self, word: str) -> tuple[Synset, ...]:
        """The word's synsets; none if it is not in the lexicon."""
        if word not in self._synsets:
            self._synsets[word] = tuple(dict.fromkeys(self.reader.synsets(normalise_word(word))))
        return self._synsets[word]

    def hypernyms(self, synset: Synset) -> tuple[Synset, ...]:
        """The direct hypernyms, those of instances included."""
        if synset not in self._hypernyms:
            hypernyms = tuple(self.reader.hypernyms(synset)) if synset != VERB_ROOT else ()
            rooted = not hypernyms and synset != VERB_ROOT and self.reader.pos(synset) == "v"
            self._hypernyms[synset] = (VERB_ROOT,) if rooted else hypernyms
        return self._hypernyms[synset]

    def hypernym_closure(self, synset: Synset) -> dict[Synset, int]:
        """The synset itself and all its hypernyms, direct and indirect, with the shortest distance to each."""
        if synset not in self._closures:
            distances, level = {synset: 0}, [synset]
            while level:
                parents = [parent for child in level for parent in self.hypernyms(child) if parent not in distances]
                distances |= dict.fromkeys(parents, distances[level[0]] + 1)
                level = list(dict.fromkeys(parents))
            self._closures[synset] = distances
        return self._closures[synset]

    def depth(self, synset: Synset) -> int:
        """The number of synsets on the longest path to the root, both ends included."""
        if synset not in self._depths:
            self._depths[synset] = 1  # ends the recursion in a cycle; WordNet 3.0 has one
            self._depths[synset] = 1 + max(map(self.depth, self.hypernyms(synset)), default=0)
        return self._depths[synset]

    # --- similarity ---------------------------------------------------------------------------------------------------

    def path_similarity(self, a: str, b: str) -> float:
        """1 / (1 + length of the shortest path between any of their synsets); 0 if there is no path."""
        return max((1 / (1 + i + j) for _, i, j in self._common_hypernyms(a, b)), default=0.0)

    def wup_similarity(self, a: str, b: str) -> float:
        """Wu-Palmer similarity (1994): 2d / (i + j + 2d), d the depth of a common hypernym, i and j the paths to it.

        The maximum over their synsets and common hypernyms; 0 if there is none.
        """
        candidates = ((2 * self.depth(hypernym), i + j) for hypernym, i, j in self._common_hypernyms(a, b))
        return max((twice_depth / (distance + twice_depth) for twice_depth, distance in candidates), default=0.0)

    def _common_hypernyms(self, a: str, b: str) -> Iterator[tuple[Synset, int, int]]:
        """The common hypernyms of any of their synsets, and the distances to them."""
        for left, right in product(self.synsets(a), self.synsets(b)):
            left_distances, right_distances = self.hypernym_closure(left), self.hypernym_closure(right)
            for hypernym in left_distances.keys() & right_distances.keys():
                yield hypernym, left_distances[hypernym], right_distances[hypernym]

    def relation(self, a: str, b: str) -> str:
        """The lexical relation of `b` to `a` in any of their senses: one of RELATIONS, or ""."""
        left, right = set(self.synsets(a)), set(self.synsets(b))
        if not left or not right:
            return ""
        if set(self.lemmas(a)) & set(self.lemmas(b)):
            return "form"
        if left & right:
            return "synonym"
        if self._are_antonyms(a, b) or self._are_antonyms(b, a):
            return "antonym"
        if any(right & self.hypernym_closure(synset).keys() for synset in left):
            return "hypernym"
        if any(left & self.hypernym_closure(synset).keys() for synset in right):
            return "hyponym"
        parents = [{parent for synset in synsets for parent in self.hypernyms(synset)} for synsets in (left, right)]
        return "co-hyponym" if (parents[0] & parents[1]) - {VERB_ROOT} else ""

    def _are_antonyms(self, a: str, b: str) -> bool:
        return any(not set(self.lemmas(b)).isdisjoint(self.reader.antonyms(lemma)) for lemma in self.lemmas(a))


def normalise_word(word: str) -> str:
    """The spelling of lemmas here: lowercase, spaces for underscores."""
    return word.lower().replace("_", " ")


# --- readers ----------------------------------------------------------------------------------------------------------


class _Wn:
    """A lexicon of the package `wn`."""

    def __init__(self, lexicon: Any) -> None:
        import wn
        from wn.morphy import Morphy

        self.name = lexicon.specifier()
        self._net = wn.Wordnet(self.name)
        self._forms = Morphy() if lexicon.language.partition("-")[0] == "en" else lambda word: {None: {word}}

    def lemmas(self, word: str) -> Iterator[str]:
        return (normalise_word(entry.lemma()) for entry in self._entries(word))

    def synsets(self, word: str) -> Iterator[Synset]:
        return (synset for entry in self._entries(word) for synset in entry.synsets())

    def _entries(self, word: str) -> Iterator[Any]:
        """The entries of the word and of its lemmas, each with its part of speech."""
        for pos, forms in self._forms(word).items():
            for form in sorted(forms):
                yield from self._net.words(form, pos=pos)

    def hypernyms(self, synset: Any) -> Iterable[Synset]:
        return synset.get_related("hypernym", "instance_hypernym")

    def pos(self, synset: Any) -> str:
        return synset.pos

    def antonyms(self, lemma: str) -> Iterator[str]:
        for sense in self._net.senses(lemma):
            yield from (normalise_word(other.word().lemma()) for other in sense.get_related("antonym"))


class _Nltk:
    """The WordNet of nltk's data."""

    name = "nltk"

    def __init__(self, net: Any) -> None:
        self._net = net

    def lemmas(self, word: str) -> Iterator[str]:
        lemmas = (self._net.morphy(word.replace(" ", "_"), pos) for pos in "nvar")
        return (normalise_word(lemma) for lemma in lemmas if lemma)

    def synsets(self, word: str) -> Iterable[Synset]:
        return self._net.synsets(word.replace(" ", "_"))

    def hypernyms(self, synset: Any) -> Iterable[Synset]:
        return [*synset.hypernyms(), *synset.instance_hypernyms()]

    def pos(self, synset: Any) -> str:
        return synset.pos()

    def antonyms(self, lemma: str) -> Iterator[str]:
        entries = (entry for synset in self.synsets(lemma) for entry in synset.lemmas())
        same = (entry for entry in entries if normalise_word(entry.name()) == lemma)
        return (normalise_word(other.name()) for entry in same for other in entry.antonyms())


def open_wordnet(name: str = "") -> WordNet:
    """The WordNet of this name (nltk, or a lexicon of `wn` such as oewn:2024); otherwise whichever is installed."""
    if name and name != "nltk":
        known = {lexicon.specifier(): lexicon for lexicon in _lexicons()}
        if name not in known:
            raise unknown("lexicon", name, [*known, "nltk"])
        return WordNet(_Wn(known[name]))
    lexicons = [] if name else _lexicons()
    english = [lexicon for lexicon in lexicons if lexicon.language.partition("-")[0] == "en"]
    for lexicon in [*english, *lexicons]:
        return WordNet(_Wn(lexicon))
    net = _nltk()
    if net is None:
        raise FirthError("no WordNet is installed", do=_INSTALL)
    return WordNet(_Nltk(net))


def _lexicons() -> list[Any]:
    """The lexicons that `wn` has; its database is not created by asking."""
    if find_spec("wn") is None:
        return []
    import wn

    return wn.lexicons() if wn.config.database_path.is_file() else []


def _nltk() -> Any:
    """nltk's WordNet reader, if both the package and its data are installed."""
    if find_spec("nltk") is None:
        return None
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    except Exception as error:  # of any kind, since its reader assumes complete files
        what = f"nltk's WordNet is damaged or incomplete ({error})"
        raise FirthError(what, do="python -m nltk.downloader --force wordnet") from error
    return wordnet


# --- as a test set ----------------------------------------------------------------------------------------------------


def wordnet_pairs(
    net: WordNet, vectors: WordVectors, count: int = 1000, max_vocab: int = 10_000, seed: int = 0
) -> list[Pair]:
    """A similarity test set: pairs of frequent words with their Wu-Palmer similarity, balanced over its range."""
    from firth.datasets.records import Pair
    from firth.embeddings.lookup import most_frequent
    from firth.types import generator

    words = [word for word in (vectors.words[n] for n in most_frequent(vectors, max_vocab)) if word.isalpha()]
    words = [word for word in words if any(map(net.hypernyms, net.synsets(word)))]
    if len(words) < 2:
        what = f"{len(words)} of the frequent words are nouns or verbs of {net.name}"
        raise FirthError(what, do="give vectors of the lexicon's language")
    bins: dict[int, dict[tuple[str, str], float]] = {}
    for i, j in generator(seed, "wordnet").integers(0, len(words), (TRIES_PER_PAIR * count, 2)).tolist():
        pair = words[min(i, j)], words[max(i, j)]
        if i != j and (value := net.wup_similarity(*pair)) > 0:
            bins.setdefault(min(int(value * SIMILARITY_BINS), SIMILARITY_BINS - 1), {})[pair] = value
    per_bin = -(-count // SIMILARITY_BINS)
    balanced = (item for key in sorted(bins) for item in list(bins[key].items())[:per_bin])
    return [Pair(left, right, score=value) for (left, right), value in balanced]
