"""Alignment of words by counting."""

from dataclasses import replace

from firth.config.schema import Aligner, AlignmentModel, Passes, System

_MODEL = AlignmentModel()
IBM_1: dict[str, System] = {
    "small": replace(_MODEL, method=Aligner(places="even", first=0, agree=False), train=Passes(epochs=10))
}
IBM_2: dict[str, System] = {"small": replace(_MODEL, method=Aligner(places="table", agree=False))}
DIAGONAL: dict[str, System] = {
    "small": replace(_MODEL, method=Aligner(places="diagonal", first=1, smoothing="variational", same=1.0, agree=False))
}
HMM: dict[str, System] = {"small": _MODEL}
