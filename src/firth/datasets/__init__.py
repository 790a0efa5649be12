"""Datasets: sources, readers, records, splits, the token cache, collators, and the built-in world."""
