"""Word embeddings: count vectors, word2vec, GloVe, fastText; their files, evaluation and search."""
