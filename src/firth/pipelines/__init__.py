"""Pipelines: what a trained model can do (generate, score, fill masks, classify, embed, translate, align words)."""
