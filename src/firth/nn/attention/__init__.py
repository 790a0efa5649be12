"""Attention layers: multi-head self-attention and cross-attention, attention of RNN decoders, attention masks, kernels,
the KV cache, and sliding-window, local, global and LSH attention.

A new attention mask is a function in `mask`; a new way to compute attention is a function in `kernels`.
"""
