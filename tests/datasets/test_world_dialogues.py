"""Dialogues and multiple choice of the world: every reply is right, by checks that see the turns alone."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from firth.datasets import numbered_lines, readers
from firth.datasets.world import World
from firth.datasets.world.gold import records
from firth.datasets.world.gold_dialogues import FOLLOW_UP, MAX_QUESTIONS, UNKNOWN
from firth.datasets.world.lexicon import LEXICON

WORLD, COUNT = World(seed=7), 400
DIALOGUES = list(records(WORLD, "dialogues", COUNT))
INSTRUCTIONS = list(records(WORLD, "instructions", COUNT))
STORIES = list(WORLD.annotated_documents(COUNT))
COUNTRIES = {city.name: city.country for city in LEXICON.cities}
OPENING = re.compile(r"(\w+) is an? (\w+) (\w+) from ([\w ]+?)\.")


def exchanges(dialogue):
    """The questions and replies; the first turn is the story."""
    return [(a.text, b.text) for a, b in zip(dialogue.turns[1::2], dialogue.turns[2::2], strict=True)]


def test_turns_alternate_after_the_story():
    for dialogue, story in zip(DIALOGUES, STORIES, strict=True):
        count = (len(dialogue.turns) - 1) // 2
        assert [turn.role for turn in dialogue.turns] == ["system", *["user", "assistant"] * count]
        assert dialogue.turns[0].text == story.text and 1 <= count <= 2 * MAX_QUESTIONS
        questions = [question for question, _ in exchanges(dialogue) if question != FOLLOW_UP]
        assert len(set(questions)) >= len(questions) - 1  # two unanswerable ones may ask of the same stranger
    assert len({len(dialogue.turns) for dialogue in DIALOGUES}) >= 5


def test_replies_about_the_hero_are_read_from_the_first_sentence():
    found = Counter()
    for dialogue in DIALOGUES:
        hero, mood, job, city = OPENING.match(dialogue.turns[0].text).groups()
        truth = {f"What is the job of {hero}?": job, f"How does {hero} feel?": mood}
        truth |= {f"Where does {hero} come from?": city, f"Which country does {hero} come from?": COUNTRIES[city]}
        for question, reply in exchanges(dialogue):
            if question in truth:
                assert reply == truth[question]
                found[question.split()[0]] += 1
    assert len(found) == 4 and min(found.values()) > 20


def test_follow_ups_ask_of_the_city_before_them():
    count = 0
    for dialogue in DIALOGUES:
        for (_, before), (question, reply) in zip(exchanges(dialogue), exchanges(dialogue)[1:], strict=False):
            if question == FOLLOW_UP:
                assert reply == COUNTRIES[before]
                count += 1
    assert count > 50


def test_what_the_story_does_not_say_is_not_known_and_all_else_is_in_it():
    unknown = 0
    for dialogue in DIALOGUES:
        story = dialogue.turns[0].text
        for question, reply in exchanges(dialogue):
            if reply == UNKNOWN:
                stranger = re.fullmatch(r"Where does (\w+) come from\?", question)[1]
                assert f"{stranger} is an" not in story and not story.startswith(f"{stranger} ")
                unknown += 1
            else:
                assert reply in story or reply in COUNTRIES.values()
    assert unknown > 50


def test_a_question_is_asked_only_if_it_has_one_answer():
    for dialogue, story in zip(DIALOGUES, STORIES, strict=True):
        answers = {question.text: question.answers for question in story.questions}
        for question, reply in exchanges(dialogue):
            if question in answers:
                assert [answer.text for answer in answers[question]] == [reply]


def test_instructions_are_two_turns_with_the_replies_of_other_layers():
    kinds = Counter()
    for number, dialogue in enumerate(INSTRUCTIONS):
        story, (prompt, reply) = STORIES[number // 5], dialogue.turns
        assert (prompt.role, reply.role) == ("user", "assistant")
        sentences = [s for s in story.sentences if s.text in prompt.text]
        if reply.text == story.summary:
            kinds["summarise"] += story.text in prompt.text
        elif story.text in prompt.text:
            question = prompt.text.rpartition(story.text)[2].strip()
            kinds["answer"] += any(q.text == question and q.answers[0].text == reply.text for q in story.questions)
        else:
            (sentence,) = {s.text: s for s in sentences}.values()
            translation = " ".join(sentence.translation).replace(" .", ".").replace(" ,", ",")
            truth = {"translate": translation, "paraphrase": sentence.pairs[0].right, "sentiment": sentence.sentiment}
            kinds[next(kind for kind, text in truth.items() if text == reply.text)] += 1
    assert kinds == dict.fromkeys(("summarise", "answer", "translate", "paraphrase", "sentiment"), COUNT)


def test_choices_are_those_of_the_questions():
    found = list(records(WORLD, "multiple-choice", 100))
    questions = [q for story in STORIES[:100] for q in story.questions if q.choices]
    assert [record.choices for record in found] == [question.choices for question in questions]
    for record, question in zip(found, questions, strict=True):
        assert record.choices[record.answer] == question.answers[0].text and record.question == question.text
    assert len({record.id for record in found}) == len(found)


@pytest.mark.parametrize(
    ("task", "form"),
    [("dialogues", "dialogues"), ("instructions", "dialogues"), ("multiple-choice", "choices"), ("senses", "senses"),
     ("words-in-context", "wic"), ("nbest", "nbest")],
)  # fmt: skip
def test_what_is_written_can_be_read(task, form, tmp_path):
    found = list(records(WORLD, task, 12))
    numbered_lines.save_lines(tmp_path / "world", readers.get_format(form).rows(found))
    again = list(readers.get_format(form).read(tmp_path / "world"))
    assert [record._replace(line=0) for record in again] == found
