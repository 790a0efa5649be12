"""Workflows with a trained model: ranking, spelling correction, authorship attribution, surprisal, few-shot evaluation,
prompt comparison, word alignment of files."""
