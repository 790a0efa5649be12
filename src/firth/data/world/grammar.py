"""English sentences about the world: which choices there are, and with which weights.

Agreement and tense are carried by the arguments of the methods, so a verb agrees with its subject however long the
relative clause between them. No text has two derivations: a clause after `that` follows its noun at once, and
sentences of two kinds differ in their subject, their verb or what follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from firth.data.world.chance import Choice, Option, choose, option
from firth.data.world.lexicon import City, Kind, Lexicon, Number, Person, Scene, Tense, Tone, Verb
from firth.data.world.weights import DETERMINERS, KINDS, NUMBERS, TENSES, TIMES, Weights

BE = {"one": "is", "many": "are"}


def once(make: Callable[..., Choice]) -> Callable[..., Choice]:
    """A choice is made once for the same arguments: sentences share it, and so its sums are done once."""

    @wraps(make)
    def made(self, *arguments) -> Choice:
        key = (make.__name__, *arguments)
        if key not in self._made:
            self._made[key] = make(self, *arguments)
        return self._made[key]

    return made


class Grammar:
    """The choices of the world's English, made when first asked for; `depth` limits nested relative clauses."""

    def __init__(self, lexicon: Lexicon, weights: Weights, depth: int) -> None:
        self.lexicon, self.weights, self.depth = lexicon, weights, depth
        self._made: dict[tuple, Choice] = {}

    # --- documents ---

    @once
    def length(self) -> Choice:
        """As many full stops as a document has sentences."""
        counts = enumerate(self.weights.sentences, start=1)
        return choose("length", [option(weight, *["."] * count) for count, weight in counts])

    @once
    def opening(self) -> Choice:
        """Anna is a cheerful baker from Oslo."""
        words = self.lexicon
        who = choose("person", [option(1, p.name, means=p) for p in words.people])
        mood = choose("mood", [option(1, _a(m.name), m.name, means=m) for m in words.moods])
        job = choose("job", [option(1, j.name, means=j) for j in words.jobs])
        return choose("opening", [option(1, who, "is", mood, job, "from", self.city(None), ".")])

    def sentence(self, scene: Scene) -> Choice:
        """Any sentence after the first."""
        hero, other, deep = self.hero(scene.hero), self.other(scene.hero), self.depth
        rows = (
            (self.acting(scene.hero), "."),
            (hero, self.doing(TENSES), "."),
            (hero, self.travelling(), "from", scene.home.name, "to", self.city(scene.home), "."),
            (hero, self.working(), "in", "the", scene.job.place, "."),
            (hero, "is", self.mood(scene.tone), "because", self.event(scene.tone), "."),
            (hero, "is", self.age(scene.hero), "."),
            (scene.hero.name, "and", other, self.act("many", deep, TENSES), "."),
            (self.happening(deep, TENSES), "."),
            (self.description(deep), "."),
            (self.comparison(), "."),
            (self.fact(scene.home), "."),
            (other, self.saying(), "that", self.happening(deep, TENSES), "."),
            (self.occasion(scene.hero), "."),
        )
        pairs = zip(self.weights.story, rows, strict=True)
        return Choice("sentence", tuple([Option(weight, parts) for weight, parts in pairs if weight]))

    # --- the hero ---

    @once
    def hero(self, who: Person) -> Choice:
        """Anna, she."""
        named, pronoun = self.weights.pronoun
        return choose("hero", [option(named, who.name, means=who), option(pronoun, who.pronoun, means=who)])

    @once
    def other(self, who: Person) -> Choice:
        """Anybody else by name."""
        return choose("person", [option(1, p.name, means=p) for p in self.lexicon.people if p != who])

    @once
    def acting(self, who: Person) -> Choice:
        """Yesterday Anna saw the dog."""
        options = []
        for tense, weight in zip(TENSES, self.weights.tense, strict=True):
            row = (self.hero(who), self.act("one", self.depth, (tense,)))
            without, with_time = self.weights.time
            options.append(option(weight * without, *row))
            options.append(option(weight * with_time, self.time(tense), *row))
        return choose("clause", options)

    @once
    def time(self, tense: Tense) -> Choice:
        """Yesterday."""
        return choose("adverb", [option(1, time) for time in TIMES[tense]])

    @once
    def occasion(self, who: Person) -> Choice:
        """When the dog saw the cat, Anna smiled: both verbs of one tense."""
        options = []
        for tense, weight in zip(TENSES[:2], self.weights.tense[:2], strict=True):
            happening = self.happening(self.depth - 1, (tense,))
            options.append(option(weight, "when", happening, ",", self.hero(who), self.doing((tense,))))
        return choose("clause", options)

    @once
    def working(self) -> Choice:
        """Works, worked, will work."""
        return self.verb((Verb("work", "works", "worked"),), "one", TENSES)

    @once
    def travelling(self) -> Choice:
        """Flies, flew, will fly."""
        return self.verb(self.lexicon.journeys, "one", TENSES)

    @once
    def saying(self) -> Choice:
        """Says, said."""
        return choose("verb", [option(1, "says"), option(1, "said")])

    @once
    def mood(self, tone: Tone) -> Choice:
        """Happy."""
        return choose("adjective", [option(1, m.name, means=m) for m in self.lexicon.moods if m.tone == tone])

    @once
    def age(self, who: Person) -> Choice:
        """Older than Tom: true by the order of the people."""
        people = self.lexicon.people
        place = people.index(who)
        others = [(i, p) for i, p in enumerate(people) if p != who]
        return choose(
            "comparison",
            [option(1, "older than" if i < place else "younger than", p.name, means=p) for i, p in others],
        )

    # --- what happens ---

    @once
    def event(self, tone: Tone) -> Choice:
        """The dog found the key."""
        verbs = self.lexicon.lucky if tone == "good" else self.lexicon.unlucky
        done = choose("verb", [option(1, verb.past, means=verb) for verb in verbs])
        return choose("clause", [option(1, self.some(("being",), 0), done, self.some(("thing",), 0))])

    @once
    def happening(self, depth: int, tenses: tuple[Tense, ...]) -> Choice:
        """The dogs that the cat sees like the boat."""
        return choose(
            "clause",
            [
                option(weight, self.noun_phrase("being", number, depth), self.act(number, depth, tenses))
                for number, weight in zip(NUMBERS, self.weights.number, strict=True)
            ],
        )

    @once
    def act(self, number: Number, depth: int, tenses: tuple[Tense, ...]) -> Choice:
        """Sees the boat."""
        sees = self.verb(self.lexicon.actions, number, tenses)
        return choose("verb phrase", [option(1, sees, self.some(KINDS, depth))])

    @once
    def doing(self, tenses: tuple[Tense, ...]) -> Choice:
        """Smiles."""
        return self.verb(self.lexicon.doings, "one", tenses)

    @once
    def verb(self, verbs: tuple[Verb, ...], number: Number, tenses: tuple[Tense, ...]) -> Choice:
        """A verb of one of the tenses that agrees with its subject."""
        weights = dict(zip(TENSES, self.weights.tense, strict=True))
        return choose(
            "verb",
            [option(weights[t], verb.form(number, t), means=verb) for t in tenses for verb in verbs],
        )

    # --- what is ---

    @once
    def description(self, depth: int) -> Choice:
        """The boats that the cat sees are red."""
        options = []
        for kind, of_kind in zip(KINDS, self.weights.kind, strict=True):
            for number, weight in zip(NUMBERS, self.weights.number, strict=True):
                subject = self.noun_phrase(kind, number, depth)
                options.append(option(of_kind * weight, subject, BE[number], self.quality()))
        return choose("clause", options)

    @once
    def quality(self) -> Choice:
        """Red, big."""
        return self.adjective((*self.lexicon.colours, *self.lexicon.sizes))

    @once
    def comparison(self) -> Choice:
        """The boat is bigger than the cup: true by the order of the things."""
        things = enumerate(self.lexicon.things)
        return choose("clause", [option(1, "the", t.one, "is", self.compared(i), means=t) for i, t in things])

    @once
    def compared(self, index: int) -> Choice:
        """Bigger than the cup: one thing and any other."""
        others = [(i, t) for i, t in enumerate(self.lexicon.things) if i != index]
        return choose(
            "comparison",
            [option(1, "bigger than the" if i < index else "smaller than the", t.one, means=t) for i, t in others],
        )

    @once
    def fact(self, home: City) -> Choice:
        """Oslo is the capital of Norway: most often about the hero's home."""
        cities, weight = self.lexicon.cities, self.weights.home
        return choose(
            "fact",
            [option(weight if c == home else 1, c.name, "is the capital of", c.country, means=c) for c in cities],
        )

    # --- noun phrases ---

    @once
    def city(self, without: City | None) -> Choice:
        """Any city, or any but one."""
        return choose("city", [option(1, c.name, means=c) for c in self.lexicon.cities if c != without])

    @once
    def some(self, kinds: tuple[Kind, ...], depth: int) -> Choice:
        """A noun phrase of any of the kinds and any number."""
        of_kind = dict(zip(KINDS, self.weights.kind, strict=True))
        numbers = tuple(zip(NUMBERS, self.weights.number, strict=True))
        return choose(
            "object",
            [option(of_kind[k] * weight, self.noun_phrase(k, n, depth)) for k in kinds for n, weight in numbers],
        )

    @once
    def noun_phrase(self, kind: Kind, number: Number, depth: int) -> Choice:
        """The big red box that the cats like."""
        the = choose("determiner", [option(w, word) for word, w in DETERMINERS[number].items()])
        plain, related = self.weights.relative
        row = (the, self.described(kind, number))
        options = [option(plain, *row)]
        if depth > 0:
            options.append(option(related, *row, "that", self.relative(kind, number, depth - 1)))
        return choose("noun phrase", options)

    @once
    def described(self, kind: Kind, number: Number) -> Choice:
        """Big red box: adjectives of size come before those of colour."""
        nouns = self.lexicon.beings if kind == "being" else self.lexicon.things
        noun = choose("noun", [option(1, n.one if number == "one" else n.many, means=n) for n in nouns])
        big, red = self.adjective(self.lexicon.sizes), self.adjective(self.lexicon.colours)
        (no_size, size), (no_colour, colour) = self.weights.size, self.weights.colour
        rows = (
            option(no_size * no_colour, noun),
            option(no_size * colour, red, noun),
            option(size * no_colour, big, noun),
            option(size * colour, big, red, noun),
        )
        return choose("nominal", rows)

    @once
    def adjective(self, words: tuple[str, ...]) -> Choice:
        """Any of these."""
        return choose("adjective", [option(1, word) for word in words])

    @once
    def relative(self, kind: Kind, number: Number, depth: int) -> Choice:
        """What follows `that`: sees the cat, the cat sees, is red, lives in Oslo."""
        sees, seen, is_so, lives = self.weights.clause
        live = self.verb((Verb("live", "lives", "lived"),), number, TENSES)
        options = [option(seen, self.seen(depth)), option(is_so, BE[number], self.quality())]
        if kind == "being":
            options.append(option(sees, self.act(number, depth, TENSES)))
            options.append(option(lives, live, "in", self.city(None)))
        return choose("relative clause", options)

    @once
    def seen(self, depth: int) -> Choice:
        """The cat sees: a clause whose object is the noun before it."""
        options = []
        for number, weight in zip(NUMBERS, self.weights.number, strict=True):
            who, sees = self.noun_phrase("being", number, depth), self.verb(self.lexicon.actions, number, TENSES)
            options.append(option(weight, who, sees))
        return choose("clause", options)


def _a(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
