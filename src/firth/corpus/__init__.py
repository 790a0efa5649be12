"""Corpus linguistics: concordance (KWIC), collocations, keyness, statistics; cleaning, deduplication, language id."""

from firth.corpus.cleaning import FilteredDocuments, WordTokenizer, clean
from firth.corpus.collocations import Collocate, CollocateCounts, collocations, count_collocates
from firth.corpus.concordance import Concordance, ConcordanceLine, concordance
from firth.corpus.corpus_index import Index, index, index_documents, open_index
from firth.corpus.documents import open_corpus
from firth.corpus.keyness import Keyness, Keyword, collocate_keyness, keyness
from firth.corpus.language_id import NgramLanguageIdentifier
from firth.corpus.statistics import Statistics, statistics
from firth.corpus.stopwords import most_common_words, read_word_list

__all__ = [
    "Collocate",
    "CollocateCounts",
    "Concordance",
    "ConcordanceLine",
    "FilteredDocuments",
    "Index",
    "Keyness",
    "Keyword",
    "NgramLanguageIdentifier",
    "Statistics",
    "WordTokenizer",
    "clean",
    "collocate_keyness",
    "collocations",
    "concordance",
    "count_collocates",
    "index",
    "index_documents",
    "keyness",
    "most_common_words",
    "open_corpus",
    "open_index",
    "read_word_list",
    "statistics",
]
