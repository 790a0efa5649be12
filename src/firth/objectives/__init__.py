"""Training objectives: predictions and targets to terms of the loss."""
