"""What else can be said of a sentence: the same in other words, what follows, what it rules out, and questions.

One function for each kind of sentence; it knows the parts of that kind's derivation. `every` is taken to speak of one
at least, so that what every dog saw was seen.
"""

from __future__ import annotations

from collections.abc import Callable

from firth.data.world.cast import Ask, Cast, Told
from firth.data.world.chance import Node
from firth.data.world.lexicon import BE, Action, Scene, Verb

OBJECTIVE = {"she": "her", "he": "him"}
EXISTING = ("some", "two", "three")
ASKED = {"older": "who", "younger": "who", "bigger": "which", "smaller": "which"}
CONVERSE = {"older": "younger", "younger": "older", "bigger": "smaller", "smaller": "bigger"}


# --- the English of it --------------------------------------------------------------------------------------------


def auxiliary(action: Action) -> str:
    """Does, do, did, will."""
    if action.tense == "present":
        return "does" if action.number == "one" else "do"
    return "did" if action.tense == "past" else "will"


def be(number: str, tense: str) -> str:
    """Is, are, was, were, will be."""
    if tense == "present":
        return BE[number]
    return ("was" if number == "one" else "were") if tense == "past" else "will be"


def deny(subject: Node, verb: str, not_verb: str, rest: str) -> str:
    """The opposite: a quantified subject is denied as a whole, any other does not do it."""
    first = subject.words[0]
    if first == "every":
        return f"not {subject.text} {verb} {rest}".rstrip()
    if first in EXISTING:
        return f"no {subject.text[len(first) + 1 :]} {verb} {rest}".rstrip()
    return f"{subject.text} {not_verb} {rest}".rstrip()


def any_of(thing: Node) -> str:
    """A noun phrase as it stands after `not`: any cups."""
    first = thing.words[0]
    return f"any {thing.text[len(first) + 1 :]}" if first in EXISTING else thing.text


def _name(subject: Node) -> str:
    return subject.option.means.name


def _single(verb: Node) -> str:
    """The verb as it follows `who`."""
    return verb.option.means.verb.form("one", verb.option.means.tense)


def _who(subject: Node, verb: str, rest: str = "") -> Ask:
    """A question for a person; a pronoun is answered by the name."""
    named = subject.words[0] == _name(subject).partition(" ")[0]
    return Ask("who", f"who {verb} {rest}".rstrip(), _name(subject), "first" if named else "hero")


# --- somebody does something to something -------------------------------------------------------------------------


def transitive(subject: Node, name: str, verb: Node, thing: Node, front: str, cast: Cast) -> Told:
    """What holds of any sentence with an object."""
    action: Action = verb.option.means
    active, aux = verb.text, auxiliary(action)
    passive = f"{thing.text} {be(thing.number, action.tense)} {action.verb.done}"
    when, any_thing = f" {front}" if front else "", any_of(thing)
    denied = deny(subject, f"{active} {any_thing}", f"{aux} not {action.verb.base} {any_thing}", "")
    what = "whom" if thing.parts[0].choice.label == "being phrase" else "what"
    does, other = f"{aux} {name} {action.verb.base}", f"the {cast.unsaid(cast.pools.things)}"
    yes_or_no = cast.yes_or_no(
        (
            (f"{does} {thing.text}{when}", f"{does} {other}{when}"),
            (f"is it true that {name} {active} {thing.text}{when}", f"is it true that {name} {active} {other}{when}"),
            (
                f"is it true that {name} {aux} not {action.verb.base} {other}{when}",
                f"is it true that {name} {aux} not {action.verb.base} {any_thing}{when}",
            ),
        )
    )
    same = f"{passive} by {OBJECTIVE.get(subject.text, subject.text)}{when}"
    if _differ_in_scope(subject, thing):
        same = f"it is {subject.text} that {active} {thing.text}"
    questions = (Ask("object", f"{what} {does}{when}", thing.text, "last"), yes_or_no)
    kept = verb.shape.content + thing.shape.content
    return Told(same, passive, f"{front} {denied}".lstrip(), kept, questions)


def _differ_in_scope(subject: Node, thing: Node) -> bool:
    """Whether the passive would say something else: every wolf washed two queens, perhaps not the same two."""
    first, second = subject.words[0], thing.words[0]
    return (first == "every" and second in EXISTING) or (first in EXISTING and second == "every")


def acting(node: Node, cast: Cast) -> Told:
    """Yesterday Anna saw the dog."""
    *front, subject, act = node.parts[0].parts
    verb, thing = act.parts
    told = transitive(subject, _name(subject), verb, thing, front[0].text if front else "", cast)
    return told._replace(questions=(*told.questions, _who(subject, verb.text, thing.text)))


def acting_together(node: Node, cast: Cast) -> Told:
    """Anna and Tom saw the dog."""
    both, act, _ = node.parts
    verb, thing = act.parts
    told = transitive(both, both.text, verb, thing, "", cast)
    single = f"{_single(verb)} {thing.text}"
    who = Ask("who", f"who {single}", both.text, "first")
    alone, kept = f"{both.parts[0].text} {single}", node.shape.content - 1
    return told._replace(entailed=alone, kept=kept, questions=(*told.questions, who))


def happening(node: Node, cast: Cast) -> Told:
    """The dog saw the cat."""
    subject, act = node.parts[0].parts
    verb, thing = act.parts
    told = transitive(subject, subject.text, verb, thing, "", cast)
    who = Ask("who", f"who {_single(verb)} {thing.text}", subject.text, "first")
    return told._replace(questions=(*told.questions, who))


# --- somebody does something --------------------------------------------------------------------------------------


def doing(node: Node, cast: Cast) -> Told:
    """Anna smiles."""
    subject, verb, _ = node.parts
    action, who = verb.option.means, subject.text
    denied = f"{who} {auxiliary(action)} not {action.verb.base}"
    asked, sings, name = f"{auxiliary(action)} {_name(subject)}", verb.text, _name(subject)
    other = _other_doing(cast)
    would, not_so = other.form("one", action.tense), f"is it true that {name} {auxiliary(action)} not"
    polar = cast.yes_or_no(
        (
            (f"{asked} {action.verb.base}", f"{asked} {other.base}"),
            (f"is it true that {name} {sings}", f"is it true that {name} {would}"),
            (f"{not_so} {other.base}", f"{not_so} {action.verb.base}"),
        )
    )
    return Told(f"it is {who} who {sings}", f"somebody {sings}", denied, 1, (_who(subject, sings), polar))


def _other_doing(cast: Cast) -> Verb:
    """A verb of which the story has no form; the last one if it has one of each."""
    first = cast.salt % len(cast.pools.doings)
    row = cast.pools.doings[first:] + cast.pools.doings[:first]
    return next((verb for verb in row if cast.said.isdisjoint((verb.base, verb.third, verb.past))), row[-1])


def travelling(node: Node, cast: Cast) -> Told:
    """Anna flew from Oslo to Rome."""
    subject, trip, _ = node.parts
    verb, start, goal = trip.parts
    action, who, flew = verb.option.means, subject.text, verb.text
    home, city = start.parts[1].text, goal.parts[1].text
    asked = f"where {auxiliary(action)} {_name(subject)} {action.verb.base}"
    return Told(
        f"{who} {flew} to {city} from {home}",
        f"{who} {flew} to {city}",
        f"{who} {auxiliary(action)} not {action.verb.base} from {home} to {city}",
        node.shape.content - start.shape.content,
        (
            Ask("place", f"{asked} to", city, "last", cast.choices(city, cast.pools.cities)),
            Ask("origin", f"{asked} from", home, "last"),
        ),
    )


def working(node: Node, cast: Cast) -> Told:
    """Anna works in the bakery."""
    subject, work, _ = node.parts
    verb, inside = work.parts
    action, who = verb.option.means, subject.text
    place = f"the {inside.option.means.place}"
    asked = f"where {auxiliary(action)} {_name(subject)} work"
    return Told(
        f"{place} {be('one', action.tense)} where {who} {verb.text}",
        f"{who} {verb.text}",
        f"{who} {auxiliary(action)} not work in {place}",
        node.shape.content - inside.shape.content,
        (
            Ask("place", asked, place, "last", cast.choices(place, cast.pools.places)),
            _who(subject, verb.text, f"in {place}"),
        ),
    )


def saying(node: Node, cast: Cast) -> Told:
    """Tom says that the dog saw the cat."""
    subject, says, _ = node.parts
    verb, reported = says.parts
    action, who, what = verb.option.means, subject.text, reported.parts[1].text
    said = verb.text
    questions = (
        Ask("who", f"who {said} that {what}", who, "first"),
        Ask("clause", f"what {auxiliary(action)} {who} say", what, "last"),
    )
    denied = f"{who} {auxiliary(action)} not say that {what}"
    return Told(f"according to {who} , {what}", f"{who} {said} something", denied, 2, questions)


def occasion(node: Node, cast: Cast) -> Told:
    """When the dog saw the cat, Anna smiled."""
    when, _, subject, verb = node.parts[0].parts
    action, who, clause = verb.option.means, subject.text, when.parts[1].text
    smiled = verb.text
    asked = f"when {auxiliary(action)} {_name(subject)} {action.verb.base}"
    return Told(
        f"{who} {smiled} when {clause}",
        f"{who} {smiled}",
        f"when {clause} , {who} {auxiliary(action)} not {action.verb.base}",
        subject.shape.content + verb.shape.content,
        (Ask("time", asked, f"when {clause}", "first"),),
    )


# --- how somebody or something is ---------------------------------------------------------------------------------


def opening(node: Node, cast: Cast) -> Told:
    """Anna is a cheerful baker from Oslo."""
    subject, _, calling, _ = node.parts
    article, mood, job, origin = calling.parts
    who, city = _name(subject), origin.parts[1].text
    country = origin.parts[1].option.means.country
    article_of_job = "an" if job.text[0] in "aeiou" else "a"
    moods = cast.mood_choices(str(mood), calling.option.means.tone)
    return Told(
        f"{who} comes from {city} and is {article} {mood} {job.text}",
        f"{who} is {article_of_job} {job.text}",
        f"{who} is not {article} {mood} {job.text} from {city}",
        2,
        (
            Ask("job", f"what is the job of {who}", job.text, "last", cast.choices(job.text, cast.pools.jobs)),
            Ask("mood", f"how does {who} feel", str(mood), "last", moods),
            Ask("origin", f"where does {who} come from", city, "last"),
            Ask("country", f"which country does {who} come from", country),
        ),
    )


def feeling(node: Node, cast: Cast) -> Told:
    """Anna is happy because the dog found the key."""
    subject, _, mood, reason, _ = node.parts
    who, so, why = subject.text, mood.text, reason.parts[1].text
    moods = cast.mood_choices(so, mood.option.means.tone)
    return Told(
        f"because {why} , {who} is {so}",
        f"{who} is {so}",
        f"{who} is not {so}",
        subject.shape.content + mood.shape.content,
        (
            Ask("reason", f"why is {_name(subject)} {so}", why, "last"),
            Ask("mood", f"how does {_name(subject)} feel", so, "first", moods),
        ),
    )


def compare(subject: str, name: str, word: str, other: str, kept: int, cast: Cast) -> Told:
    """Of two people or things, one is more."""
    opposite = CONVERSE[word]
    pair = (name, other) if cast.salt // 4 % 2 else (other, name)
    asked = Ask("comparison", f"{ASKED[word]} is {word} , {pair[0]} or {pair[1]}", name, "", pair)
    polar = cast.yes_or_no(((f"is {name} {word} than {other}", f"is {name} {opposite} than {other}"),))
    by = OBJECTIVE.get(subject, subject)
    return Told(
        f"{other} is {opposite} than {by}",
        f"{subject} is not {opposite} than {other}",
        f"{subject} is {opposite} than {other}",
        kept - 1,
        (asked, polar),
        1,
    )


def ageing(node: Node, cast: Cast) -> Told:
    """Anna is older than Tom."""
    subject, _, more, _ = node.parts
    other = more.parts[1].parts[1].text
    return compare(subject.text, _name(subject), more.parts[0], other, node.shape.content, cast)


def comparing(node: Node, cast: Cast) -> Told:
    """The boat is bigger than the cup."""
    subject, _, more = node.parts[0].parts
    thing, other = subject.text, more.parts[1].parts[1].text
    return compare(thing, thing, more.parts[0], other, node.shape.content, cast)


def describing(node: Node, cast: Cast) -> Told:
    """The boats are red."""
    subject, is_, so = node.parts[0].parts
    what, quality = subject, so.text
    pools = cast.pools
    kind = "colour" if quality in pools.colours else "size"
    others = pools.small if quality in pools.big else pools.big
    wrong = cast.wrong(quality, pools.colours) if kind == "colour" else cast.wrong(quality, others, 1)
    asked = f"what {kind} {is_} {what.text}"
    return Told(
        f"{quality} {is_} {what.text}",
        f"something is {quality}",
        deny(what, f"{is_} {quality}", f"{is_} not {quality}", ""),
        1,
        (Ask(kind, asked, quality, "last", cast.among(quality, wrong)),),
    )


def fact(node: Node, cast: Cast) -> Told:
    """Oslo is the capital of Norway."""
    city, _, _ = node.parts[0].parts
    here, country = city.text, city.option.means.country
    wrong = cast.wrong(country, cast.pools.countries)[0]
    return Told(
        f"the capital of {country} is {here}",
        f"{here} is in {country}",
        f"{here} is the capital of {wrong}",
        city.shape.content + country.count(" ") + 1,
        (
            Ask("capital", f"what is the capital of {country}", here, "first", cast.choices(here, cast.pools.cities)),
            cast.yes_or_no(((f"is {here} the capital of {country}", f"is {here} the capital of {wrong}"),)),
        ),
    )


Frame = Callable[[Node, Cast], Told]
OPENING: Frame = opening
STORY: tuple[Frame, ...] = (  # in the order of the weights
    acting, doing, travelling, working, feeling, ageing, acting_together, happening, describing, comparing, fact,
    saying, occasion,
)  # fmt: skip


# --- a whole story ------------------------------------------------------------------------------------------------


def _after_subject(node: Node) -> str:
    return " ".join([part.text for part in node.parts[1:-1]])


def _act(node: Node) -> str:
    return node.parts[0].parts[-1].text


# What is worth telling of a story, the first that there is; each with its predicate.
TELLING: dict[Frame, Callable[[Node], str]] = {
    feeling: _after_subject, travelling: _after_subject, acting: _act, working: _after_subject, doing: _after_subject,
}  # fmt: skip


def summary(scene: Scene, nodes: tuple[Node, ...]) -> str:
    """Anna , a baker from Oslo , is happy because the dog found the key."""
    article = "an" if scene.job.name[0] in "aeiou" else "a"
    found = {node.option.means: node for node in reversed(nodes)}
    calling = f"{article} {scene.job.name} from {scene.home.name}"
    for frame, predicate in TELLING.items():
        if frame in found:
            return f"{scene.hero.name} , {calling} , {predicate(found[frame])}"
    return f"{scene.hero.name} is {calling}"
