"""Pictures and films of the world: what is said and asked follows from the scene, and the scene from the pixels.

The checkers here read texts and pixels by rules of their own; they share only the tables of words with the package.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import combinations, permutations
from math import isclose, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.data.world.films import DOINGS, Film, draw_film, last_scene
from firth.data.world.lexicon import LEXICON
from firth.data.world.pictures import Picture, render_pictures
from firth.data.world.shapes import BACKGROUND, COLOURS, PLACES, SHAPES, SIZES, Thing, draw_scenes
from firth.data.world.statements import Counted, Listed, Phrase, Placed, Related, caption_probabilities, holds
from firth.errors import FirthError

PICTURES = [Picture(3, index) for index in range(1200)]
FILMS = [Film(3, index) for index in range(600)]
# Areas in squares of half the width: a third of a square's side is a cross's arm, and so on.
AREAS = {
    "square": 4,
    "circle": pi,
    "ring": pi * (1 - 0.6**2),
    "cross": 4 - 4 * 0.67**2,
    "triangle": 3**0.5,
    "bar": 4 * 0.375,
}
WORD = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4}
STEP = {"left of": (0, -1), "right of": (0, 1), "above": (-1, 0), "below": (1, 0)}
SPOT = {name: (row, column) for row, names in enumerate(PLACES) for column, name in enumerate(names)}
ONE = {**{shape: shape for shape in SHAPES}, **{many: one for one, many in SHAPES.items()}}


def fitting(words, scene):
    """The things that bear every word of a description."""
    wanted = [ONE.get(word, word) for word in words.split() if word not in ("a", "the", "shape", "shapes", "one")]
    return [t for t in scene if set(wanted) <= {t.shape, t.colour, t.size}]


def toward(one, relation, other):
    down, right = STEP[relation]
    return (one.row - other.row) * down + (one.column - other.column) * right > 0


def is_true(caption, scene):
    """Whether a caption's text is true of a scene."""
    said = re.sub("^(a picture of|we see) ", "", caption)
    if match := re.fullmatch(r"(.+?) (left of|right of|above|below) (.+)", said):
        ones, others = fitting(match[1], scene), fitting(match[3], scene)
        return any(toward(a, match[2], b) for a in ones for b in others)
    if match := re.fullmatch(r"(.+) at the (.+)", said):
        return any((t.row, t.column) == SPOT[match[2]] for t in fitting(match[1], scene))
    if match := re.fullmatch(r"(one|two|three|four) (.+)", said):
        return len(fitting(match[2], scene)) == WORD[match[1]]
    phrases = re.split(", | and ", said)
    assert all(phrase.startswith("a ") for phrase in phrases)
    rows = permutations(scene, len(phrases))
    return any(all(t in fitting(p, scene) for p, t in zip(phrases, row, strict=True)) for row in rows)


def only(words, scene):
    (thing,) = fitting(words, scene)
    return thing


def right_answer(kind, text, scene):
    """The answer to a question, from its words and the scene; fails if it has none or two."""
    text = text.removesuffix("?")
    if kind in ("colour", "shape"):
        return getattr(only(text.split(" is ")[1], scene), kind)
    if kind == "size":
        return only(re.fullmatch("is (.+) little or big", text)[1], scene).size
    if kind == "count":
        number = len(fitting(re.fullmatch("how many (.+) are there", text)[1], scene))
        return next(word for word, value in WORD.items() if value == number)
    if kind == "existence":
        return "yes" if fitting(re.fullmatch("is there (.+)", text)[1], scene) else "no"
    if kind == "relation":
        one, relation, other = re.fullmatch("is (the .+) (left of|right of|above|below) (the .+)", text).groups()
        return "yes" if toward(only(one, scene), relation, only(other, scene)) else "no"
    if kind == "direction":
        one, other = re.fullmatch("where is (the .+) as seen from (the .+)", text).groups()
        one, other = only(one, scene), only(other, scene)
        (relation,) = [name for name in STEP if toward(one, name, other)]
        return relation.removesuffix(" of")
    one, other = re.fullmatch("are there more (.+) than (.+)", text).groups()
    return "yes" if len(fitting(one, scene)) > len(fitting(other, scene)) else "no"


def seen(pixels):
    """The scene in the pixels, by the colour and the area of what stands in each place."""
    side = len(pixels) // 3
    edge = (len(pixels) - 3 * side) // 2
    areas = {(shape, size): AREAS[shape] * (SIZES[size] * side) ** 2 for shape in AREAS for size in SIZES}
    found = []
    for row, column in SPOT.values():
        place = pixels[edge + row * side :, edge + column * side :][:side, :side].astype(float)
        missing = BACKGROUND - place
        darkest = np.unravel_index(np.argmax(np.abs(missing).sum(-1)), missing.shape[:2])
        if not missing[darkest].any():
            continue
        colour = min(COLOURS, key=lambda name: np.linalg.norm(place[darkest] - COLOURS[name]))
        full = np.array(BACKGROUND) - COLOURS[colour]
        area = float((missing @ full).sum() / (full @ full))
        shape, size = min(areas, key=lambda kind: abs(np.log(areas[kind] / area)))
        found.append(Thing(shape, colour, size, row, column))
    return tuple(found)


# --- pictures ---


@given(st.integers(0, 2**63), st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_scenes_are_pure_and_never_overlap(seed, index):
    scene = Picture(seed, index).scene
    assert scene == Picture(seed, index).scene
    places = [(thing.row, thing.column) for thing in scene]
    assert 1 <= len(scene) <= 4
    assert places == sorted(set(places))
    assert set(places) <= set(SPOT.values())


def test_numbers_and_seeds_give_other_pictures():
    scenes = {picture.scene for picture in PICTURES}
    assert len(scenes) > 0.8 * len(PICTURES)  # those of one thing come again
    assert sum(Picture(4, p.index).scene == p.scene for p in PICTURES) < 0.01 * len(PICTURES)
    assert {len(scene) for scene in scenes} == {1, 2, 3, 4}


def test_words_are_those_of_the_lexicon_and_colours_are_far_apart():
    assert set(COLOURS) <= set(LEXICON.colours)
    assert set(SIZES) <= set(LEXICON.sizes)
    for one, other in combinations([BACKGROUND, *COLOURS.values()], 2):
        assert np.linalg.norm(np.subtract(one, other)) > 80


@pytest.mark.parametrize("size", [32, 47])
def test_the_scene_is_recovered_from_the_pixels(size):
    for picture in PICTURES:
        pixels = picture.render(size)
        assert pixels.shape == (size, size, 3)
        assert pixels.dtype == np.uint8
        assert seen(pixels) == picture.scene


def test_no_little_shape_is_as_big_as_a_big_one():
    assert max(AREAS.values()) * SIZES["little"] ** 2 < min(AREAS.values()) * SIZES["big"] ** 2


@pytest.mark.parametrize("size", [24, 25, 32, 70])
def test_no_two_kinds_of_things_look_alike(size):
    looks = [(Thing(s, c, z, 1, 1),) for s in SHAPES for c in COLOURS for z in SIZES]
    pixels = draw_scenes(looks, size).reshape(len(looks), -1).astype(np.int64)
    assert (pixels != 255).any(axis=1).all()
    for one in range(len(looks)):
        other = np.abs(pixels[one + 1 :] - pixels[one]).sum(axis=1)
        assert (other > size * size / 2).all()


def test_a_batch_is_its_pictures():
    batch = render_pictures(3, 20, start=7, size=41)
    assert all(np.array_equal(batch[k], Picture(3, 7 + k).render(41)) for k in range(20))
    assert render_pictures(3, 0).shape == (0, 32, 32, 3)


def test_too_small_a_picture_is_refused():
    with pytest.raises(FirthError, match="use 24 or more"):
        PICTURES[0].render(23)


def test_a_record_holds_pixels_and_captions():
    record = PICTURES[5].record(size=33, captions=3)
    assert record.captions == tuple(PICTURES[5].caption(n).text for n in range(3))
    assert np.array_equal(record.pixels, PICTURES[5].render(33))


# --- captions ---


def test_captions_are_true_and_false_ones_false():
    for picture in PICTURES:
        for number in range(2):
            true, false = picture.caption(number), picture.false_caption(number)
            assert is_true(true.text, picture.scene), true
            assert not is_true(false.text, picture.scene), (false, picture.scene)
            assert holds(true.statement, picture.scene)
            assert not holds(false.statement, picture.scene)


def test_holds_agrees_with_the_words_on_other_scenes():
    verdicts = Counter()
    for one, other in zip(PICTURES, PICTURES[1:] + PICTURES[:1], strict=True):
        caption = one.caption()
        assert holds(caption.statement, other.scene) == is_true(caption.text, other.scene)
        verdicts[holds(caption.statement, other.scene)] += 1
    assert min(verdicts[True], verdicts[False]) > 10


def test_a_list_wants_as_many_things_as_it_names():
    red = Phrase(colour="red")
    one, two = (
        (Thing("ring", "red", "big", 0, 0),),
        (Thing("ring", "red", "big", 0, 0), Thing("bar", "red", "big", 0, 1)),
    )
    assert holds(Listed((red,)), one)
    assert not holds(Listed((red, red)), one)
    assert holds(Listed((red, red)), two)
    assert not holds(Related(red, "above", red), two)
    assert holds(Related(red, "left of", red), two)
    assert [holds(Counted(number, red), two) for number in (1, 2, 3)] == [False, True, False]
    assert not holds(Placed(Phrase(shape="ring"), 0, 1), two)


@pytest.mark.parametrize("things", [1, 2, 3])
def test_caption_probabilities_are_those_of_the_draws(things):
    picture = next(p for p in PICTURES if len(p.scene) == things)
    known, draws = caption_probabilities(picture.scene), 6000
    assert isclose(sum(known.values()), 1)
    found = Counter(picture.caption(number).text for number in range(draws))
    assert set(found) <= set(known)
    for text, p in known.items():
        assert abs(found[text] / draws - p) < 5 * (p * (1 - p) / draws) ** 0.5 + 1 / draws
    text, _ = found.most_common(1)[0]
    assert picture.caption_probability(text) == known[text]
    assert picture.caption_probability("a pink whale") == 0


def test_false_captions_are_like_true_ones():
    """One word, number or place away from a caption the picture can have."""
    for picture in PICTURES[:150]:
        false = picture.false_caption().text.split()
        known = [text.split() for text in caption_probabilities(picture.scene)]
        near = [sum(Counter(false).values()) - sum((Counter(false) & Counter(true)).values()) for true in known]
        assert min(near) <= 2  # a place may be two words; a plural may change with its number


# --- questions ---


def test_every_answer_follows_from_the_scene():
    kinds = Counter()
    for picture in PICTURES:
        for asked in picture.questions():
            assert asked.answer == right_answer(asked.kind, asked.text, picture.scene), (asked, picture.scene)
            assert asked.choices.count(asked.answer) == 1
            assert len(set(asked.choices)) == len(asked.choices)
            kinds[asked.kind] += 1
    assert len(kinds) == 8
    assert min(kinds.values()) > 0.4 * len(PICTURES)


def test_every_rationale_is_true_of_the_scene():
    for picture in PICTURES:
        for asked in picture.questions():
            why, scene = asked.rationale, picture.scene
            if match := re.fullmatch("the picture has only (.+)", why):
                assert sorted(re.split(", | and ", match[1])) == sorted(
                    f"a {t.size} {t.colour} {t.shape}" for t in scene
                )
            elif match := re.fullmatch("there (?:is|are) (.+?) (.+?), (at .+)", why):
                there = [SPOT[name] for name in re.split(r"(?:, | and )?at the ", match[3])[1:]]
                assert there == [(t.row, t.column) for t in fitting(match[2], scene)]
                assert len(there) == WORD[match[1]] == WORD[asked.answer]
            elif match := re.fullmatch("there (?:is|are) (.+?) (.+) and (.+?) (.+)", why):
                assert [WORD[match[1]], WORD[match[3]]] == [len(fitting(match[n], scene)) for n in (2, 4)]
            else:
                claims = re.findall(r"(?:the|a) ((?:\w+ ){1,3})(?:is )?at the (\w+ (?:left|right|middle)|centre)", why)
                assert claims
                for words, name in claims:
                    words = words.removesuffix("is ")
                    assert SPOT[name] in [(t.row, t.column) for t in fitting(words, scene)], (why, scene)
                if asked.kind in ("colour", "shape", "size"):
                    assert why.endswith(f" {asked.answer}")


def test_no_answer_wins_by_being_frequent():
    answers = defaultdict(Counter)
    for picture in PICTURES:
        for asked in picture.questions():
            answers[asked.kind][asked.answer] += 1
    for kind, found in answers.items():
        fair = 1 / len(found)
        assert max(found.values()) / sum(found.values()) < fair + 0.08, (kind, found)


def test_another_round_asks_other_things():
    changed = sum(picture.questions(0) != picture.questions(1) for picture in PICTURES[:100])
    assert changed > 90
    assert PICTURES[0].questions(1) == PICTURES[0].questions(1)


# --- films ---


def ink(frames):
    """How much each frame holds, and its middle (row, column), in pixels."""
    dark = (255 - frames.astype(float)).sum(-1)
    total = dark.sum((1, 2))
    place = np.arange(frames.shape[1])
    return total, (dark * place[:, None]).sum((1, 2)) / total, (dark * place).sum((1, 2)) / total


def test_a_film_begins_and_ends_with_its_scenes():
    for film in FILMS[:200]:
        frames = film.render(size=32, frames=5)
        first = tuple(actor.start for actor in film.actors)
        assert frames.shape == (5, 32, 32, 3)
        assert np.array_equal(frames[0], draw_scenes([first])[0])
        assert np.array_equal(frames[-1], draw_scenes([last_scene(film.actors)])[0])
        assert seen(frames[-1]) == last_scene(film.actors)


def test_pixels_do_what_the_caption_tells():
    """One actor at a time, by the amount and the middle of what is drawn: so it also stays in the frame."""
    done = Counter()
    for film in FILMS:
        for actor in film.actors:
            total, row, column = ink(draw_film((actor,), 32, 8))
            down, right = row[-1] - row[0], column[-1] - column[0]
            if actor.doing in ("grows", "shrinks"):
                assert (np.diff(total) > 0).all() == (actor.doing == "grows")
                assert max(abs(down), abs(right)) < 1
            else:
                assert np.ptp(total) < 0.12 * total.mean()  # nothing is cut off at the edges
                far = {"left": -right, "right": right, "up": -down, "down": down, "still": 1}[actor.doing.split()[1]]
                assert far > 0.9
                assert min(abs(down), abs(right)) < 0.1
            done[actor.doing] += 1
    assert set(done) == set(DOINGS)
    assert max(done.values()) < 2 * min(done.values())


def test_actors_never_touch():
    for film in FILMS[:200]:
        alone = [(draw_film((actor,), 32, 8) != 255).any(-1).astype(int) for actor in film.actors]
        assert np.sum(alone, axis=0).max() == 1


def told(caption):
    """Who does what by a caption: the words of each actor and the doing."""
    clauses = re.split(", | and ", caption)
    return [re.fullmatch(f"the (.+) ({'|'.join(DOINGS)})", clause).groups() for clause in clauses]


def is_told_truly(caption, film):
    looks = {f"{a.start.colour} {a.start.shape}": a for a in film.actors}
    for words, doing in told(caption):
        *size, colour, shape = words.split()
        actor = looks.pop(f"{colour} {shape}")
        if actor.doing != doing or (size and not size[0] == actor.start.size == actor.end.size):
            return False
    return not looks


def test_captions_of_films():
    for film in FILMS:
        for number in range(2):
            assert is_told_truly(film.caption(number), film)
            assert not is_told_truly(film.false_caption(number), film)


def film_answer(kind, text, film):
    looks = {f"{a.start.colour} {a.start.shape}": a for a in film.actors}
    assert len(looks) == len(film.actors)
    if kind == "end":
        relation, name = re.fullmatch(r"what is (left of|right of|above|below) the (.+) at the end\?", text).groups()
        (found,) = [look for look, actor in looks.items() if toward(actor.end, relation, looks[name].end)]
        return found
    actor = looks[re.search(r" the (\w+ \w+) (?:move|do)\?", text)[1]]
    down, right = actor.end.row - actor.start.row, actor.end.column - actor.start.column
    way = {(0, 0): "", (0, 1): "right", (0, -1): "left", (1, 0): "down", (-1, 0): "up"}[np.sign(down), np.sign(right)]
    if kind == "moving":
        return "yes" if way else "no"
    change = {("little", "big"): "grows", ("big", "little"): "shrinks"}.get((actor.start.size, actor.end.size))
    return way if kind == "way" else f"moves {way}" if way else change or "stands still"


def test_questions_about_films():
    answers = defaultdict(Counter)
    for film in FILMS:
        for asked in film.questions():
            assert asked.answer == film_answer(asked.kind, asked.text, film), (asked, film.actors)
            assert asked.choices.count(asked.answer) == 1
            answers[asked.kind][asked.answer] += 1
    assert set(answers) == {"way", "moving", "doing", "end"}
    assert all(max(found.values()) / sum(found.values()) < 1 / len(found) + 0.1 for found in answers.values())


@given(st.integers(0, 2**63), st.integers(0, 10**9), st.integers(24, 50), st.integers(2, 9))
@settings(max_examples=30, deadline=None)
def test_films_are_pure(seed, index, size, frames):
    film = Film(seed, index)
    assert film.render(size, frames).shape == (frames, size, size, 3)
    assert np.array_equal(film.render(size, frames), Film(seed, index).render(size, frames))
    assert film.questions() == Film(seed, index).questions()


def test_one_frame_is_refused():
    with pytest.raises(FirthError, match="2 or more"):
        FILMS[0].render(frames=1)
