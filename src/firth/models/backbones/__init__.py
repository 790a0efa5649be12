"""Backbones: embeddings to hidden states."""
