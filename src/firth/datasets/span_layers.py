"""Layers of tags that mark spans (chunks, named entities): their tagging scheme, and tags that break it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from firth.config.schema import TaggedWords
from firth.datasets.examples import TaggedSentence
from firth.datasets.readers import tag_schemes
from firth.datasets.readers.tag_schemes import OUTSIDE
from firth.errors import FirthError

Say = Callable[[str], None]
Sentences = list[TaggedSentence]
_LEAST = 0.9  # of the tags of a layer of spans look like tags of spans


def prepare(
    splits: Mapping[str, Sentences], layers: Sequence[str], config: TaggedWords, say: Say
) -> tuple[dict[str, Sentences], dict[str, str]]:
    """The sentences with the tags to train with, and the scheme of each layer of spans."""
    prepared, schemes = dict(splits), {}
    for number, name in enumerate(layers):
        scheme = _scheme(sentence.tags[number] for sentence in splits["train"])
        if scheme is None:
            continue
        layer = _Layer(number, name, scheme, config)
        schemes[name] = layer.new_scheme
        prepared = {split: layer.prepare(split, sentences, say) for split, sentences in prepared.items()}
    return prepared, schemes


class _Layer:
    """One layer of spans."""

    def __init__(self, number: int, name: str, scheme: str, config: TaggedWords) -> None:
        self.number, self.name, self.scheme = number, name, scheme
        self.mends = config.broken_tags == "mend"
        self.new_scheme = scheme if config.scheme == "keep" else config.scheme

    def prepare(self, split: str, sentences: Sentences, say: Say) -> Sentences:
        """The sentences of a split: broken training tags are refused or mended, others are named."""
        faults = [
            (sentence, position, what)
            for sentence in sentences
            for position, what in tag_schemes.faults(sentence.tags[self.number], self.scheme)
        ]
        if faults:
            self._report(split, faults, say)
        if self.scheme == self.new_scheme and not (faults and split == "train"):
            return sentences
        return [self._converted(sentence) for sentence in sentences]

    def _report(self, split: str, faults: Sequence[tuple[TaggedSentence, int, str]], say: Say) -> None:
        """An error for training tags that are not to be mended, or that no scheme has; else a note."""
        is_train, count = split == "train", len(faults)
        hopeless = [fault for fault in faults if not _is_span_tag(fault[0].tags[self.number][fault[1]])]
        sentence, position, what = (hopeless or faults)[0]
        what = f"{what}; {count} such tag{'s' * (count > 1)} of {self.name} in {split}"
        if is_train and (hopeless or not self.mends):
            do = "correct it" if hopeless else "correct it, or set data.broken_tags=mend"
            raise FirthError(what, where=sentence.place(position), do=do)
        done = "mended" if is_train else "a tag that cannot continue a span begins one, as conlleval counts"
        say(f"note: {sentence.place(position)}: {what}: {done}")

    def _converted(self, sentence: TaggedSentence) -> TaggedSentence:
        tags = sentence.tags[self.number]
        if not all(map(_is_span_tag, tags)):  # of a held-out split: tags that training does not have
            return sentence
        new = tuple(tag_schemes.convert(tags, self.new_scheme))
        return sentence._replace(tags=(*sentence.tags[: self.number], new, *sentence.tags[self.number + 1 :]))


def _scheme(sentences: Sequence[Sequence[str]]) -> str | None:
    """The scheme of training tags: the one that they break least; None if they are not of spans."""
    sentences = list(sentences)
    tags = {tag for sentence in sentences for tag in sentence}
    if all(tag == OUTSIDE or not _is_span_tag(tag) for tag in tags):
        return None
    count = sum(map(len, sentences))
    if sum(_is_span_tag(tag) for sentence in sentences for tag in sentence) < _LEAST * count:
        return None
    return tag_schemes.detect(sentences) or min(tag_schemes.SCHEMES, key=lambda name: _count(sentences, name))


def _count(sentences: Sequence[Sequence[str]], scheme: str) -> int:
    return sum(len(tag_schemes.faults(tags, scheme)) for tags in sentences)


def _is_span_tag(tag: str) -> bool:
    return tag == OUTSIDE or (tag[0] in "BIESLU" and tag[1:2] == "-" and len(tag) > 2)
