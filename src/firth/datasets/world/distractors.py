"""Drafts of questions, inferences from a sentence, and distractors (wrong answers) for multiple choice."""

from __future__ import annotations

from typing import Literal, NamedTuple

from firth.datasets.world.lexicon import Lexicon, Verb

# The first or last occurrence in the sentence, the hero's first mention in the story, or not in the text.
AnswerLocation = Literal["first", "last", "hero", ""]


class QuestionDraft(NamedTuple):
    """A question about one sentence and its answer; `where` locates the answer in the text."""

    kind: str
    text: str
    answer: str
    where: AnswerLocation = ""
    choices: tuple[str, ...] = ()


class Inferences(NamedTuple):
    """A paraphrase, an entailed and a contradicting sentence (uncapitalised, unpunctuated), and questions."""

    paraphrase: str
    entailed: str
    contradicted: str
    shared_content: int  # content words of the sentence that the entailed one keeps
    questions: tuple[QuestionDraft, ...]
    new_content: int = 0  # content words of the entailed sentence that are not in the sentence


class DistractorPools(NamedTuple):
    """The words that distractors are taken from."""

    cities: tuple[str, ...]
    countries: tuple[str, ...]
    jobs: tuple[str, ...]
    places: tuple[str, ...]
    moods: dict[str, tuple[str, ...]]  # by polarity
    colours: tuple[str, ...]
    small: tuple[str, ...]
    big: tuple[str, ...]
    inanimate_nouns: tuple[str, ...]
    intransitive_verbs: tuple[Verb, ...]

    @classmethod
    def from_lexicon(cls, lexicon: Lexicon) -> DistractorPools:
        """The distractors of a lexicon."""
        return cls(
            tuple(city.name for city in lexicon.cities),
            tuple(city.country for city in lexicon.cities),
            tuple(job.name for job in lexicon.jobs),
            tuple(f"the {job.place}" for job in lexicon.jobs),
            {polarity: tuple(m.name for m in lexicon.moods if m.polarity == polarity) for polarity in ("good", "bad")},
            lexicon.colours,
            lexicon.small,
            lexicon.big,
            tuple(noun.singular for noun in lexicon.inanimate_nouns),
            lexicon.intransitive_verbs,
        )


class QuestionContext(NamedTuple):
    """What a question may depend on beside its sentence: distractors, the words of the story, and a number (salt)."""

    pools: DistractorPools
    story_words: set[str]
    salt: int

    def yes_no_question(self, variants: tuple[tuple[str, str], ...]) -> QuestionDraft:
        """A yes/no question: one of several variants, each a pair of a true (yes) and a false one (no)."""
        pair = variants[self.salt // 2 % len(variants)]
        return QuestionDraft("yes or no", pair[self.salt % 2], ("yes", "no")[self.salt % 2], "", ("yes", "no"))

    def unmentioned(self, pool: tuple[str, ...]) -> str:
        """A word of a pool that the story does not mention; the last one if it mentions all."""
        first = self.salt % len(pool)
        rotated = pool[first:] + pool[:first]
        return next((word for word in rotated if word not in self.story_words), rotated[-1])

    def distractors(self, answer: str, pool: tuple[str, ...], limit: int = 3) -> list[str]:
        """Up to `limit` distractors from a pool."""
        first = self.salt % len(pool) if pool else 0
        rotated = (pool[first:] + pool[:limit])[: limit + 1]
        return [other for other in dict.fromkeys(rotated) if other != answer][:limit]

    def insert_answer(self, answer: str, choices: list[str]) -> tuple[str, ...]:
        """The answer inserted among distractors at a position that is independent of it."""
        choices.insert(self.salt // 8 % (len(choices) + 1), answer)
        return tuple(choices)

    def choices(self, answer: str, pool: tuple[str, ...]) -> tuple[str, ...]:
        """The answer among distractors of its pool."""
        return self.insert_answer(answer, self.distractors(answer, pool))

    def mood_choices(self, answer: str, polarity: str) -> tuple[str, ...]:
        """Two moods of each polarity, so that polarity alone gives nothing away; the story mentions only the answer."""
        other = self.pools.moods["bad" if polarity == "good" else "good"]
        similar = [
            mood for mood in self.distractors(answer, self.pools.moods[polarity], 8) if mood not in self.story_words
        ][:1]
        return self.insert_answer(answer, similar + self.distractors("", other, 2))
