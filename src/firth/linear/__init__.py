"""Linear models without torch: bags of n-grams, naive Bayes, logistic regression, NBSVM, ridge regression; taggers."""
