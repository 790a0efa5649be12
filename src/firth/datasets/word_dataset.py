"""Tagged sentences as training data: words by number, their bytes and casing, their subword tokens, their tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.datasets import tagged_sentences
from firth.datasets.examples import TaggedSentence
from firth.datasets.label_ids import UNKNOWN_LABEL
from firth.datasets.labelled_dataset import Split as SentenceSplit
from firth.datasets.labelled_dataset import make_split as make_sentence_split
from firth.datasets.text_dataset import Part, make_tokenizer, report
from firth.datasets.token_cache import Split, Tally, byte_histogram
from firth.datasets.word_vocabulary import train_words, word_lookup
from firth.runs.progress import Progress
from firth.tokenizers.casing import casing_class
from firth.tokenizers.characters import PAD, encode_word
from firth.tokenizers.special_tokens import special_tokens_around
from firth.tokenizers.tokenizer import Tokenizer

WORDS, TEXT = "words", "text"  # the tokenizers' names
Say = Callable[[str], None]
Labels = Mapping[str, tuple[str, ...]]  # the tags of each layer, from frequent to rare
_SHOWN_LABELS = 8


@dataclass(frozen=True, eq=False)
class WordSplit(Split):
    """Sentences of words, one after the other: `ids` are the numbers of their spellings, `starts` those of sentences'
    first words."""

    sentences: Sequence[TaggedSentence] = ()
    labels: Labels = field(default_factory=dict)
    schemes: Mapping[str, str] = field(default_factory=dict)  # of layers whose tags are of spans
    spellings: tuple[str, ...] = ()  # the distinct words
    word_ids: np.ndarray | None = None  # (words,): by the tokenizer of words
    token_ids: np.ndarray | None = None  # (tokens,): by the tokenizer of subwords, all sentences in sequence
    token_starts: np.ndarray | None = None  # (words + 1,): the first token of each word
    around: tuple[list[int], list[int]] = ([], [])  # special tokens before and after the subwords of a row
    context: int = 0  # words, or subwords with special tokens, that the network reads at most; 0: any number

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def metadata(self) -> dict[str, Any]:
        """The tags of each layer and the schemes of those of spans, which a run stores."""
        return {"labels": {name: list(tags) for name, tags in self.labels.items()}, "schemes": dict(self.schemes)}

    @property
    def units(self) -> np.ndarray:
        """The number of units, words or subwords, before each word, by which rows are measured (words + 1,)."""
        return np.arange(len(self.ids) + 1) if self.token_starts is None else self.token_starts

    @property
    def special_tokens(self) -> int:
        """The number of special tokens in a row."""
        return sum(map(len, self.around))

    def room(self, length: int) -> int:
        """The units that a row of a length has at most, without special tokens."""
        return max(1, (min(length, self.context) if self.context else length) - self.special_tokens)

    @cached_property
    def characters(self) -> np.ndarray:
        """The bytes of each spelling (spellings, bytes), as `tokenizers/characters.py` codes them."""
        coded = np.stack([encode_word(word) for word in self.spellings]).astype(np.uint16)
        return coded[:, : max(1, int((coded != PAD).sum(1).max()))]

    @cached_property
    def casing(self) -> np.ndarray:
        """The casing class of each spelling (spellings,)."""
        return np.array([casing_class(word) for word in self.spellings], np.uint8)

    @cached_property
    def tags(self) -> dict[str, np.ndarray]:
        """The tag of each word by layer (words,), UNKNOWN_LABEL where training does not have it."""
        tags = {}
        for number, (layer, names) in enumerate(self.labels.items()):
            ids = {name: i for i, name in enumerate(names)}
            given = chain.from_iterable(_tags(sentence, number) for sentence in self.sentences)
            tags[layer] = np.array([ids.get(tag, UNKNOWN_LABEL) for tag in given], np.int64)
        return tags

    def with_words(self, tokenizer: Tokenizer) -> WordSplit:
        """The same sentences with the ids of another tokenizer of words."""
        return replace(self, word_ids=word_lookup(tokenizer)(self.spellings)[self.ids])


def _tags(sentence: TaggedSentence, layer: int) -> Iterable[str]:
    return sentence.tags[layer] if sentence.tags else [""] * len(sentence.words)


# --- reading ----------------------------------------------------------------------------------------------------------


def read_words(
    config: schema.Neural, ready: Mapping[str, Tokenizer], cache: Path, progress: Progress
) -> tuple[Mapping[str, Tokenizer], dict[str, Split]]:
    """Tagged sentences as splits, by tokenizers of words and of subwords as the input needs them."""
    say = progress.say
    progress.stage(f"reading {', '.join(config.data.text)}")
    data = tagged_sentences.read(config.data, config.seed, say)
    progress.stage("tokenising the text")
    tokenizers = make_tokenizers(config, [s.words for s in data.splits["train"].examples], ready)
    labels = {name: _label_names(data.splits["train"], number) for number, name in enumerate(data.layers)}
    splits = {name: make_split(part, labels, tokenizers, config) for name, part in data.splits.items()}
    splits = {name: replace(split, schemes=data.schemes) for name, split in splits.items()}
    _report(splits, config, say)
    return tokenizers, splits


def make_tokenizers(
    config: schema.Neural, sentences: Sequence[Sequence[str]], ready: Mapping[str, Tokenizer]
) -> dict[str, Tokenizer]:
    """The tokenizers that the network needs: those that are ready, others trained on these sentences."""
    tokenizers, part = {}, config.used_inputs.get(WORDS)
    if isinstance(part, schema.WordInput) and isinstance(part.vectors, schema.WordVectors):
        tokenizers[WORDS] = ready.get(WORDS) or train_words(part.vectors, sentences)
    if needs_subwords(config):
        tokenizers[TEXT] = ready.get(TEXT) or make_tokenizer(config.tokenizer, map(" ".join, sentences))
    return tokenizers


def needs_subwords(config: schema.Neural) -> bool:
    """Whether the network reads the subwords of the words."""
    return TEXT in config.streams or encoder_of(config) is not None


def encoder_of(config: schema.Neural) -> schema.SubwordEncoder | None:
    """The encoder of subwords within the input of words, if it has one."""
    part = config.used_inputs.get(WORDS)
    encoder = part.encoder if isinstance(part, schema.WordInput) else None
    return encoder if isinstance(encoder, schema.SubwordEncoder) else None


def make_split(
    part: SentenceSplit, labels: Labels, tokenizers: Mapping[str, Tokenizer], config: schema.Neural
) -> WordSplit:
    """The sentences as a split, by these tokenizers."""
    sentences = [example.words for example in part.examples]
    words = list(chain.from_iterable(sentences))
    spellings = {word: number for number, word in enumerate(dict.fromkeys(words))}
    ids = np.fromiter((spellings[word] for word in words), np.uint32, len(words))
    starts = np.cumsum([0, *map(len, sentences)])
    histogram = byte_histogram(word.encode() for word in words)
    tally = Tally(len(sentences), len(words), int(histogram.sum()), tuple(histogram.tolist()))
    split = WordSplit(
        part.name,
        part.key,
        ids,
        starts,
        tally,
        overlap=part.overlap,
        sentences=part.examples,
        labels=labels,
        spellings=tuple(spellings),
        context=context_of(config),
    )
    split = split.with_words(tokenizers[WORDS]) if WORDS in tokenizers else split
    if not needs_subwords(config):
        return split
    layout = getattr(encoder_of(config), "layout", config.batching.layout)
    before, _, after = special_tokens_around(layout, tokenizers[TEXT].special)
    return _with_tokens(replace(split, around=(before, after)), tokenizers[TEXT])


def encode_sentences(
    sentences: Iterable[Sequence[str]], labels: Labels, tokenizers: Mapping[str, Tokenizer], config: schema.Neural
) -> WordSplit:
    """Sentences without tags as a split."""
    examples = [TaggedSentence(tuple(words), ()) for words in sentences]
    return make_split(make_sentence_split("given", examples), labels, tokenizers, config)


def _with_tokens(split: WordSplit, tokenizer: Tokenizer) -> WordSplit:
    """The split with the subword tokens of each word; a word's tokens depend on it alone."""
    encoded = [each.ids for each in tokenizer.encode_words([[word] for word in split.spellings])]
    tokens = list(map(encoded.__getitem__, split.ids.tolist()))
    starts = np.cumsum([0, *map(len, tokens)])
    return replace(split, token_ids=np.array(list(chain.from_iterable(tokens)), np.int64), token_starts=starts)


def context_of(config: schema.Neural) -> int:
    """The words, or subwords with special tokens, that the network reads at most; 0: any number."""
    encoder = encoder_of(config)
    stacks = [config.backbone, *([encoder.backbone] if encoder else [])]
    limits = [stack.context or config.batching.length for stack in stacks if isinstance(stack, schema.Transformer)]
    return min(limits, default=0)


def _label_names(train: SentenceSplit, layer: int) -> tuple[str, ...]:
    counts = Counter(tag for sentence in train.examples for tag in sentence.tags[layer])
    return tuple(sorted(counts, key=lambda tag: (-counts[tag], tag)))


# --- what is said -----------------------------------------------------------------------------------------------------


def _report(splits: Mapping[str, WordSplit], config: schema.Neural, say: Say) -> None:
    """Say the size of each split and one of its sentences, the tags, unknown ones, and sentences that are cut."""
    rows = []
    for name, split in splits.items():
        first, own = split.sentences[0], bool(getattr(config.data, name, ()))
        example = " ".join(f"{word}/{tag}" for word, tag in zip(first.words, first.tags[0], strict=True))
        rows.append(Part(name, len(split), split.tally.tokens, split.tally.bytes, example, own))
    report(rows, say, "sentences")
    train = splits["train"]
    for layer, names in train.labels.items():
        shown = ", ".join(names[:_SHOWN_LABELS]) + (", …" if len(names) > _SHOWN_LABELS else "")
        scheme = f" ({train.schemes[layer]})" if layer in train.schemes else ""
        say(f"{layer}{scheme}: {len(names):,} tag{'s' * (len(names) != 1)}: {shown}")
    for name, split in splits.items():
        _report_unknown(split, say)
        _report_long(split, config.batching.length if name == "train" else split.context, say)


def _report_long(split: WordSplit, length: int, say: Say) -> None:
    """Name the first sentence that is longer than a row."""
    sizes = split.units[split.starts[1:]] - split.units[split.starts[:-1]]
    long = np.flatnonzero(sizes > (split.room(length) if length else sizes.max()))
    if len(long):
        unit = "words" if split.token_starts is None else "subwords"
        count = f"{len(long):,} sentence{'s are' if len(long) > 1 else ' is'}"
        what = f"{count} cut between words: more than {length} {unit} in {split.name}"
        say(f"note: {split.sentences[long[0]].place()}: {what}")


def _report_unknown(split: WordSplit, say: Say) -> None:
    """Name the first tag that training does not have, in each layer."""
    for number, (layer, tags) in enumerate(split.tags.items()):
        unknown = np.flatnonzero(tags == UNKNOWN_LABEL)
        if not len(unknown):
            continue
        row = int(np.searchsorted(split.starts, unknown[0], "right")) - 1
        sentence, word = split.sentences[row], int(unknown[0] - split.starts[row])
        count = f"{len(unknown):,} word{'s have' if len(unknown) > 1 else ' has'} such a tag"
        what = f"no training sentence has the {layer} tag {sentence.tags[number][word]!r}"
        say(f"note: {sentence.place(word)}: {what}; {count} in {split.name}, and they do not count")
