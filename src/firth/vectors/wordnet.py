"""WordNet, through `wn` or nltk, whichever is there with its data: meanings, what lies above them, how near they are.

A synset is a value of the reader's own; it can be compared and be a key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

from firth.errors import FirthError, unknown

if TYPE_CHECKING:
    from firth.data.records import Pair
    from firth.vectors.store import WordVectors

Synset = Hashable
RELATIONS = ("form", "synonym", "antonym", "hypernym", "hyponym", "co-hyponym")  # the first that holds is told
VERB_ROOT = "verbs"  # WordNet's verbs have many tops; this stands above them all
TENTHS, TRIES = 10, 12  # of the evaluation: equal steps of likeness, and pairs that are tried for one that is kept
_INSTALL = (
    "pip install 'firth[wordnet]' and then python -m wn download oewn:2024, "
    "or pip install nltk and then python -m nltk.downloader wordnet"
)


class Reader(Protocol):
    """What is asked of a package that reads WordNet; words are in small letters, with blanks inside."""

    name: str

    def bases(self, word: str) -> Iterable[str]: ...
    def synsets(self, word: str) -> Iterable[Synset]: ...
    def above(self, synset: Synset) -> Iterable[Synset]: ...
    def part(self, synset: Synset) -> str: ...
    def antonyms(self, base: str) -> Iterable[str]: ...


class WordNet:
    """Meanings of words, in a net of what is a kind of what."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.name = reader, reader.name
        self._bases: dict[str, tuple[str, ...]] = {}
        self._synsets: dict[str, tuple[Synset, ...]] = {}
        self._above: dict[Synset, tuple[Synset, ...]] = {}
        self._closures: dict[Synset, dict[Synset, int]] = {}
        self._depths: dict[Synset, int] = {}

    def bases(self, word: str) -> tuple[str, ...]:
        """The words of the lexicon that this is, or is a form of."""
        if word not in self._bases:
            self._bases[word] = tuple(dict.fromkeys(self.reader.bases(plain(word))))
        return self._bases[word]

    def synsets(self, word: str) -> tuple[Synset, ...]:
        """The word's meanings; none if it is not in the lexicon."""
        if word not in self._synsets:
            self._synsets[word] = tuple(dict.fromkeys(self.reader.synsets(plain(word))))
        return self._synsets[word]

    def above(self, synset: Synset) -> tuple[Synset, ...]:
        """What this is directly a kind (or an instance) of."""
        if synset not in self._above:
            found = tuple(self.reader.above(synset)) if synset != VERB_ROOT else ()
            rooted = not found and synset != VERB_ROOT and self.reader.part(synset) == "v"
            self._above[synset] = (VERB_ROOT,) if rooted else found
        return self._above[synset]

    def closure(self, synset: Synset) -> dict[Synset, int]:
        """The synset itself and all that lie above it, with the fewest steps to each."""
        if synset not in self._closures:
            found, now = {synset: 0}, [synset]
            while now:
                further = [up for one in now for up in self.above(one) if up not in found]
                found |= dict.fromkeys(further, found[now[0]] + 1)
                now = list(dict.fromkeys(further))
            self._closures[synset] = found
        return self._closures[synset]

    def depth(self, synset: Synset) -> int:
        """The synsets on the longest way to the top, both counted."""
        if synset not in self._depths:
            self._depths[synset] = 1  # met again on the way up: a circle, and WordNet 3.0 has one
            self._depths[synset] = 1 + max(map(self.depth, self.above(synset)), default=0)
        return self._depths[synset]

    # --- how near -----------------------------------------------------------------------------------------------------

    def path_similarity(self, a: str, b: str) -> float:
        """1 / (1 + the fewest steps up and down between any of their meanings); 0 where no way leads."""
        return max((1 / (1 + i + j) for _, i, j in self._meetings(a, b)), default=0.0)

    def wu_palmer(self, a: str, b: str) -> float:
        """Wu and Palmer 1994: 2d / (i + j + 2d), with d the depth of what lies above both, i and j steps below it.

        The largest over their meanings and all that lie above both; 0 where nothing does.
        """
        found = ((2 * self.depth(top), i + j) for top, i, j in self._meetings(a, b))
        return max((twice / (steps + twice) for twice, steps in found), default=0.0)

    def _meetings(self, a: str, b: str) -> Iterator[tuple[Synset, int, int]]:
        """What lies above a meaning of each, and the steps to it."""
        for one, other in product(self.synsets(a), self.synsets(b)):
            left, right = self.closure(one), self.closure(other)
            yield from ((top, left[top], right[top]) for top in left.keys() & right.keys())

    def relation(self, a: str, b: str) -> str:
        """What `b` is to `a`, in any of their meanings: one of RELATIONS, or nothing."""
        one, other = set(self.synsets(a)), set(self.synsets(b))
        if not one or not other:
            return ""
        if set(self.bases(a)) & set(self.bases(b)):
            return "form"
        if one & other:
            return "synonym"
        if self._opposed(a, b) or self._opposed(b, a):
            return "antonym"
        if any(other & self.closure(synset).keys() for synset in one):
            return "hypernym"
        if any(one & self.closure(synset).keys() for synset in other):
            return "hyponym"
        tops = [{up for synset in synsets for up in self.above(synset)} - {VERB_ROOT} for synsets in (one, other)]
        return "co-hyponym" if tops[0] & tops[1] else ""

    def _opposed(self, a: str, b: str) -> bool:
        return any(not set(self.bases(b)).isdisjoint(self.reader.antonyms(base)) for base in self.bases(a))


def plain(word: str) -> str:
    """The word as lexicons spell it here: small letters, blanks for underscores."""
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

    def bases(self, word: str) -> Iterator[str]:
        return (plain(entry.lemma()) for entry in self._words(word))

    def synsets(self, word: str) -> Iterator[Synset]:
        return (synset for entry in self._words(word) for synset in entry.synsets())

    def _words(self, word: str) -> Iterator[Any]:
        """The entries of the word and of those it is a form of, each in the part of speech that it is one in."""
        for part, forms in self._forms(word).items():
            for form in sorted(forms):
                yield from self._net.words(form, pos=part)

    def above(self, synset: Any) -> Iterable[Synset]:
        return synset.get_related("hypernym", "instance_hypernym")

    def part(self, synset: Any) -> str:
        return synset.pos

    def antonyms(self, base: str) -> Iterator[str]:
        for sense in self._net.senses(base):
            yield from (plain(other.word().lemma()) for other in sense.get_related("antonym"))


class _Nltk:
    """The WordNet of nltk's data."""

    name = "nltk"

    def __init__(self, net: Any) -> None:
        self._net = net

    def bases(self, word: str) -> Iterator[str]:
        found = (self._net.morphy(word.replace(" ", "_"), part) for part in "nvar")
        return (plain(base) for base in found if base)

    def synsets(self, word: str) -> Iterable[Synset]:
        return self._net.synsets(word.replace(" ", "_"))

    def above(self, synset: Any) -> Iterable[Synset]:
        return [*synset.hypernyms(), *synset.instance_hypernyms()]

    def part(self, synset: Any) -> str:
        return synset.pos()

    def antonyms(self, base: str) -> Iterator[str]:
        lemmas = (lemma for synset in self.synsets(base) for lemma in synset.lemmas() if plain(lemma.name()) == base)
        return (plain(other.name()) for lemma in lemmas for other in lemma.antonyms())


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
    """What `wn` has; a database is not made by looking for it."""
    if find_spec("wn") is None:
        return []
    import wn

    return wn.lexicons() if wn.config.database_path.is_file() else []


def _nltk() -> Any:
    """nltk's reader, if both the package and its data are there."""
    if find_spec("nltk") is None:
        return None
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    except Exception as error:  # of all kinds, since its reader takes whole files for granted
        what = f"nltk's WordNet is damaged or not whole ({error})"
        raise FirthError(what, do="python -m nltk.downloader --force wordnet") from error
    return wordnet


# --- as an evaluation -------------------------------------------------------------------------------------------------


def wordnet_pairs(
    net: WordNet, vectors: WordVectors, count: int = 1000, among: int = 10_000, seed: int = 0
) -> list[Pair]:
    """Pairs of frequent words of the vocabulary with their likeness by Wu and Palmer, as many of each tenth of it."""
    from firth.data.randomness import generator
    from firth.data.records import Pair
    from firth.vectors.asking import frequent

    words = [word for word in (vectors.words[n] for n in frequent(vectors, among)) if word.isalpha()]
    words = [word for word in words if any(map(net.above, net.synsets(word)))]
    if len(words) < 2:
        what = f"{len(words)} of the frequent words are nouns or verbs of {net.name}"
        raise FirthError(what, do="give vectors of the lexicon's language")
    bins: dict[int, dict[tuple[str, str], float]] = {}
    for one, other in generator(seed, "wordnet").integers(0, len(words), (TRIES * count, 2)).tolist():
        pair = words[min(one, other)], words[max(one, other)]
        if one != other and (value := net.wu_palmer(*pair)) > 0:
            bins.setdefault(min(int(value * TENTHS), TENTHS - 1), {})[pair] = value
    kept = (item for tenth in sorted(bins) for item in list(bins[tenth].items())[: -(-count // TENTHS)])
    return [Pair(left, right, score=value) for (left, right), value in kept]
