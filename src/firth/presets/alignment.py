"""Alignment of words by counting."""

from dataclasses import replace

from firth.config.schema import Aligner, AlignmentModel, EpochTraining, System

_MODEL = AlignmentModel()
IBM_1: dict[str, System] = {
    "small": replace(
        _MODEL, method=Aligner(distortion="uniform", model1_epochs=0, agreement=False), train=EpochTraining(epochs=10)
    )
}
IBM_2: dict[str, System] = {"small": replace(_MODEL, method=Aligner(distortion="table", agreement=False))}
DIAGONAL: dict[str, System] = {
    "small": replace(
        _MODEL,
        method=Aligner(
            distortion="diagonal", model1_epochs=1, smoothing="variational", identical_bonus=1.0, agreement=False
        ),
    )
}
HMM: dict[str, System] = {"small": _MODEL}
