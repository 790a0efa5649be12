"""What `firth run` asks of a language model, and how it says the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firth.config.core import bounded
from firth.errors import FirthError
from firth.families.order import read_options
from firth.metrics.repetition import repetition

if TYPE_CHECKING:
    from firth.families.language import LanguageModel

_SAMPLING = ("temperature", "top_k", "top_p", "seed")
_ALONE = {"score": ("prefix",), "complete": (), "embed": ()}  # questions that are no generation, and what they take


@dataclass(frozen=True)
class Asked:
    """How `firth run` is to answer."""

    embed: bool = False
    score: bool = False
    prefix: bool = False
    complete: int = bounded(0, least=0)
    repetition: bool = False
    length: int = bounded(100, least=1)
    count: int = bounded(1, least=1)
    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0
    seed: int = bounded(0, least=0)
    beam: int = bounded(0, least=0)
    length_penalty: float = 0.0


def answer(model: LanguageModel, line: str, options: Mapping[str, object]) -> dict[str, Any]:
    """What `firth run` says to a line."""
    asked = read_options(Asked, options)
    _check(options, asked)
    if asked.embed:
        return {"input": line, "vector": model.embed([line])[0].tolist()}
    if asked.score:
        return {"input": line, "log_probability": model.score([line], whole=not asked.prefix)[0]}
    if asked.complete:
        return {
            "input": line,
            "words": [found._asdict() for found in model.complete(line, asked.complete)],
            "tokens": [found._asdict() for found in model.next_tokens(line, asked.complete)],
        }
    found = _written(model, line, asked)
    told: dict[str, Any] = {"input": line, "texts": model.texts(line, [each.ids for each in found])}
    told["log_probabilities"] = [each.log_probability for each in found]
    return told | ({"repetition": [repetition(each.ids) for each in found]} if asked.repetition else {})


def _written(model: LanguageModel, line: str, asked: Asked) -> Sequence[Any]:
    if asked.beam:
        return model.beams(line, asked.length, asked.beam, asked.count, asked.length_penalty)
    how = {name: getattr(asked, name) for name in ("temperature", "top_k", "top_p")}
    return model.continuations(line, asked.length, asked.count, model.sampling(**how), asked.seed)


def _check(options: Mapping[str, object], asked: Asked) -> None:
    """Refuse options that would have no effect."""
    for kind, takes in _ALONE.items():
        extra = [name for name in options if name not in (kind, *takes)] if getattr(asked, kind) else []
        if extra:
            raise FirthError(f"--{kind} has no use for {_flag(extra[0])}", do="leave it out")
    sampling = [name for name in _SAMPLING if name in options]
    if asked.beam and sampling:
        raise FirthError(f"--beam draws nothing, so {_flag(sampling[0])} has no use", do="leave one of them out")
    if "length_penalty" in options and not asked.beam:
        raise FirthError("--length-penalty belongs to --beam", do="add --beam 5")
    if "prefix" in options and not asked.score:
        raise FirthError("--prefix belongs to --score", do="add --score")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def shown(told: Mapping[str, Any]) -> str:
    """The same for a person."""
    if "vector" in told:
        return " ".join(f"{value:.6g}" for value in told["vector"])
    if "log_probability" in told:
        return f"{told['log_probability']:.4f}\t{told['input']}"
    if "words" in told:
        return f"words\n{_listed(told['words'])}\nnext tokens\n{_listed(told['tokens'], quoted=True)}"
    notes = [f"\n[{_repeats(each)}]" for each in told.get("repetition", ())] or [""] * len(told["texts"])
    return "\n---\n".join(text + note for text, note in zip(told["texts"], notes, strict=True))


def _listed(rows: Sequence[Mapping[str, Any]], quoted: bool = False) -> str:
    if not rows:
        return "  none that the model knows begins so"
    return "\n".join(f"  {row['probability']:.4f}  {_safe(row['text'], quoted)}" for row in rows)


def _safe(text: str, quoted: bool) -> str:
    """Blanks and line ends can be seen; nothing steers the terminal."""
    return repr(text) if quoted or not text.isprintable() else text


def _repeats(rates: Mapping[str, float | None]) -> str:
    parts = (f"{name[-1]} tokens {'n/a' if rate is None else f'{rate:.1%}'}" for name, rate in rates.items())
    return f"repeated runs of {', '.join(parts)}"
