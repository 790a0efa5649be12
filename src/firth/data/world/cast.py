"""What is said beside a sentence and asked of it, and where wrong answers come from."""

from __future__ import annotations

from typing import Literal, NamedTuple

from firth.data.world.lexicon import Lexicon, Verb

Where = Literal["first", "last", "hero", ""]  # at its begin, near its end, where the hero is named first, nowhere


class Ask(NamedTuple):
    """A question about one sentence and its answer; `where` tells the place in the text that says it."""

    kind: str
    text: str
    answer: str
    where: Where = ""
    choices: tuple[str, ...] = ()


class Told(NamedTuple):
    """Further sentences, without capital and full stop; `kept` words with content are left in the entailed one."""

    paraphrase: str
    entailed: str
    contradicted: str
    kept: int
    questions: tuple[Ask, ...]
    new: int = 0  # words with content in the entailed sentence that are not of the sentence


class Pools(NamedTuple):
    """Words that wrong answers are taken from."""

    cities: tuple[str, ...]
    countries: tuple[str, ...]
    jobs: tuple[str, ...]
    places: tuple[str, ...]
    moods: dict[str, tuple[str, ...]]  # by tone
    colours: tuple[str, ...]
    small: tuple[str, ...]
    big: tuple[str, ...]
    things: tuple[str, ...]
    doings: tuple[Verb, ...]

    @classmethod
    def of(cls, lexicon: Lexicon) -> Pools:
        """Those of a lexicon."""
        return cls(
            tuple(city.name for city in lexicon.cities),
            tuple(city.country for city in lexicon.cities),
            tuple(job.name for job in lexicon.jobs),
            tuple(f"the {job.place}" for job in lexicon.jobs),
            {tone: tuple(m.name for m in lexicon.moods if m.tone == tone) for tone in ("good", "bad")},
            lexicon.colours,
            lexicon.small,
            lexicon.big,
            tuple(noun.one for noun in lexicon.things),
            lexicon.doings,
        )


class Cast(NamedTuple):
    """What a frame may know beside the sentence: words for wrong answers, what is said, a number to choose by."""

    pools: Pools
    said: set[str]  # all words of the story
    salt: int

    def yes_or_no(self, ways: tuple[tuple[str, str], ...]) -> Ask:
        """One of several questions, each to be asked of what is so (answer yes) and of what is not (no)."""
        pair = ways[self.salt // 2 % len(ways)]
        return Ask("yes or no", pair[self.salt % 2], ("yes", "no")[self.salt % 2], "", ("yes", "no"))

    def unsaid(self, pool: tuple[str, ...]) -> str:
        """A word of a pool that the story does not have; the last one if it has them all."""
        first = self.salt % len(pool)
        row = pool[first:] + pool[:first]
        return next((word for word in row if word not in self.said), row[-1])

    def wrong(self, answer: str, pool: tuple[str, ...], most: int = 3) -> list[str]:
        """Up to so many others of a pool."""
        first = self.salt % len(pool) if pool else 0
        row = (pool[first:] + pool[:most])[: most + 1]
        return [other for other in dict.fromkeys(row) if other != answer][:most]

    def among(self, answer: str, row: list[str]) -> tuple[str, ...]:
        """The answer among wrong ones, in an order that tells nothing."""
        row.insert(self.salt // 8 % (len(row) + 1), answer)
        return tuple(row)

    def choices(self, answer: str, pool: tuple[str, ...]) -> tuple[str, ...]:
        """The answer among others of its pool."""
        return self.among(answer, self.wrong(answer, pool))

    def mood_choices(self, answer: str, tone: str) -> tuple[str, ...]:
        """Two moods of each tone, so that the tone alone does not tell; only the answer is said in the story."""
        other = self.pools.moods["bad" if tone == "good" else "good"]
        alike = [mood for mood in self.wrong(answer, self.pools.moods[tone], 8) if mood not in self.said][:1]
        return self.among(answer, alike + self.wrong("", other, 2))
