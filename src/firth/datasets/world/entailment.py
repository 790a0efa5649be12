"""Textual entailment: a paraphrase, an entailed and a contradicting sentence, and questions for each sentence.

One function for each kind of sentence, which knows the parts of its derivation; its name is the sentence's `kind` in
the annotated data, so it must not change. `every` has existential import: what every dog saw was seen.
"""

from __future__ import annotations

from collections.abc import Callable

from firth.datasets.world.distractors import Inferences, QuestionContext, QuestionDraft
from firth.datasets.world.lexicon import BE, Scene, Verb, VerbForm
from firth.datasets.world.weighted_grammar import Derivation

OBJECTIVE = {"she": "her", "he": "him"}
EXISTING = ("some", "two", "three")
QUESTION_WORDS = {"older": "who", "younger": "who", "bigger": "which", "smaller": "which"}
CONVERSE = {"older": "younger", "younger": "older", "bigger": "smaller", "smaller": "bigger"}


# --- English auxiliaries, negation and questions ------------------------------------------------------------------


def auxiliary(action: VerbForm) -> str:
    """Does, do, did, will."""
    if action.tense == "present":
        return "does" if action.number == "singular" else "do"
    return "did" if action.tense == "past" else "will"


def be(number: str, tense: str) -> str:
    """Is, are, was, were, will be."""
    if tense == "present":
        return BE[number]
    return ("was" if number == "singular" else "were") if tense == "past" else "will be"


def negate_clause(subject: Derivation, verb: str, not_verb: str, rest: str) -> str:
    """Negate a clause: a quantified subject is negated (not every, no), otherwise the verb."""
    first = subject.words[0]
    if first == "every":
        return f"not {subject.text} {verb} {rest}".rstrip()
    if first in EXISTING:
        return f"no {subject.text[len(first) + 1 :]} {verb} {rest}".rstrip()
    return f"{subject.text} {not_verb} {rest}".rstrip()


def with_any(object_: Derivation) -> str:
    """A noun phrase under negation (negative polarity `any`): any cups."""
    first = object_.words[0]
    return f"any {object_.text[len(first) + 1 :]}" if first in EXISTING else object_.text


def _name(subject: Derivation) -> str:
    return subject.production.meaning.name


def _singular_form(verb: Derivation) -> str:
    """The singular verb form, as after `who`."""
    return verb.production.meaning.verb.form("singular", verb.production.meaning.tense)


def _who_question(subject: Derivation, verb: str, rest: str = "") -> QuestionDraft:
    """A who question; the answer is the name, also for a pronoun."""
    named = subject.words[0] == _name(subject).partition(" ")[0]
    return QuestionDraft("who", f"who {verb} {rest}".rstrip(), _name(subject), "first" if named else "hero")


# --- transitive clauses -------------------------------------------------------------------------------------------


def transitive(
    subject: Derivation, name: str, verb: Derivation, object_: Derivation, front: str, context: QuestionContext
) -> Inferences:
    """The inferences from any transitive sentence."""
    action: VerbForm = verb.production.meaning
    active, aux = verb.text, auxiliary(action)
    passive = f"{object_.text} {be(object_.number, action.tense)} {action.verb.past_participle}"
    when, any_object = f" {front}" if front else "", with_any(object_)
    negation = negate_clause(subject, f"{active} {any_object}", f"{aux} not {action.verb.base} {any_object}", "")
    what = "whom" if object_.parts[0].nonterminal.label == "animate noun phrase" else "what"
    does, other = f"{aux} {name} {action.verb.base}", f"the {context.unmentioned(context.pools.inanimate_nouns)}"
    yes_no_question = context.yes_no_question(
        (
            (f"{does} {object_.text}{when}", f"{does} {other}{when}"),
            (f"is it true that {name} {active} {object_.text}{when}", f"is it true that {name} {active} {other}{when}"),
            (
                f"is it true that {name} {aux} not {action.verb.base} {other}{when}",
                f"is it true that {name} {aux} not {action.verb.base} {any_object}{when}",
            ),
        )
    )
    paraphrase = f"{passive} by {OBJECTIVE.get(subject.text, subject.text)}{when}"
    if _has_scope_ambiguity(subject, object_):
        paraphrase = f"it is {subject.text} that {active} {object_.text}"
    questions = (QuestionDraft("object", f"{what} {does}{when}", object_.text, "last"), yes_no_question)
    shared = verb.structure.content + object_.structure.content
    return Inferences(paraphrase, passive, f"{front} {negation}".lstrip(), shared, questions)


def _has_scope_ambiguity(subject: Derivation, object_: Derivation) -> bool:
    """Whether passivisation changes quantifier scope: every wolf washed two queens, perhaps not the same two."""
    first, second = subject.words[0], object_.words[0]
    return (first == "every" and second in EXISTING) or (first in EXISTING and second == "every")


def acting(node: Derivation, context: QuestionContext) -> Inferences:
    """Yesterday Anna saw the dog."""
    *front, subject, act = node.parts[0].parts
    verb, object_ = act.parts
    inferences = transitive(subject, _name(subject), verb, object_, front[0].text if front else "", context)
    return inferences._replace(questions=(*inferences.questions, _who_question(subject, verb.text, object_.text)))


def acting_together(node: Derivation, context: QuestionContext) -> Inferences:
    """Anna and Tom saw the dog."""
    both, act, _ = node.parts
    verb, object_ = act.parts
    inferences = transitive(both, both.text, verb, object_, "", context)
    single = f"{_singular_form(verb)} {object_.text}"
    who = QuestionDraft("who", f"who {single}", both.text, "first")
    alone, shared = f"{both.parts[0].text} {single}", node.structure.content - 1
    return inferences._replace(entailed=alone, shared_content=shared, questions=(*inferences.questions, who))


def happening(node: Derivation, context: QuestionContext) -> Inferences:
    """The dog saw the cat."""
    subject, act = node.parts[0].parts
    verb, object_ = act.parts
    inferences = transitive(subject, subject.text, verb, object_, "", context)
    who = QuestionDraft("who", f"who {_singular_form(verb)} {object_.text}", subject.text, "first")
    return inferences._replace(questions=(*inferences.questions, who))


# --- intransitive and other clauses about the hero ----------------------------------------------------------------


def doing(node: Derivation, context: QuestionContext) -> Inferences:
    """Anna smiles."""
    subject, verb, _ = node.parts
    action, who = verb.production.meaning, subject.text
    negation = f"{who} {auxiliary(action)} not {action.verb.base}"
    do_question, sings, name = f"{auxiliary(action)} {_name(subject)}", verb.text, _name(subject)
    other = _unmentioned_verb(context)
    would, not_so = other.form("singular", action.tense), f"is it true that {name} {auxiliary(action)} not"
    yes_no = context.yes_no_question(
        (
            (f"{do_question} {action.verb.base}", f"{do_question} {other.base}"),
            (f"is it true that {name} {sings}", f"is it true that {name} {would}"),
            (f"{not_so} {other.base}", f"{not_so} {action.verb.base}"),
        )
    )
    return Inferences(
        f"it is {who} who {sings}", f"somebody {sings}", negation, 1, (_who_question(subject, sings), yes_no)
    )


def _unmentioned_verb(context: QuestionContext) -> Verb:
    """An intransitive verb of which the story mentions no form; the last one if it mentions all."""
    first = context.salt % len(context.pools.intransitive_verbs)
    row = context.pools.intransitive_verbs[first:] + context.pools.intransitive_verbs[:first]
    return next((verb for verb in row if context.story_words.isdisjoint((verb.base, verb.third, verb.past))), row[-1])


def travelling(node: Derivation, context: QuestionContext) -> Inferences:
    """Anna flew from Oslo to Rome."""
    subject, trip, _ = node.parts
    verb, start, goal = trip.parts
    action, who, flew = verb.production.meaning, subject.text, verb.text
    home, city = start.parts[1].text, goal.parts[1].text
    question = f"where {auxiliary(action)} {_name(subject)} {action.verb.base}"
    return Inferences(
        f"{who} {flew} to {city} from {home}",
        f"{who} {flew} to {city}",
        f"{who} {auxiliary(action)} not {action.verb.base} from {home} to {city}",
        node.structure.content - start.structure.content,
        (
            QuestionDraft("place", f"{question} to", city, "last", context.choices(city, context.pools.cities)),
            QuestionDraft("origin", f"{question} from", home, "last"),
        ),
    )


def working(node: Derivation, context: QuestionContext) -> Inferences:
    """Anna works in the bakery."""
    subject, work, _ = node.parts
    verb, inside = work.parts
    action, who = verb.production.meaning, subject.text
    place = f"the {inside.production.meaning.place}"
    question = f"where {auxiliary(action)} {_name(subject)} work"
    return Inferences(
        f"{place} {be('singular', action.tense)} where {who} {verb.text}",
        f"{who} {verb.text}",
        f"{who} {auxiliary(action)} not work in {place}",
        node.structure.content - inside.structure.content,
        (
            QuestionDraft("place", question, place, "last", context.choices(place, context.pools.places)),
            _who_question(subject, verb.text, f"in {place}"),
        ),
    )


def saying(node: Derivation, context: QuestionContext) -> Inferences:
    """Tom says that the dog saw the cat."""
    subject, reporting, _ = node.parts
    verb, reported = reporting.parts
    action, who, what = verb.production.meaning, subject.text, reported.parts[1].text
    says = verb.text
    questions = (
        QuestionDraft("who", f"who {says} that {what}", who, "first"),
        QuestionDraft("clause", f"what {auxiliary(action)} {who} say", what, "last"),
    )
    negation = f"{who} {auxiliary(action)} not say that {what}"
    return Inferences(f"according to {who} , {what}", f"{who} {says} something", negation, 2, questions)


def occasion(node: Derivation, context: QuestionContext) -> Inferences:
    """When the dog saw the cat, Anna smiled."""
    when, _, subject, verb = node.parts[0].parts
    action, who, clause = verb.production.meaning, subject.text, when.parts[1].text
    smiled = verb.text
    question = f"when {auxiliary(action)} {_name(subject)} {action.verb.base}"
    return Inferences(
        f"{who} {smiled} when {clause}",
        f"{who} {smiled}",
        f"when {clause} , {who} {auxiliary(action)} not {action.verb.base}",
        subject.structure.content + verb.structure.content,
        (QuestionDraft("time", question, f"when {clause}", "first"),),
    )


# --- copular clauses ----------------------------------------------------------------------------------------------


def opening(node: Derivation, context: QuestionContext) -> Inferences:
    """Anna is a cheerful baker from Oslo."""
    subject, _, occupation, _ = node.parts
    article, mood, job, origin = occupation.parts
    who, city = _name(subject), origin.parts[1].text
    country = origin.parts[1].production.meaning.country
    article_of_job = "an" if job.text[0] in "aeiou" else "a"
    moods = context.mood_choices(str(mood), occupation.production.meaning.polarity)
    return Inferences(
        f"{who} comes from {city} and is {article} {mood} {job.text}",
        f"{who} is {article_of_job} {job.text}",
        f"{who} is not {article} {mood} {job.text} from {city}",
        2,
        (
            QuestionDraft(
                "job", f"what is the job of {who}", job.text, "last", context.choices(job.text, context.pools.jobs)
            ),
            QuestionDraft("mood", f"how does {who} feel", str(mood), "last", moods),
            QuestionDraft("origin", f"where does {who} come from", city, "last"),
            QuestionDraft("country", f"which country does {who} come from", country),
        ),
    )


def feeling(node: Derivation, context: QuestionContext) -> Inferences:
    """Anna is happy because the dog found the key."""
    subject, _, mood, reason, _ = node.parts
    who, so, why = subject.text, mood.text, reason.parts[1].text
    moods = context.mood_choices(so, mood.production.meaning.polarity)
    return Inferences(
        f"because {why} , {who} is {so}",
        f"{who} is {so}",
        f"{who} is not {so}",
        subject.structure.content + mood.structure.content,
        (
            QuestionDraft("reason", f"why is {_name(subject)} {so}", why, "last"),
            QuestionDraft("mood", f"how does {_name(subject)} feel", so, "first", moods),
        ),
    )


def compare(subject: str, name: str, word: str, other: str, shared: int, context: QuestionContext) -> Inferences:
    """The inferences from a comparative."""
    opposite = CONVERSE[word]
    pair = (name, other) if context.salt // 4 % 2 else (other, name)
    question = QuestionDraft("comparison", f"{QUESTION_WORDS[word]} is {word} , {pair[0]} or {pair[1]}", name, "", pair)
    yes_no = context.yes_no_question(((f"is {name} {word} than {other}", f"is {name} {opposite} than {other}"),))
    by = OBJECTIVE.get(subject, subject)
    return Inferences(
        f"{other} is {opposite} than {by}",
        f"{subject} is not {opposite} than {other}",
        f"{subject} is {opposite} than {other}",
        shared - 1,
        (question, yes_no),
        1,
    )


def ageing(node: Derivation, context: QuestionContext) -> Inferences:
    """Anna is older than Tom."""
    subject, _, more, _ = node.parts
    other = more.parts[1].parts[1].text
    return compare(subject.text, _name(subject), more.parts[0], other, node.structure.content, context)


def comparing(node: Derivation, context: QuestionContext) -> Inferences:
    """The boat is bigger than the cup."""
    subject, _, more = node.parts[0].parts
    subject_text, other = subject.text, more.parts[1].parts[1].text
    return compare(subject_text, subject_text, more.parts[0], other, node.structure.content, context)


def describing(node: Derivation, context: QuestionContext) -> Inferences:
    """The boats are red."""
    subject, is_, so = node.parts[0].parts
    what, quality = subject, so.text
    pools = context.pools
    kind = "colour" if quality in pools.colours else "size"
    others = pools.small if quality in pools.big else pools.big
    wrong = context.distractors(quality, pools.colours) if kind == "colour" else context.distractors(quality, others, 1)
    question = f"what {kind} {is_} {what.text}"
    return Inferences(
        f"{quality} {is_} {what.text}",
        f"something is {quality}",
        negate_clause(what, f"{is_} {quality}", f"{is_} not {quality}", ""),
        1,
        (QuestionDraft(kind, question, quality, "last", context.insert_answer(quality, wrong)),),
    )


def fact(node: Derivation, context: QuestionContext) -> Inferences:
    """Oslo is the capital of Norway."""
    city, _, _ = node.parts[0].parts
    here, country = city.text, city.production.meaning.country
    wrong = context.distractors(country, context.pools.countries)[0]
    return Inferences(
        f"the capital of {country} is {here}",
        f"{here} is in {country}",
        f"{here} is the capital of {wrong}",
        city.structure.content + country.count(" ") + 1,
        (
            QuestionDraft(
                "capital",
                f"what is the capital of {country}",
                here,
                "first",
                context.choices(here, context.pools.cities),
            ),
            context.yes_no_question(((f"is {here} the capital of {country}", f"is {here} the capital of {wrong}"),)),
        ),
    )


SentenceKind = Callable[[Derivation, QuestionContext], Inferences]
OPENING: SentenceKind = opening
STORY: tuple[SentenceKind, ...] = (  # in the order of the weights
    acting, doing, travelling, working, feeling, ageing, acting_together, happening, describing, comparing, fact,
    saying, occasion,
)  # fmt: skip


# --- summaries ----------------------------------------------------------------------------------------------------


def _after_subject(node: Derivation) -> str:
    return " ".join([part.text for part in node.parts[1:-1]])


def _act(node: Derivation) -> str:
    return node.parts[0].parts[-1].text


# The kinds of sentences that a summary may be about, in order of preference; each with its predicate.
SUMMARY_PREDICATES: dict[SentenceKind, Callable[[Derivation], str]] = {
    feeling: _after_subject, travelling: _after_subject, acting: _act, working: _after_subject, doing: _after_subject,
}  # fmt: skip


def summary(scene: Scene, nodes: tuple[Derivation, ...]) -> str:
    """Anna , a baker from Oslo , is happy because the dog found the key."""
    article = "an" if scene.job.name[0] in "aeiou" else "a"
    node_by_kind = {node.production.meaning: node for node in reversed(nodes)}
    occupation = f"{article} {scene.job.name} from {scene.home.name}"
    for kind, predicate in SUMMARY_PREDICATES.items():
        if kind in node_by_kind:
            return f"{scene.hero.name} , {occupation} , {predicate(node_by_kind[kind])}"
    return f"{scene.hero.name} is {occupation}"
