"""Plain text for language modelling: from a configuration to a tokenizer and tokenised train, validation and test
splits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.config import schema
from firth.datasets import leakage
from firth.datasets.byte_splits import ByteSplits, GrownError, target_bytes
from firth.datasets.document_sizes import Repeats, measure_documents
from firth.datasets.sources import Source, open_source
from firth.datasets.token_cache import Split, tokenise_split
from firth.errors import FirthError
from firth.runs import atomic_files
from firth.runs.progress import Progress
from firth.tokenizers.tokenizer import Tokenizer

Say = Callable[[str], None]
TRAIN, VALID, TEST = 0, 1, 2
BLOCK = 1000  # documents permuted together, so that a part of the text costs no more than itself
STREAM = 0x5917  # keeps these random numbers apart from other uses of the same seed


def assign_splits(
    start: int, stop: int, total: int, valid_fraction: float, test_fraction: float, seed: int
) -> np.ndarray:
    """The split (0 train, 1 valid, 2 test) of documents start … stop−1 out of total, as uint8."""
    if not 0 <= start <= stop <= total:
        raise FirthError(f"documents {start} to {stop} are not within the {total} there are")
    valid, test = split_counts(total, valid_fraction, test_fraction)
    first = start // BLOCK
    blocks = [_block(b, total, valid, test, seed) for b in range(first, -(-stop // BLOCK))]
    joined = np.concatenate([np.zeros(0, np.uint8), *blocks])
    return joined[start - first * BLOCK : stop - first * BLOCK]


def split_of(index: int, total: int, valid_fraction: float, test_fraction: float, seed: int) -> int:
    """The split of one document."""
    return int(assign_splits(index, index + 1, total, valid_fraction, test_fraction, seed)[0])


def split_counts(total: int, valid_fraction: float, test_fraction: float) -> tuple[int, int]:
    """The documents of validation and test: rounded fractions, but at least one each (if > 0) of three or more."""
    if not (valid_fraction >= 0 and test_fraction >= 0 and valid_fraction + test_fraction < 1):
        what = f"fractions {valid_fraction} for validation and {test_fraction} for test leave nothing to train on"
        raise FirthError(what, where="data.valid_fraction, data.test_fraction", do="make their sum less than 1")
    minimum = 1 if total >= 3 else 0
    valid, test = (
        max(int(total * fraction + 0.5), minimum if fraction else 0) for fraction in (valid_fraction, test_fraction)
    )
    while valid + test >= total and valid + test:  # training keeps one; rounding oversteps by two at most
        valid, test = (valid - 1, test) if valid >= test else (valid, test - 1)
    return valid, test


def _block(block: int, total: int, valid: int, test: int, seed: int) -> np.ndarray:
    """The splits of one block: its part of the counts, in an order sampled from its own Philox stream."""
    start, stop = block * BLOCK, min((block + 1) * BLOCK, total)
    counts = [(valid + test) * n // total for n in (start, stop)]
    first = [valid * n // max(valid + test, 1) for n in counts]
    held_out, to_valid = counts[1] - counts[0], first[1] - first[0]
    splits = np.zeros(stop - start, np.uint8)
    splits[:held_out] = TEST
    splits[:to_valid] = VALID
    # Raw words and a stable sort, not `permutation`: NumPy does not promise that one stays the same.
    stream = np.random.Philox(key=np.array([seed % 2**64, block], np.uint64), counter=[0, 0, 0, STREAM])
    return splits[np.argsort(stream.random_raw(stop - start), kind="stable")]


SPLITS = ("train", "valid", "test")
_BLOCK = 10_000  # documents whose split is sampled at once


@dataclass(frozen=True)
class Documents:
    """The documents of one split; iterating reads the source again."""

    source: Source
    split: int = 0  # the number of the split; a source whose fractions are 0 has only one
    total: int = 0
    fractions: tuple[float, float] = (0.0, 0.0)
    seed: int = 0
    every: int = 1  # a sample: one of so many documents
    by_bytes: ByteSplits | None = None  # else documents are counted
    repeats: Repeats | None = None  # documents that are in the split of an earlier one with the same text

    @cached_property
    def key(self) -> str:
        """A digest of content and split, the same on every machine."""
        counted = [self.total, self.fractions]
        measured = ["bytes", self.by_bytes.targets] if self.by_bytes else counted
        parts = [self.source.fingerprint(), self.split, *measured, self.seed]
        grouped = ["grouped"] if self.repeats else []
        sample = [self.every] if self.every > 1 else []
        return atomic_files.digest(json.dumps([*parts, *grouped, *sample]).encode())

    @property
    def is_limited(self) -> bool:
        """Whether this split has less than its fraction of the bytes, by `data.max_heldout`."""
        if not self.by_bytes or not self.split:
            return False
        return self.by_bytes.targets[self.split - 1] < int(self.by_bytes.total * self.fractions[self.split - 1])

    def __iter__(self) -> Iterator[str]:
        return islice(self._measured() if self.by_bytes else self._counted(), 0, None, self.every)

    def _measured(self) -> Iterator[str]:
        try:
            yield from (piece for split, piece in self.by_bytes.pieces(self.source) if split == self.split)
        except GrownError:
            raise self._grown() from None

    def _counted(self) -> Iterator[str]:
        if not any(self.fractions):
            yield from self.source
            return
        splits = np.zeros(0, np.uint8)
        for index, document in enumerate(self.source):
            offset = index % _BLOCK
            if index == self.total:
                raise self._grown()
            if offset == 0:
                splits = self._block_splits(index)
            if splits[offset] == self.split:
                yield document

    def _block_splits(self, start: int) -> np.ndarray:
        """The splits of the documents from `start` on, a block of them."""
        stop = min(start + _BLOCK, self.total)
        if self.repeats is None:
            return assign_splits(start, stop, self.total, *self.fractions, self.seed)
        return self._grouped_splits[start:stop]

    @cached_property
    def _grouped_splits(self) -> np.ndarray:
        """The split of every document (documents,): of distinct texts, and of each repeat that of the first."""
        splits, is_first = np.zeros(self.total, np.uint8), np.ones(self.total, bool)
        is_first[self.repeats.documents] = False
        count = int(is_first.sum())
        splits[is_first] = assign_splits(0, count, count, *self.fractions, self.seed)
        splits[self.repeats.documents] = splits[self.repeats.firsts]
        return splits

    def _grown(self) -> FirthError:
        return FirthError("the text grew while it was read", where=self.source.describe(), do="run again")


def documents(config: schema.Text, seed: int, cache: Path, say: Say = lambda _: None) -> dict[str, Documents]:
    """The documents of each split: from files of its own where given, else a fraction of the text."""
    spool = cache / "spool"
    source = open_source(config.text, config, spool)
    own = {"valid": config.valid, "test": config.test}
    fractions = (0.0 if config.valid else config.valid_fraction, 0.0 if config.test else config.test_fraction)
    is_divided = any(fractions)
    train = _divide(source, config, fractions, seed, cache, say) if is_divided else Documents(source, seed=seed)
    splits = {"train": train}
    for number, name in enumerate(SPLITS[1:], 1):
        if own[name]:
            splits[name] = Documents(open_source(own[name], config, spool))
        elif fractions[number - 1]:
            splits[name] = replace(train, split=number)
    return splits


def _divide(
    source: Source, config: schema.Text, fractions: tuple[float, float], seed: int, cache: Path, say: Say
) -> Documents:
    """The training split of a text that is divided, of which the others differ by their number."""
    measured = measure_documents(source, cache, say)
    sizes, repeats = measured.sizes, measured.repeats if config.group_duplicates and measured.repeats else None
    if config.split_by == "documents":
        _require_parts(len(sizes) >= 3, len(sizes), source)
        is_grouped = repeats is not None and len(sizes) - len(repeats.documents) >= 3
        return Documents(source, 0, len(sizes), fractions, seed, repeats=repeats if is_grouped else None)
    split_counts(len(sizes), *fractions)  # refuses fractions that leave nothing
    targets = target_bytes(int(np.sum(sizes, dtype=np.int64)), fractions, config.max_heldout)
    by_bytes = ByteSplits(sizes, targets, seed, repeats)
    if not by_bytes.is_possible:  # fewer than three different documents: the same text must be in several splits
        by_bytes = ByteSplits(sizes, targets, seed)
    _require_parts(by_bytes.is_possible, len(sizes), source)
    return Documents(source, 0, len(sizes), fractions, seed, by_bytes=by_bytes, repeats=by_bytes.repeats)


def _require_parts(is_possible: bool, total: int, source: Source) -> None:
    if not is_possible:
        what = f"{total} document{'s' * (total != 1)}, too few to split three ways"
        raise FirthError(what, where=source.describe(), do="use --document line, or give --valid and --test")


def make_tokenizer(config: schema.Tokenizer | schema.NoTokenizer, train: Iterable[str]) -> Tokenizer:
    """The ready tokenizer that is configured, or one trained on the training split."""
    if isinstance(config, schema.NoTokenizer):
        raise FirthError("text needs a tokenizer", where="tokenizer.kind", do="leave tokenizer.kind out")
    return Tokenizer.train(config, train).with_special_tokens()


def read_text(
    config: schema.Neural | schema.NgramModel, ready: Tokenizer | None, cache: Path, progress: Progress
) -> tuple[Tokenizer, dict[str, Split]]:
    """The tokenised splits of a configuration, by a tokenizer that is ready or trained now."""
    progress.stage(f"reading {', '.join(config.data.text)}")
    splits = documents(config.data, config.seed, cache, progress.say)
    if ready is None:
        progress.stage("training the tokenizer")
    tokenizer = ready or make_tokenizer(config.tokenizer, splits["train"])
    progress.say(f"tokenizer: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens")
    progress.stage("tokenising the text")
    return tokenizer, tokenise_splits(splits, tokenizer, cache, progress.say)


def tokenise_splits(
    splits: Mapping[str, Documents], tokenizer: Tokenizer, cache: Path, say: Callable[[str], None]
) -> dict[str, Split]:
    """Every split tokenised, from the cache if it is there; says how large each is."""
    tokenised, parts = {}, []
    for name, part in splits.items():
        account = name != "train"  # only evaluation needs to know what is out of vocabulary or lost
        tokenised[name] = tokenise_split(cache, name, part.key, part, tokenizer, account=account, say=say)
        tally = tokenised[name].tally
        own_files = name != "train" and not part.split
        parts.append(Part(name, tally.documents, tally.tokens, tally.bytes, next(iter(part)), own_files))
    report(parts, say)
    overlaps = find_overlaps(splits, cache)
    leakage.report(overlaps, say)
    tokenised = {name: replace(split, overlap=overlaps.get(name)) for name, split in tokenised.items()}
    if limited := [name for name, part in splits.items() if part.is_limited]:
        limit = max(splits["train"].by_bytes.targets)
        names = " and ".join(limited)
        say(f"{names} {'is' if len(limited) == 1 else 'are'} limited to {limit:,} bytes (data.max_heldout)")
    return tokenised


def find_overlaps(splits: Mapping[str, Documents], cache: Path) -> dict[str, leakage.Overlap]:
    """What each held-out split shares with the training text; audited once per content."""
    if "train" not in splits or len(splits) < 2:
        return {}
    keys = json.dumps([leakage.FORMAT, *((name, part.key) for name, part in splits.items())])
    cached = cache / "leakage" / f"{atomic_files.digest(keys.encode())[:32]}.json"
    try:
        return leakage.from_json(json.loads(cached.read_bytes()))
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        held_out = {name: part for name, part in splits.items() if name != "train"}
    overlaps = leakage.audit(splits["train"], held_out)
    atomic_files.make_folder(cached.parent)
    atomic_files.replace_file(cached, json.dumps(leakage.to_json(overlaps)).encode())
    return overlaps


# --- the splits as a table, before training ---

MIN_DOCUMENTS = 20  # of a held-out split; with fewer, or with fewer tokens, its scores are imprecise
MIN_TOKENS = 2000
LARGE = 10_000_000  # bytes of a held-out split, above which every score takes long
SHOWN = 60  # characters of an example


class Part(NamedTuple):
    """A split in numbers, and its first text."""

    name: str
    documents: int
    tokens: int
    bytes: int
    example: str
    own_files: bool = False  # not a fraction of the text


def report(parts: Sequence[Part], say: Callable[[str], None], unit: str = "documents") -> None:
    """Say the table, then the warnings."""
    for line in (*table(parts, unit), *warnings(parts, unit)):
        say(line)


def table(parts: Sequence[Part], unit: str = "documents") -> list[str]:
    """A line per split: its size, and how its first text begins."""
    width = max(len(part.name) for part in parts)
    units = (unit, "tokens", "bytes")
    columns = [[f"{part[number]:,}" for part in parts] for number in (1, 2, 3)]
    widths = [max(map(len, column)) for column in columns]
    return [
        f"{part.name:<{width}}  "
        + "  ".join(f"{column[row]:>{size}} {name}" for column, size, name in zip(columns, widths, units, strict=True))
        + f"  {shorten(part.example)}"
        for row, part in enumerate(parts)
    ]


def shorten(text: str) -> str:
    """The beginning of a text on one line, in quotes."""
    line = " ".join(text[: 4 * SHOWN].split())
    return f'"{line}"' if len(line) <= SHOWN else f'"{line[: SHOWN - 1]}…"'


def warnings(parts: Sequence[Part], unit: str = "documents") -> list[str]:
    """What makes scores imprecise or slow, and what to do about it."""
    train, held_out = parts[0], parts[1:]
    min_tokens = MIN_TOKENS if unit == "documents" else 0
    small = [part for part in held_out if part.documents < MIN_DOCUMENTS or part.tokens < min_tokens]
    result = [_small(small, unit)] if small else []
    if train.tokens < min_tokens:
        result.append(f"warning: only {train.tokens:,} tokens to train on; give more text")
    for part in held_out:
        do = f"give a smaller --{part.name}" if part.own_files else f"lower data.{part.name}_fraction"
        if part.bytes > LARGE:
            limit = "" if part.own_files else " or data.max_heldout"
            result.append(
                f"warning: {part.name} is large ({part.bytes:,} bytes), so every score takes long; {do}{limit}"
            )
        elif part.bytes > train.bytes:
            result.append(f"warning: {part.name} is larger than the training text; {do}")
    return result


def _small(parts: Sequence[Part], unit: str) -> str:
    names = " and ".join(part.name for part in parts)
    one = len(parts) == 1
    sizes = ", ".join(f"{part.documents:,} {unit} with {part.tokens:,} tokens" for part in parts)
    fractions = " and ".join(f"data.{part.name}_fraction" for part in parts if not part.own_files)
    files = " and ".join(f"--{part.name}" for part in parts)
    raised = f"raise {fractions}, or " if fractions else ""
    verb, whose = ("is", "its") if one else ("are", "their")
    return f"warning: {names} {verb} small ({sizes}): {whose} scores are imprecise; give more text, {raised}use {files}"
