"""How likelihoods of alternative answers become comparable: longer and rarer answers are less probable, all else
equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Scores(NamedTuple):
    """The likelihood of each answer after each prompt."""

    log_likelihoods: np.ndarray  # (prompts, answers): in nats; out-of-vocabulary text is scored byte by byte
    token_counts: np.ndarray  # (prompts, answers)
    byte_counts: np.ndarray  # (answers,)
    unconditional: np.ndarray  # (answers,): log-likelihood after the cue alone, for calibration


SCORING: dict[str, Callable[[Scores], np.ndarray]] = {
    "total": lambda scores: scores.log_likelihoods,
    "token": lambda scores: scores.log_likelihoods / np.maximum(scores.token_counts, 1),
    "byte": lambda scores: scores.log_likelihoods / scores.byte_counts,
    # Brown et al. 2020: calibrated by the answer's unconditional probability, after "Answer:" alone; the difference is
    # the pointwise mutual information of prompt and answer (Holtzman et al. 2021)
    "calibrated": lambda scores: (
        scores.log_likelihoods - np.where(np.isneginf(scores.log_likelihoods), 0.0, scores.unconditional)
    ),
}
