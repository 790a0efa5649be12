"""Images and videos of the world: captions and answers follow from the scene, and the scene from the pixels.

The checkers here parse texts and pixels by rules of their own; they share only the tables of words with the package.
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

from firth.datasets.world.captions import (
    CountStatement,
    ListStatement,
    Phrase,
    PositionStatement,
    RelationStatement,
    caption_probabilities,
    holds,
)
from firth.datasets.world.lexicon import LEXICON
from firth.datasets.world.scene_images import SceneImage, render_images
from firth.datasets.world.scenes import BACKGROUND, COLOURS, POSITIONS, SHAPES, SIZES, SceneObject, render_scenes
from firth.datasets.world.videos import ACTIONS, SceneVideo, last_scene, render_video
from firth.errors import FirthError

IMAGES = [SceneImage(3, index) for index in range(1200)]
VIDEOS = [SceneVideo(3, index) for index in range(600)]
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
CELL = {name: (row, column) for row, names in enumerate(POSITIONS) for column, name in enumerate(names)}
ONE = {**{shape: shape for shape in SHAPES}, **{many: one for one, many in SHAPES.items()}}


def matching(words, scene):
    """The objects that match every word of a description."""
    wanted = [ONE.get(word, word) for word in words.split() if word not in ("a", "the", "shape", "shapes", "one")]
    return [t for t in scene if set(wanted) <= {t.shape, t.colour, t.size}]


def is_toward(one, relation, other):
    down, right = STEP[relation]
    return (one.row - other.row) * down + (one.column - other.column) * right > 0


def is_true(caption, scene):
    """Whether a caption's text is true of a scene."""
    said = re.sub("^(a picture of|we see) ", "", caption)
    if match := re.fullmatch(r"(.+?) (left of|right of|above|below) (.+)", said):
        ones, others = matching(match[1], scene), matching(match[3], scene)
        return any(is_toward(a, match[2], b) for a in ones for b in others)
    if match := re.fullmatch(r"(.+) at the (.+)", said):
        return any((t.row, t.column) == CELL[match[2]] for t in matching(match[1], scene))
    if match := re.fullmatch(r"(one|two|three|four) (.+)", said):
        return len(matching(match[2], scene)) == WORD[match[1]]
    phrases = re.split(", | and ", said)
    assert all(phrase.startswith("a ") for phrase in phrases)
    rows = permutations(scene, len(phrases))
    return any(all(t in matching(p, scene) for p, t in zip(phrases, row, strict=True)) for row in rows)


def only(words, scene):
    (obj,) = matching(words, scene)
    return obj


def right_answer(kind, text, scene):
    """The answer to a question, from its words and the scene; fails if it has none or two."""
    text = text.removesuffix("?")
    if kind in ("colour", "shape"):
        return getattr(only(text.split(" is ")[1], scene), kind)
    if kind == "size":
        return only(re.fullmatch("is (.+) little or big", text)[1], scene).size
    if kind == "count":
        number = len(matching(re.fullmatch("how many (.+) are there", text)[1], scene))
        return next(word for word, value in WORD.items() if value == number)
    if kind == "existence":
        return "yes" if matching(re.fullmatch("is there (.+)", text)[1], scene) else "no"
    if kind == "relation":
        one, relation, other = re.fullmatch("is (the .+) (left of|right of|above|below) (the .+)", text).groups()
        return "yes" if is_toward(only(one, scene), relation, only(other, scene)) else "no"
    if kind == "direction":
        one, other = re.fullmatch("where is (the .+) as seen from (the .+)", text).groups()
        one, other = only(one, scene), only(other, scene)
        (relation,) = [name for name in STEP if is_toward(one, name, other)]
        return relation.removesuffix(" of")
    one, other = re.fullmatch("are there more (.+) than (.+)", text).groups()
    return "yes" if len(matching(one, scene)) > len(matching(other, scene)) else "no"


def recognise(pixels):
    """The scene recognised from the pixels, by the colour and the area of the object in each cell."""
    side = len(pixels) // 3
    edge = (len(pixels) - 3 * side) // 2
    areas = {(shape, size): AREAS[shape] * (SIZES[size] * side) ** 2 for shape in AREAS for size in SIZES}
    found = []
    for row, column in CELL.values():
        place = pixels[edge + row * side :, edge + column * side :][:side, :side].astype(float)
        missing = BACKGROUND - place
        darkest = np.unravel_index(np.argmax(np.abs(missing).sum(-1)), missing.shape[:2])
        if not missing[darkest].any():
            continue
        colour = min(COLOURS, key=lambda name: np.linalg.norm(place[darkest] - COLOURS[name]))
        full = np.array(BACKGROUND) - COLOURS[colour]
        area = float((missing @ full).sum() / (full @ full))
        shape, size = min(areas, key=lambda kind: abs(np.log(areas[kind] / area)))
        found.append(SceneObject(shape, colour, size, row, column))
    return tuple(found)


# --- images ---


@given(st.integers(0, 2**63), st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_scenes_are_pure_and_never_overlap(seed, index):
    scene = SceneImage(seed, index).scene
    assert scene == SceneImage(seed, index).scene
    places = [(obj.row, obj.column) for obj in scene]
    assert 1 <= len(scene) <= 4
    assert places == sorted(set(places))
    assert set(places) <= set(CELL.values())


def test_indices_and_seeds_give_other_images():
    scenes = {image.scene for image in IMAGES}
    assert len(scenes) > 0.8 * len(IMAGES)  # those of one thing come again
    assert sum(SceneImage(4, p.index).scene == p.scene for p in IMAGES) < 0.01 * len(IMAGES)
    assert {len(scene) for scene in scenes} == {1, 2, 3, 4}


def test_words_are_those_of_the_lexicon_and_colours_are_far_apart():
    assert set(COLOURS) <= set(LEXICON.colours)
    assert set(SIZES) <= set(LEXICON.sizes)
    for one, other in combinations([BACKGROUND, *COLOURS.values()], 2):
        assert np.linalg.norm(np.subtract(one, other)) > 80


@pytest.mark.parametrize("size", [32, 47])
def test_the_scene_is_recovered_from_the_pixels(size):
    for image in IMAGES:
        pixels = image.render(size)
        assert pixels.shape == (size, size, 3)
        assert pixels.dtype == np.uint8
        assert recognise(pixels) == image.scene


def test_no_little_shape_is_as_big_as_a_big_one():
    assert max(AREAS.values()) * SIZES["little"] ** 2 < min(AREAS.values()) * SIZES["big"] ** 2


@pytest.mark.parametrize("size", [24, 25, 32, 70])
def test_no_two_kinds_of_objects_look_alike(size):
    appearances = [(SceneObject(s, c, z, 1, 1),) for s in SHAPES for c in COLOURS for z in SIZES]
    pixels = render_scenes(appearances, size).reshape(len(appearances), -1).astype(np.int64)
    assert (pixels != 255).any(axis=1).all()
    for one in range(len(appearances)):
        other = np.abs(pixels[one + 1 :] - pixels[one]).sum(axis=1)
        assert (other > size * size / 2).all()


def test_a_batch_is_its_images():
    batch = render_images(3, 20, start=7, size=41)
    assert all(np.array_equal(batch[k], SceneImage(3, 7 + k).render(41)) for k in range(20))
    assert render_images(3, 0).shape == (0, 32, 32, 3)


def test_too_small_an_image_is_refused():
    with pytest.raises(FirthError, match="use 24 or more"):
        IMAGES[0].render(23)


def test_a_record_holds_pixels_and_captions():
    record = IMAGES[5].record(size=33, captions=3)
    assert record.captions == tuple(IMAGES[5].caption(n).text for n in range(3))
    assert np.array_equal(record.pixels, IMAGES[5].render(33))


# --- captions ---


def test_captions_are_true_and_false_ones_false():
    for image in IMAGES:
        for number in range(2):
            true, false = image.caption(number), image.false_caption(number)
            assert is_true(true.text, image.scene), true
            assert not is_true(false.text, image.scene), (false, image.scene)
            assert holds(true.statement, image.scene)
            assert not holds(false.statement, image.scene)


def test_holds_agrees_with_the_words_on_other_scenes():
    verdicts = Counter()
    for one, other in zip(IMAGES, IMAGES[1:] + IMAGES[:1], strict=True):
        caption = one.caption()
        assert holds(caption.statement, other.scene) == is_true(caption.text, other.scene)
        verdicts[holds(caption.statement, other.scene)] += 1
    assert min(verdicts[True], verdicts[False]) > 10


def test_a_list_needs_as_many_objects_as_it_names():
    red = Phrase(colour="red")
    one, two = (
        (SceneObject("ring", "red", "big", 0, 0),),
        (SceneObject("ring", "red", "big", 0, 0), SceneObject("bar", "red", "big", 0, 1)),
    )
    assert holds(ListStatement((red,)), one)
    assert not holds(ListStatement((red, red)), one)
    assert holds(ListStatement((red, red)), two)
    assert not holds(RelationStatement(red, "above", red), two)
    assert holds(RelationStatement(red, "left of", red), two)
    assert [holds(CountStatement(number, red), two) for number in (1, 2, 3)] == [False, True, False]
    assert not holds(PositionStatement(Phrase(shape="ring"), 0, 1), two)


@pytest.mark.parametrize("objects", [1, 2, 3])
def test_caption_probabilities_are_those_of_the_samples(objects):
    image = next(p for p in IMAGES if len(p.scene) == objects)
    known, uniforms = caption_probabilities(image.scene), 6000
    assert isclose(sum(known.values()), 1)
    found = Counter(image.caption(number).text for number in range(uniforms))
    assert set(found) <= set(known)
    for text, p in known.items():
        assert abs(found[text] / uniforms - p) < 5 * (p * (1 - p) / uniforms) ** 0.5 + 1 / uniforms
    text, _ = found.most_common(1)[0]
    assert image.caption_probability(text) == known[text]
    assert image.caption_probability("a pink whale") == 0


def test_false_captions_are_like_true_ones():
    """One word, number or position away from a caption the image can have."""
    for image in IMAGES[:150]:
        false = image.false_caption().text.split()
        known = [text.split() for text in caption_probabilities(image.scene)]
        near = [sum(Counter(false).values()) - sum((Counter(false) & Counter(true)).values()) for true in known]
        assert min(near) <= 2  # a place may be two words; a plural may change with its number


# --- questions ---


def test_every_answer_follows_from_the_scene():
    kinds = Counter()
    for image in IMAGES:
        for question in image.questions():
            assert question.answer == right_answer(question.kind, question.text, image.scene), (question, image.scene)
            assert question.choices.count(question.answer) == 1
            assert len(set(question.choices)) == len(question.choices)
            kinds[question.kind] += 1
    assert len(kinds) == 8
    assert min(kinds.values()) > 0.4 * len(IMAGES)


def test_every_rationale_is_true_of_the_scene():
    for image in IMAGES:
        for question in image.questions():
            why, scene = question.rationale, image.scene
            if match := re.fullmatch("the picture has only (.+)", why):
                assert sorted(re.split(", | and ", match[1])) == sorted(
                    f"a {t.size} {t.colour} {t.shape}" for t in scene
                )
            elif match := re.fullmatch("there (?:is|are) (.+?) (.+?), (at .+)", why):
                there = [CELL[name] for name in re.split(r"(?:, | and )?at the ", match[3])[1:]]
                assert there == [(t.row, t.column) for t in matching(match[2], scene)]
                assert len(there) == WORD[match[1]] == WORD[question.answer]
            elif match := re.fullmatch("there (?:is|are) (.+?) (.+) and (.+?) (.+)", why):
                assert [WORD[match[1]], WORD[match[3]]] == [len(matching(match[n], scene)) for n in (2, 4)]
            else:
                claims = re.findall(r"(?:the|a) ((?:\w+ ){1,3})(?:is )?at the (\w+ (?:left|right|middle)|centre)", why)
                assert claims
                for words, name in claims:
                    words = words.removesuffix("is ")
                    assert CELL[name] in [(t.row, t.column) for t in matching(words, scene)], (why, scene)
                if question.kind in ("colour", "shape", "size"):
                    assert why.endswith(f" {question.answer}")


def test_no_answer_wins_by_being_frequent():
    answers = defaultdict(Counter)
    for image in IMAGES:
        for question in image.questions():
            answers[question.kind][question.answer] += 1
    for kind, found in answers.items():
        fair = 1 / len(found)
        assert max(found.values()) / sum(found.values()) < fair + 0.08, (kind, found)


def test_another_round_asks_other_things():
    changed = sum(image.questions(0) != image.questions(1) for image in IMAGES[:100])
    assert changed > 90
    assert IMAGES[0].questions(1) == IMAGES[0].questions(1)


# --- videos ---


def mass_and_centre(frames):
    """The mass of each frame and its centre (row, column), in pixels."""
    dark = (255 - frames.astype(float)).sum(-1)
    total = dark.sum((1, 2))
    place = np.arange(frames.shape[1])
    return total, (dark * place[:, None]).sum((1, 2)) / total, (dark * place).sum((1, 2)) / total


def test_a_video_starts_and_ends_with_its_scenes():
    for video in VIDEOS[:200]:
        frames = video.render(size=32, frames=5)
        first = tuple(actor.start for actor in video.actors)
        assert frames.shape == (5, 32, 32, 3)
        assert np.array_equal(frames[0], render_scenes([first])[0])
        assert np.array_equal(frames[-1], render_scenes([last_scene(video.actors)])[0])
        assert recognise(frames[-1]) == last_scene(video.actors)


def test_pixels_show_the_actions():
    """One actor at a time, by its mass and centre: so it also stays in the frame."""
    done = Counter()
    for video in VIDEOS:
        for actor in video.actors:
            total, row, column = mass_and_centre(render_video((actor,), 32, 8))
            down, right = row[-1] - row[0], column[-1] - column[0]
            if actor.action in ("grows", "shrinks"):
                assert (np.diff(total) > 0).all() == (actor.action == "grows")
                assert max(abs(down), abs(right)) < 1
            else:
                assert np.ptp(total) < 0.12 * total.mean()  # nothing is cut off at the edges
                far = {"left": -right, "right": right, "up": -down, "down": down, "still": 1}[actor.action.split()[1]]
                assert far > 0.9
                assert min(abs(down), abs(right)) < 0.1
            done[actor.action] += 1
    assert set(done) == set(ACTIONS)
    assert max(done.values()) < 2 * min(done.values())


def test_actors_never_touch():
    for video in VIDEOS[:200]:
        alone = [(render_video((actor,), 32, 8) != 255).any(-1).astype(int) for actor in video.actors]
        assert np.sum(alone, axis=0).max() == 1


def parse_caption(caption):
    """The (description, action) pairs of a caption."""
    clauses = re.split(", | and ", caption)
    return [re.fullmatch(f"the (.+) ({'|'.join(ACTIONS)})", clause).groups() for clause in clauses]


def is_true_of_video(caption, video):
    appearances = {f"{a.start.colour} {a.start.shape}": a for a in video.actors}
    for words, action in parse_caption(caption):
        *size, colour, shape = words.split()
        actor = appearances.pop(f"{colour} {shape}")
        if actor.action != action or (size and not size[0] == actor.start.size == actor.end.size):
            return False
    return not appearances


def test_captions_of_videos():
    for video in VIDEOS:
        for number in range(2):
            assert is_true_of_video(video.caption(number), video)
            assert not is_true_of_video(video.false_caption(number), video)


def video_answer(kind, text, video):
    appearances = {f"{a.start.colour} {a.start.shape}": a for a in video.actors}
    assert len(appearances) == len(video.actors)
    if kind == "end":
        relation, name = re.fullmatch(r"what is (left of|right of|above|below) the (.+) at the end\?", text).groups()
        (found,) = [
            appearance
            for appearance, actor in appearances.items()
            if is_toward(actor.end, relation, appearances[name].end)
        ]
        return found
    actor = appearances[re.search(r" the (\w+ \w+) (?:move|do)\?", text)[1]]
    down, right = actor.end.row - actor.start.row, actor.end.column - actor.start.column
    way = {(0, 0): "", (0, 1): "right", (0, -1): "left", (1, 0): "down", (-1, 0): "up"}[np.sign(down), np.sign(right)]
    if kind == "moving":
        return "yes" if way else "no"
    change = {("little", "big"): "grows", ("big", "little"): "shrinks"}.get((actor.start.size, actor.end.size))
    return way if kind == "way" else f"moves {way}" if way else change or "stands still"


def test_questions_about_videos():
    answers = defaultdict(Counter)
    for video in VIDEOS:
        for question in video.questions():
            assert question.answer == video_answer(question.kind, question.text, video), (question, video.actors)
            assert question.choices.count(question.answer) == 1
            answers[question.kind][question.answer] += 1
    assert set(answers) == {"way", "moving", "doing", "end"}
    assert all(max(found.values()) / sum(found.values()) < 1 / len(found) + 0.1 for found in answers.values())


@given(st.integers(0, 2**63), st.integers(0, 10**9), st.integers(24, 50), st.integers(2, 9))
@settings(max_examples=30, deadline=None)
def test_videos_are_pure(seed, index, size, frames):
    video = SceneVideo(seed, index)
    assert video.render(size, frames).shape == (frames, size, size, 3)
    assert np.array_equal(video.render(size, frames), SceneVideo(seed, index).render(size, frames))
    assert video.questions() == SceneVideo(seed, index).questions()


def test_one_frame_is_refused():
    with pytest.raises(FirthError, match="2 or more"):
        VIDEOS[0].render(frames=1)
