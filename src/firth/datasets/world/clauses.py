"""The phrases and clauses of the grammar: noun phrases with relative clauses, verb phrases with subject agreement.

Agreement and tense are arguments of the methods (features of the nonterminals), so a verb agrees with its subject at
any distance. The docstring of a method is an example of what it generates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from firth.datasets.world.lexicon import Animacy, City, Lexicon, Number, Tense, Verb, VerbForm
from firth.datasets.world.phrase_structure import Agreement, Compound, Word, rule
from firth.datasets.world.probabilities import ANIMACIES, DETERMINERS, NUMBERS, TENSES, Weights
from firth.datasets.world.weighted_grammar import Nonterminal, Production, nonterminal, production
from firth.datasets.world.word_forms import THAT, Inflector, function_word, proper_noun

LIVE = Verb("live", "lives", "lived")

# Rules that several productions share: relations to the head (*), brackets, order in the second language.
UNARY = rule("*", "{}")
NAME = {1: rule("*", "(NP {})"), 2: rule("* flat", "(NP {} {})")}
NOUN_PHRASE = rule("det *", "(NP {} {})", 1, 0)
RELATIVE = rule("det * acl:relcl", "(NP (NP {} {}) {})", 1, 0, Agreement(2, 1))
CLAUSE = rule("nsubj *", "{} {}")
WITH_OBJECT = rule("* obj", "", 1, "o", 0)
WITH_PLACE = rule("* obl", "", 1, 0)
PLACE = rule("case *", "(PP {} {})", 1, 0)
VERB = {1: rule("*", "(VP {}{{}})"), 2: rule("aux *", "(VP {} (VP {}{{}}))", Compound(0, 1))}
BARE_VERB = {1: rule("*", "(VP {})"), 2: rule("aux *", "(VP {} (VP {}))", Compound(0, 1))}
COPULAR = rule("nsubj cop *", "{} (VP {} (ADJP {}))", 0, Agreement(2, 0))


def memoised(make: Callable[..., Nonterminal]) -> Callable[..., Nonterminal]:
    """One nonterminal for the same arguments: sentences share it, so its sums are computed once."""

    @wraps(make)
    def cached(self, *arguments) -> Nonterminal:
        key = (make.__name__, *arguments)
        if key not in self._memo:
            self._memo[key] = make(self, *arguments)
        return self._memo[key]

    return cached


class Clauses:
    """The nonterminals below the sentence, built lazily; `depth` limits nested relative clauses."""

    def __init__(self, lexicon: Lexicon, weights: Weights, depth: int) -> None:
        self.lexicon, self.weights, self.depth = lexicon, weights, depth
        self.inflector = Inflector(lexicon)
        self._memo: dict[tuple, Nonterminal] = {}

    # --- clauses and verbs ---

    @memoised
    def transitive_clause(self, depth: int, tenses: tuple[Tense, ...]) -> Nonterminal:
        """The dogs that the cat sees like the boat."""
        return nonterminal(
            "clause",
            [
                production(
                    weight,
                    CLAUSE,
                    self.noun_phrase("animate", number, depth),
                    self.transitive_verb_phrase(number, depth, tenses),
                )
                for number, weight in zip(NUMBERS, self.weights.number, strict=True)
            ],
        )

    @memoised
    def transitive_verb_phrase(self, number: Number, depth: int, tenses: tuple[Tense, ...]) -> Nonterminal:
        """Sees the boat."""
        sees = self.verb(self.lexicon.transitive_verbs, number, tenses)
        return nonterminal("verb phrase", [production(1, WITH_OBJECT, sees, self.object_phrase(ANIMACIES, depth))])

    @memoised
    def intransitive_verb(self, tenses: tuple[Tense, ...]) -> Nonterminal:
        """Smiles."""
        return self.verb(self.lexicon.intransitive_verbs, "singular", tenses, False)

    @memoised
    def verb(
        self, verbs: tuple[Verb, ...], number: Number, tenses: tuple[Tense, ...], has_complement: bool = True
    ) -> Nonterminal:
        """A verb in one of the tenses that agrees with its subject; `has_complement`: an object or a place follows."""
        weights = dict(zip(TENSES, self.weights.tense, strict=True))
        return self.verb_among([(verb, number, t, weights[t]) for t in tenses for verb in verbs], has_complement)

    def verb_among(self, forms: list[tuple[Verb, Number, Tense, float]], has_complement: bool = True) -> Nonterminal:
        """One of these verb forms."""
        rules = VERB if has_complement else BARE_VERB
        inflected = [
            (self.inflector.verb(verb, n, tense), VerbForm(verb, n, tense), weight) for verb, n, tense, weight in forms
        ]
        return nonterminal(
            "verb", [production(weight, rules[len(words)], words, meaning=form) for words, form, weight in inflected]
        )

    @memoised
    def copular_clause(self, depth: int) -> Nonterminal:
        """The boats that the cat sees are red."""
        productions = []
        for animacy, animacy_weight in zip(ANIMACIES, self.weights.animacy, strict=True):
            for number, weight in zip(NUMBERS, self.weights.number, strict=True):
                parts = (
                    self.bare_noun_phrase(animacy, number, depth),
                    self.inflector.be(number),
                    self.predicate_adjective(number),
                )
                productions.append(production(animacy_weight * weight, COPULAR, *parts))
        return nonterminal("clause", productions)

    @memoised
    def predicate_adjective(self, number: Number) -> Nonterminal:
        """Red, big."""
        forms = (*self.lexicon.colours, *self.lexicon.sizes)
        return nonterminal(
            "adjective", [production(1, UNARY, self.inflector.adjective(f, number), meaning=f) for f in forms]
        )

    # --- noun phrases ---

    @memoised
    def prepositional_phrase(self, preposition: str, only: City | None, without: City | None) -> Nonterminal:
        """To Oslo: one city, any, or any but one."""
        cities = (only,) if only else [c for c in self.lexicon.cities if c != without]
        city = nonterminal("city", [self.name_production(1, proper_noun(c.name, "LOC"), c) for c in cities])
        return nonterminal("place", [production(1, PLACE, function_word(preposition), city)])

    @memoised
    def object_phrase(self, animacies: tuple[Animacy, ...], depth: int) -> Nonterminal:
        """A noun phrase of any of these animacies and any number."""
        animacy_weight = dict(zip(ANIMACIES, self.weights.animacy, strict=True))
        numbers = tuple(zip(NUMBERS, self.weights.number, strict=True))
        rows = [(animacy_weight[k] * weight, self.noun_phrase(k, n, depth)) for k in animacies for n, weight in numbers]
        return nonterminal("object", [production(weight, UNARY, phrase) for weight, phrase in rows])

    @memoised
    def noun_phrase(self, animacy: Animacy, number: Number, depth: int) -> Nonterminal:
        """The big red box that the cats like."""
        the, nominal = self.determiner(number), self.nominal(animacy, number)
        whole = nonterminal(f"{animacy} noun phrase", [production(1, NOUN_PHRASE, the, nominal)])
        if depth <= 0:
            return whole
        plain, related = self.weights.relative
        qualified = related * self._adjective_clause_fraction(animacy)
        productions = [
            production(plain, UNARY, whole),
            production(related - qualified, RELATIVE, the, nominal, self.relative_clause(animacy, number, depth - 1)),
            production(qualified, RELATIVE, the, self.noun(animacy, number), self.copular_relative_clause(number)),
        ]
        return nonterminal(f"{animacy} noun phrase", productions)

    @memoised
    def bare_noun_phrase(self, animacy: Animacy, number: Number, depth: int) -> Nonterminal:
        """The box that the cats like: without adjectives of colour and size."""
        parts = (self.determiner(number), self.noun(animacy, number))
        plain, related = self.weights.relative if depth > 0 else (1, 0)
        productions = [production(plain, NOUN_PHRASE, *parts)]
        if related:
            productions.append(production(related, RELATIVE, *parts, self.relative_clause(animacy, number, depth - 1)))
        return nonterminal(f"{animacy} noun phrase", productions)

    def _adjective_clause_fraction(self, animacy: Animacy) -> float:
        """The fraction of relative clauses with a predicate adjective; their noun has no attributive one."""
        sees, seen, is_so, lives = self.weights.clause
        return is_so / (seen + is_so + (sees + lives if animacy == "animate" else 0))

    @memoised
    def determiner(self, number: Number) -> Nonterminal:
        """The, every, some."""
        words = DETERMINERS[number].items()
        return nonterminal(
            "determiner", [production(weight, UNARY, function_word(word), meaning=word) for word, weight in words]
        )

    @memoised
    def nominal(self, animacy: Animacy, number: Number) -> Nonterminal:
        """Big red box: adjectives of size come before those of colour."""
        noun = self.noun(animacy, number)
        sizes, colours = self.lexicon.sizes, self.lexicon.colours
        big = nonterminal(
            "adjective", [production(1, UNARY, self.inflector.adjective(s, number), meaning=s) for s in sizes]
        )
        red = nonterminal("adjective", [production(1, UNARY, self.inflector.colour(c), meaning=c) for c in colours])
        (no_size, size), (no_colour, colour) = self.weights.size, self.weights.colour
        rows = (
            production(no_size * no_colour, UNARY, noun),
            production(no_size * colour, rule("amod *", "{} {}", Compound(0, 1)), red, noun),
            production(size * no_colour, rule("amod *", "{} {}", 1, Agreement(0, 1)), big, noun),
            production(size * colour, rule("amod amod *", "{} {} {}", Compound(1, 2), Agreement(0, 2)), big, red, noun),
        )
        return nonterminal("nominal", rows)

    @memoised
    def noun(self, animacy: Animacy, number: Number) -> Nonterminal:
        """Box."""
        nouns = self.lexicon.animate_nouns if animacy == "animate" else self.lexicon.inanimate_nouns
        return nonterminal("noun", [production(1, UNARY, self.inflector.noun(n, number), meaning=n) for n in nouns])

    @memoised
    def relative_clause(self, animacy: Animacy, number: Number, depth: int) -> Nonterminal:
        """That sees the cat, that the cat sees, that lives in Oslo."""
        sees, seen, _, lives = self.weights.clause
        that, subject = THAT["relative"], rule("nsubj *", "(SBAR (WHNP {}) (S {}))")
        productions = [production(seen, rule("obj *", "(SBAR (WHNP {}) (S {}))"), that, self.object_gap_clause(depth))]
        if animacy == "animate":
            productions.append(production(sees, subject, that, self.transitive_verb_phrase(number, depth, TENSES)))
            productions.append(production(lives, subject, that, self.residence_phrase(number)))
        return nonterminal("relative clause", productions)

    @memoised
    def copular_relative_clause(self, number: Number) -> Nonterminal:
        """That is red."""
        structure = rule("nsubj cop *", "(SBAR (WHNP {}) (S (VP {} (ADJP {}))))", 0, 2)
        parts = (THAT["relative"], self.inflector.be(number), self.predicate_adjective(number))
        return nonterminal("relative clause", [production(1, structure, *parts)])

    @memoised
    def residence_phrase(self, number: Number) -> Nonterminal:
        """Lives in Oslo."""
        lives = self.verb((LIVE,), number, TENSES)
        return nonterminal(
            "verb phrase", [production(1, WITH_PLACE, lives, self.prepositional_phrase("in", None, None))]
        )

    @memoised
    def object_gap_clause(self, depth: int) -> Nonterminal:
        """The cat sees: a clause with an object gap, filled by the noun before it."""
        productions = []
        for number, weight in zip(NUMBERS, self.weights.number, strict=True):
            sees = self.verb(self.lexicon.transitive_verbs, number, TENSES, False)
            productions.append(production(weight, CLAUSE, self.noun_phrase("animate", number, depth), sees))
        return nonterminal("clause", productions)

    @staticmethod
    def name_production(weight: float, words: tuple[Word, ...], meaning: object) -> Production:
        return production(weight, NAME[len(words)], words, meaning=meaning)
