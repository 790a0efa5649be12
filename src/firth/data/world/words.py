"""The words of the grammar, each with its tag, its features and its translation."""

from __future__ import annotations

from functools import cache

from firth.data.world.lexicon import BE, Lexicon, Noun, Number, Person, Tense, Verb
from firth.data.world.phrase import Word
from firth.data.world.tongue import FUNCTION, RELATIVE, Tongue

PRONOUN = "Case=Nom|Gender={}|Number=Sing|Person=3|PronType=Prs"
FINITE = "Mood=Ind|Number={}|Person=3|Tense={}|VerbForm=Fin"
NUMBER = {"one": "Sing", "many": "Plur"}
TONES = {"good": 1, "bad": -1}

# form: part of speech, Penn tag, features, lemma if another, relation if its own
SMALL = {
    "the": ("DET", "DT", "Definite=Def|PronType=Art"),
    "a": ("DET", "DT", "Definite=Ind|PronType=Art"),
    "an": ("DET", "DT", "Definite=Ind|PronType=Art", "a"),
    "every": ("DET", "DT", "PronType=Tot"),
    "some": ("DET", "DT", "PronType=Ind"),
    "two": ("NUM", "CD", "NumForm=Word|NumType=Card", "two", "nummod"),
    "three": ("NUM", "CD", "NumForm=Word|NumType=Card", "three", "nummod"),
    "from": ("ADP", "IN", "_"),
    "to": ("ADP", "IN", "_"),
    "in": ("ADP", "IN", "_"),
    "of": ("ADP", "IN", "_"),
    "than": ("ADP", "IN", "_"),
    "and": ("CCONJ", "CC", "_"),
    "because": ("SCONJ", "IN", "_"),
    "when": ("SCONJ", "WRB", "_"),
    "is": ("AUX", "VBZ", FINITE.format("Sing", "Pres"), "be"),
    "are": ("AUX", "VBP", FINITE.format("Plur", "Pres"), "be"),
    "will": ("AUX", "MD", "VerbForm=Fin"),
    "he": ("PRON", "PRP", PRONOUN.format("Masc")),
    "she": ("PRON", "PRP", PRONOUN.format("Fem")),
    "today": ("ADV", "RB", "_"),
    "yesterday": ("ADV", "RB", "_"),
    "once": ("ADV", "RB", "_"),
    "tomorrow": ("ADV", "RB", "_"),
    "soon": ("ADV", "RB", "_"),
    "capital": ("NOUN", "NN", "Number=Sing"),
    "older": ("ADJ", "JJR", "Degree=Cmp", "old"),
    "younger": ("ADJ", "JJR", "Degree=Cmp", "young"),
    "bigger": ("ADJ", "JJR", "Degree=Cmp", "big"),
    "smaller": ("ADJ", "JJR", "Degree=Cmp", "small"),
    ".": ("PUNCT", ".", "_"),
    ",": ("PUNCT", ",", "_"),
}
THAT = {
    "relative": Word("that", "PRON", "WDT", "PronType=Rel", target=((RELATIVE,),)),
    "reported": Word("that", "SCONJ", "IN"),
}
GENDERED = {"he": 0, "she": 1}


@cache
def small(form: str) -> Word:
    """A word of the grammar itself."""
    upos, xpos, feats, *more = SMALL[form]
    lemma, role = (*more, "", "")[:2]
    target = (tuple(FUNCTION[form].split()),) if form in FUNCTION else ((),)
    gender = GENDERED.get(form, 0)
    return Word(form, upos, xpos, feats, lemma=lemma or form, role=role, target=target, gender=gender)


def name(text: str, entity: str, gender: int = 0) -> tuple[Word, ...]:
    """A name of one word or more; names are the same in both languages."""
    marks = ["B", *"I" * text.count(" ")]
    return tuple(
        Word(part, "PROPN", "NNP", "Number=Sing", entity=f"{mark}-{entity}", target=((part,),), gender=gender)
        for part, mark in zip(text.split(" "), marks, strict=True)
    )


class Vocabulary:
    """The words of a lexicon in the forms that the grammar asks for."""

    def __init__(self, lexicon: Lexicon) -> None:
        moods, jobs = [m.name for m in lexicon.moods], [j.name for j in lexicon.jobs]
        nouns = [n.one for n in (*lexicon.beings, *lexicon.things)]
        groups = (lexicon.actions, lexicon.doings, lexicon.journeys, lexicon.lucky, lexicon.unlucky)
        verbs = [v.base for group in groups for v in group]
        lemmas = (*nouns, *jobs, *moods, *lexicon.sizes, *lexicon.colours, *verbs, "work", "live", "say")
        self.tongue = Tongue(lemmas)
        self.tones = {mood.name: TONES[mood.tone] for mood in lexicon.moods}
        self.tones |= {v.base: 1 for v in lexicon.lucky} | {v.base: -1 for v in lexicon.unlucky}
        self._colours = frozenset(lexicon.colours)

    def noun(self, noun: Noun, number: Number) -> Word:
        """Dog, dogs."""
        form = noun.one if number == "one" else noun.many
        gender, target = self.tongue.gender(noun.one), self.tongue.noun(noun.one, number)
        tag, feats = ("NN", "NNS")[number == "many"], f"Number={NUMBER[number]}"
        return Word(form, "NOUN", tag, feats, lemma=noun.one, target=((target,),), gender=gender)

    def job(self, form: str) -> Word:
        """Baker."""
        target, gender = self.tongue.noun(form, "one"), self.tongue.gender(form)
        return Word(form, "NOUN", "NN", "Number=Sing", target=((target,),), gender=gender)

    def place(self, form: str, job: str) -> Word:
        """Bakery."""
        return Word(form, "NOUN", "NN", "Number=Sing", target=((self.tongue.place(job),),))

    def person(self, who: Person) -> tuple[Word, ...]:
        """Anna."""
        return name(who.name, "PER", GENDERED[who.pronoun])

    def adjective(self, form: str, number: Number) -> Word:
        """Big, happy; also red where it follows its noun."""
        target, tone = self.tongue.adjective(form, number), self.tones.get(form, 0)
        return Word(form, "ADJ", "JJ", "Degree=Pos", target=target, tone=tone)

    def colour(self, form: str) -> Word:
        """Red before its noun: half of a compound in the other language."""
        return Word(form, "ADJ", "JJ", "Degree=Pos", target=((self.tongue.colour(form),),))

    def verb(self, verb: Verb, number: Number, tense: Tense) -> tuple[Word, ...]:
        """Sees, saw, will see."""
        target, tone = ((self.tongue.verb(verb.base, number, tense),),), self.tones.get(verb.base, 0)
        more = {"lemma": verb.base, "target": target, "tone": tone}
        if tense == "future":
            return small("will"), Word(verb.base, "VERB", "VB", "VerbForm=Inf", **more)
        if tense == "past":
            return (Word(verb.past, "VERB", "VBD", "Mood=Ind|Tense=Past|VerbForm=Fin", **more),)
        tag = {"one": "VBZ", "many": "VBP"}[number]
        return (Word(verb.form(number, tense), "VERB", tag, FINITE.format(NUMBER[number], "Pres"), **more),)

    def be(self, number: Number) -> Word:
        """Is, are."""
        return small(BE[number])
