"""Linear models of texts, over bags of n-grams."""

from dataclasses import replace

from firth.config.schema import (
    NBSVM,
    LinearClassifier,
    LogisticRegression,
    MajorityClass,
    NaiveBayes,
    NgramFeatures,
    RidgeRegression,
    System,
    TaskExamples,
)

_WORDS = LinearClassifier(data=TaskExamples(text=("world",)))
MAJORITY_CLASS: dict[str, System] = {"small": replace(_WORDS, method=MajorityClass(), calibration="none")}
NAIVE_BAYES: dict[str, System] = {"small": replace(_WORDS, method=NaiveBayes())}
LOGISTIC_REGRESSION: dict[str, System] = {
    "small": replace(_WORDS, method=LogisticRegression(), features=NgramFeatures(word_ngrams=2)),
}
NBSVM_SIZES: dict[str, System] = {"small": replace(_WORDS, method=NBSVM(), features=NgramFeatures(word_ngrams=2))}
RIDGE_REGRESSION: dict[str, System] = {
    "small": replace(
        _WORDS,
        data=TaskExamples(text=("world",), tasks=("similarity",)),
        features=NgramFeatures(min_n=2, max_n=4, weighting="tf-idf"),
        method=RidgeRegression(),
        calibration="none",
    )
}
