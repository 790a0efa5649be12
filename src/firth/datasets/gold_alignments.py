"""Gold word alignments: from Pharaoh files of the user's, or of a built-in data set."""

from __future__ import annotations

from itertools import islice

from firth.config import schema
from firth.datasets import labelled_dataset, sets
from firth.datasets.readers.parallel import Alignments
from firth.datasets.records import Pair
from firth.errors import FirthError

Link = tuple[int, int]
SETS = {"world": "world-alignments", "world-translation": "world-alignments"}  # data sets of pairs, and of their links


def gold_links(
    config: schema.AlignmentModel, split: str, pairs: list[Pair]
) -> tuple[list[list[Link]], list[list[Link]]]:
    """The sure links of a split's pairs, and the possible ones besides; none where they are not known."""
    if config.gold and split == "test":
        if not (config.data.test or config.data.test_source):
            what = "links are given for test pairs, but test pairs are not"
            raise FirthError(what, where=config.gold, do="give --test, or --test-source and --test-target")
        return read_links(config.gold, pairs), read_links(config.gold_possible, pairs) if config.gold_possible else []
    return builtin_links(config.data, split, pairs), []


def builtin_links(data: schema.TextToText, split: str, pairs: list[Pair]) -> list[list[Link]]:
    """The links of a built-in data set for a split's pairs; none where it has none."""
    files = {"valid": (data.valid, data.valid_source), "test": (data.test, data.test_source)}.get(split, ())
    named = data.tasks == ("translation",) and len(data.text) == 1 and data.text[0] in SETS
    if split not in labelled_dataset.SPLITS or not named or data.source or any(files):
        return []
    return [list(record.links) for record in islice(sets.find(SETS[data.text[0]]).records(split), len(pairs))]


def read_links(path: str, pairs: list[Pair]) -> list[list[Link]]:
    """The links of a Pharaoh file with a line for each pair, within their words."""
    records = list(Alignments().read(path))
    if len(records) != len(pairs):
        do = "line n must have the links of pair n, if any"
        raise FirthError(f"{len(records):,} lines of links for {len(pairs):,} pairs", where=path, do=do)
    for record, pair in zip(records, pairs, strict=True):
        left, right = len(pair.left.split()), len(pair.right.split())
        for i, j in record.links:
            if i >= left or j >= right:
                what = f"link {i}-{j}, where there are {left} and {right} words"
                raise FirthError(what, where=f"{path}:{record.line}", do="count words between blanks, from 0")
    return [list(record.links) for record in records]
