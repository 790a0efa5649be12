"""The sentence grammar of the world's English: kinds of sentences, their weights and their phrase structure.

The grammar is unambiguous: a clause after `that` directly follows its noun, and sentences of two kinds differ in their
subject, their verb or its complement. The docstring of a method is an example of what it generates.
"""

from __future__ import annotations

from firth.datasets.world import entailment
from firth.datasets.world.clauses import (
    CLAUSE,
    NAME,
    NOUN_PHRASE,
    PLACE,
    UNARY,
    WITH_OBJECT,
    WITH_PLACE,
    Clauses,
    memoised,
)
from firth.datasets.world.lexicon import City, Job, Lexicon, Noun, Person, Polarity, Scene, Tense, Verb
from firth.datasets.world.phrase_structure import Agreement, rule
from firth.datasets.world.probabilities import NUMBERS, TENSES, TIMES, Weights
from firth.datasets.world.weighted_grammar import Nonterminal, Production, nonterminal, production, with_productions
from firth.datasets.world.word_forms import THAT, function_word, proper_noun

WORK, SAY = Verb("work", "works", "worked"), Verb("say", "says", "said")

SENTENCE = rule("* punct", "(S {} {})")
SUBJECT_PREDICATE = rule("nsubj * punct", "(S {} {} {})")
FEELING = rule("nsubj cop * advcl punct", "(S {} (VP {} (ADJP {}) {}) {})", 0, Agreement(2, 0), 3, 4)
COPULAR_SENTENCE = rule("nsubj cop * punct", "(S {} (VP {} {}) {})", 0, 2, 3)
NOMINAL_COPULAR = rule("nsubj cop *", "{} (VP {} {})", 0, 2)
COMPARATIVE = rule("* obl", "(ADJP {} {})", 1, 0)
SUBORDINATE = rule("mark *", "(SBAR {} (S {}))", 1, 0)


class Grammar(Clauses):
    """The nonterminals of documents and sentences."""

    def __init__(self, lexicon: Lexicon, weights: Weights, depth: int) -> None:
        super().__init__(lexicon, weights, depth)
        self._sentence_kinds: Nonterminal | None = None  # of one scene: all scenes have the same weights

    # --- documents ---

    @memoised
    def length(self) -> Nonterminal:
        """The number of sentences of a document, as full stops."""
        stop = function_word(".")
        rules = [rule(" ".join("*" + "p" * n), "{}" * (n + 1)) for n in range(len(self.weights.sentences))]
        counts = enumerate(zip(self.weights.sentences, rules, strict=True), start=1)
        return nonterminal(
            "length", [production(weight, structure, *[stop] * count) for count, (weight, structure) in counts]
        )

    @memoised
    def opening(self) -> Nonterminal:
        """Anna is a cheerful baker from Oslo."""
        parts = (self.person(None), function_word("is"), self.occupation_phrase(), function_word("."))
        return nonterminal("sentence", [production(1, COPULAR_SENTENCE, *parts, meaning=entailment.OPENING)])

    @memoised
    def occupation_phrase(self) -> Nonterminal:
        """A cheerful baker from Oslo."""
        job = nonterminal(
            "noun", [production(1, UNARY, self.inflector.job(j.name), meaning=j) for j in self.lexicon.jobs]
        )
        structure = rule("det amod * nmod", "(NP (NP {} {} {}) {})", 3, 2, Agreement(1, 2))
        origin = self.prepositional_phrase("from", None, None)
        rows = (
            (m, function_word(_indefinite_article(m.name)), self.inflector.adjective(m.name, "singular"))
            for m in self.lexicon.moods
        )
        return nonterminal(
            "noun phrase", [production(1, structure, a, mood, job, origin, meaning=m) for m, a, mood in rows]
        )

    def sentence(self, scene: Scene) -> Nonterminal:
        """Any sentence after the first."""
        hero, other, depth, stop = self.hero(scene.hero), self.person(scene.hero), self.depth, function_word(".")
        rows = (
            (SENTENCE, self.hero_clause(scene.hero), stop),
            (SUBJECT_PREDICATE, hero, self.intransitive_verb(TENSES), stop),
            (SUBJECT_PREDICATE, hero, self.travel_phrase(scene.home), stop),
            (SUBJECT_PREDICATE, hero, self.work_phrase(scene.job), stop),
            (FEELING, hero, function_word("is"), self.mood(scene.polarity), self.reason_clause(scene.polarity), stop),
            (COPULAR_SENTENCE, hero, function_word("is"), self.age_comparison(scene.hero), stop),
            (
                SUBJECT_PREDICATE,
                self.coordinated_subject(scene.hero),
                self.transitive_verb_phrase("plural", depth, TENSES),
                stop,
            ),
            (SENTENCE, self.transitive_clause(depth, TENSES), stop),
            (SENTENCE, self.copular_clause(depth), stop),
            (SENTENCE, self.size_comparison_clause(), stop),
            (SENTENCE, self.capital_clause(scene.home), stop),
            (SUBJECT_PREDICATE, other, self.reporting_phrase(), stop),
            (SENTENCE, self.temporal_clause(scene.hero), stop),
        )
        kinds = zip(self.weights.story, rows, entailment.STORY, strict=True)
        productions = tuple([Production(weight, parts[1:], parts[0], kind) for weight, parts, kind in kinds if weight])
        if self._sentence_kinds is None:
            self._sentence_kinds = Nonterminal("sentence", productions)
        return with_productions(self._sentence_kinds, productions)

    # --- the hero ---

    @memoised
    def person(self, without: Person | None) -> Nonterminal:
        """Any person by name, or any other person."""
        people = [p for p in self.lexicon.people if p != without]
        return nonterminal("person", [self.name_production(1, self.inflector.person(p), p) for p in people])

    @memoised
    def hero(self, who: Person) -> Nonterminal:
        """Anna, she."""
        named, pronoun = self.weights.pronoun
        by_pronoun = production(pronoun, NAME[1], function_word(who.pronoun), meaning=who)
        return nonterminal("hero", [self.name_production(named, self.inflector.person(who), who), by_pronoun])

    @memoised
    def coordinated_subject(self, who: Person) -> Nonterminal:
        """Anna and Tom."""
        first = nonterminal("person", [self.name_production(1, self.inflector.person(who), who)])
        second = nonterminal("person", [production(1, rule("cc *", "{} {}"), function_word("and"), self.person(who))])
        return nonterminal("persons", [production(1, rule("* conj", "(NP {} {})"), first, second)])

    @memoised
    def hero_clause(self, who: Person) -> Nonterminal:
        """Yesterday Anna saw the dog."""
        productions = []
        with_adverb = rule("advmod nsubj *", "(ADVP {}) {} {}", 1, 0, 2)
        without, with_time = self.weights.time
        for tense, weight in zip(TENSES, self.weights.tense, strict=True):
            parts = (self.hero(who), self.transitive_verb_phrase("singular", self.depth, (tense,)))
            productions.append(production(weight * without, CLAUSE, *parts))
            productions.append(production(weight * with_time, with_adverb, self.time(tense), *parts))
        return nonterminal("clause", productions)

    @memoised
    def time(self, tense: Tense) -> Nonterminal:
        """Yesterday."""
        return nonterminal("adverb", [production(1, UNARY, function_word(time), meaning=time) for time in TIMES[tense]])

    @memoised
    def temporal_clause(self, who: Person) -> Nonterminal:
        """When the dog saw the cat, Anna smiled: both verbs of one tense."""
        productions = []
        structure = rule("advcl punct nsubj *", "{} {} {} {}")
        for tense, weight in zip(TENSES[:2], self.weights.tense[:2], strict=True):
            event = self.transitive_clause(self.depth - 1, (tense,))
            when = rule("mark *", "(SBAR (WHADVP {}) (S {}))", 1, 0)
            clause = nonterminal("subordinate", [production(1, when, function_word("when"), event)])
            productions.append(
                production(
                    weight, structure, clause, function_word(","), self.hero(who), self.intransitive_verb((tense,))
                )
            )
        return nonterminal("clause", productions)

    @memoised
    def work_phrase(self, job: Job) -> Nonterminal:
        """Works in the bakery."""
        inside = rule("case det *", "(PP {} (NP {} {}))", 2, 1, 0)
        parts = (function_word("in"), function_word("the"), self.inflector.place(job.place, job.name))
        place = nonterminal("place", [production(1, inside, *parts, meaning=job)])
        return nonterminal("verb phrase", [production(1, WITH_PLACE, self.verb((WORK,), "singular", TENSES), place)])

    @memoised
    def travel_phrase(self, home: City) -> Nonterminal:
        """Flies from Oslo to Rome."""
        flies = self.verb(self.lexicon.motion_verbs, "singular", TENSES)
        structure = rule("* obl obl", "", 1, 2, 0)
        parts = (flies, self.prepositional_phrase("from", home, None), self.prepositional_phrase("to", None, home))
        return nonterminal("verb phrase", [production(1, structure, *parts)])

    @memoised
    def reporting_phrase(self) -> Nonterminal:
        """Says that the dog saw the cat."""
        says = self.verb_among([(SAY, "singular", "present", 1), (SAY, "singular", "past", 1)])
        structure = rule("mark *", "(SBAR {} (S {}))", 1)
        reported = nonterminal(
            "subordinate", [production(1, structure, THAT["reported"], self.transitive_clause(self.depth, TENSES))]
        )
        return nonterminal("verb phrase", [production(1, rule("* ccomp", "", 1, 0), says, reported)])

    @memoised
    def mood(self, polarity: Polarity) -> Nonterminal:
        """Happy."""
        moods = [mood for mood in self.lexicon.moods if mood.polarity == polarity]
        return nonterminal(
            "adjective", [production(1, UNARY, self.inflector.adjective(m.name, "singular"), meaning=m) for m in moods]
        )

    @memoised
    def age_comparison(self, who: Person) -> Nonterminal:
        """Older than Tom: true by the order of the people in the lexicon."""
        people = self.lexicon.people
        rank = people.index(who)
        others = [(i, p) for i, p in enumerate(people) if p != who]
        rows = [(function_word("older" if i < rank else "younger"), self._than_person(p)) for i, p in others]
        return nonterminal("comparison", [production(1, COMPARATIVE, *parts) for parts in rows])

    @memoised
    def _than_person(self, who: Person) -> Nonterminal:
        named = nonterminal("person", [self.name_production(1, self.inflector.person(who), who)])
        return nonterminal("place", [production(1, PLACE, function_word("than"), named)])

    @memoised
    def reason_clause(self, polarity: Polarity) -> Nonterminal:
        """Because the dog found the key."""
        verbs = self.lexicon.positive_verbs if polarity == "good" else self.lexicon.negative_verbs
        productions = []
        for number, weight in zip(NUMBERS, self.weights.number, strict=True):
            verb = self.verb_among([(entry, number, "past", 1) for entry in verbs])
            parts = (verb, self.object_phrase(("inanimate",), 0))
            verb_phrase = nonterminal("verb phrase", [production(1, WITH_OBJECT, *parts)])
            productions.append(production(weight, CLAUSE, self.noun_phrase("animate", number, 0), verb_phrase))
        event = nonterminal("clause", productions)
        return nonterminal("subordinate", [production(1, SUBORDINATE, function_word("because"), event)])

    # --- facts ---

    @memoised
    def size_comparison_clause(self) -> Nonterminal:
        """The boat is bigger than the cup: true by the order of the nouns in the lexicon."""
        nouns = enumerate(self.lexicon.inanimate_nouns)
        return nonterminal(
            "clause",
            [
                production(
                    1, NOMINAL_COPULAR, self._definite_noun_phrase(t), function_word("is"), self.size_comparison(i)
                )
                for i, t in nouns
            ],
        )

    @memoised
    def size_comparison(self, index: int) -> Nonterminal:
        """Bigger than the cup: one noun and any other."""
        others = [(i, t) for i, t in enumerate(self.lexicon.inanimate_nouns) if i != index]
        rows = [(function_word("bigger" if i < index else "smaller"), self._than_noun(t)) for i, t in others]
        return nonterminal("comparison", [production(1, COMPARATIVE, *parts) for parts in rows])

    @memoised
    def _than_noun(self, noun: Noun) -> Nonterminal:
        return nonterminal("place", [production(1, PLACE, function_word("than"), self._definite_noun_phrase(noun))])

    @memoised
    def _definite_noun_phrase(self, noun: Noun) -> Nonterminal:
        return nonterminal(
            "noun phrase",
            [production(1, NOUN_PHRASE, function_word("the"), self.inflector.noun(noun, "singular"), meaning=noun)],
        )

    @memoised
    def capital_clause(self, home: City) -> Nonterminal:
        """Oslo is the capital of Norway: most often about the hero's home."""
        weight = self.weights.home
        rows = [(weight if c == home else 1, self._city(c), self._capital(c)) for c in self.lexicon.cities]
        return nonterminal(
            "clause", [production(w, NOMINAL_COPULAR, city, function_word("is"), capital) for w, city, capital in rows]
        )

    @memoised
    def _city(self, city: City) -> Nonterminal:
        return nonterminal("city", [self.name_production(1, proper_noun(city.name, "LOC"), city)])

    @memoised
    def _capital(self, city: City) -> Nonterminal:
        """The capital of Norway."""
        country = nonterminal("country", [self.name_production(1, proper_noun(city.country, "LOC"), None)])
        of = nonterminal("place", [production(1, PLACE, function_word("of"), country)])
        structure = rule("det * nmod", "(NP (NP {} {}) {})", 2, 1, 0)
        return nonterminal(
            "noun phrase", [production(1, structure, function_word("the"), function_word("capital"), of)]
        )


def _indefinite_article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
