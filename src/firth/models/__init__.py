"""Models: inputs (batch to embeddings), backbones (embeddings to hidden states), heads (hidden states to predictions),
and `build`, which makes a system from a configuration."""
