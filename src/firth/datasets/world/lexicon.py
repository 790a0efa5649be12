"""The lexicon of the world and its facts.

Known relations (for analogies): capital and country, job and place of work, singular and plural, present and past,
adjective and comparative. People are ordered from youngest to oldest, inanimate nouns from smallest to biggest.
No word may serve two purposes, else the grammar would be ambiguous and the entropy wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Polarity = Literal["good", "bad"]
Number = Literal["singular", "plural"]
Tense = Literal["present", "past", "future"]
Animacy = Literal["animate", "inanimate"]
BE = {"singular": "is", "plural": "are"}


@dataclass(frozen=True)
class Person:
    """A person."""

    name: str
    pronoun: str


@dataclass(frozen=True)
class Job:
    """A job and its place of work."""

    name: str
    place: str


@dataclass(frozen=True)
class City:
    """A capital and its country."""

    name: str
    country: str


@dataclass(frozen=True)
class Mood:
    """A mood adjective and its sentiment polarity."""

    name: str
    polarity: Polarity


@dataclass(frozen=True)
class Noun:
    """A noun: dog, dogs."""

    singular: str
    plural: str


@dataclass(frozen=True)
class Verb:
    """A verb: see, sees, saw, seen."""

    base: str
    third: str
    past: str
    participle: str = ""  # where it differs from the past

    @property
    def past_participle(self) -> str:
        """Seen."""
        return self.participle or self.past

    def form(self, number: Number, tense: Tense) -> str:
        """The verb as it agrees with its subject, with its auxiliary."""
        if tense == "present":
            return self.third if number == "singular" else self.base
        return self.past if tense == "past" else f"will {self.base}"


class VerbForm(NamedTuple):
    """A verb in its number and tense."""

    verb: Verb
    number: Number
    tense: Tense


@dataclass(frozen=True)
class Scene:
    """The latent variables of a document, all stated by its first sentence."""

    hero: Person
    polarity: Polarity
    job: Job
    home: City


@dataclass(frozen=True)
class Lexicon:
    """The content words; the order of people (age) and inanimate nouns (size) is a fact of the world."""

    people: tuple[Person, ...]
    jobs: tuple[Job, ...]
    cities: tuple[City, ...]
    moods: tuple[Mood, ...]
    animate_nouns: tuple[Noun, ...]
    inanimate_nouns: tuple[Noun, ...]
    small: tuple[str, ...]  # adjectives of size, and …
    big: tuple[str, ...]
    colours: tuple[str, ...]
    transitive_verbs: tuple[Verb, ...]
    intransitive_verbs: tuple[Verb, ...]
    motion_verbs: tuple[Verb, ...]  # from one city to another
    positive_verbs: tuple[Verb, ...]  # events that are reasons to be happy …
    negative_verbs: tuple[Verb, ...]  # … and to be sad

    @property
    def sizes(self) -> tuple[str, ...]:
        """All adjectives of size."""
        return (*self.small, *self.big)


MIN_ENTRIES = {
    "people": 2,
    "cities": 2,
    "inanimate_nouns": 2,
    "moods": 2,
}  # of lexicon fields whose entries are contrasted with others


def _parse_entries(make, text: str) -> tuple:
    """Entries of a literal table: `one/two/three one/two/three`; `_` is a space within a name."""
    return tuple(make(*entry.replace("_", " ").split("/")) for entry in text.split())


LEXICON = Lexicon(
    people=_parse_entries(
        Person,
        """Mia/she Leo/he Ida/she Tom/he Anna/she Ben/he Clara/she David/he Emma/she Felix/he Greta/she Hugo/he
        Julia/she Karl/he Laura/she Max/he Nina/she Oscar/he Paula/she Robert/he Sofia/she Victor/he Wilma/she
        Walter/he""",
    ),
    jobs=_parse_entries(
        Job,
        """baker/bakery teacher/school doctor/hospital farmer/barn waiter/restaurant judge/court pilot/airport
        sailor/harbour painter/studio librarian/library gardener/garden miner/mine soldier/castle priest/church
        chemist/laboratory singer/theatre""",
    ),
    cities=_parse_entries(
        City,
        """Oslo/Norway Paris/France Rome/Italy Madrid/Spain Lisbon/Portugal Berlin/Germany Vienna/Austria
        Warsaw/Poland Athens/Greece Ankara/Turkey Cairo/Egypt Nairobi/Kenya Tokyo/Japan Beijing/China Delhi/India
        Lima/Peru Havana/Cuba Ottawa/Canada Stockholm/Sweden Helsinki/Finland Buenos_Aires/Argentina
        Addis_Ababa/Ethiopia Wellington/New_Zealand Colombo/Sri_Lanka""",
    ),
    moods=_parse_entries(
        Mood,
        """happy/good cheerful/good glad/good proud/good calm/good grateful/good hopeful/good merry/good
        sad/bad angry/bad gloomy/bad worried/bad lonely/bad tired/bad bitter/bad unhappy/bad""",
    ),
    animate_nouns=_parse_entries(
        Noun,
        """man/men woman/women boy/boys girl/girls king/kings queen/queens uncle/uncles aunt/aunts
        neighbour/neighbours stranger/strangers dog/dogs cat/cats horse/horses cow/cows bird/birds fox/foxes
        wolf/wolves bear/bears rabbit/rabbits monkey/monkeys""",
    ),
    inanimate_nouns=_parse_entries(
        Noun,
        """coin/coins ring/rings key/keys egg/eggs spoon/spoons cup/cups apple/apples knife/knives letter/letters
        book/books lamp/lamps hat/hats bottle/bottles basket/baskets box/boxes drum/drums chair/chairs
        mirror/mirrors table/tables door/doors bed/beds piano/pianos cart/carts boat/boats bus/buses house/houses
        bridge/bridges tower/towers ship/ships mountain/mountains""",
    ),
    small=("tiny", "little"),
    big=("big", "large", "huge", "enormous"),
    colours=("red", "blue", "green", "yellow", "white", "black", "brown", "grey", "purple", "golden"),
    transitive_verbs=_parse_entries(
        Verb,
        """see/sees/saw/seen like/likes/liked want/wants/wanted follow/follows/followed watch/watches/watched
        draw/draws/drew/drawn carry/carries/carried hold/holds/held push/pushes/pushed pull/pulls/pulled
        hide/hides/hid/hidden touch/touches/touched remember/remembers/remembered forget/forgets/forgot/forgotten
        choose/chooses/chose/chosen guard/guards/guarded wash/washes/washed seek/seeks/sought leave/leaves/left
        know/knows/knew/known""",
    ),
    intransitive_verbs=_parse_entries(
        Verb,
        """smile/smiles/smiled sing/sings/sang/sung dance/dances/danced sleep/sleeps/slept laugh/laughs/laughed
        swim/swims/swam/swum whistle/whistles/whistled dream/dreams/dreamed wait/waits/waited
        speak/speaks/spoke/spoken""",
    ),
    motion_verbs=_parse_entries(
        Verb,
        """fly/flies/flew/flown drive/drives/drove/driven walk/walks/walked ride/rides/rode/ridden
        travel/travels/travelled""",
    ),
    positive_verbs=_parse_entries(
        Verb,
        """find/finds/found win/wins/won mend/mends/mended receive/receives/received save/saves/saved
        bring/brings/brought""",
    ),
    negative_verbs=_parse_entries(
        Verb,
        """lose/loses/lost break/breaks/broke/broken steal/steals/stole/stolen ruin/ruins/ruined burn/burns/burned
        throw/throws/threw/thrown""",
    ),
)
