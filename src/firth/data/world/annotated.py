"""Stories with every layer of gold annotation, all read from one derivation, so that they agree with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from firth.data.records import Answer, Pair
from firth.data.world import frames
from firth.data.world.cast import Ask, Cast, Pools, Told
from firth.data.world.chance import Node
from firth.data.world.lexicon import Lexicon, Scene
from firth.data.world.phrase import CONTENT, Word
from firth.data.world.writing import write

LABELS = ("paraphrase", "entailment", "contradiction", "neutral")


class Annotated(NamedTuple):
    """A sentence with its layers; one entry a word, except where something else is said."""

    text: str
    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    heads: tuple[int, ...]  # counted from 1; 0 is the root
    relations: tuple[str, ...]
    entities: tuple[str, ...]  # BIO
    tree: str  # brackets, with the Penn tags as leaves' labels
    sentiment: str  # good, bad or neutral
    tones: tuple[int, ...]  # of each word: 1 good, −1 bad, 0 neither
    translation: tuple[str, ...]  # its words
    alignment: tuple[tuple[int, int], ...]  # (word, word of the translation), counted from 0
    pairs: tuple[Pair, ...]  # with a paraphrase, an entailed, a contradicted and an unrelated sentence
    kind: str  # of sentence
    log_probability: float  # of the sentence, given the scene


class Asked(NamedTuple):
    """A question about a document; answers that stand in the text have their place, others (yes, a country) have −1."""

    kind: str
    text: str
    answers: tuple[Answer, ...]
    choices: tuple[str, ...] = ()


class AnnotatedStory(NamedTuple):
    """A document: its sentences, what it is about, and questions whose answers stand at their places in the text."""

    text: str
    scene: Scene
    sentences: tuple[Annotated, ...]
    questions: tuple[Asked, ...]
    summary: str

    @property
    def translation(self) -> str:
        """The document in the second language."""
        return " ".join([write(" ".join(sentence.translation)) for sentence in self.sentences])


class Annotator:
    """Turns derivations of one world into annotated stories."""

    def __init__(self, lexicon: Lexicon, others: list[Node]) -> None:
        self._pools = Pools.of(lexicon)
        self._others = [(write(node.text), _content(node.words)) for node in others]

    def story(self, scene: Scene, nodes: tuple[Node, ...], salt: int) -> AnnotatedStory:
        """The annotated story; `salt` chooses wrong answers and unrelated sentences."""
        sentences, asked, offset = [], {}, 0
        said = {word for node in nodes for word in node.words}
        for number, node in enumerate(nodes):
            cast = Cast(self._pools, said, salt * 31 + number * 7)
            told = node.option.means(node, cast)
            sentence = self.sentence(node, told, cast.salt)
            for ask in told.questions:
                _collect(asked, ask, sentence.text, offset, scene.hero.name)
            sentences.append(sentence)
            offset += len(sentence.text) + 1
        text = " ".join([sentence.text for sentence in sentences])
        summary = write(frames.summary(scene, nodes), ".")
        return AnnotatedStory(text, scene, tuple(sentences), tuple(asked.values()), summary)

    def sentence(self, node: Node, told: Told, salt: int) -> Annotated:
        """All layers of one sentence."""
        words, shape = node.words, node.shape
        text, first = write(node.text), words[0]
        capital = first[:1].upper() + first[1:]
        lemmas, upos, xpos, feats, entities, tones = zip(*[word.columns for word in words], strict=False)
        tone = sum(tones)
        brackets = [word.bracket for word in words]
        brackets[0] = f"({first.xpos} {capital})"
        translation = shape.translate(words)
        return Annotated(
            text,
            (capital, *words[1:]),
            lemmas,
            upos,
            xpos,
            feats,
            shape.heads,
            shape.relations,
            entities,
            shape.tree % tuple(brackets),
            "good" if tone > 0 else "bad" if tone < 0 else "neutral",
            tones,
            (translation[0][:1].upper() + translation[0][1:], *translation[1:]),
            shape.alignment,
            self._pairs(text, words, shape.content, told, salt),
            node.option.means.__name__,
            node.log_probability,
        )

    def _pairs(self, text: str, words: Sequence[Word], content: int, told: Told, salt: int) -> tuple[Pair, ...]:
        """Similarity is 5 times the share of words with content in common (Dice); a contradiction has 2.5."""
        entailed = round(10 * told.kept / (content + told.kept + told.new), 2)
        own, others, at = _content(words), self._others, salt % len(self._others)
        for _ in others:  # in a very small world perhaps none has nothing in common
            if own.isdisjoint(others[at][1]):
                break
            at = (at + 1) % len(others)
        return (
            Pair(text, write(told.paraphrase, "."), LABELS[0], 5.0),
            Pair(text, write(told.entailed, "."), LABELS[1], entailed),
            Pair(text, write(told.contradicted, "."), LABELS[2], 2.5),
            Pair(text, others[at][0], LABELS[3], 0.0),
        )


def _content(words: Sequence[Word]) -> set[str]:
    return {word.lemma for word in words if word.upos in CONTENT}


def _collect(asked: dict[str, Asked], ask: Ask, text: str, offset: int, hero: str) -> None:
    """Add an answer to the question it belongs to; asked twice in a story, a question has several answers."""
    question = write(ask.text, "?")
    answer = Answer(ask.answer, -1)
    if ask.where == "hero":
        answer = Answer(hero, 0)
    elif ask.where:
        answer = _place(text, ask, offset)
    if question not in asked:
        asked[question] = Asked(ask.kind, question, (answer,), ask.choices)
    elif answer not in asked[question].answers:  # a choice among several would have more than one right answer
        asked[question] = asked[question]._replace(answers=(*asked[question].answers, answer), choices=())


def _place(text: str, ask: Ask, offset: int) -> Answer:
    """The answer as it stands in the text, as whole words."""
    answer, size = ask.answer, len(ask.answer)
    find = text.find if ask.where == "first" else text.rfind
    start = find(answer)
    while start >= 0 and text[start + size : start + size + 1].isalnum():  # the Tom of Tomorrow
        start = text.find(answer, start + 1) if ask.where == "first" else text.rfind(answer, 0, start)
    if start >= 0:
        return Answer(answer, offset + start)
    return Answer(text[:size], offset)  # it begins the sentence, with a capital
