"""Stories with every layer of gold annotation, all read from one derivation, so that the layers are consistent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from firth.datasets.records import Answer, Pair
from firth.datasets.world import entailment
from firth.datasets.world.distractors import DistractorPools, Inferences, QuestionContext, QuestionDraft
from firth.datasets.world.lexicon import Lexicon, Scene
from firth.datasets.world.phrase_structure import CONTENT, Word
from firth.datasets.world.surface_text import realise
from firth.datasets.world.weighted_grammar import Derivation

LABELS = ("paraphrase", "entailment", "contradiction", "neutral")


class AnnotatedSentence(NamedTuple):
    """A sentence with its annotation layers; one entry per word unless noted."""

    text: str
    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    heads: tuple[int, ...]  # counted from 1; 0 is the root
    relations: tuple[str, ...]
    entities: tuple[str, ...]  # BIO tags
    tree: str  # constituency tree in brackets, with Penn Treebank tags
    sentiment: str  # good, bad or neutral
    polarities: tuple[int, ...]  # sentiment polarity of each word: 1 good, −1 bad, 0 neutral
    translation: tuple[str, ...]  # the words of the translation
    alignment: tuple[tuple[int, int], ...]  # (word, word of the translation), counted from 0
    pairs: tuple[Pair, ...]  # with a paraphrase, an entailed, a contradicting and an unrelated sentence
    kind: str  # of sentence: a function name of `entailment`
    log_probability: float  # of the sentence, given the scene


class StoryQuestion(NamedTuple):
    """A question about a document; extractive answers have their character offset, others (yes, a country) −1."""

    kind: str
    text: str
    answers: tuple[Answer, ...]
    choices: tuple[str, ...] = ()


class AnnotatedStory(NamedTuple):
    """An annotated document: its sentences, its scene, questions with answer offsets, and a summary."""

    text: str
    scene: Scene
    sentences: tuple[AnnotatedSentence, ...]
    questions: tuple[StoryQuestion, ...]
    summary: str

    @property
    def translation(self) -> str:
        """The document in the second language."""
        return " ".join([realise(" ".join(sentence.translation)) for sentence in self.sentences])


class Annotator:
    """Annotates the derivations of one world."""

    def __init__(self, lexicon: Lexicon, unrelated: list[Derivation]) -> None:
        self._pools = DistractorPools.from_lexicon(lexicon)
        self._unrelated = [(realise(node.text), _content(node.words)) for node in unrelated]

    def story(self, scene: Scene, nodes: tuple[Derivation, ...], salt: int) -> AnnotatedStory:
        """The annotated story; `salt` selects distractors and unrelated sentences."""
        sentences, questions, offset = [], {}, 0
        story_words = {word for node in nodes for word in node.words}
        for number, node in enumerate(nodes):
            context = QuestionContext(self._pools, story_words, salt * 31 + number * 7)
            inferences = node.production.meaning(node, context)
            sentence = self.sentence(node, inferences, context.salt)
            for draft in inferences.questions:
                _add_question(questions, draft, sentence.text, offset, scene.hero.name)
            sentences.append(sentence)
            offset += len(sentence.text) + 1
        text = " ".join([sentence.text for sentence in sentences])
        summary = realise(entailment.summary(scene, nodes), ".")
        return AnnotatedStory(text, scene, tuple(sentences), tuple(questions.values()), summary)

    def sentence(self, node: Derivation, inferences: Inferences, salt: int) -> AnnotatedSentence:
        """All annotation layers of one sentence."""
        words, structure = node.words, node.structure
        text, first = realise(node.text), words[0]
        capital = first[:1].upper() + first[1:]
        lemmas, upos, xpos, feats, entities, polarities = zip(*[word.columns for word in words], strict=False)
        polarity = sum(polarities)
        brackets = [word.bracket for word in words]
        brackets[0] = f"({first.xpos} {capital})"
        translation = structure.translate(words)
        return AnnotatedSentence(
            text,
            (capital, *words[1:]),
            lemmas,
            upos,
            xpos,
            feats,
            structure.heads,
            structure.relations,
            entities,
            structure.tree % tuple(brackets),
            "good" if polarity > 0 else "bad" if polarity < 0 else "neutral",
            polarities,
            (translation[0][:1].upper() + translation[0][1:], *translation[1:]),
            structure.alignment,
            self._pairs(text, words, structure.content, inferences, salt),
            node.production.meaning.__name__,
            node.log_probability,
        )

    def _pairs(
        self, text: str, words: Sequence[Word], content: int, inferences: Inferences, salt: int
    ) -> tuple[Pair, ...]:
        """Sentence pairs; similarity is 5 times the Dice coefficient of the content words, 2.5 for a contradiction."""
        entailed = round(
            10 * inferences.shared_content / (content + inferences.shared_content + inferences.new_content), 2
        )
        own, unrelated, at = _content(words), self._unrelated, salt % len(self._unrelated)
        for _ in unrelated:  # in a very small world there may be no sentence without shared content words
            if own.isdisjoint(unrelated[at][1]):
                break
            at = (at + 1) % len(unrelated)
        return (
            Pair(text, realise(inferences.paraphrase, "."), LABELS[0], 5.0),
            Pair(text, realise(inferences.entailed, "."), LABELS[1], entailed),
            Pair(text, realise(inferences.contradicted, "."), LABELS[2], 2.5),
            Pair(text, unrelated[at][0], LABELS[3], 0.0),
        )


def _content(words: Sequence[Word]) -> set[str]:
    return {word.lemma for word in words if word.upos in CONTENT}


def _add_question(questions: dict[str, StoryQuestion], draft: QuestionDraft, text: str, offset: int, hero: str) -> None:
    """Add a question, or an answer to a question that the story already has."""
    question = realise(draft.text, "?")
    answer = Answer(draft.answer, -1)
    if draft.where == "hero":
        answer = Answer(hero, 0)
    elif draft.where:
        answer = _locate_answer(text, draft, offset)
    if question not in questions:
        questions[question] = StoryQuestion(draft.kind, question, (answer,), draft.choices)
    elif answer not in questions[question].answers:  # multiple choice would have more than one right answer
        questions[question] = questions[question]._replace(answers=(*questions[question].answers, answer), choices=())


def _locate_answer(text: str, draft: QuestionDraft, offset: int) -> Answer:
    """The answer with its character offset in the text, at word boundaries."""
    answer, size = draft.answer, len(draft.answer)
    find = text.find if draft.where == "first" else text.rfind
    start = find(answer)
    while start >= 0 and text[start + size : start + size + 1].isalnum():  # not the Tom in Tomorrow
        start = text.find(answer, start + 1) if draft.where == "first" else text.rfind(answer, 0, start)
    if start >= 0:
        return Answer(answer, offset + start)
    return Answer(text[:size], offset)  # capitalised at the start of the sentence
