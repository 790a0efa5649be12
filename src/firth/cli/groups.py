"""The verb groups `firth corpus`, `firth lm` and `firth vectors`, as tables."""

from __future__ import annotations

from firth.cli.lazy_group import lazy_group

corpus = lazy_group(
    "Corpus tools: clean, stats, concordance, collocations, keyness.",
    {
        "Commands": {
            "clean": ("corpus_clean.clean", "Filter and deduplicate documents; print what each filter dropped."),
            "stats": (
                "corpus.stats",
                "Print tokens, types, type-token ratio, lengths, and the fits of Zipf's and Heaps' laws.",
            ),
            "concordance": (
                "corpus.concordance",
                "Print a concordance (KWIC): the hits of a word or phrase, each in its context.",
            ),
            "collocations": (
                "corpus.collocations",
                "Print the collocates of a word: words near it more often than expected.",
            ),
            "keyness": (
                "corpus.keyness",
                "Print the keywords of a text against a reference corpus, and those of the reference.",
            ),
        }
    },
)
lm = lazy_group(
    "Use a language model: rank, correct, authorship, surprisal, few-shot, prompts.",
    {
        "Commands": {
            "rank": ("lm.rank", "Rank alternative texts by their probability."),
            "correct": ("lm.correct", "Correct spelling, or confused words, with a language model (noisy channel)."),
            "authorship": (
                "lm.authorship",
                "Authorship attribution: one language model per author, compared by bits per byte.",
            ),
            "surprisal": (
                "lm.surprisal",
                "Plot the surprisal of each token, in human text and in what the model generates.",
            ),
            "few-shot": (
                "lm_prompting.few_shot",
                "Zero-, one- and few-shot evaluation (in-context learning) on a labelled task.",
            ),
            "prompts": (
                "lm_prompting.prompts",
                "Compare the next-word or [MASK] distributions of two prompts.",
            ),
        }
    },
)
vectors = lazy_group(
    "Word vectors: neighbours, analogies, evaluation, maps, search, alignment.",
    {
        "Commands": {
            "info": ("vectors.info", "Describe word vectors: vocabulary, width, context vectors, subwords, size."),
            "neighbours": ("vectors.neighbours", "List the nearest neighbours of words."),
            "similarity": ("vectors.similarity", "Print the cosine similarity of two words."),
            "analogy": ("vectors.analogy", "Solve an analogy: A is to B as C is to what?"),
            "odd-one-out": ("vectors.odd_one_out", "Print the word that does not match the others."),
            "recommend": ("vectors.recommend", "List the items nearest to the mean of some items."),
            "convert": ("vectors.convert", "Convert word vectors to another format, or to a smaller vocabulary."),
            "evaluate": (
                "vectors_evaluate.evaluate",
                "Evaluate vectors on word similarity, analogies, categorisation and words in context.",
            ),
            "senses": ("vectors_evaluate.senses", "Word sense induction: cluster the contexts of words in a text."),
            "search": (
                "vectors_search.search",
                "Search documents by BM25, tf-idf and vectors; evaluate against relevance judgements.",
            ),
            "align": (
                "vectors_align.align",
                "Align the vectors of two languages (Procrustes); translate words, evaluate the lexicon.",
            ),
            "map": ("vectors_plot.plot_map", "Plot words in the plane: PCA, t-SNE or UMAP."),
            "arrows": (
                "vectors_plot.plot_arrows",
                "Plot the offset vectors of word pairs, and print how parallel they are.",
            ),
            "study": (
                "vectors_study.study",
                "Train GloVe with many hyperparameters and plot analogy accuracy against each.",
            ),
        }
    },
)
