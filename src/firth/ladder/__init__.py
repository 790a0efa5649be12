"""The ladder: language models from n-gram to Transformer on one text, with one tokenizer, one split and one budget.

The entry point is `firth.run_ladder`.
"""
