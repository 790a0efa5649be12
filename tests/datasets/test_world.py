"""The world: a pure function of seed and index, and exact probabilities against brute-force enumeration."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from itertools import islice
from math import exp, fsum, inf, isclose, log

import numpy as np
import pytest

from firth.datasets.world import World
from firth.datasets.world.lexicon import LEXICON, Lexicon, Scene
from firth.datasets.world.probabilities import Weights
from firth.datasets.world.weighted_grammar import parse
from firth.datasets.world.world_text import render_text
from firth.errors import FirthError

WORLD = World(seed=3)
DOCUMENTS = list(WORLD.documents(1000))
KINDS = len(Weights().story)

TINY = Lexicon(
    **{f.name: getattr(LEXICON, f.name)[:1] for f in fields(Lexicon)}
    | {"people": LEXICON.people[:2], "cities": LEXICON.cities[:2], "inanimate_nouns": LEXICON.inanimate_nouns[:2]}
    | {"moods": (LEXICON.moods[0], *LEXICON.moods[-2:])}
)


def enumerate_words(nonterminal):
    """Every derivation's words with its probability, by plain recursion."""
    total = sum(production.weight for production in nonterminal.productions)
    for production in nonterminal.productions:
        rows = [((), production.weight / total)]
        for part in production.parts:
            inner = [((part,), 1.0)] if isinstance(part, str) else list(enumerate_words(part))
            rows = [(done + more, p * q) for done, p in rows for more, q in inner]
        yield from rows


def only(*kinds, sentences=(1, 2), **others):
    """Weights with a few kinds of sentences."""
    story = tuple(float(1 + k) if k in kinds else 0.0 for k in range(KINDS))
    return Weights(story=story, sentences=sentences, **others)


def surface_form(rows):
    text = " ".join(" ".join(row)[0].upper() + " ".join(row)[1:] for row in rows)
    return text.replace(" .", ".").replace(" ,", ",")


def enumerate_documents(world):
    """Every text of a small world with its probability."""
    grammar, lexicon = world._grammar, world.lexicon
    lengths = [p / sum(world.weights.sentences) for p in world.weights.sentences]
    for opening, p in enumerate_words(grammar.opening()):
        hero = next(x for x in lexicon.people if x.name == opening[0])
        mood = next(x for x in lexicon.moods if x.name == opening[3])
        job = next(x for x in lexicon.jobs if x.name == opening[4])
        home = next(x for x in lexicon.cities if x.name == opening[6])
        rows = [((opening,), p)]
        for length in lengths:
            yield from ((surface_form(row), q * length) for row, q in rows if length)
            sentences = list(enumerate_words(grammar.sentence(Scene(hero, mood.polarity, job, home))))
            rows = [((*row, s), q * r) for row, q in rows for s, r in sentences] if length is not lengths[-1] else []


# --- exact probabilities ------------------------------------------------------------------------------------------

SMALL = [
    World(lexicon=TINY, depth=0, weights=only(1, 2, 3, 5, 9, 10)),
    World(lexicon=TINY, depth=0, weights=only(4, number=(1, 0), size=(1, 0))),
    World(lexicon=TINY, depth=0, weights=only(3, 5, 10, sentences=(1, 2, 3))),
    World(lexicon=TINY, depth=1, weights=only(8, number=(1, 0), size=(1, 0), colour=(1, 0))),
    World(lexicon=TINY, depth=0, weights=only(0, number=(1, 2), size=(1, 0), colour=(1, 0))),
]


@pytest.mark.parametrize("world", SMALL, ids=range(len(SMALL)))
def test_all_texts_of_a_small_world_sum_to_one_and_agree_with_brute_force(world):
    documents = list(enumerate_documents(world))
    assert len(documents) > 50 and len({text for text, _ in documents}) == len(documents), "a text with two derivations"
    assert isclose(fsum(p for _, p in documents), 1.0, abs_tol=1e-9)
    assert isclose(fsum(-p * log(p) for _, p in documents), world.entropy(), rel_tol=1e-9)
    assert isclose(fsum(p * len(text.encode()) for text, p in documents), world.bytes_per_document(), rel_tol=1e-9)
    for text, p in documents[:: 1 + len(documents) // 1000]:
        assert isclose(world.log_probability(text), log(p), abs_tol=1e-9)


def test_log_probabilities_of_all_texts_of_a_small_world_sum_to_one():
    world = SMALL[0]
    texts = {text for text, _ in enumerate_documents(world)}
    assert isclose(fsum(exp(world.log_probability(text)) for text in texts), 1.0, abs_tol=1e-9)


def test_nested_clauses_sum_to_one():
    weights = only(7, number=(1, 0), size=(1, 0), colour=(1, 0))
    world = World(lexicon=TINY, depth=1, weights=weights)
    scene = Scene(TINY.people[0], "good", TINY.jobs[0], TINY.cities[0])
    sentence = world._grammar.sentence(scene)
    found = list(enumerate_words(sentence))
    assert len({row for row, _ in found}) == len(found) > 10_000
    assert isclose(fsum(p for _, p in found), 1.0, abs_tol=1e-9)
    for row, p in found[::37]:
        parses = parse(sentence, list(row))
        assert len(parses) == 1 and isclose(parses[0].log_probability, log(p), abs_tol=1e-9)


def test_samples_follow_the_probabilities():
    world = SMALL[2]
    expected = {text: p for text, p in enumerate_documents(world) if p * 8_000 > 20}
    seen = Counter(world.documents(8_000))
    assert len(expected) > 10
    for text, p in expected.items():
        assert abs(seen[text] - 8_000 * p) < 5.5 * np.sqrt(8_000 * p)


def test_mean_nll_and_length_converge_to_entropy_and_bytes():
    nll = -np.array([WORLD.log_probability(text) for text in DOCUMENTS])
    size = np.array([len(text.encode()) for text in DOCUMENTS])
    for values, expected in ((nll, WORLD.entropy()), (size, WORLD.bytes_per_document())):
        assert np.all(np.isfinite(values))
        assert abs(values.mean() - expected) < 4.5 * values.std() / np.sqrt(len(values))
    assert isclose(WORLD.bits_per_byte(), WORLD.entropy() / log(2) / WORLD.bytes_per_document())


def test_every_sentence_has_one_derivation_and_it_is_the_sampled_one():
    for index in range(300):
        story = WORLD.story(index)
        for node in story.sentences:
            parses = parse(node.nonterminal, node.words)
            assert [result.node for result in parses] == [node]


# --- pure in seed and index ---------------------------------------------------------------------------------------


def test_a_document_depends_on_seed_and_index_alone():
    fresh = World(seed=3)
    assert render_text(fresh.story(77)) == DOCUMENTS[77] == next(fresh.documents(1, start=77))
    assert DOCUMENTS[:20] == list(islice(World(seed=3).documents(10**9), 20))
    assert len(set(DOCUMENTS)) == len(DOCUMENTS)
    assert not set(DOCUMENTS[:200]) & set(World(seed=4).documents(200))


# --- what the texts are -------------------------------------------------------------------------------------------


def test_no_word_serves_two_purposes():
    groups = ("transitive_verbs", "intransitive_verbs", "motion_verbs", "positive_verbs", "negative_verbs")
    entries = [verb for name in groups for verb in getattr(LEXICON, name)]
    verbs = [form for verb in entries for form in {*vars(verb).values()} - {""}]
    nouns = [form for noun in (*LEXICON.animate_nouns, *LEXICON.inanimate_nouns) for form in vars(noun).values()]
    places = [word for city in LEXICON.cities for word in vars(city).values()]
    names = [person.name for person in LEXICON.people]
    jobs = [word for job in LEXICON.jobs for word in vars(job).values()]
    rest = [*LEXICON.sizes, *LEXICON.colours, *(mood.name for mood in LEXICON.moods)]
    every = verbs + nouns + places + names + jobs + rest
    assert [word for word, count in Counter(every).items() if count > 1] == []
    assert not {word.lower() for word in places + names} & set(every)


def test_a_few_hundred_words_in_short_lines():
    vocabulary = {word for text in DOCUMENTS for word in text.replace(".", "").replace(",", "").split()}
    assert 200 < len(vocabulary) < 600
    assert all(text.isascii() and "\n" not in text and 3 <= text.count(".") <= 8 for text in DOCUMENTS)


def test_facts_are_true():
    capitals = {city.name: city.country for city in LEXICON.cities}
    ages = {person.name: age for age, person in enumerate(LEXICON.people)}
    sizes = {thing.singular: size for size, thing in enumerate(LEXICON.inanimate_nouns)}
    seen = Counter()
    for text in DOCUMENTS:
        hero = text.split()[0]
        for sentence in text.removesuffix(".").split(". "):
            row = sentence.split()
            if "capital" in row:
                city, country = sentence.split(" is the capital of ")
                assert capitals[city] == country
            elif "older" in row or "younger" in row:
                assert (ages[hero] > ages[row[-1]]) == ("older" in row)
            elif "bigger" in row or "smaller" in row:
                assert (sizes[row[1]] > sizes[row[-1]]) == ("bigger" in row)
            seen.update(set(row) & {"capital", "older", "younger", "bigger", "smaller"})
    assert len(seen) == 5


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_depth_limits_relative_clauses(depth):
    def deepest(node):
        below = max((deepest(part) for part in node.parts if not isinstance(part, str)), default=0)
        return below + (node.nonterminal.label == "relative clause")

    world = World(depth=depth, weights=replace(Weights(), relative=(1, 1)))
    found = max(deepest(sentence) for i in range(150) for sentence in world.story(i).sentences)
    assert found == depth
    assert all(isfinite_text(world, text) for text in world.documents(20))


def isfinite_text(world, text):
    return -inf < world.log_probability(text) < 0


GOOD = (
    "Anna is a happy baker from Oslo. She saw the dogs that the cat likes. The dogs that the cat likes see some keys."
)


def test_a_text_of_the_world_is_possible():
    assert isfinite_text(World(), GOOD)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (GOOD, ""),
        (GOOD, "."),
        (GOOD, " "),
        ("likes see", "likes sees"),  # the verb agrees with the dogs, not with the cat
        ("cat likes", "cat like"),
        ("She saw", "He saw"),
        ("She saw", "she saw"),
        ("She saw", "She  saw"),
        ("some keys.", "some keys"),
        ("some keys.", "some keys. "),
        ("some keys.", "some keys.."),
        ("a happy", "an happy"),
        ("Oslo", "oslo"),
        ("Oslo", "Norway"),
        ("dogs", "zebras"),
        (" She saw the dogs that the cat likes.", ""),  # two sentences are too few
        ("The dogs that the cat likes see some keys.", "Paris is the capital of Norway."),
        ("The dogs that the cat likes see some keys.", "She is sad because the dog found the key."),
        ("The dogs that the cat likes see some keys.", "The coin is bigger than the ship."),
        ("The dogs that the cat likes see some keys.", "The dogs\nsee some keys."),
    ],
)
def test_other_texts_are_impossible(old, new):
    assert old in GOOD and World().log_probability(GOOD.replace(old, new)) == -inf


def test_bad_settings_are_refused():
    with pytest.raises(FirthError, match=r"^world: depth -1 is negative; use 0, 1, 2"):
        World(depth=-1)
    with pytest.raises(FirthError, match=r"^world lexicon: 1 people; give 2 at least"):
        World(lexicon=replace(LEXICON, people=LEXICON.people[:1]))
