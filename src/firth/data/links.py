"""Right links between the words of pairs: Pharaoh files of the user's, and those that a built-in set has."""

from __future__ import annotations

from itertools import islice

from firth.config import schema
from firth.data import examples, sets
from firth.data.formats.parallel import Alignments
from firth.data.records import Pair
from firth.errors import FirthError

Link = tuple[int, int]
SETS = {"world": "world-alignments", "world-translation": "world-alignments"}  # pairs, and the set with their links


def gold(config: schema.AlignmentModel, split: str, pairs: list[Pair]) -> tuple[list[list[Link]], list[list[Link]]]:
    """The sure links of a split's pairs, and those that are possible besides; none where they are not known."""
    if config.gold and split == "test":
        if not (config.data.test or config.data.test_source):
            what = "links are given for test pairs, but test pairs are not"
            raise FirthError(what, where=config.gold, do="give --test, or --test-source and --test-target")
        return read(config.gold, pairs), read(config.possible, pairs) if config.possible else []
    return own_links(config.data, split, pairs), []


def own_links(data: schema.TaskTexts, split: str, pairs: list[Pair]) -> list[list[Link]]:
    """The links that a built-in set has for a split's pairs; none where it has none."""
    own = {"valid": (data.valid, data.valid_source), "test": (data.test, data.test_source)}.get(split, ())
    named = data.tasks == ("translation",) and len(data.text) == 1 and data.text[0] in SETS
    if split not in examples.NAMES or not named or data.source or any(own):
        return []
    return [list(record.links) for record in islice(sets.find(SETS[data.text[0]]).records(split), len(pairs))]


def read(path: str, pairs: list[Pair]) -> list[list[Link]]:
    """The links of a Pharaoh file with a line for each pair, within their words."""
    found = list(Alignments().read(path))
    if len(found) != len(pairs):
        do = "line n must have the links of pair n, if any"
        raise FirthError(f"{len(found):,} lines of links for {len(pairs):,} pairs", where=path, do=do)
    for record, pair in zip(found, pairs, strict=True):
        left, right = len(pair.left.split()), len(pair.right.split())
        for i, j in record.links:
            if i >= left or j >= right:
                what = f"link {i}-{j}, where there are {left} and {right} words"
                raise FirthError(what, where=f"{path}:{record.line}", do="count words between blanks, from 0")
    return [list(record.links) for record in found]
