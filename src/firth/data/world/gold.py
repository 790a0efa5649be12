"""The world as labelled data: for each task, records like those that readers of files give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from firth.data.formats import trees
from firth.data.records import Alignment, Image, Labelled, Pair, Question, Record, Sentence, Series, Tagged, Tree
from firth.data.world import relations
from firth.data.world.annotated import Annotated, AnnotatedStory
from firth.data.world.text import World

ENTAILMENT = frozenset({"entailment", "contradiction", "neutral"})


def records(world: World, task: str, count: int, start: int = 0) -> Iterator[Record]:
    """The records that documents (or pictures, or series) start … start+count−1 give for a task of the table."""
    return GOLD[task](world, count, start)


def _by_story(make: Callable[[AnnotatedStory, int], Iterable[Record]]) -> Callable[[World, int, int], Iterator[Record]]:
    def made(world: World, count: int, start: int) -> Iterator[Record]:
        numbered = enumerate(world.annotated(count, start), start)
        return chain.from_iterable(make(story, number) for number, story in numbered)

    return made


def _by_sentence(make: Callable[[Annotated], Iterable[Record]]) -> Callable[[World, int, int], Iterator[Record]]:
    return _by_story(lambda story, _: chain.from_iterable(map(make, story.sentences)))


def conllu(sentence: Annotated) -> Sentence:
    """A sentence in ten columns."""
    last = len(sentence.words) - 1
    spaces = ["SpaceAfter=No" if at < last and sentence.upos[at + 1] == "PUNCT" else "_" for at in range(last + 1)]
    ids = [str(number) for number in range(1, last + 2)]
    none = ("_",) * len(ids)
    columns = (ids, sentence.words, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats,
               [str(head) for head in sentence.heads], sentence.relations, none, spaces)  # fmt: skip
    return Sentence((f"# text = {sentence.text}",), tuple(zip(*columns, strict=True)))


def sentiment_tree(sentence: Annotated) -> Tree:
    """The binary tree with a label 0 (very bad) to 4 (very good) at each node: the tones of its words, summed."""
    tones = iter(sentence.tones)

    def combine(node: Tree, children: list[tuple[Tree, int]]) -> tuple[Tree, int]:
        if len(children) == 1:
            return children[0]
        tone = next(tones) if node.word is not None else sum(tone for _, tone in children)
        label = str(2 + max(-2, min(2, tone)))
        return Tree(label, tuple(child for child, _ in children), node.word), tone

    return trees.fold(trees.binarise(trees.from_text(sentence.tree)), combine)[0]


def _questions(world: World, count: int, start: int) -> Iterator[Question]:
    """Those whose answers stand in the text, and one for each story that it does not answer."""
    people = world.lexicon.people
    for number, story in enumerate(world.annotated(count, start), start):
        title = story.scene.hero.name
        for place, asked in enumerate(story.questions):
            if all(answer.start >= 0 for answer in asked.answers):
                yield Question(f"{number}-{place}", story.text, asked.text, asked.answers, title=title)
        stranger = people[(people.index(story.scene.hero) + 1 + number % (len(people) - 1)) % len(people)].name
        yield Question(f"{number}-none", story.text, f"Where does {stranger} come from?", (), title=title)


def _captions(world: World, count: int, start: int) -> Iterator[Image]:
    from firth.data.world.pictures import Picture

    return (Picture(world.seed, index).record(captions=5) for index in range(start, start + count))


def _images(world: World, count: int, start: int) -> Iterator[Image]:
    """Each picture's first thing by itself, labelled with its shape."""
    from firth.data.world.pictures import Picture
    from firth.data.world.shapes import draw_scenes

    for index in range(start, start + count):
        (thing, *_) = Picture(world.seed, index).scene
        name = f"picture {index}: {thing.size}, {thing.colour}, {thing.place}"
        yield Image(draw_scenes([(thing,)])[0], label=thing.shape, name=name)


def _series(world: World, count: int, start: int) -> Iterator[Series]:
    from firth.data.world.series import series

    return (series(world.seed, index).series for index in range(start, start + count))


GOLD: dict[str, Callable[[World, int, int], Iterator[Record]]] = {
    "language": lambda world, count, start: (Labelled(text, ()) for text in world.documents(count, start)),
    "classification": _by_sentence(lambda s: (Labelled(s.text, (s.sentiment,)),)),
    "sentiment-trees": _by_sentence(lambda s: (sentiment_tree(s),)),
    "pairs": _by_sentence(lambda s: (pair._replace(score=None) for pair in s.pairs if pair.label in ENTAILMENT)),
    "similarity": _by_sentence(lambda s: (pair._replace(label=None) for pair in s.pairs)),
    "tagging": _by_sentence(lambda s: (Tagged(s.words, (s.upos, s.entities)),)),
    "parsing": _by_sentence(lambda s: (conllu(s),)),
    "constituency": _by_sentence(lambda s: (trees.from_text(s.tree),)),
    "question-answering": _questions,
    "translation": _by_sentence(lambda s: (Pair(" ".join(s.words), " ".join(s.translation)),)),
    "alignments": _by_sentence(lambda s: (Alignment(tuple(sorted(s.alignment))),)),
    "summarisation": _by_story(lambda story, _: (Pair(story.text, story.summary),)),
    "analogy": lambda world, count, start: islice(relations.analogies(world.lexicon), start, start + count),
    "categories": lambda world, count, start: islice(relations.categories(world.lexicon), start, start + count),
    "word-similarity": lambda world, count, start: islice(relations.similarities(world.lexicon), start, start + count),
    "captions": _captions,
    "images": _images,
    "series": _series,
}
