"""Statistical word alignment of parallel text by EM: IBM Models 1 and 2, fast_align's diagonal model, the HMM."""

from __future__ import annotations

from firth.alignment.bidirectional_model import BidirectionalModel, load, read_metadata, save
from firth.alignment.bitext import Bitext, encode
from firth.alignment.ibm_models import AlignmentModel, Loss, Training
from firth.alignment.symmetrisation import HEURISTICS, Links, symmetrise
from firth.config.schema import Aligner
from firth.errors import FirthError
from firth.jit import default_threads

__all__ = [
    "HEURISTICS",
    "AlignmentModel",
    "BidirectionalModel",
    "Bitext",
    "Links",
    "Loss",
    "Training",
    "encode",
    "fit",
    "load",
    "read_metadata",
    "save",
    "start_training",
    "symmetrise",
]


def start_training(bitext: Bitext, vocab_size: int, config: Aligner) -> Training:
    """Initialise both directions before the first EM iteration; pairs with an empty or too long side are skipped."""
    usable = bitext.usable(config.max_length)
    if not usable.any():
        what = f"none of {len(bitext):,} pairs has 1 to {config.max_length} words on each side"
        raise FirthError(what, do="give other texts, or raise method.max_length")
    return Training(bitext.select(usable), vocab_size, config)


def fit(
    bitext: Bitext, vocab_size: int, config: Aligner | None = None, iterations: int = 5, threads: int = 0
) -> BidirectionalModel:
    """Train both directions on parallel text: first the configured iterations of Model 1, then the model's own."""
    config = config or Aligner()
    training = start_training(bitext, vocab_size, config)
    for epoch in range(config.model1_epochs + iterations):
        training.em_step(epoch, threads or default_threads())
    return BidirectionalModel(*training.models)
