"""Alignment of words by EM: words a second of whole trainings beside nltk's, on the same pairs, and error rates.

    python benchmarks/aligning.py [--quick] [--json] [--data ../shared/data]

Both learn from the same pairs in memory, with the same passes and no smoothing. nltk learns one direction, ours both:
the words of a pass are counted for each direction. nltk has no HMM, and is given a part of the pairs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from sides import row, timed

THREADS = 2
TARGET = 20.0
PASSES = 5


def world(count: int, start: int = 0) -> tuple[list[tuple[str, str]], list[list[tuple[int, int]]]]:
    """Pairs of the built-in world with their links."""
    from firth.data.world import World

    sentences = [sentence for story in World().annotated(count, start) for sentence in story.sentences]
    pairs = [(" ".join(sentence.words).lower(), " ".join(sentence.translation).lower()) for sentence in sentences]
    return pairs, [sorted(sentence.alignment) for sentence in sentences]


def ours(pairs: list[tuple[str, str]], places: str, plain: bool = True) -> Callable[[], object]:
    """A training of ours, the pairs being at hand as numbers."""
    from firth.config.schema import Aligner, Tokenizer
    from firth.counts import alignment
    from firth.data.corpus import make_tokenizer

    config = Tokenizer(model="word", split="whitespace", size=1_000_000)
    tokenizer = make_tokenizer(config, [text for pair in pairs for text in pair])
    bitext = alignment.encode(pairs, tokenizer)
    first = 0 if places == "even" else 2 * PASSES  # as many of Model 1 as nltk's Model 2 begins with
    settings = {"smoothing": "none", "agree": False, "same": 1.0} if plain else {}
    method = Aligner(places=places, **(settings | ({"first": first} if plain else {})))
    return lambda: (alignment.fit(bitext, tokenizer.size, method, PASSES, THREADS), bitext)


def theirs(pairs: list[tuple[str, str]], kind: str) -> Callable[[], object]:
    """The same by nltk."""
    from nltk.translate import AlignedSent, IBMModel1, IBMModel2

    cut = [AlignedSent(right.split(), left.split()) for left, right in pairs]
    return lambda: {"even": IBMModel1, "table": IBMModel2}[kind](cut, PASSES)


def multi30k(data: Path) -> list[tuple[str, str]]:
    """English and German, as the set has them cut into words; none where the data folder has none."""
    paths = [data / "multi30k" / "tok" / f"train.lc.norm.tok.{language}.gz" for language in ("en", "de")]
    if not all(path.exists() for path in paths):
        return []
    return list(zip(*(gzip.open(path, "rt", encoding="utf-8").read().splitlines() for path in paths), strict=True))


def speed(pairs: list[tuple[str, str]], quick: bool) -> list[dict]:
    """Words a second, on a part that nltk can take."""
    rows = []
    for places, name, passes, count in (("even", "Model 1", 1, 2000), ("table", "Model 2", 3, 600)):
        few = pairs[: count // 2 if quick else count]
        mine, other = ours(few, places), theirs(few, places)
        mine()  # compiled
        times = timed(mine, other, rounds=3 if quick else 5)
        values = [ways * passes * PASSES * words(few) / seconds for ways, seconds in zip((2, 1), times, strict=True)]
        rows.append(row(f"{name}, {len(few):,} pairs: nltk", *values, TARGET, "words/s"))
    return rows


def whole(pairs: list[tuple[str, str]], rounds: int) -> list[dict]:
    """The same on all pairs; ours alone."""
    rows = []
    for places, name, passes in (("even", "Model 1", 1), ("table", "Model 2", 3), ("jumps", "HMM", 3)):
        work = ours(pairs, places)
        work()
        (seconds,) = timed(work, rounds=rounds)
        value = 2 * passes * PASSES * words(pairs) / seconds
        rows.append(row(f"{name}, {len(pairs):,} pairs", value, None, None, "words/s"))
    return rows


def words(pairs: list[tuple[str, str]]) -> int:
    """Of both sides."""
    return sum(len(left.split()) + len(right.split()) for left, right in pairs)


def quality(quick: bool) -> list[dict]:
    """Error rates on the world, ours as its presets are and nltk's Model 1; and the diagonal."""
    from firth.counts import alignment
    from firth.metrics.alignment import diagonal, error_rate

    pairs, gold = world(600 if quick else 2500)
    sizes = [(len(left.split()), len(right.split())) for left, right in pairs]
    base = error_rate([diagonal(*size) for size in sizes], gold)
    rows = []
    for places, name, limit in (("even", "Model 1", None), ("table", "Model 2", None), ("jumps", "HMM", 0.05)):
        both, bitext = ours(pairs, places, plain=False)()
        assert isinstance(both, alignment.Both)
        found = error_rate(both.align(bitext, "grow-diag-final-and"), gold)
        peer = base if limit is None else limit
        beside = "the diagonal" if limit is None else "the limit"
        rows.append(row(f"{name}, error rate of the world: {beside}", found, peer, None, "", faster=False))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("FIRTH_CACHE", str(Path(name) / "cache"))
        pairs = multi30k(options.data) or world(2500)[0]
        rows = speed(pairs, options.quick) + whole(pairs, 1 if options.quick else 3) + quality(options.quick)
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
