"""The family of word vectors: read the text, train or work out the vectors, keep them as a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.config.core import bounded
from firth.data.cache import Split, default_cache
from firth.data.corpus import count, documents, make_tokenizer, tokenise
from firth.data.sources import open_source
from firth.errors import FirthError, unknown
from firth.families import passes as shared
from firth.families.order import Order, read_options
from firth.metrics.score import Score, signature
from firth.report.maps import word_map
from firth.report.page import write_report
from firth.runs import files
from firth.runs.folder import Record, Run
from firth.text.tokenizer import Tokenizer
from firth.training import passes
from firth.vectors import corpus as texts
from firth.vectors import counted, drift, glove, phrases, word2vec
from firth.vectors.corpus import Corpus
from firth.vectors.files import native
from firth.vectors.learner import Learner, Loss
from firth.vectors.opening import open_vectors
from firth.vectors.store import WordVectors

HELD_OUT = 20  # documents below which none are held out
IN_MEMORY = 50_000_000  # tokens up to which counts are kept in memory
SHOWN = 12  # words whose neighbours the report shows
DRAWN = 80  # words of its map
foresee = shared.foresee


@dataclass(frozen=True)
class Prepared:
    """Text as rows of vectors."""

    config: schema.Vectors
    tokenizer: Tokenizer
    splits: dict[str, Split]
    corpora: dict[str, Corpus]  # by split, all with the rows of the training text
    joined: phrases.Phrases | None
    start: WordVectors | None


# --- training -----------------------------------------------------------------------------------------------------


def fit(order: Order) -> VectorModel:
    """Train into the run folder, or go on with what is there; then score what was held out and write the report."""
    with shared.alone(order):
        prepared = _prepare(order)
        learner = _learner(prepared, order)
        if not order.run.exists:
            _begin(order, prepared, learner)
        position = passes.train(_job(order, prepared, learner))
        return _finish(order, prepared, position)


def _job(order: Order, prepared: Prepared, learner: Learner) -> passes.Job:
    def held_out() -> Loss | None:
        return learner.held_out(prepared.corpora["valid"]) if "valid" in prepared.corpora else None

    def keep(note: Mapping[str, Any]) -> None:
        native.write(learner.store(), order.run.weights, note)

    return shared.make_job(order, prepared.config.train, learner, held_out, keep)


def _prepare(order: Order) -> Prepared:
    run, say = order.run, order.progress.say
    began = run.exists
    config = run.record.config if began else _affordable(order.config, order.cache, say)
    if not began:
        say(f"reading {', '.join(config.data.text)}")
    found = documents(config.data, config.seed, order.cache)
    tokenizer = run.tokenizer("text") if began else make_tokenizer(config.tokenizer, found["train"])
    splits = tokenise(found, tokenizer, order.cache, (lambda _: None) if began else say)
    if began:
        shared.require_same_text(run, splits)
    start = open_vectors(config.start) if config.start else None
    if began and start is not None and run.record.data["start"] != _key(start):
        what, do = "the vectors it began from have changed", f"restore {config.start}, or choose another --out"
        raise FirthError(what, where=run.path, do=do)
    joined, corpora = _corpora(config, splits, tokenizer, start)
    return Prepared(config, tokenizer, splits, corpora, joined, start)


def read_text(config: schema.Vectors, cache: Path, say: Callable[[str], None]) -> Corpus:
    """The training text of a configuration, as words with rows."""
    train = {"train": documents(config.data, config.seed, cache)["train"]}
    tokenizer = make_tokenizer(config.tokenizer, train["train"])
    return _corpora(config, tokenise(train, tokenizer, cache, say), tokenizer, None)[1]["train"]


def _affordable(config: schema.Vectors, cache: Path, say: Callable[[str], None]) -> schema.Vectors:
    """The configuration without held-out text where there are too few documents for it."""
    data = config.data
    if not data.valid_share and not data.test_share:
        return config
    if count(open_source(data.text, data, cache / "spool"), cache) >= HELD_OUT:
        return config
    say(f"fewer than {HELD_OUT} documents: none is held out")
    return replace(config, data=replace(data, valid_share=0.0, test_share=0.0))


def _corpora(
    config: schema.Vectors, splits: Mapping[str, Split], tokenizer: Tokenizer, start: WordVectors | None
) -> tuple[phrases.Phrases | None, dict[str, Corpus]]:
    """The splits with the rows that the training split decides."""
    train = texts.read(splits["train"], tokenizer, config.tokenizer.min_count)
    found = {name: texts.alike(split, train) for name, split in splits.items()}
    joined = None
    if config.phrases.rounds:
        joined = phrases.learn(train, config.phrases, config.tokenizer.min_count)
        found = {name: joined.apply(corpus) for name, corpus in found.items()}
    if start is not None:
        found["train"] = texts.extended(found["train"], start)
        held = {name: corpus for name, corpus in found.items() if name != "train"}
        found |= {name: texts.extended(corpus, start) for name, corpus in held.items()}
    return joined, found


def _learner(prepared: Prepared, order: Order) -> Learner:
    config, train = prepared.config, prepared.corpora["train"]
    if isinstance(config.method, schema.WordToVec):
        return word2vec.Model(train, config.method, config.train.epochs, config.seed, prepared.start)
    if prepared.start is not None:
        raise FirthError("only word2vec and fastText go on from other vectors", where="start", do="leave it out")
    make = {schema.GloVe: glove.Model, schema.Counted: counted.Model}[type(config.method)]
    folder = order.cache / "cells" / order.asked[:32] if len(train.tokens) > IN_MEMORY else None
    return make(train, config.method, config.seed, passes.threads(config.train), folder)


def _key(start: WordVectors) -> str:
    """What tells the vectors gone on from from others."""
    return files.digest("\n".join(start.words).encode() + np.ascontiguousarray(start.vectors).tobytes())


def _begin(order: Order, prepared: Prepared, learner: Learner) -> None:
    """Everything that is decided once; then the run exists."""
    run, config = order.run, prepared.config
    number = passes.threads(config.train)
    config = replace(config, train=replace(config.train, threads=number))
    run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": list(prepared.splits["train"].tally.histogram),
        "steps": config.train.epochs * learner.pieces,
        "training": shared.mode(config.train, learner),
        "phrases": prepared.joined.values() if prepared.joined else [],
        "start": _key(prepared.start) if prepared.start else "",
    }
    hashes, machine = {"text": prepared.tokenizer.hash}, shared.machine(config.train)
    record = Record(order.preset, order.asked, config, hashes, data, machine)
    run.write_record(record)
    rows = len(prepared.corpora["train"].words)
    what = f"{rows:,} words" + (f", {sum(map(len, prepared.joined.rounds)):,} phrases" if prepared.joined else "")
    order.progress.say(f"{what}, width {config.method.width}; {shared.mode(config.train, learner)}")


def _finish(order: Order, prepared: Prepared, position: passes.Position) -> VectorModel:
    model = load(order.run)
    for name in ("valid", "test"):
        if name in prepared.splits:
            order.run.add_scores([score.to_dict() for score in model.evaluate(split=name, cache=order.cache)])
    chosen = _telling(model.vectors)
    shown = [_described(model.vectors, word) for word in chosen[:: max(1, len(chosen) // SHOWN)][:SHOWN]]
    if prepared.start is not None:
        told = drift.measure(prepared.start, model.vectors, order.config.seed)
        for line in told.lines():
            order.progress.say(line)
        shown = ["\n".join(told.lines()), *shown]
    pictures = [word_map(model.vectors, chosen, title="Frequent words").svg()] if len(chosen) > 2 else []
    write_report(order.run, shown, "Neighbours", pictures)
    return model


def _telling(vectors: WordVectors) -> list[str]:
    """Frequent words that are not mere grammar: the very first and the short ones are left out, if there are others."""
    words = vectors.words[: 20 * DRAWN]
    found = [word for word in words[len(words) // 20 :] if len(word) > 3 and word.isalpha()] or list(words)
    return found[:DRAWN]


def _described(vectors: WordVectors, word: str) -> str:
    near = ", ".join(f"{found.word} {found.score:.2f}" for found in vectors.most_similar(word, count=8))
    return f"{word}: {near}"


# --- using --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """How `firth run` is to answer."""

    count: int = bounded(10, least=1)


class VectorModel:
    """Trained word vectors: what `firth.load` gives for a run of them."""

    def __init__(self, run: Run, tokenizer: Tokenizer, vectors: WordVectors) -> None:
        self.run, self.tokenizer, self.vectors = run, tokenizer, vectors
        self.config: schema.Vectors = run.record.config

    @property
    def hint(self) -> str:
        """What to try first."""
        return f"firth vectors neighbours {self.run.path} WORD"

    def evaluate(self, text: object = None, split: str = "valid", cache: Path | None = None) -> list[Score]:
        """The loss of a prediction on a split of the run's own text; none where nothing is predicted."""
        if text is not None:
            do = "firth vectors evaluate compares vectors by what they know of words"
            raise FirthError("vectors are scored on their own held-out text only", where=self.run.path, do=do)
        part = self._split(split, cache or default_cache())
        found = self._loss(part)
        if found is None or not found.count:
            return []
        method = self.config.method
        told = {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "method": method.kind}
        told |= {"ctx": f"window/{method.window}", "split": part.name, "data": part.key[:8]}
        return [Score("loss", found.mean, signature(told))]

    def _loss(self, part: Split) -> Loss | None:
        """As a learner that begins with these vectors sees it: exactly, where the store holds all that it had."""
        method = self.config.method
        if not isinstance(method, schema.WordToVec) or self.vectors.context is None:
            return None
        corpus = replace(self._corpus(part), counts=self.vectors.counts)
        return word2vec.Model(corpus, method, 1, self.config.seed, self.vectors).held_out(corpus)

    def _corpus(self, part: Split) -> Corpus:
        """A split with the rows of the vectors; a word that stands in phrases only has none of its own."""
        names, special = list(self.tokenizer.vocabulary()), self.tokenizer.special
        joined, words = self.run.record.data.get("phrases"), self.vectors.words
        row_of = np.arange(len(names)) if joined else np.array([words.find(name) for name in names])
        row_of[list(special.ids)], row_of[special.end] = texts.NONE, texts.END
        corpus = Corpus(part.ids, part.starts, row_of.astype(np.int32), names, np.ones(len(names), np.int64))
        return phrases.Phrases.of(joined, words).apply(corpus) if joined else replace(corpus, words=words)

    def _split(self, name: str, cache: Path) -> Split:
        known = self.run.record.data["splits"]
        if name not in known:
            raise unknown("split", name, known)
        found = documents(self.config.data, self.config.seed, cache)
        splits = tokenise({name: found[name]}, self.tokenizer, cache, lambda _: None)
        shared.require_same_text(self.run, splits)
        return splits[name]

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The neighbours of a word (or of the mean of several words)."""
        asked = read_options(Asked, options)
        words = [line] if line in self.vectors else line.split()  # an item may have blanks in its name
        near = self.vectors.most_similar(words or [""], count=asked.count)
        return {"input": line, "neighbours": [[found.word, found.score] for found in near]}

    def shown(self, answer: Mapping[str, Any]) -> str:
        """The same for a person."""
        return "\n".join(f"{score:.4f}\t{word}" for word, score in answer["neighbours"])


def load(run: Run) -> VectorModel:
    """The trained vectors of a run, memory-mapped."""
    shared.require_trained(run, "vectors")
    shared.require_own(run, native.read_note(run.weights), "vectors")
    return VectorModel(run, run.tokenizer("text"), native.read(run.weights))
