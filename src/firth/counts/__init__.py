"""Counting words: an index of a text, the places of a word and its company, texts compared, texts in numbers."""

from firth.counts.collocations import Collocate, Company, collocations, company
from firth.counts.concordance import Concordance, Line, concordance
from firth.counts.index import Index, index, index_of, open_index
from firth.counts.keyness import Keyness, Keyword, company_keyness, keyness
from firth.counts.statistics import Statistics, statistics
from firth.counts.texts import open_texts

__all__ = [
    "Collocate",
    "Company",
    "Concordance",
    "Index",
    "Keyness",
    "Keyword",
    "Line",
    "Statistics",
    "collocations",
    "company",
    "company_keyness",
    "concordance",
    "index",
    "index_of",
    "keyness",
    "open_index",
    "open_texts",
    "statistics",
]
