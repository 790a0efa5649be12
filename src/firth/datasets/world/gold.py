"""The world as labelled datasets: for each task, gold records like those that file readers return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from firth.datasets.readers import trees
from firth.datasets.records import (
    Alignment,
    Choices,
    Image,
    Labelled,
    NBest,
    Pair,
    Question,
    Record,
    Sentence,
    Series,
    Tagged,
    Tree,
    WordSense,
)
from firth.datasets.world import ambiguous_words, gold_dialogues, word_relations
from firth.datasets.world.annotation import AnnotatedSentence, AnnotatedStory
from firth.datasets.world.world_text import World

ENTAILMENT = frozenset({"entailment", "contradiction", "neutral"})


def records(world: World, task: str, count: int, start: int = 0) -> Iterator[Record]:
    """The records of documents (or images, or series) start … start+count−1 for a task of `GOLD`."""
    return GOLD[task](world, count, start)


def _per_story(
    make: Callable[[AnnotatedStory, int], Iterable[Record]],
) -> Callable[[World, int, int], Iterator[Record]]:
    def records_of(world: World, count: int, start: int) -> Iterator[Record]:
        numbered = enumerate(world.annotated_documents(count, start), start)
        return chain.from_iterable(make(story, number) for number, story in numbered)

    return records_of


def _per_sentence(
    make: Callable[[AnnotatedSentence], Iterable[Record]],
) -> Callable[[World, int, int], Iterator[Record]]:
    return _per_story(lambda story, _: chain.from_iterable(map(make, story.sentences)))


def conllu(sentence: AnnotatedSentence) -> Sentence:
    """A sentence in the ten columns of CoNLL-U."""
    last = len(sentence.words) - 1
    spaces = ["SpaceAfter=No" if at < last and sentence.upos[at + 1] == "PUNCT" else "_" for at in range(last + 1)]
    ids = [str(number) for number in range(1, last + 2)]
    none = ("_",) * len(ids)
    columns = (ids, sentence.words, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats,
               [str(head) for head in sentence.heads], sentence.relations, none, spaces)  # fmt: skip
    return Sentence((f"# text = {sentence.text}",), tuple(zip(*columns, strict=True)))


def sentiment_tree(sentence: AnnotatedSentence) -> Tree:
    """The binary sentiment tree: labels 0 (very bad) to 4 (very good) from the summed polarity of each node's words."""
    polarities = iter(sentence.polarities)

    def combine(node: Tree, children: list[tuple[Tree, int]]) -> tuple[Tree, int]:
        if len(children) == 1:
            return children[0]
        polarity = next(polarities) if node.word is not None else sum(polarity for _, polarity in children)
        label = str(2 + max(-2, min(2, polarity)))
        return Tree(label, tuple(child for child, _ in children), node.word), polarity

    return trees.fold(trees.binarise(trees.from_text(sentence.tree)), combine)[0]


def _questions(world: World, count: int, start: int) -> Iterator[Question]:
    """Extractive questions, and one unanswerable question per story (as in SQuAD 2.0)."""
    people = world.lexicon.people
    for number, story in enumerate(world.annotated_documents(count, start), start):
        title = story.scene.hero.name
        for position, question in enumerate(story.questions):
            if all(answer.start >= 0 for answer in question.answers):
                yield Question(f"{number}-{position}", story.text, question.text, question.answers, title=title)
        stranger = people[(people.index(story.scene.hero) + 1 + number % (len(people) - 1)) % len(people)].name
        yield Question(f"{number}-none", story.text, f"Where does {stranger} come from?", (), title=title)


def _choices(story: AnnotatedStory, number: int) -> Iterator[Choices]:
    """The questions of a story that have choices."""
    for position, question in enumerate(story.questions):
        if question.choices:
            answer = question.choices.index(question.answers[0].text)
            yield Choices(story.text, question.text, question.choices, answer, f"{number}-{position}")


def _per_world_story(
    make: Callable[[World, AnnotatedStory, int], Iterable[Record]],
) -> Callable[[World, int, int], Iterator[Record]]:
    def records_of(world: World, count: int, start: int) -> Iterator[Record]:
        return _per_story(lambda story, number: make(world, story, number))(world, count, start)

    return records_of


def _senses(world: World, story: AnnotatedStory, _: int) -> Iterator[WordSense]:
    return chain.from_iterable(ambiguous_words.senses(world, sentence) for sentence in story.sentences)


def _nbest(world: World, count: int, start: int) -> Iterator[NBest]:
    from firth.datasets.world.noisy_channel import nbest_list

    return (nbest_list(world, number) for number in range(start, start + count))


def _captions(world: World, count: int, start: int) -> Iterator[Image]:
    from firth.datasets.world.scene_images import SceneImage

    return (SceneImage(world.seed, index).record(captions=5) for index in range(start, start + count))


def _images(world: World, count: int, start: int) -> Iterator[Image]:
    """Each image's first object alone, labelled with its shape."""
    from firth.datasets.world.scene_images import SceneImage
    from firth.datasets.world.scenes import render_scenes

    for index in range(start, start + count):
        (obj, *_) = SceneImage(world.seed, index).scene
        name = f"picture {index}: {obj.size}, {obj.colour}, {obj.position}"
        yield Image(render_scenes([(obj,)])[0], label=obj.shape, name=name)


def _series(world: World, count: int, start: int) -> Iterator[Series]:
    from firth.datasets.world.synthetic_series import make_series

    return (make_series(world.seed, index).series for index in range(start, start + count))


GOLD: dict[str, Callable[[World, int, int], Iterator[Record]]] = {
    "language": lambda world, count, start: (Labelled(text, ()) for text in world.documents(count, start)),
    "classification": _per_sentence(lambda s: (Labelled(s.text, (s.sentiment,)),)),
    "sentiment-trees": _per_sentence(lambda s: (sentiment_tree(s),)),
    "pairs": _per_sentence(lambda s: (pair._replace(score=None) for pair in s.pairs if pair.label in ENTAILMENT)),
    "similarity": _per_sentence(lambda s: (pair._replace(label=None) for pair in s.pairs)),
    "tagging": _per_sentence(lambda s: (Tagged(s.words, (s.upos, s.entities), names=("upos", "entity")),)),
    "parsing": _per_sentence(lambda s: (conllu(s),)),
    "constituency": _per_sentence(lambda s: (trees.from_text(s.tree),)),
    "question-answering": _questions,
    "multiple-choice": _per_story(_choices),
    "dialogues": _per_world_story(lambda *about: (gold_dialogues.dialogue(*about),)),
    "instructions": _per_world_story(gold_dialogues.instructions),
    "senses": _per_world_story(_senses),
    "words-in-context": _per_world_story(ambiguous_words.words_in_context),
    "nbest": _nbest,
    "translation": _per_sentence(lambda s: (Pair(" ".join(s.words), " ".join(s.translation)),)),
    "alignments": _per_sentence(lambda s: (Alignment(tuple(sorted(s.alignment))),)),
    "summarisation": _per_story(lambda story, _: (Pair(story.text, story.summary),)),
    "analogy": lambda world, count, start: islice(word_relations.analogies(world.lexicon), start, start + count),
    "categories": lambda world, count, start: islice(word_relations.categories(world.lexicon), start, start + count),
    "word-similarity": lambda world, count, start: islice(
        word_relations.similarities(world.lexicon), start, start + count
    ),
    "captions": _captions,
    "images": _images,
    "series": _series,
}
