"""Inflected words with part-of-speech tags, morphological features and translations."""

from __future__ import annotations

from functools import cache

from firth.datasets.world.lexicon import BE, Lexicon, Noun, Number, Person, Tense, Verb
from firth.datasets.world.phrase_structure import Word
from firth.datasets.world.second_language import RELATIVE, TRANSLATIONS, SecondLanguage

PRONOUN = "Case=Nom|Gender={}|Number=Sing|Person=3|PronType=Prs"
FINITE = "Mood=Ind|Number={}|Person=3|Tense={}|VerbForm=Fin"
NUMBER = {"singular": "Sing", "plural": "Plur"}
POLARITY_VALUES = {"good": 1, "bad": -1}

# form: universal part of speech, Penn tag, features, lemma if different, dependency relation if fixed
FUNCTION_WORDS = {
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
PRONOUN_GENDERS = {"he": 0, "she": 1}


@cache
def function_word(form: str) -> Word:
    """A function word or punctuation mark of the grammar."""
    upos, xpos, feats, *annotation = FUNCTION_WORDS[form]
    lemma, relation_override = (*annotation, "", "")[:2]
    target = (tuple(TRANSLATIONS[form].split()),) if form in TRANSLATIONS else ((),)
    gender = PRONOUN_GENDERS.get(form, 0)
    return Word(
        form, upos, xpos, feats, lemma=lemma or form, relation_override=relation_override, target=target, gender=gender
    )


def proper_noun(text: str, entity: str, gender: int = 0) -> tuple[Word, ...]:
    """A name of one word or more with BIO entity tags; names are the same in both languages."""
    prefixes = ["B", *"I" * text.count(" ")]
    return tuple(
        Word(part, "PROPN", "NNP", "Number=Sing", entity=f"{prefix}-{entity}", target=((part,),), gender=gender)
        for part, prefix in zip(text.split(" "), prefixes, strict=True)
    )


class Inflector:
    """Inflects the words of a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        moods, jobs = [m.name for m in lexicon.moods], [j.name for j in lexicon.jobs]
        nouns = [n.singular for n in (*lexicon.animate_nouns, *lexicon.inanimate_nouns)]
        groups = (
            lexicon.transitive_verbs,
            lexicon.intransitive_verbs,
            lexicon.motion_verbs,
            lexicon.positive_verbs,
            lexicon.negative_verbs,
        )
        verbs = [v.base for group in groups for v in group]
        lemmas = (*nouns, *jobs, *moods, *lexicon.sizes, *lexicon.colours, *verbs, "work", "live", "say")
        self.second_language = SecondLanguage(lemmas)
        self.polarities = {mood.name: POLARITY_VALUES[mood.polarity] for mood in lexicon.moods}
        self.polarities |= {v.base: 1 for v in lexicon.positive_verbs} | {v.base: -1 for v in lexicon.negative_verbs}
        self._colours = frozenset(lexicon.colours)

    def noun(self, noun: Noun, number: Number) -> Word:
        """Dog, dogs."""
        form = noun.singular if number == "singular" else noun.plural
        gender, target = self.second_language.gender(noun.singular), self.second_language.noun(noun.singular, number)
        tag, feats = ("NN", "NNS")[number == "plural"], f"Number={NUMBER[number]}"
        return Word(form, "NOUN", tag, feats, lemma=noun.singular, target=((target,),), gender=gender)

    def job(self, form: str) -> Word:
        """Baker."""
        target, gender = self.second_language.noun(form, "singular"), self.second_language.gender(form)
        return Word(form, "NOUN", "NN", "Number=Sing", target=((target,),), gender=gender)

    def place(self, form: str, job: str) -> Word:
        """Bakery."""
        return Word(form, "NOUN", "NN", "Number=Sing", target=((self.second_language.place(job),),))

    def person(self, who: Person) -> tuple[Word, ...]:
        """Anna."""
        return proper_noun(who.name, "PER", PRONOUN_GENDERS[who.pronoun])

    def adjective(self, form: str, number: Number) -> Word:
        """Big, happy; also red as a predicate."""
        target, polarity = self.second_language.adjective(form, number), self.polarities.get(form, 0)
        return Word(form, "ADJ", "JJ", "Degree=Pos", target=target, polarity=polarity)

    def colour(self, form: str) -> Word:
        """Red as an attribute: the first part of a compound in the second language."""
        return Word(form, "ADJ", "JJ", "Degree=Pos", target=((self.second_language.colour(form),),))

    def verb(self, verb: Verb, number: Number, tense: Tense) -> tuple[Word, ...]:
        """Sees, saw, will see."""
        target, polarity = ((self.second_language.verb(verb.base, number, tense),),), self.polarities.get(verb.base, 0)
        annotation = {"lemma": verb.base, "target": target, "polarity": polarity}
        if tense == "future":
            return function_word("will"), Word(verb.base, "VERB", "VB", "VerbForm=Inf", **annotation)
        if tense == "past":
            return (Word(verb.past, "VERB", "VBD", "Mood=Ind|Tense=Past|VerbForm=Fin", **annotation),)
        tag = {"singular": "VBZ", "plural": "VBP"}[number]
        return (Word(verb.form(number, tense), "VERB", tag, FINITE.format(NUMBER[number], "Pres"), **annotation),)

    def be(self, number: Number) -> Word:
        """Is, are."""
        return function_word(BE[number])
