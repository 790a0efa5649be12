"""Evaluation metrics: perplexity, BLEU, chrF, ROUGE, classification, ranking, correlation; signatures and bootstrap."""
