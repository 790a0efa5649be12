"""The meanings of the world's words: synsets with their definitions and hypernyms, a miniature lexical database.

Jobs, places of work, cities and countries are generated from the lexicon; all other content words are listed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from firth.datasets.world.lexicon import Lexicon

NOUN, VERB, ADJECTIVE = "n", "v", "a"
# word (and synonyms) < hypernym: definition
NOUNS = """
entity: whatever is
being < entity: something that lives
person < being: a man, woman or child
adult < person: a person who has grown up
child < person: a young person
man < adult: a male person who has grown up
woman < adult: a female person who has grown up
boy < child: a young male person
girl < child: a young female person
ruler < person: a person who governs a country
king < ruler: a man who governs a country
queen < ruler: a woman who governs a country, or the wife of a king
relative < person: a person of the same family
uncle < relative: the brother of a parent
aunt < relative: the sister of a parent
neighbour < person: a person who lives next door
stranger < person: a person whom nobody knows
worker < person: a person who has a job
animal < being: a living being that is neither a person nor a plant
mammal < animal: an animal that feeds its young with milk
canine < mammal: an animal of the family of dogs
dog < canine: a tame animal that barks and guards the house
wolf < canine: a wild animal that hunts in packs and howls
fox < canine: a wild animal with a bushy tail that hunts alone
cat < mammal: a tame animal that catches mice and purrs
horse < mammal: a large animal that people ride and that pulls carts
cow < mammal: a large animal that is kept for its milk
bear < mammal: a large wild animal with thick fur that sleeps in winter
rabbit < mammal: a small animal with long ears that lives in a burrow
monkey < mammal: an animal with a long tail that climbs trees
bird < animal: an animal with wings and feathers
thing < entity: an object without life
tool < thing: an object to work with
container < thing: an object to keep others in
furniture < thing: movable objects of a room
instrument < thing: an object to make music with
vehicle < thing: an object to travel in
vessel < vehicle: a vehicle for water
food < thing: what is eaten
document < thing: an object with writing on it
structure < thing: an object that was built and stays where it is
building < structure: a structure with walls and a roof
coin < thing: a round piece of metal that is money
ring < thing: a round piece of jewellery for a finger
key < tool: a small object that opens and closes a lock
cutlery < tool: a tool to eat with
spoon < cutlery: a tool to eat soup with
knife < cutlery: a tool with a blade that cuts
egg < food: a round object that a hen lays, with a shell
apple < food: a round fruit that grows on a tree
cup < container: a small bowl with a handle, to drink from
bottle < container: a narrow object of glass that holds liquids
basket < container: an object of woven twigs that holds things
box < container: a square object with a lid that holds things
letter < document: a written message that is sent to somebody
book < document: many written pages, bound together
lamp < furniture: an object that gives light
mirror < furniture: an object of glass in which one sees oneself
chair < furniture: a seat for one person, with a back
table < furniture: a flat top on legs, to eat or write at
bed < furniture: an object to sleep in
hat < thing: a covering for the head
drum < instrument: a round instrument that is hit with sticks
piano < instrument: a large instrument with black and white keys
cart < vehicle: a vehicle with wheels that a horse pulls
bus < vehicle: a large vehicle with an engine for many travellers
boat < vessel: a small vessel, rowed or sailed
ship < vessel: a large vessel that crosses the sea
door < structure: what opens and closes a room
bridge < structure: a structure that carries a road over water
house < building: a building that people live in
tower < building: a tall narrow building
location < entity: somewhere that things and beings are
mountain < location: a very high hill
city < location: a large town
country < location: a nation and its land
workplace < location: somewhere that people work
capital < city: the city of a government
"""
VERBS = """
perceive: notice with the senses
see < perceive: perceive with the eyes
watch < see: look at something for some time
touch < perceive: put a hand on something
like: find pleasant
want: wish to have
seek < want: try to find
know: have in mind
remember < know: still have in mind
forget: no longer have in mind
choose: decide on one of several
move: change place, or cause something to change place
follow < move: go after somebody
carry < move: have in the hands while going somewhere
bring < carry: carry to where somebody is
push < move: move away by pressing
pull < move: move towards oneself by drawing
throw < move: send through the air with the arm
leave < move: go away from
hide: put where nobody sees it
hold: have in the hands
draw: make a picture with a pen
guard: keep from danger by watching
save < guard: bring out of danger
wash: make clean with water
mend: make whole again
express: show what one feels or thinks
smile < express: show pleasure by the mouth
laugh < express: show pleasure aloud
sing < express: make music with the voice
whistle < express: make music with the lips
speak < express: use words
say < speak: put into words
dance < move: move to music
sleep: rest with closed eyes
dream < sleep: see things in sleep
swim < move: move through water
wait: stay until something happens
travel < move: go on a journey
fly < travel: go through the air
drive < travel: go in a car
walk < travel: go on foot
ride < travel: go on the back of a horse
get: come to have
find < get: get by chance or by looking
win < get: get by being the best
receive < get: get what somebody gives
steal < get: get what belongs to another, in secret
lose: no longer have
harm: make worse
break < harm: make into pieces
ruin < harm: make worthless
burn < harm: destroy by fire
work: do a job
live: have a home somewhere
"""
ADJECTIVES = """
tiny: very small
little: small, below the usual size
big, large: above the usual size
huge, enormous: very big
red: of the colour of blood
blue: of the colour of the sky
green: of the colour of grass
yellow: of the colour of butter
white: of the colour of snow
black: of the colour of coal
brown: of the colour of earth
grey: of the colour of ashes
purple: of the colour of plums
golden: of the colour of gold
happy, glad: feeling pleasure
cheerful, merry: in high spirits
proud: feeling pleasure about what one has done
calm: feeling no worry
grateful: feeling thanks
hopeful: expecting good things
sad, unhappy: feeling sorrow
angry: feeling rage
gloomy: in low spirits
worried: expecting bad things
lonely: feeling sorrow at being alone
tired: in need of rest
bitter: feeling wronged
"""
ANTONYMS = (  # of each part of speech
    ("big", "little"), ("happy", "unhappy"), ("cheerful", "gloomy"), ("calm", "worried"), ("black", "white"),
    ("push", "pull"), ("remember", "forget"), ("find", "lose"), ("man", "woman"), ("boy", "girl"), ("king", "queen"),
    ("uncle", "aunt"),
)  # fmt: skip


class Definition(NamedTuple):
    """A synset: its words, the first of which names it, its definition, and the synset above it."""

    pos: str
    words: tuple[str, ...]
    gloss: str
    hypernym: str = ""  # the first word of that synset
    instance: bool = False  # of its hypernym: Oslo is a city, not a kind of city

    @property
    def name(self) -> str:
        """As in dog.n.01; no word of the world has two senses."""
        return synset_name(self.words[0], self.pos)


def synset_name(word: str, pos: str) -> str:
    """The name of the synset of a word: dog.n.01."""
    return f"{word.lower().replace(' ', '_')}.{pos}.01"


def definitions(lexicon: Lexicon) -> Iterator[Definition]:
    """All synsets, hypernyms before hyponyms."""
    for pos, text in ((NOUN, NOUNS), (VERB, VERBS), (ADJECTIVE, ADJECTIVES)):
        yield from (_parse(line, pos) for line in text.strip().splitlines())
    for job in lexicon.jobs:
        yield Definition(NOUN, (job.name,), f"a person who works in the {job.place}", "worker")
        yield Definition(NOUN, (job.place,), f"the place where a {job.name} works", "workplace")
    for city in lexicon.cities:
        yield Definition(NOUN, (city.name,), f"the capital of {city.country}", "capital", True)
        yield Definition(NOUN, (city.country,), f"the country around {city.name}", "country", True)


@cache
def definitions_by_word(lexicon: Lexicon) -> dict[str, Definition]:
    """The synset of each word of a lexicon."""
    return {word: definition for definition in definitions(lexicon) for word in definition.words}


def _parse(line: str, pos: str) -> Definition:
    head, _, gloss = line.partition(": ")
    words, _, hypernym = head.partition(" < ")
    return Definition(pos, tuple(words.split(", ")), gloss, hypernym)
