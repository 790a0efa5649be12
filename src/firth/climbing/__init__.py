"""The ladder: every language model from n-grams to the Transformer on one text, with one tokenizer and one budget.

The folder is not called `ladder`, because `firth.ladder` is the function.
"""
