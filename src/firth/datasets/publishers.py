"""Who publishes the public data sets: the place to look for the files that firth reads."""

from __future__ import annotations

_MULTI30K = "github.com/multi30k/dataset"
_GLUE = "GLUE, gluebenchmark.com"
_SICK = "SemEval-2014 task 1, alt.qcri.org/semeval2014/task1"
_TATOEBA = "Tatoeba, as sentence pairs of manythings.org/anki"
_UD = "Universal Dependencies, github.com/UniversalDependencies"

PUBLISHERS: dict[str, str] = {
    "aeslc-summarisation": "AESLC (Zhang and Tetreault 2019), github.com/ryanzhumich/AESLC",
    "cola": "CoLA (Warstadt et al. 2019), nyu-mll.github.io/CoLA",
    "conll2000-chunking": "the CoNLL-2000 shared task, clips.uantwerpen.be/conll2000/chunking",
    "conll2003-ner": "the CoNLL-2003 shared task, clips.uantwerpen.be/conll2003/ner; its Reuters texts from NIST",
    "cranfield": "the Cranfield collection, ir.dcs.gla.ac.uk/resources/test_collections/cran",
    "fashion-mnist": "Zalando Research, github.com/zalandoresearch/fashion-mnist",
    "flickr8k": "Flickr8k (Hodosh et al. 2013), University of Illinois; here scaled to 32 by 32 pixels",
    "imdb": "Maas et al. 2011, ai.stanford.edu/~amaas/data/sentiment",
    "mrpc": "the Microsoft Research Paraphrase Corpus (Dolan and Brockett 2005), microsoft.com/download",
    "multi30k-de": _MULTI30K,
    "multi30k-de-raw": _MULTI30K,
    "multi30k-fr": _MULTI30K,
    "multi30k-fr-raw": _MULTI30K,
    "nab": "the Numenta Anomaly Benchmark, github.com/numenta/NAB",
    "names": "names.txt of github.com/karpathy/makemore",
    "novels": "no publisher: fifty novels in one file, such as those of gutenberg.org",
    "place-names": "GeoNames, geonames.org; OpenStreetMap; a Catalan word list",
    "ptb-lm": "the Penn Treebank (LDC99T42) as prepared by Mikolov, fit.vutbr.cz/~imikolov/rnnlm",
    "ptb-trees-sample": "the sample of the Penn Treebank in NLTK, nltk.org/nltk_data",
    "rte": _GLUE,
    "scws": "Stanford's Contextual Word Similarities (Huang et al. 2012)",
    "sick": _SICK,
    "sick-relatedness": _SICK,
    "snli-devtest": "SNLI (Bowman et al. 2015), nlp.stanford.edu/projects/snli",
    "squad2-dev-half": "SQuAD 2.0 (Rajpurkar et al. 2018), rajpurkar.github.io/SQuAD-explorer",
    "sst-phrases": "the Stanford Sentiment Treebank (Socher et al. 2013), nlp.stanford.edu/sentiment",
    "sst-trees": "the Stanford Sentiment Treebank (Socher et al. 2013), nlp.stanford.edu/sentiment",
    "sst2": "the Stanford Sentiment Treebank (Socher et al. 2013), nlp.stanford.edu/sentiment",
    "sts-b": "the STS benchmark (Cer et al. 2017), ixa2.si.ehu.eus/stswiki",
    "tatoeba-eng-fra": _TATOEBA,
    "tatoeba-eng-tur": _TATOEBA,
    "time-series": "github.com/zhouhaoyi/ETDataset, and github.com/jbrownlee/Datasets for the small ones",
    "tinyshakespeare": "github.com/karpathy/char-rnn",
    "tquad": "TQuAD, github.com/TQuad/turkish-nlp-qa-dataset",
    **dict.fromkeys(("trec-6", "trec-50", "trec-questions"), "Li and Roth 2002, cogcomp.seas.upenn.edu/Data/QA/QC"),
    "ud-english-ewt": f"{_UD}/UD_English-EWT",
    "ud-french-sequoia": f"{_UD}/UD_French-Sequoia",
    "ud-turkish-imst": f"{_UD}/UD_Turkish-IMST",
    "wiki-text": "Wikipedia, dumps.wikimedia.org, cleaned",
    "wikiqa": "WikiQA (Yang et al. 2015), Microsoft Research",
    "wikitext-2": "WikiText-2 (Merity et al. 2017), Salesforce Research",
    "wnli": _GLUE,
    "word-analogy": "questions-words.txt of word2vec (Mikolov et al. 2013), code.google.com/archive/p/word2vec",
    "word-categorization": "github.com/kudkudak/word-embeddings-benchmarks",
    "word-similarity": "github.com/mfaruqui/eval-word-vectors, wordvectors.org",
}
