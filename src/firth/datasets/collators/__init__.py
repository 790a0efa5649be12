"""Collators: collate tokenised splits into batches, each a pure function of (seed, epoch, index).

Truncated BPTT (contiguous streams), bucketing by length, packing with document ids, sliding windows, segment pairs for
next sentence prediction, sentence pairs, two towers, source and target texts, images; and the length curriculum.
"""
