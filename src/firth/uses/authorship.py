"""Who wrote a text: one language model for each author; whose needs the fewest bits for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from firth import api
from firth.config.schema import Neural, NgramModel, System
from firth.data.cache import byte_histogram, default_cache
from firth.data.corpus import documents, make_tokenizer
from firth.data.sources import kept, open_source, settled
from firth.errors import FirthError
from firth.families.language import LanguageModel
from firth.metrics.bootstrap import resampled
from firth.metrics.language import ByteModel
from firth.runs import files
from firth.runs.progress import Progress, Style, progress
from firth.uses.editions import levelled
from firth.uses.models import language_model, require_probabilities

PRESET = "ngram-lm"
SETTINGS = ("tokenizer.model=char", "method.order=8")  # of the default: for any script, as good as others
DRAWS = 2000  # of the bootstrap
_FEW = 20  # documents: fewer are cut into pieces to judge chance
PIECE = 200  # characters
_LEAST = 10  # pieces: with fewer, draws tell nothing
_SPLIT = 3  # documents that can be split for training, validation and test
_UNEQUAL = 2.0  # from this ratio on, authors' amounts of text are told


@dataclass(frozen=True)
class Candidate:
    """An author, judged by one text."""

    author: str
    bits_per_byte: float
    margin: tuple[float, float, float]  # bits per byte more than the best: as it is, and its 95 % interval
    wins: float  # share of the draws in which the author is the best


@dataclass(frozen=True)
class Verdict:
    """The authors of a text, the likeliest first."""

    text: str
    documents: int
    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...]

    @property
    def author(self) -> str:
        """The likeliest."""
        return self.candidates[0].author


# --- one model for each author ------------------------------------------------------------------------------------


def train(
    authors: Mapping[str, Sequence[str]],
    *,
    preset: str = "",
    settings: Sequence[str] = (),
    level: bool = True,
    out: Path | str = "runs/authors",
    style: Style | Progress = "quiet",
) -> dict[str, LanguageModel]:
    """A model for each author on the author's texts (names of files and folders), all with one tokenizer.

    `level` takes the printers' habits out first. Runs go into folders of `out`; those that are there are not trained
    again.
    """
    choice = api.choose(preset or PRESET, [*(() if preset else SETTINGS), *settings])
    if not isinstance(choice.config, (Neural, NgramModel)):
        raise FirthError(f"{choice.name} is not a language model", where="--preset", do="try ngram-lm, lstm-lm or gpt")
    configs = {name: _of_author(choice.config, name, texts, level) for name, texts in authors.items()}
    made = _tokenizer(configs, Path(out))
    models, told = {}, progress(style)
    for name, config in configs.items():
        told.say(f"author: {name}")
        tokenizer = replace(config.tokenizer, file=str(made.absolute()))
        run = Path(out) / _folder(name)
        models[name] = api.start(api.Choice(choice.name, replace(config, tokenizer=tokenizer)), run, told)
    return models


def _of_author(config: System, name: str, texts: Sequence[str], level: bool) -> System:
    spool = default_cache() / "spool"
    names = settled(texts, spool)
    if level:
        made = list(levelled(open_source(names, config.data, spool)))
        if len(made) < _SPLIT:
            do = "give some thousand words of each"
            raise FirthError(f"too little text by {name}", where=", ".join(texts), do=do)
        names = (kept(made, spool),)
    return replace(config, data=replace(config.data, text=names))


def _folder(name: str) -> str:
    if not name.strip() or name in (".", "..") or any(sign in name for sign in "/\\\0"):
        raise FirthError(f"{name!r} cannot be the name of a folder", do="give the author another name")
    return name


def _tokenizer(configs: Mapping[str, System], out: Path) -> Path:
    """The file of a tokenizer trained on all authors together, each as it is trained on: so none is favoured."""
    found = [documents(config.data, config.seed, default_cache())["train"] for config in configs.values()]
    config = next(iter(configs.values())).tokenizer
    key = files.digest(f"{config} {[each.key for each in found]}".encode())[:16]
    path = out / f"tokenizer-{key}.json"
    if not path.exists():
        files.make_folder(out)
        made = make_tokenizer(config, chain.from_iterable(found))
        files.replace_file(path, made.to_json().encode())
    return path


def opened(runs: Mapping[str, str | Path]) -> dict[str, LanguageModel]:
    """Ready runs as models of authors."""
    return {name: language_model(path) for name, path in runs.items()}


# --- whose text it is ---------------------------------------------------------------------------------------------


def identify(
    models: Mapping[str, LanguageModel], text: str, *, level: bool = True, draws: int = DRAWS, seed: int = 0
) -> Verdict:
    """Judge a text (a name: a file, a folder, …) by the authors' models; fewest bits per byte come first."""
    if len(models) < 2:
        raise FirthError("one author is no choice", do="give at least two with --by or --run")
    for name, model in models.items():
        require_probabilities(model, name)
    data = next(iter(models.values())).config.data
    source = open_source([text], data, default_cache() / "spool")
    found = list(levelled(source) if level else source)
    _require_comparable(models, found)
    pieces = len(found) < _FEW
    sizes = np.concatenate([_sizes(document, pieces) for document in found])
    nats = np.stack([_costs(model, found, pieces) for model in models.values()])
    return Verdict(text, len(found), _candidates(list(models), nats / np.log(2), sizes, draws, seed),
                   tuple(_notes(models, len(sizes) if pieces else 0)))  # fmt: skip


def _require_comparable(models: Mapping[str, LanguageModel], found: Sequence[str]) -> None:
    """Tokenizers that lose text can be compared only with themselves."""
    if len({model.tokenizer.hash for model in models.values()}) == 1:
        return
    for name, model in models.items():
        if not all(account.lossless for account in model.tokenizer.account_batch(found)):
            raise FirthError(
                f"{name}'s tokenizer loses some of the text, so that its bits cannot be compared with others'",
                where=model.run.path,
                do="train all authors with one tokenizer (--by instead of --run)",
            )


def _costs(model: LanguageModel, found: Sequence[str], pieces: bool) -> np.ndarray:
    """Nats of each document, or of each piece of one; what is unknown is spelled out."""
    part, spelled = model.part(found), ByteModel(model.run.record.data["byte_counts"])
    nats = model.surprises(part).astype(np.float64)
    parts = []
    for number, document in enumerate(found):
        own = nats[part.starts[number] : part.starts[number + 1]].copy()
        encoded = model.tokenizer.encode(document)
        for at, (start, stop) in enumerate(encoded.offsets):
            if encoded.ids[at] == model.tokenizer.special.unknown:
                own[at] += spelled.nats(byte_histogram([document[start:stop].encode()]), 1)
        starts = [start for start, _ in encoded.offsets]
        places = np.array([*starts, len(document) - 1]) // (PIECE if pieces else len(document))  # [END] comes last
        parts.append(np.bincount(places, own, len(_sizes(document, pieces))))
    return np.concatenate(parts)


def _sizes(document: str, pieces: bool) -> np.ndarray:
    """Bytes of a document, or of its pieces of equally many characters."""
    step = PIECE if pieces else len(document)
    return np.array([len(document[at : at + step].encode()) for at in range(0, len(document), step)])


def _candidates(
    names: Sequence[str], bits: np.ndarray, sizes: np.ndarray, draws: int, seed: int
) -> tuple[Candidate, ...]:
    """Authors by bits per byte, with what a bootstrap over the units (documents or pieces) says of chance."""
    scores = bits.sum(1) / sizes.sum()
    drawn = resampled(bits, sizes, seed, draws)  # (draws, authors)
    best = int(scores.argmin())
    more = drawn - drawn[:, [best]]
    wins = np.bincount(drawn.argmin(1), minlength=len(names)) / draws
    low, high = np.percentile(more, [2.5, 97.5], axis=0)
    return tuple(
        Candidate(names[n], float(scores[n]), (float(scores[n] - scores[best]), float(low[n]), float(high[n])),
                  float(wins[n]))
        for n in np.argsort(scores, kind="stable")
    )  # fmt: skip


def _notes(models: Mapping[str, LanguageModel], pieces: int) -> list[str]:
    notes = [f"few documents: chance is judged by {pieces} pieces of {PIECE} characters"] if pieces else []
    notes += ["so little text says nothing of chance: do not trust the draws"] if 0 < pieces < _LEAST else []
    if len({model.tokenizer.hash for model in models.values()}) > 1:
        notes.append("the authors' models have different tokenizers")
    sizes = {name: sum(model.run.record.data["byte_counts"]) for name, model in models.items()}
    least, most = min(sizes, key=sizes.get), max(sizes, key=sizes.get)
    if sizes[most] > _UNEQUAL * sizes[least] > 0:
        ratio = f"{sizes[most] / sizes[least]:.1f} times as much text as {least}"
        notes.append(f"{most} was trained on {ratio}, which favours {most}")
    return notes
