"""Inputs: batches to embeddings (token embeddings, image patches)."""
