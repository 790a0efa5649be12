"""Training: the loop, DDP processes, optimizers, learning-rate schedules, EMA of weights, checkpoints."""
