"""Evaluation metrics: perplexity, BLEU, chrF, ROUGE, classification, tagging, question answering, calibration, ranking,
correlation; signatures and bootstrap."""
