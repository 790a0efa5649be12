"""Structured prediction over arrays of scores: Viterbi, forward–backward, span marginals, constraints. No torch."""
