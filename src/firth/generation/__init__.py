"""Text generation: greedy decoding, sampling, beam search, constrained decoding. Knows a model only as a stepper."""
