"""The run folder: configuration, checkpoints, training log, progress reports, budget, summary. No torch."""
