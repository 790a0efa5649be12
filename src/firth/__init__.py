"""firth: every model family of the language-modelling textbook, on your own text, on one machine."""

__version__ = "0.1.0"
