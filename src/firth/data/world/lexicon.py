"""The words of the world and what is always true in it.

Known relations (for analogies): capital and country, job and place of work, singular and plural, present and past,
adjective and comparative. People stand from youngest to oldest, things from smallest to biggest.
No word may serve two purposes, else a text could have two derivations and the entropy would be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Tone = Literal["good", "bad"]
Number = Literal["one", "many"]
Tense = Literal["present", "past", "future"]
Kind = Literal["being", "thing"]
BE = {"one": "is", "many": "are"}


@dataclass(frozen=True)
class Person:
    """Somebody with a name."""

    name: str
    pronoun: str


@dataclass(frozen=True)
class Job:
    """What somebody does, and where."""

    name: str
    place: str


@dataclass(frozen=True)
class City:
    """A capital and its country."""

    name: str
    country: str


@dataclass(frozen=True)
class Mood:
    """How somebody feels."""

    name: str
    tone: Tone


@dataclass(frozen=True)
class Noun:
    """A kind of being or thing."""

    one: str
    many: str


@dataclass(frozen=True)
class Verb:
    """An action: see, sees, saw, seen."""

    base: str
    third: str
    past: str
    participle: str = ""  # where it differs from the past

    @property
    def done(self) -> str:
        """Seen."""
        return self.participle or self.past

    def form(self, number: Number, tense: Tense) -> str:
        """The verb as it agrees with its subject, with its auxiliary."""
        if tense == "present":
            return self.third if number == "one" else self.base
        return self.past if tense == "past" else f"will {self.base}"


class Action(NamedTuple):
    """A verb as it was used."""

    verb: Verb
    number: Number
    tense: Tense


@dataclass(frozen=True)
class Scene:
    """What a document is about; its first sentence tells all of it."""

    hero: Person
    tone: Tone
    job: Job
    home: City


@dataclass(frozen=True)
class Lexicon:
    """All words with a meaning; the order of people (age) and things (size) is a fact of the world."""

    people: tuple[Person, ...]
    jobs: tuple[Job, ...]
    cities: tuple[City, ...]
    moods: tuple[Mood, ...]
    beings: tuple[Noun, ...]
    things: tuple[Noun, ...]
    small: tuple[str, ...]  # adjectives of size, and …
    big: tuple[str, ...]
    colours: tuple[str, ...]
    actions: tuple[Verb, ...]  # take an object
    doings: tuple[Verb, ...]  # take none
    journeys: tuple[Verb, ...]  # from one city to another
    lucky: tuple[Verb, ...]  # reasons to be happy …
    unlucky: tuple[Verb, ...]  # … and to be sad

    @property
    def sizes(self) -> tuple[str, ...]:
        """All adjectives of size."""
        return (*self.small, *self.big)


LEAST = {"people": 2, "cities": 2, "things": 2, "moods": 2}  # of those that are told apart from others of their kind


def _pairs(make, text: str) -> tuple:
    """Entries of a literal table: `one/two/three one/two/three`; `_` is a space within a name."""
    return tuple(make(*entry.replace("_", " ").split("/")) for entry in text.split())


LEXICON = Lexicon(
    people=_pairs(
        Person,
        """Mia/she Leo/he Ida/she Tom/he Anna/she Ben/he Clara/she David/he Emma/she Felix/he Greta/she Hugo/he
        Julia/she Karl/he Laura/she Max/he Nina/she Oscar/he Paula/she Robert/he Sofia/she Victor/he Wilma/she
        Walter/he""",
    ),
    jobs=_pairs(
        Job,
        """baker/bakery teacher/school doctor/hospital farmer/barn waiter/restaurant judge/court pilot/airport
        sailor/harbour painter/studio librarian/library gardener/garden miner/mine soldier/castle priest/church
        chemist/laboratory singer/theatre""",
    ),
    cities=_pairs(
        City,
        """Oslo/Norway Paris/France Rome/Italy Madrid/Spain Lisbon/Portugal Berlin/Germany Vienna/Austria
        Warsaw/Poland Athens/Greece Ankara/Turkey Cairo/Egypt Nairobi/Kenya Tokyo/Japan Beijing/China Delhi/India
        Lima/Peru Havana/Cuba Ottawa/Canada Stockholm/Sweden Helsinki/Finland Buenos_Aires/Argentina
        Addis_Ababa/Ethiopia Wellington/New_Zealand Colombo/Sri_Lanka""",
    ),
    moods=_pairs(
        Mood,
        """happy/good cheerful/good glad/good proud/good calm/good grateful/good hopeful/good merry/good
        sad/bad angry/bad gloomy/bad worried/bad lonely/bad tired/bad bitter/bad unhappy/bad""",
    ),
    beings=_pairs(
        Noun,
        """man/men woman/women boy/boys girl/girls king/kings queen/queens uncle/uncles aunt/aunts
        neighbour/neighbours stranger/strangers dog/dogs cat/cats horse/horses cow/cows bird/birds fox/foxes
        wolf/wolves bear/bears rabbit/rabbits monkey/monkeys""",
    ),
    things=_pairs(
        Noun,
        """coin/coins ring/rings key/keys egg/eggs spoon/spoons cup/cups apple/apples knife/knives letter/letters
        book/books lamp/lamps hat/hats bottle/bottles basket/baskets box/boxes drum/drums chair/chairs
        mirror/mirrors table/tables door/doors bed/beds piano/pianos cart/carts boat/boats bus/buses house/houses
        bridge/bridges tower/towers ship/ships mountain/mountains""",
    ),
    small=("tiny", "little"),
    big=("big", "large", "huge", "enormous"),
    colours=("red", "blue", "green", "yellow", "white", "black", "brown", "grey", "purple", "golden"),
    actions=_pairs(
        Verb,
        """see/sees/saw/seen like/likes/liked want/wants/wanted follow/follows/followed watch/watches/watched
        draw/draws/drew/drawn carry/carries/carried hold/holds/held push/pushes/pushed pull/pulls/pulled
        hide/hides/hid/hidden touch/touches/touched remember/remembers/remembered forget/forgets/forgot/forgotten
        choose/chooses/chose/chosen guard/guards/guarded wash/washes/washed seek/seeks/sought leave/leaves/left
        know/knows/knew/known""",
    ),
    doings=_pairs(
        Verb,
        """smile/smiles/smiled sing/sings/sang/sung dance/dances/danced sleep/sleeps/slept laugh/laughs/laughed
        swim/swims/swam/swum whistle/whistles/whistled dream/dreams/dreamed wait/waits/waited
        speak/speaks/spoke/spoken""",
    ),
    journeys=_pairs(
        Verb,
        """fly/flies/flew/flown drive/drives/drove/driven walk/walks/walked ride/rides/rode/ridden
        travel/travels/travelled""",
    ),
    lucky=_pairs(
        Verb,
        """find/finds/found win/wins/won mend/mends/mended receive/receives/received save/saves/saved
        bring/brings/brought""",
    ),
    unlucky=_pairs(
        Verb,
        """lose/loses/lost break/breaks/broke/broken steal/steals/stole/stolen ruin/ruins/ruined burn/burns/burned
        throw/throws/threw/thrown""",
    ),
)
