"""Power laws of the error in the number of training examples, a + b·n⁻ᶜ (Cortes et al. 1994; Hestness et al. 2017), and
what they say of more examples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EXPONENTS = np.concatenate([np.linspace(0.05, 1.0, 39), np.linspace(1.1, 2.0, 10)])


@dataclass(frozen=True)
class PowerLaw:
    """An error of asymptote + factor · examples^(−exponent)."""

    asymptote: float
    factor: float
    exponent: float

    def __call__(self, examples: np.ndarray | float) -> np.ndarray:
        """The error with so many examples."""
        return self.asymptote + self.factor * np.asarray(examples, float) ** -self.exponent


def fit_power_law(examples: np.ndarray, errors: np.ndarray, weights: np.ndarray | None = None) -> PowerLaw:
    """The power law with the least weighted squared distance from the errors, its asymptote and factor not negative:
    for each exponent they are a linear least-squares problem of two unknowns."""
    examples, errors = np.asarray(examples, float), np.asarray(errors, float)
    weights = np.ones(len(errors)) if weights is None else np.asarray(weights, float)
    laws = [_fit_exponent(examples, errors, weights, float(exponent)) for exponent in EXPONENTS]
    distances = [float(weights @ (law(examples) - errors) ** 2) for law in laws]
    return laws[int(np.argmin(distances))]


def _fit_exponent(examples: np.ndarray, errors: np.ndarray, weights: np.ndarray, exponent: float) -> PowerLaw:
    """Asymptote and factor of one exponent; if one of them would be negative it is 0, and the other is fitted alone."""
    powers = examples**-exponent
    scale = powers.max()
    x, total = powers / scale, weights.sum()
    mean_x, mean_y = weights @ x / total, weights @ errors / total
    variance = weights @ (x - mean_x) ** 2
    slope = float(weights @ ((x - mean_x) * (errors - mean_y)) / variance) if variance > 0 else 0.0
    asymptote = float(mean_y - slope * mean_x)
    if slope < 0:
        slope, asymptote = 0.0, float(mean_y)
    elif asymptote < 0:
        slope, asymptote = float(weights @ (x * errors) / (weights @ x**2)), 0.0
    return PowerLaw(max(asymptote, 0.0), max(slope, 0.0) / scale, exponent)
