"""firth: language models of every family, on your own text, on one machine."""

import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = [
    "FirthError",
    "Score",
    "Tokenizer",
    "WordVectors",
    "__version__",
    "compare",
    "evaluate",
    "export_model",
    "import_model",
    "learning_curve",
    "load",
    "load_vectors",
    "plan",
    "presets",
    "probe",
    "resolve_config",
    "resume",
    "run_ladder",
    "train",
]

if TYPE_CHECKING:
    from firth import presets
    from firth.api import (
        compare,
        evaluate,
        export_model,
        import_model,
        load,
        plan,
        resolve_config,
        resume,
        train,
    )
    from firth.embeddings.loading import load_vectors
    from firth.embeddings.word_vectors import WordVectors
    from firth.errors import FirthError
    from firth.ladder.climb import run_ladder
    from firth.ladder.learning_curve import learning_curve
    from firth.metrics.score import Score
    from firth.tokenizers.tokenizer import Tokenizer
    from firth.workflows.probe_run import probe

# Resolved on first use, so that `import firth` brings in neither torch nor NumPy.
_HOMES = {
    "FirthError": "firth.errors",
    "Score": "firth.metrics.score",
    "Tokenizer": "firth.tokenizers.tokenizer",
    "WordVectors": "firth.embeddings.word_vectors",
    "compare": "firth.api",
    "evaluate": "firth.api",
    "export_model": "firth.api",
    "import_model": "firth.api",
    "learning_curve": "firth.ladder.learning_curve",
    "load": "firth.api",
    "load_vectors": "firth.embeddings.loading",
    "plan": "firth.api",
    "probe": "firth.workflows.probe_run",
    "presets": "firth.presets",  # the module itself, which can be called
    "resolve_config": "firth.api",
    "resume": "firth.api",
    "run_ladder": "firth.ladder.climb",
    "train": "firth.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'firth' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    import importlib

    module = importlib.import_module(_HOMES[name])
    return module if _HOMES[name] == f"firth.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
