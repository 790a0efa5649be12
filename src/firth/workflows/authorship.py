"""Authorship attribution: one language model per author; the model with the fewest bits per byte on the text wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from firth import api
from firth.config.schema import Neural, NgramModel, System
from firth.datasets.sources import keep_documents, open_source, resolve_names
from firth.datasets.text_dataset import documents, make_tokenizer
from firth.datasets.token_cache import byte_histogram, default_cache
from firth.errors import FirthError
from firth.metrics.bootstrap import bootstrap_ratios
from firth.metrics.perplexity import ByteModel
from firth.pipelines.language_model import LanguageModel
from firth.runs import atomic_files
from firth.runs.progress import Progress, Style, progress
from firth.workflows.open_language_model import load_language_model, require_probabilities
from firth.workflows.typography import normalise_typography

PRESET = "ngram-lm"
SETTINGS = ("tokenizer.model=char", "method.order=8")  # of the default preset: works for any script
RESAMPLES = 2000  # of the bootstrap
_MIN_DOCUMENTS = 20  # fewer are cut into chunks for the bootstrap
CHUNK_SIZE = 200  # characters
_MIN_CHUNKS = 10  # with fewer, the bootstrap is unreliable
_MIN_SPLIT_DOCUMENTS = 3  # for training, validation and test
_MAX_SIZE_RATIO = 2.0  # of the authors' amounts of training text; above it, a note says so


@dataclass(frozen=True)
class Candidate:
    """A candidate author's score on one text."""

    author: str
    bits_per_byte: float
    margin: tuple[float, float, float]  # bits per byte above the best author's, with its 95 % confidence interval
    win_rate: float  # fraction of bootstrap resamples in which the author is the best


@dataclass(frozen=True)
class Attribution:
    """The candidate authors of a text, the most probable first."""

    text: str
    documents: int
    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...]

    @property
    def author(self) -> str:
        """The most probable author."""
        return self.candidates[0].author


# --- training: one model per author ---------------------------------------------------------------------------------


def train(
    authors: Mapping[str, Sequence[str]],
    *,
    preset: str = "",
    settings: Sequence[str] = (),
    normalise: bool = True,
    out: Path | str = "runs/authors",
    style: Style | Progress = "quiet",
) -> dict[str, LanguageModel]:
    """Train a model per author on the author's texts (names of files and folders), all with one shared tokenizer.

    `normalise` removes typographic differences between editions first. Runs go into folders of `out`; finished ones
    are not trained again.
    """
    choice = api.resolve_config(preset or PRESET, [*(() if preset else SETTINGS), *settings])
    if not isinstance(choice.config, (Neural, NgramModel)):
        do = "try ngram-lm, lstm-lm or transformer-lm"
        raise FirthError(f"{choice.name} is not a language model", where="--preset", do=do)
    configs = {name: _author_config(choice.config, name, texts, normalise) for name, texts in authors.items()}
    tokenizer_file = _train_tokenizer(configs, Path(out))
    models, progress_display = {}, progress(style)
    for name, config in configs.items():
        progress_display.say(f"author: {name}")
        tokenizer = replace(config.tokenizer, file=str(tokenizer_file.absolute()))
        run = Path(out) / _folder_name(name)
        models[name] = api.train_config(
            api.NamedConfig(choice.name, replace(config, tokenizer=tokenizer)), run, progress_display
        )
    return models


def _author_config(config: System, name: str, texts: Sequence[str], normalise: bool) -> System:
    spool = default_cache() / "spool"
    names = resolve_names(texts, spool)
    if normalise:
        normalised = list(normalise_typography(open_source(names, config.data, spool)))
        if len(normalised) < _MIN_SPLIT_DOCUMENTS:
            do = "give some thousand words of each"
            raise FirthError(f"too little text by {name}", where=", ".join(texts), do=do)
        names = (keep_documents(normalised, spool),)
    return replace(config, data=replace(config.data, text=names))


def _folder_name(name: str) -> str:
    if not name.strip() or name in (".", "..") or any(sign in name for sign in "/\\\0"):
        raise FirthError(f"{name!r} cannot be the name of a folder", do="give the author another name")
    return name


def _train_tokenizer(configs: Mapping[str, System], out: Path) -> Path:
    """Train one tokenizer on the training splits of all authors, so that none is favoured; return its file."""
    splits = [documents(config.data, config.seed, default_cache())["train"] for config in configs.values()]
    config = next(iter(configs.values())).tokenizer
    key = atomic_files.digest(f"{config} {[split.key for split in splits]}".encode())[:16]
    path = out / f"tokenizer-{key}.json"
    if not path.exists():
        atomic_files.make_folder(out)
        tokenizer = make_tokenizer(config, chain.from_iterable(splits))
        atomic_files.replace_file(path, tokenizer.to_json().encode())
    return path


def load_models(runs: Mapping[str, str | Path]) -> dict[str, LanguageModel]:
    """Load trained runs as the authors' models."""
    return {name: load_language_model(path) for name, path in runs.items()}


# --- attribution ----------------------------------------------------------------------------------------------------


def attribute(
    models: Mapping[str, LanguageModel], text: str, *, normalise: bool = True, resamples: int = RESAMPLES, seed: int = 0
) -> Attribution:
    """Attribute a text (a file, a folder, …) to an author: candidates sorted by bits per byte under their models."""
    if len(models) < 2:
        raise FirthError("attribution needs at least two authors", do="give more with --author or --run")
    for name, model in models.items():
        require_probabilities(model, name)
    data = next(iter(models.values())).config.data
    source = open_source([text], data, default_cache() / "spool")
    texts = list(normalise_typography(source) if normalise else source)
    _require_comparable(models, texts)
    by_chunks = len(texts) < _MIN_DOCUMENTS
    sizes = np.concatenate([_byte_counts(document, by_chunks) for document in texts])
    nlls = np.stack([_nlls(model, texts, by_chunks) for model in models.values()])
    return Attribution(text, len(texts), _rank_candidates(list(models), nlls / np.log(2), sizes, resamples, seed),
                   tuple(_notes(models, len(sizes) if by_chunks else 0)))  # fmt: skip


def _require_comparable(models: Mapping[str, LanguageModel], texts: Sequence[str]) -> None:
    """Raise an error if tokenizers differ and one is lossy: its bits per byte are not comparable with others'."""
    if len({model.tokenizer.hash for model in models.values()}) == 1:
        return
    for name, model in models.items():
        if not all(account.lossless for account in model.tokenizer.encode_batch_with_oov(texts)):
            raise FirthError(
                f"{name}'s tokenizer is lossy on this text, so its bits per byte are not comparable with others'",
                where=model.run.path,
                do="train all authors with one tokenizer (--author instead of --run)",
            )


def _nlls(model: LanguageModel, texts: Sequence[str], by_chunks: bool) -> np.ndarray:
    """The negative log-likelihood of each document or chunk in nats; unknown tokens are charged by their bytes."""
    part, byte_model = model.tokenised_split(texts), ByteModel(model.run.record.data["byte_counts"])
    token_nlls = model.surprisals(part).astype(np.float64)
    totals = []
    for number, document in enumerate(texts):
        nlls = token_nlls[part.starts[number] : part.starts[number + 1]].copy()
        encoded = model.tokenizer.encode_with_offsets(document)
        for at, (start, stop) in enumerate(encoded.offsets):
            if encoded.ids[at] == model.tokenizer.special.unknown:
                nlls[at] += byte_model.nll(byte_histogram([document[start:stop].encode()]), 1)
        starts = [start for start, _ in encoded.offsets]
        # [END] is in the last
        chunk_of_token = np.array([*starts, len(document) - 1]) // (CHUNK_SIZE if by_chunks else len(document))
        totals.append(np.bincount(chunk_of_token, nlls, len(_byte_counts(document, by_chunks))))
    return np.concatenate(totals)


def _byte_counts(document: str, by_chunks: bool) -> np.ndarray:
    """The bytes of a document, or of each of its chunks of equally many characters."""
    step = CHUNK_SIZE if by_chunks else len(document)
    return np.array([len(document[at : at + step].encode()) for at in range(0, len(document), step)])


def _rank_candidates(
    names: Sequence[str], bits: np.ndarray, sizes: np.ndarray, resamples: int, seed: int
) -> tuple[Candidate, ...]:
    """Sort authors by bits per byte, with bootstrap confidence intervals over the units (documents or chunks)."""
    scores = bits.sum(1) / sizes.sum()
    samples = bootstrap_ratios(bits, sizes, seed, resamples)  # (resamples, authors)
    best = int(scores.argmin())
    margins = samples - samples[:, [best]]
    win_rates = np.bincount(samples.argmin(1), minlength=len(names)) / resamples
    low, high = np.percentile(margins, [2.5, 97.5], axis=0)
    return tuple(
        Candidate(names[n], float(scores[n]), (float(scores[n] - scores[best]), float(low[n]), float(high[n])),
                  float(win_rates[n]))
        for n in np.argsort(scores, kind="stable")
    )  # fmt: skip


def _notes(models: Mapping[str, LanguageModel], chunks: int) -> list[str]:
    notes = [f"few documents: the bootstrap resamples {chunks} chunks of {CHUNK_SIZE} characters"] if chunks else []
    notes += ["too little text for reliable confidence intervals"] if 0 < chunks < _MIN_CHUNKS else []
    if len({model.tokenizer.hash for model in models.values()}) > 1:
        notes.append("the authors' models have different tokenizers")
    sizes = {name: sum(model.run.record.data["byte_counts"]) for name, model in models.items()}
    smallest, largest = min(sizes, key=sizes.get), max(sizes, key=sizes.get)
    if sizes[largest] > _MAX_SIZE_RATIO * sizes[smallest] > 0:
        ratio = f"{sizes[largest] / sizes[smallest]:.1f} times as much text as {smallest}"
        notes.append(f"{largest} was trained on {ratio}, which favours {largest}")
    return notes
