"""The answers of `firth run` for language models: generation, log-probability, completions, embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firth.config.core import bounded
from firth.errors import FirthError
from firth.metrics.repetition import repetition_rates

if TYPE_CHECKING:
    from firth.pipelines.language_model import LanguageModel

TEMPERATURE = 0.8
_SAMPLING = ("temperature", "top_k", "top_p", "seed")
_WITHOUT_GENERATION = {"score": ("prefix",), "complete": (), "embed": ()}  # and the options that they take


@dataclass(frozen=True)
class LanguageModelOptions:
    """The options of `firth run` for language models."""

    embed: bool = False
    score: bool = False
    prefix: bool = False
    complete: int = bounded(0, least=0)
    repetition: bool = False
    max_length: int = bounded(100, least=1)
    count: int = bounded(1, least=1)
    temperature: float = TEMPERATURE
    top_k: int = 0
    top_p: float = 1.0
    seed: int = bounded(0, least=0)
    beam: int = bounded(0, least=0)
    length_penalty: float = 0.0


def answer(model: LanguageModel, line: str, options: Mapping[str, object]) -> dict[str, Any]:
    """The answer of `firth run` to a line."""
    parsed = model.generation_options(line, options)
    _check(options, parsed)
    if parsed.embed:
        return {"input": line, "vector": model.embed([line])[0].tolist()}
    if parsed.score:
        return {"input": line, "log_probability": model.score([line], whole=not parsed.prefix)[0]}
    if parsed.complete:
        return {
            "input": line,
            "words": [each._asdict() for each in model.complete(line, parsed.complete)],
            "tokens": [each._asdict() for each in model.next_tokens(line, parsed.complete)],
        }
    sequences = generate(model, line, parsed)
    texts = model.decode_continuations(line, [each.ids for each in sequences])
    log_probs = [each.log_probability for each in sequences]
    result: dict[str, Any] = {"input": line, "texts": texts, "log_probabilities": log_probs}
    if parsed.repetition:
        result["repetition"] = [repetition_rates(each.ids) for each in sequences]
    return result


def generate(model: LanguageModel, line: str, parsed: LanguageModelOptions) -> Sequence[Any]:
    """Continuations of a prompt, by beam search or sampled."""
    if parsed.beam:
        return model.beam_search(line, parsed.max_length, parsed.beam, parsed.count, parsed.length_penalty)
    config = model.sampling_config(parsed.temperature, parsed.top_k, parsed.top_p)
    return model.sample_continuations(line, parsed.max_length, parsed.count, config, parsed.seed)


def _check(options: Mapping[str, object], parsed: LanguageModelOptions) -> None:
    """Refuse options that would have no effect."""
    for kind, takes in _WITHOUT_GENERATION.items():
        extra = [name for name in options if name not in (kind, *takes)] if getattr(parsed, kind) else []
        if extra:
            raise FirthError(f"{_flag(extra[0])} has no effect with --{kind}", do="leave it out")
    sampling = [name for name in _SAMPLING if name in options]
    if parsed.beam and sampling:
        raise FirthError(f"{_flag(sampling[0])} has no effect on a beam search", do="leave it or --beam out")
    if "length_penalty" in options and not parsed.beam:
        raise FirthError("--length-penalty belongs to --beam", do="add --beam 5")
    if "prefix" in options and not parsed.score:
        raise FirthError("--prefix belongs to --score", do="add --score")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def format_answer(result: Mapping[str, Any]) -> str:
    """The answer as text."""
    if "vector" in result:
        return " ".join(f"{value:.6g}" for value in result["vector"])
    if "log_probability" in result:
        return f"{result['log_probability']:.4f}\t{result['input']}"
    if "words" in result:
        words, tokens = _format_completions(result["words"]), _format_completions(result["tokens"], quoted=True)
        return f"words\n{words}\nnext tokens\n{tokens}"
    notes = [f"\n[{_format_repetition(each)}]" for each in result.get("repetition", ())] or [""] * len(result["texts"])
    return "\n---\n".join(text + note for text, note in zip(result["texts"], notes, strict=True))


def _format_completions(completions: Sequence[Mapping[str, Any]], quoted: bool = False) -> str:
    if not completions:
        return "  no known word begins so"
    return "\n".join(f"  {each['probability']:.4f}  {_printable(each['text'], quoted)}" for each in completions)


def _printable(text: str, quoted: bool) -> str:
    """Blanks and line ends become visible; control characters do not reach the terminal."""
    return repr(text) if quoted or not text.isprintable() else text


def _format_repetition(rates: Mapping[str, float | None]) -> str:
    parts = (f"{name[-1]} tokens {'n/a' if rate is None else f'{rate:.1%}'}" for name, rate in rates.items())
    return f"repeated n-grams of {', '.join(parts)}"
