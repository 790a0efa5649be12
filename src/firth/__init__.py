"""firth: every model family of the language-modelling textbook, on your own text, on one machine."""

from typing import Any

__version__ = "0.2.0"
__all__ = ["FirthError", "Tokenizer", "load", "plan", "resume", "run_ladder", "train"]

# Resolved on first use, so that `import firth` brings in neither torch nor NumPy.
_HOMES = {
    "FirthError": "firth.errors",
    "Tokenizer": "firth.tokenizers.tokenizer",
    "run_ladder": "firth.ladder.climb",
    "load": "firth.api",
    "plan": "firth.api",
    "resume": "firth.api",
    "train": "firth.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'firth' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
