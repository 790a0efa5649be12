"""The word embedding family (word2vec, fastText, GloVe, PPMI, LSA, Hellinger): reads the text, trains, evaluates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.config import schema
from firth.config.core import bounded
from firth.datasets import memory_map
from firth.datasets.document_sizes import measure_documents
from firth.datasets.sources import open_source
from firth.datasets.text_dataset import documents, make_tokenizer, tokenise_splits
from firth.datasets.token_cache import Split, usable_cache
from firth.display import Table
from firth.embeddings import count_vectors, drift, glove, phrases, word2vec
from firth.embeddings import training_text as texts
from firth.embeddings.formats import safetensors_store
from firth.embeddings.loading import load_vectors
from firth.embeddings.method import EmbeddingTrainer, Loss
from firth.embeddings.training_text import Corpus
from firth.embeddings.word_vectors import Neighbour, WordVectors
from firth.errors import FirthError, unknown
from firth.families import pass_training as shared
from firth.metrics.score import Score, signature
from firth.report.run_page import write_report
from firth.report.word_maps import word_map
from firth.runs import atomic_files
from firth.runs.progress import Quiet
from firth.runs.run_folder import Record, Run, TrainRequest
from firth.runs.trained_model import TrainedModel, read_options
from firth.runs.weights import require_finite
from firth.tokenizers.tokenizer import Tokenizer
from firth.training import pass_loop

MIN_DOCUMENTS = 20  # below which none are held out, unless there is enough text to cut documents
MIN_BYTES = 200_000
MAX_TOKENS_IN_MEMORY = 50_000_000  # up to which co-occurrence counts are kept in memory
REPORT_WORDS = 12  # whose nearest neighbours the report shows
MAP_WORDS = 80  # of the report's word map
estimate = shared.estimate


@dataclass(frozen=True)
class Prepared:
    """The tokenised text as corpora of word indices."""

    config: schema.WordEmbeddings
    tokenizer: Tokenizer
    splits: dict[str, Split]
    corpora: dict[str, Corpus]  # by split, all with the vocabulary of the training text
    learned_phrases: phrases.Phrases | None
    initial: WordVectors | None  # vectors to continue from


# --- training -----------------------------------------------------------------------------------------------------


def fit(request: TrainRequest) -> WordVectorModel:
    """Train in the run folder, from its newest checkpoint if any; then score held-out data and write the report."""
    with shared.lock_run(request):
        prepared = _prepare(request)
        trainer = _make_trainer(prepared, request)
        if not request.run.exists:
            _begin(request, prepared, trainer)
        pass_loop.train(_task(request, prepared, trainer))
        return _finish(request, prepared)


def _task(request: TrainRequest, prepared: Prepared, trainer: EmbeddingTrainer) -> pass_loop.PassTask:
    def validation_loss() -> Loss | None:
        return trainer.held_out(prepared.corpora["valid"]) if "valid" in prepared.corpora else None

    def save(metadata: Mapping[str, Any]) -> None:
        safetensors_store.write(trainer.word_vectors(), request.run.weights, metadata)

    return shared.make_task(request, prepared.config.train, trainer, validation_loss, save)


def _prepare(request: TrainRequest) -> Prepared:
    run, resumed = request.run, request.run.exists
    progress = Quiet() if resumed else request.progress
    config = run.record.config if resumed else _with_held_out(request.config, request.cache, progress.say)
    progress.stage(f"reading {', '.join(config.data.text)}")
    texts_by_split = documents(config.data, config.seed, request.cache)
    tokenizer = run.tokenizer("text") if resumed else make_tokenizer(config.tokenizer, texts_by_split["train"])
    progress.stage("tokenising the text")
    splits = tokenise_splits(texts_by_split, tokenizer, request.cache, progress.say)
    if resumed:
        shared.require_same_text(run, splits)
    initial = load_vectors(config.init_from) if config.init_from else None
    if resumed and initial is not None and run.record.data["start"] != _digest(initial):
        what = "the vectors it was initialised from have changed"
        do = f"restore {config.init_from}, or choose another --out"
        raise FirthError(what, where=run.path, do=do)
    progress.stage("building the vocabulary")
    learned, corpora = _corpora(config, splits, tokenizer, initial)
    return Prepared(config, tokenizer, splits, corpora, learned, initial)


def read_corpus(config: schema.WordEmbeddings, cache: Path, say: Callable[[str], None]) -> Corpus:
    """The training text of a configuration, as a corpus of word indices."""
    train = {"train": documents(config.data, config.seed, cache)["train"]}
    tokenizer = make_tokenizer(config.tokenizer, train["train"])
    return _corpora(config, tokenise_splits(train, tokenizer, cache, say), tokenizer, None)[1]["train"]


def _with_held_out(config: schema.WordEmbeddings, cache: Path, say: Callable[[str], None]) -> schema.WordEmbeddings:
    """The configuration, without held-out text where there are too few documents."""
    data = config.data
    if not data.valid_fraction and not data.test_fraction:
        return config
    sizes = measure_documents(open_source(data.text, data, cache / "spool"), cache).sizes
    is_cut = data.split_by == "bytes" and int(np.sum(sizes, dtype=np.int64)) >= MIN_BYTES
    if is_cut or len(sizes) >= MIN_DOCUMENTS:
        return config
    say(f"fewer than {MIN_DOCUMENTS} documents and less than {MIN_BYTES:,} bytes: no text is held out")
    return replace(config, data=replace(data, valid_fraction=0.0, test_fraction=0.0))


def _corpora(
    config: schema.WordEmbeddings, splits: Mapping[str, Split], tokenizer: Tokenizer, initial: WordVectors | None
) -> tuple[phrases.Phrases | None, dict[str, Corpus]]:
    """The phrases learned from the training split, and the splits with its vocabulary."""
    train = texts.read_corpus(splits["train"], tokenizer, config.tokenizer.min_count)
    corpora = {name: texts.with_split(split, train) for name, split in splits.items()}
    learned = None
    if config.phrases.passes:
        learned = phrases.learn(train, config.phrases, config.tokenizer.min_count)
        corpora = {name: learned.apply(corpus) for name, corpus in corpora.items()}
    if initial is not None:
        corpora = {name: texts.extend_vocabulary(corpus, initial) for name, corpus in corpora.items()}
    return learned, corpora


def _make_trainer(prepared: Prepared, request: TrainRequest) -> EmbeddingTrainer:
    config, train = prepared.config, prepared.corpora["train"]
    if isinstance(config.method, schema.Word2Vec):
        return word2vec.Word2VecTrainer(train, config.method, config.train.epochs, config.seed, prepared.initial)
    if prepared.initial is not None:
        what = "only word2vec and fastText continue from other vectors"
        raise FirthError(what, where="init_from", do="leave it out")
    request.progress.stage("counting co-occurrences")
    trainer_class = {schema.GloVe: glove.GloVeTrainer, schema.CountVectors: count_vectors.CountVectorsTrainer}[
        type(config.method)
    ]
    in_memory = len(train.tokens) <= MAX_TOKENS_IN_MEMORY
    folder = None if in_memory else request.cache / "cells" / request.request_digest[:32]
    return trainer_class(train, config.method, config.seed, pass_loop.thread_count(config.train), folder)


def _digest(vectors: WordVectors) -> str:
    """A digest of words and vectors."""
    return atomic_files.digest("\n".join(vectors.words).encode() + np.ascontiguousarray(vectors.vectors).tobytes())


def _begin(request: TrainRequest, prepared: Prepared, trainer: EmbeddingTrainer) -> None:
    """Write the tokenizer and the record; with the record the run exists."""
    run, config = request.run, prepared.config
    config = replace(config, train=replace(config.train, threads=pass_loop.thread_count(config.train)))
    run.write_tokenizer("text", prepared.tokenizer)
    data = {
        "splits": {name: split.key for name, split in prepared.splits.items()},
        "byte_counts": list(prepared.splits["train"].tally.histogram),
        "steps": config.train.epochs * trainer.chunks,
        "training": shared.reproducibility(config.train, trainer),
        "phrases": prepared.learned_phrases.to_json() if prepared.learned_phrases else [],
        "start": _digest(prepared.initial) if prepared.initial else "",
    }
    hashes, machine = {"text": prepared.tokenizer.hash}, shared.machine_info(config.train)
    run.write_record(Record(request.preset, request.request_digest, config, hashes, data, machine))
    sizes = f"{len(prepared.corpora['train'].words):,} words"
    if prepared.learned_phrases:
        sizes += f", {sum(map(len, prepared.learned_phrases.passes)):,} phrases"
    request.progress.say(f"{sizes}, width {config.method.width}; {shared.reproducibility(config.train, trainer)}")


def _finish(request: TrainRequest, prepared: Prepared) -> WordVectorModel:
    request.progress.stage("scoring the held-out text")
    model = load(request.run)
    for name in ("valid", "test"):
        if name in prepared.splits:
            request.run.add_scores([score.to_dict() for score in model.evaluate(split=name, cache=request.cache)])
    request.progress.stage("writing the report")
    words = _content_words(model.vectors)
    some = words[:: max(1, len(words) // REPORT_WORDS)][:REPORT_WORDS]
    examples = [_format_neighbours(model.vectors, word) for word in some]
    if prepared.initial is not None:
        shift = drift.measure(prepared.initial, model.vectors, request.config.seed)
        for line in shift.lines():
            request.progress.say(line)
        examples = ["\n".join(shift.lines()), *examples]
    figures = [word_map(model.vectors, words, title="Frequent words").html_fragment()] if len(words) > 2 else []
    write_report(request.run, examples, "Nearest neighbours", figures)
    return model


def _content_words(vectors: WordVectors) -> list[str]:
    """Frequent content words: without the most frequent and the short ones, if there are others."""
    words = vectors.words[: 20 * MAP_WORDS]
    content = [word for word in words[len(words) // 20 :] if len(word) > 3 and word.isalpha()] or list(words)
    return content[:MAP_WORDS]


def _format_neighbours(vectors: WordVectors, word: str) -> str:
    neighbours = ", ".join(f"{each.word} {each.score:.2f}" for each in vectors.most_similar(word, topn=8))
    return f"{word}: {neighbours}"


# --- using --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NeighbourOptions:
    """The options of `firth run` for word vectors."""

    count: int = bounded(10, least=1)


class WordVectorModel(TrainedModel):
    """Trained word vectors: what `firth.load` returns for a run of them."""

    def __init__(self, run: Run, tokenizer: Tokenizer, vectors: WordVectors) -> None:
        self.run, self.tokenizer, self.vectors = run, tokenizer, vectors
        self.config: schema.WordEmbeddings = run.record.config

    def __getitem__(self, words: str | Iterable[str]) -> np.ndarray:
        return self.vectors[words]

    def __contains__(self, word: object) -> bool:
        return word in self.vectors

    def most_similar(
        self, positive: str | Sequence[str], negative: str | Sequence[str] = (), topn: int = 10
    ) -> list[Neighbour]:
        """The words most similar to the positive ones and least to the negative ones; `vectors` has more options."""
        return self.vectors.most_similar(positive, negative, topn)

    def similarity(self, a: str, b: str) -> float:
        """The cosine similarity of two words."""
        return self.vectors.similarity(a, b)

    def analogy(self, a: str, b: str, c: str, topn: int = 1) -> list[Neighbour]:
        """The answers to the analogy: `a` is to `b` as `c` is to these."""
        return self.vectors.analogy(a, b, c, topn)

    def doesnt_match(self, words: Sequence[str]) -> str:
        """The odd one out: the word farthest from the mean of all."""
        return self.vectors.doesnt_match(words)

    @property
    def hint(self) -> str:
        """A first command to try."""
        return f"firth vectors neighbours {self.run.path} WORD"

    def evaluate(self, text: object = None, split: str = "valid", cache: Path | None = None) -> list[Score]:
        """The training loss on a split of the run's own text; no score for methods without one."""
        if text is not None:
            do = "firth vectors evaluate compares vectors by what they know of words"
            raise FirthError("vectors are scored on their own held-out text only", where=self.run.path, do=do)
        part = self._split(split, cache or usable_cache())
        loss = self._loss(part)
        if loss is None or not loss.count:
            return Table()
        method = self.config.method
        fields = {"tok": f"{self.tokenizer.kind}/{self.tokenizer.hash[:8]}", "method": method.kind}
        fields |= {"ctx": f"window/{method.window}", **part.signed_fields}
        return Table([Score("loss", loss.mean, signature(fields))])

    def _loss(self, part: Split) -> Loss | None:
        """The loss of these vectors as in training; exact, where the file holds the context vectors."""
        method = self.config.method
        if not isinstance(method, schema.Word2Vec) or self.vectors.context is None:
            return None
        corpus = replace(self._corpus(part), counts=self.vectors.counts)
        return word2vec.Word2VecTrainer(corpus, method, 1, self.config.seed, self.vectors).held_out(corpus)

    def _corpus(self, part: Split) -> Corpus:
        """A split as indices of the vectors; a word that occurs in phrases only has no vector of its own."""
        names, special = list(self.tokenizer.vocabulary()), self.tokenizer.special
        learned, words = self.run.record.data.get("phrases"), self.vectors.words
        row_of = np.arange(len(names)) if learned else np.array([words.find(name) for name in names])
        row_of[list(special.ids)], row_of[special.end] = texts.NONE, texts.END
        corpus = Corpus(part.ids, part.starts, row_of.astype(np.int32), names, np.ones(len(names), np.int64))
        return phrases.Phrases.from_json(learned, words).apply(corpus) if learned else replace(corpus, words=words)

    def _split(self, name: str, cache: Path) -> Split:
        known = self.run.record.data["splits"]
        if name not in known:
            raise unknown("split", name, known)
        texts_by_split = documents(self.config.data, self.config.seed, cache)
        splits = tokenise_splits({name: texts_by_split[name]}, self.tokenizer, cache, lambda _: None)
        shared.require_same_text(self.run, splits)
        return splits[name]

    def answer(self, line: str, options: Mapping[str, object]) -> dict[str, Any]:
        """The nearest neighbours of a word (or of the mean of several words)."""
        parsed = read_options(NeighbourOptions, options)
        words = [line] if line in self.vectors else line.split()  # an item may have blanks in its name
        neighbours = self.vectors.most_similar(words or [""], topn=parsed.count)
        return {"input": line, "neighbours": [[each.word, each.score] for each in neighbours]}

    def format_answer(self, answer: Mapping[str, Any]) -> str:
        """The answer as text."""
        return "\n".join(f"{score:.4f}\t{word}" for word, score in answer["neighbours"])


def load(run: Run) -> WordVectorModel:
    """The trained vectors of a run, memory-mapped."""
    shared.require_trained(run, "vectors")
    shared.require_matching_config(run, safetensors_store.read_metadata(run.weights), "vectors")
    vectors = safetensors_store.read(run.weights)
    memory_map.verify(run.weights)
    arrays = {"vectors": vectors.vectors, "context": vectors.context}
    arrays |= {"buckets": vectors.subwords.buckets} if vectors.subwords is not None else {}
    require_finite({name: array for name, array in arrays.items() if array is not None}, run.weights)
    return WordVectorModel(run, run.tokenizer("text"), vectors)
