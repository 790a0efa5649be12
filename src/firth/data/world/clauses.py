"""What sentences are made of: noun phrases with relative clauses, verbs that agree, and what happens and what is.

Agreement and tense are carried by the arguments of the methods, so a verb agrees with its subject however long the
relative clause between them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from firth.data.world.chance import Choice, Option, choose, option
from firth.data.world.lexicon import Action, City, Kind, Lexicon, Number, Tense, Verb
from firth.data.world.phrase import Agree, Join, Word, rule
from firth.data.world.weights import DETERMINERS, KINDS, NUMBERS, TENSES, Weights
from firth.data.world.words import THAT, Vocabulary, name, small

LIVE = Verb("live", "lives", "lived")

# Rules that several options share: relations to the head (*), brackets, order in the second language.
SAME = rule("*", "{}")
NAME = {1: rule("*", "(NP {})"), 2: rule("* flat", "(NP {} {})")}
NOUN_PHRASE = rule("det *", "(NP {} {})", 1, 0)
RELATIVE = rule("det * acl:relcl", "(NP (NP {} {}) {})", 1, 0, Agree(2, 1))
CLAUSE = rule("nsubj *", "{} {}")
WITH_OBJECT = rule("* obj", "", 1, "o", 0)
WITH_PLACE = rule("* obl", "", 1, 0)
PLACE = rule("case *", "(PP {} {})", 1, 0)
VERB = {1: rule("*", "(VP {}{{}})"), 2: rule("aux *", "(VP {} (VP {}{{}}))", Join(0, 1))}
BARE_VERB = {1: rule("*", "(VP {})"), 2: rule("aux *", "(VP {} (VP {}))", Join(0, 1))}
IS_SO = rule("nsubj cop *", "{} (VP {} (ADJP {}))", 0, Agree(2, 0))


def once(make: Callable[..., Choice]) -> Callable[..., Choice]:
    """A choice is made once for the same arguments: sentences share it, and so its sums are done once."""

    @wraps(make)
    def made(self, *arguments) -> Choice:
        key = (make.__name__, *arguments)
        if key not in self._made:
            self._made[key] = make(self, *arguments)
        return self._made[key]

    return made


class Clauses:
    """The choices below the sentence, made when first asked for; `depth` limits nested relative clauses."""

    def __init__(self, lexicon: Lexicon, weights: Weights, depth: int) -> None:
        self.lexicon, self.weights, self.depth = lexicon, weights, depth
        self.words = Vocabulary(lexicon)
        self._made: dict[tuple, Choice] = {}

    # --- what happens and what is ---

    @once
    def happening(self, depth: int, tenses: tuple[Tense, ...]) -> Choice:
        """The dogs that the cat sees like the boat."""
        return choose(
            "clause",
            [
                option(weight, CLAUSE, self.noun_phrase("being", number, depth), self.act(number, depth, tenses))
                for number, weight in zip(NUMBERS, self.weights.number, strict=True)
            ],
        )

    @once
    def act(self, number: Number, depth: int, tenses: tuple[Tense, ...]) -> Choice:
        """Sees the boat."""
        sees = self.verb(self.lexicon.actions, number, tenses)
        return choose("verb phrase", [option(1, WITH_OBJECT, sees, self.some(KINDS, depth))])

    @once
    def doing(self, tenses: tuple[Tense, ...]) -> Choice:
        """Smiles."""
        return self.verb(self.lexicon.doings, "one", tenses, False)

    @once
    def verb(self, verbs: tuple[Verb, ...], number: Number, tenses: tuple[Tense, ...], goes_on: bool = True) -> Choice:
        """A verb of one of the tenses that agrees with its subject; `goes_on` with an object or a place."""
        weights = dict(zip(TENSES, self.weights.tense, strict=True))
        return self.verb_of([(verb, number, t, weights[t]) for t in tenses for verb in verbs], goes_on)

    def verb_of(self, forms: list[tuple[Verb, Number, Tense, float]], goes_on: bool = True) -> Choice:
        """One of these forms."""
        rules = VERB if goes_on else BARE_VERB
        made = [(self.words.verb(verb, n, tense), Action(verb, n, tense), weight) for verb, n, tense, weight in forms]
        return choose("verb", [option(weight, rules[len(row)], row, means=act) for row, act, weight in made])

    @once
    def description(self, depth: int) -> Choice:
        """The boats that the cat sees are red."""
        options = []
        for kind, of_kind in zip(KINDS, self.weights.kind, strict=True):
            for number, weight in zip(NUMBERS, self.weights.number, strict=True):
                row = (self.undescribed(kind, number, depth), self.words.be(number), self.quality(number))
                options.append(option(of_kind * weight, IS_SO, *row))
        return choose("clause", options)

    @once
    def quality(self, number: Number) -> Choice:
        """Red, big."""
        forms = (*self.lexicon.colours, *self.lexicon.sizes)
        return choose("adjective", [option(1, SAME, self.words.adjective(f, number), means=f) for f in forms])

    # --- noun phrases ---

    @once
    def place(self, preposition: str, only: City | None, without: City | None) -> Choice:
        """To Oslo: one city, any, or any but one."""
        cities = (only,) if only else [c for c in self.lexicon.cities if c != without]
        city = choose("city", [self.named(1, name(c.name, "LOC"), c) for c in cities])
        return choose("place", [option(1, PLACE, small(preposition), city)])

    @once
    def some(self, kinds: tuple[Kind, ...], depth: int) -> Choice:
        """A noun phrase of any of the kinds and any number."""
        of_kind = dict(zip(KINDS, self.weights.kind, strict=True))
        numbers = tuple(zip(NUMBERS, self.weights.number, strict=True))
        rows = [(of_kind[k] * weight, self.noun_phrase(k, n, depth)) for k in kinds for n, weight in numbers]
        return choose("object", [option(weight, SAME, phrase) for weight, phrase in rows])

    @once
    def noun_phrase(self, kind: Kind, number: Number, depth: int) -> Choice:
        """The big red box that the cats like."""
        the, described = self.determiner(number), self.described(kind, number)
        whole = choose(f"{kind} phrase", [option(1, NOUN_PHRASE, the, described)])
        if depth <= 0:
            return whole
        plain, related = self.weights.relative
        qualified = related * self._share_of_qualities(kind)
        options = [
            option(plain, SAME, whole),
            option(related - qualified, RELATIVE, the, described, self.relative(kind, number, depth - 1)),
            option(qualified, RELATIVE, the, self.noun(kind, number), self.being_so(number)),
        ]
        return choose(f"{kind} phrase", options)

    @once
    def undescribed(self, kind: Kind, number: Number, depth: int) -> Choice:
        """The box that the cats like: nothing is said of its colour and size."""
        row = (self.determiner(number), self.noun(kind, number))
        plain, related = self.weights.relative if depth > 0 else (1, 0)
        options = [option(plain, NOUN_PHRASE, *row)]
        if related:
            options.append(option(related, RELATIVE, *row, self.relative(kind, number, depth - 1)))
        return choose(f"{kind} phrase", options)

    def _share_of_qualities(self, kind: Kind) -> float:
        """How many of the relative clauses after a noun tell a quality; then no adjective does."""
        sees, seen, is_so, lives = self.weights.clause
        return is_so / (seen + is_so + (sees + lives if kind == "being" else 0))

    @once
    def determiner(self, number: Number) -> Choice:
        """The, every, some."""
        words = DETERMINERS[number].items()
        return choose("determiner", [option(weight, SAME, small(word), means=word) for word, weight in words])

    @once
    def described(self, kind: Kind, number: Number) -> Choice:
        """Big red box: adjectives of size come before those of colour."""
        noun = self.noun(kind, number)
        sizes, colours = self.lexicon.sizes, self.lexicon.colours
        big = choose("adjective", [option(1, SAME, self.words.adjective(s, number), means=s) for s in sizes])
        red = choose("adjective", [option(1, SAME, self.words.colour(c), means=c) for c in colours])
        (no_size, size), (no_colour, colour) = self.weights.size, self.weights.colour
        rows = (
            option(no_size * no_colour, SAME, noun),
            option(no_size * colour, rule("amod *", "{} {}", Join(0, 1)), red, noun),
            option(size * no_colour, rule("amod *", "{} {}", 1, Agree(0, 1)), big, noun),
            option(size * colour, rule("amod amod *", "{} {} {}", Join(1, 2), Agree(0, 2)), big, red, noun),
        )
        return choose("nominal", rows)

    @once
    def noun(self, kind: Kind, number: Number) -> Choice:
        """Box."""
        nouns = self.lexicon.beings if kind == "being" else self.lexicon.things
        return choose("noun", [option(1, SAME, self.words.noun(n, number), means=n) for n in nouns])

    @once
    def relative(self, kind: Kind, number: Number, depth: int) -> Choice:
        """That sees the cat, that the cat sees, that lives in Oslo."""
        sees, seen, _, lives = self.weights.clause
        that, subject = THAT["relative"], rule("nsubj *", "(SBAR (WHNP {}) (S {}))")
        options = [option(seen, rule("obj *", "(SBAR (WHNP {}) (S {}))"), that, self.seen(depth))]
        if kind == "being":
            options.append(option(sees, subject, that, self.act(number, depth, TENSES)))
            options.append(option(lives, subject, that, self.living(number)))
        return choose("relative clause", options)

    @once
    def being_so(self, number: Number) -> Choice:
        """That is red."""
        how = rule("nsubj cop *", "(SBAR (WHNP {}) (S (VP {} (ADJP {}))))", 0, 2)
        row = (THAT["relative"], self.words.be(number), self.quality(number))
        return choose("relative clause", [option(1, how, *row)])

    @once
    def living(self, number: Number) -> Choice:
        """Lives in Oslo."""
        lives = self.verb((LIVE,), number, TENSES)
        return choose("verb phrase", [option(1, WITH_PLACE, lives, self.place("in", None, None))])

    @once
    def seen(self, depth: int) -> Choice:
        """The cat sees: a clause whose object is the noun before it."""
        options = []
        for number, weight in zip(NUMBERS, self.weights.number, strict=True):
            sees = self.verb(self.lexicon.actions, number, TENSES, False)
            options.append(option(weight, CLAUSE, self.noun_phrase("being", number, depth), sees))
        return choose("clause", options)

    @staticmethod
    def named(weight: float, words: tuple[Word, ...], means: object) -> Option:
        return option(weight, NAME[len(words)], words, means=means)
