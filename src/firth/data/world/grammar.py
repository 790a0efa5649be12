"""English sentences about the world: the kinds there are, with which weights, and how their parts hang together.

No text has two derivations: a clause after `that` follows its noun at once, and sentences of two kinds differ in their
subject, their verb or what follows it.
"""

from __future__ import annotations

from firth.data.world import frames
from firth.data.world.chance import Choice, Option, choose, option, variant
from firth.data.world.clauses import CLAUSE, NAME, NOUN_PHRASE, PLACE, SAME, WITH_OBJECT, WITH_PLACE, Clauses, once
from firth.data.world.lexicon import City, Job, Lexicon, Noun, Person, Scene, Tense, Tone, Verb
from firth.data.world.phrase import Agree, rule
from firth.data.world.weights import NUMBERS, TENSES, TIMES, Weights
from firth.data.world.words import THAT, name, small

WORK, SAY = Verb("work", "works", "worked"), Verb("say", "says", "said")

SENTENCE = rule("* punct", "(S {} {})")
SPOKEN = rule("nsubj * punct", "(S {} {} {})")
FEELING = rule("nsubj cop * advcl punct", "(S {} (VP {} (ADJP {}) {}) {})", 0, Agree(2, 0), 3, 4)
ASSERTED = rule("nsubj cop * punct", "(S {} (VP {} {}) {})", 0, 2, 3)
IS = rule("nsubj cop *", "{} (VP {} {})", 0, 2)
MORE = rule("* obl", "(ADJP {} {})", 1, 0)
SUBORDINATE = rule("mark *", "(SBAR {} (S {}))", 1, 0)


class Grammar(Clauses):
    """The sentences of the world's English."""

    def __init__(self, lexicon: Lexicon, weights: Weights, depth: int) -> None:
        super().__init__(lexicon, weights, depth)
        self._kinds: Choice | None = None  # of some scene: all have the same weights

    # --- documents ---

    @once
    def length(self) -> Choice:
        """As many full stops as a document has sentences."""
        stop = small(".")
        rules = [rule(" ".join("*" + "p" * n), "{}" * (n + 1)) for n in range(len(self.weights.sentences))]
        counts = enumerate(zip(self.weights.sentences, rules, strict=True), start=1)
        return choose("length", [option(weight, how, *[stop] * count) for count, (weight, how) in counts])

    @once
    def opening(self) -> Choice:
        """Anna is a cheerful baker from Oslo."""
        row = (self.person(None), small("is"), self.calling(), small("."))
        return choose("sentence", [option(1, ASSERTED, *row, means=frames.OPENING)])

    @once
    def calling(self) -> Choice:
        """A cheerful baker from Oslo."""
        job = choose("noun", [option(1, SAME, self.words.job(j.name), means=j) for j in self.lexicon.jobs])
        how = rule("det amod * nmod", "(NP (NP {} {} {}) {})", 3, 2, Agree(1, 2))
        origin = self.place("from", None, None)
        rows = ((m, small(_a(m.name)), self.words.adjective(m.name, "one")) for m in self.lexicon.moods)
        return choose("noun phrase", [option(1, how, a, mood, job, origin, means=m) for m, a, mood in rows])

    def sentence(self, scene: Scene) -> Choice:
        """Any sentence after the first."""
        hero, other, deep, stop = self.hero(scene.hero), self.person(scene.hero), self.depth, small(".")
        rows = (
            (SENTENCE, self.acting(scene.hero), stop),
            (SPOKEN, hero, self.doing(TENSES), stop),
            (SPOKEN, hero, self.journey(scene.home), stop),
            (SPOKEN, hero, self.labour(scene.job), stop),
            (FEELING, hero, small("is"), self.mood(scene.tone), self.reason(scene.tone), stop),
            (ASSERTED, hero, small("is"), self.age(scene.hero), stop),
            (SPOKEN, self.both(scene.hero), self.act("many", deep, TENSES), stop),
            (SENTENCE, self.happening(deep, TENSES), stop),
            (SENTENCE, self.description(deep), stop),
            (SENTENCE, self.comparison(), stop),
            (SENTENCE, self.fact(scene.home), stop),
            (SPOKEN, other, self.saying(), stop),
            (SENTENCE, self.occasion(scene.hero), stop),
        )
        kinds = zip(self.weights.story, rows, frames.STORY, strict=True)
        options = tuple([Option(weight, row[1:], row[0], frame) for weight, row, frame in kinds if weight])
        if self._kinds is None:
            self._kinds = Choice("sentence", options)
        return variant(self._kinds, options)

    # --- the hero ---

    @once
    def person(self, without: Person | None) -> Choice:
        """Anybody by name, or anybody else."""
        people = [p for p in self.lexicon.people if p != without]
        return choose("person", [self.named(1, self.words.person(p), p) for p in people])

    @once
    def hero(self, who: Person) -> Choice:
        """Anna, she."""
        named, pronoun = self.weights.pronoun
        by_pronoun = option(pronoun, NAME[1], small(who.pronoun), means=who)
        return choose("hero", [self.named(named, self.words.person(who), who), by_pronoun])

    @once
    def both(self, who: Person) -> Choice:
        """Anna and Tom."""
        first = choose("person", [self.named(1, self.words.person(who), who)])
        second = choose("person", [option(1, rule("cc *", "{} {}"), small("and"), self.person(who))])
        return choose("persons", [option(1, rule("* conj", "(NP {} {})"), first, second)])

    @once
    def acting(self, who: Person) -> Choice:
        """Yesterday Anna saw the dog."""
        options = []
        with_adverb = rule("advmod nsubj *", "(ADVP {}) {} {}", 1, 0, 2)
        without, with_time = self.weights.time
        for tense, weight in zip(TENSES, self.weights.tense, strict=True):
            row = (self.hero(who), self.act("one", self.depth, (tense,)))
            options.append(option(weight * without, CLAUSE, *row))
            options.append(option(weight * with_time, with_adverb, self.time(tense), *row))
        return choose("clause", options)

    @once
    def time(self, tense: Tense) -> Choice:
        """Yesterday."""
        return choose("adverb", [option(1, SAME, small(time), means=time) for time in TIMES[tense]])

    @once
    def occasion(self, who: Person) -> Choice:
        """When the dog saw the cat, Anna smiled: both verbs of one tense."""
        options = []
        how = rule("advcl punct nsubj *", "{} {} {} {}")
        for tense, weight in zip(TENSES[:2], self.weights.tense[:2], strict=True):
            happening = self.happening(self.depth - 1, (tense,))
            when = rule("mark *", "(SBAR (WHADVP {}) (S {}))", 1, 0)
            clause = choose("subordinate", [option(1, when, small("when"), happening)])
            options.append(option(weight, how, clause, small(","), self.hero(who), self.doing((tense,))))
        return choose("clause", options)

    @once
    def labour(self, job: Job) -> Choice:
        """Works in the bakery."""
        inside = rule("case det *", "(PP {} (NP {} {}))", 2, 1, 0)
        row = (small("in"), small("the"), self.words.place(job.place, job.name))
        place = choose("place", [option(1, inside, *row, means=job)])
        return choose("verb phrase", [option(1, WITH_PLACE, self.verb((WORK,), "one", TENSES), place)])

    @once
    def journey(self, home: City) -> Choice:
        """Flies from Oslo to Rome."""
        flies = self.verb(self.lexicon.journeys, "one", TENSES)
        how = rule("* obl obl", "", 1, 2, 0)
        row = (flies, self.place("from", home, None), self.place("to", None, home))
        return choose("verb phrase", [option(1, how, *row)])

    @once
    def saying(self) -> Choice:
        """Says that the dog saw the cat."""
        says = self.verb_of([(SAY, "one", "present", 1), (SAY, "one", "past", 1)])
        how = rule("mark *", "(SBAR {} (S {}))", 1)
        reported = choose("subordinate", [option(1, how, THAT["reported"], self.happening(self.depth, TENSES))])
        return choose("verb phrase", [option(1, rule("* ccomp", "", 1, 0), says, reported)])

    @once
    def mood(self, tone: Tone) -> Choice:
        """Happy."""
        moods = [mood for mood in self.lexicon.moods if mood.tone == tone]
        return choose("adjective", [option(1, SAME, self.words.adjective(m.name, "one"), means=m) for m in moods])

    @once
    def age(self, who: Person) -> Choice:
        """Older than Tom: true by the order of the people."""
        people = self.lexicon.people
        place = people.index(who)
        others = [(i, p) for i, p in enumerate(people) if p != who]
        rows = [(small("older" if i < place else "younger"), self._than_person(p)) for i, p in others]
        return choose("comparison", [option(1, MORE, *row) for row in rows])

    @once
    def _than_person(self, who: Person) -> Choice:
        named = choose("person", [self.named(1, self.words.person(who), who)])
        return choose("place", [option(1, PLACE, small("than"), named)])

    @once
    def reason(self, tone: Tone) -> Choice:
        """Because the dog found the key."""
        verbs = self.lexicon.lucky if tone == "good" else self.lexicon.unlucky
        options = []
        for number, weight in zip(NUMBERS, self.weights.number, strict=True):
            done = self.verb_of([(verb, number, "past", 1) for verb in verbs])
            found = choose("verb phrase", [option(1, WITH_OBJECT, done, self.some(("thing",), 0))])
            options.append(option(weight, CLAUSE, self.noun_phrase("being", number, 0), found))
        event = choose("clause", options)
        return choose("subordinate", [option(1, SUBORDINATE, small("because"), event)])

    # --- what is always true ---

    @once
    def comparison(self) -> Choice:
        """The boat is bigger than the cup: true by the order of the things."""
        things = enumerate(self.lexicon.things)
        return choose("clause", [option(1, IS, self._thing(t), small("is"), self.compared(i)) for i, t in things])

    @once
    def compared(self, index: int) -> Choice:
        """Bigger than the cup: one thing and any other."""
        others = [(i, t) for i, t in enumerate(self.lexicon.things) if i != index]
        rows = [(small("bigger" if i < index else "smaller"), self._than_thing(t)) for i, t in others]
        return choose("comparison", [option(1, MORE, *row) for row in rows])

    @once
    def _than_thing(self, thing: Noun) -> Choice:
        return choose("place", [option(1, PLACE, small("than"), self._thing(thing))])

    @once
    def _thing(self, thing: Noun) -> Choice:
        return choose("noun phrase", [option(1, NOUN_PHRASE, small("the"), self.words.noun(thing, "one"), means=thing)])

    @once
    def fact(self, home: City) -> Choice:
        """Oslo is the capital of Norway: most often about the hero's home."""
        weight = self.weights.home
        rows = [(weight if c == home else 1, self._city(c), self._capital(c)) for c in self.lexicon.cities]
        return choose("clause", [option(w, IS, city, small("is"), capital) for w, city, capital in rows])

    @once
    def _city(self, city: City) -> Choice:
        return choose("city", [self.named(1, name(city.name, "LOC"), city)])

    @once
    def _capital(self, city: City) -> Choice:
        """The capital of Norway."""
        country = choose("country", [self.named(1, name(city.country, "LOC"), None)])
        of = choose("place", [option(1, PLACE, small("of"), country)])
        how = rule("det * nmod", "(NP (NP {} {}) {})", 2, 1, 0)
        return choose("noun phrase", [option(1, how, small("the"), small("capital"), of)])


def _a(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
