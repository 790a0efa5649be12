"""Lexical databases (WordNet): synsets, their relations and similarity, lemmas, word-sense disambiguation."""

from firth.lexicon.information_content import InformationContent, information_content
from firth.lexicon.lexical_database import Lexicon, Sense
from firth.lexicon.opening import open_lexicon
from firth.lexicon.semantic_similarity import MEASURES, Similarity, synset_similarity, word_similarity
from firth.lexicon.synsets import Relation, Synset

__all__ = [
    "MEASURES",
    "InformationContent",
    "Lexicon",
    "Relation",
    "Sense",
    "Similarity",
    "Synset",
    "information_content",
    "open_lexicon",
    "synset_similarity",
    "word_similarity",
]
