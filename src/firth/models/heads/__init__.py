"""Heads: hidden states to predictions."""
