"""Public data sets that firth knows: where their files lie in a data folder, and what is in them. Facts only."""

from __future__ import annotations

from firth.data.sets import DataSet, Part


def _one(name: str, records: int | None = None, words: int | None = None, **more) -> Part:
    return Part((name,), records, words, **more)


def _treebank(language: str, prefix: str, licence: str, counts: tuple[tuple[int, int], ...]) -> dict[str, object]:
    splits = zip(("train", "dev", "test"), counts, strict=True)
    parts = {split: _one(f"{prefix}-ud-{split}.conllu.gz", *count) for split, count in splits}
    about = f"dependency trees of {language}, Universal Dependencies"
    return {"task": "parsing", "format": "conllu", "parts": parts, "about": about, "licence": licence}


def _multi30k(other: str, language: str, raw: bool = False) -> dict[str, object]:
    def files(split: str, packed: bool = True) -> tuple[str, ...]:
        ending = ".gz" * (packed or raw)
        folder, middle = ("raw", "") if raw else ("tok", ".lc.norm.tok")
        return tuple(f"{folder}/{split}{middle}.{side}{ending}" for side in ("en", other))

    counts = {"train": ("train", 29000), "dev": ("val", 1014), "test": ("test_2016_flickr", 1000)}
    parts = {split: Part(files(name, split == "train"), count) for split, (name, count) in counts.items()}
    about = f"picture descriptions in English and {language}, {'as written' if raw else 'lower-cased and tokenised'}"
    licence = "research use; derived from Flickr30K"
    return {"task": "translation", "format": "parallel", "parts": parts, "about": about, "licence": licence}


NAB = {
    "artificialNoAnomaly": (
        "art_daily_no_noise", "art_daily_perfect_square_wave", "art_daily_small_noise", "art_flatline", "art_noisy",
    ),
    "artificialWithAnomaly": (
        "art_daily_flatmiddle", "art_daily_jumpsdown", "art_daily_jumpsup", "art_daily_nojump",
        "art_increase_spike_density", "art_load_balancer_spikes",
    ),
    "realKnownCause": (
        "ambient_temperature_system_failure", "cpu_utilization_asg_misconfiguration",
        "ec2_request_latency_system_failure", "machine_temperature_system_failure", "nyc_taxi",
        "rogue_agent_key_hold", "rogue_agent_key_updown",
    ),
}  # fmt: skip
WORDS = {
    "ws-353": ("EN-WS-353-ALL", 353), "ws-353-sim": ("EN-WS-353-SIM", 203), "ws-353-rel": ("EN-WS-353-REL", 252),
    "simlex-999": ("EN-SIMLEX-999", 999), "rg-65": ("EN-RG-65", 65), "mc-30": ("EN-MC-30", 30),
    "rare-words": ("EN-RW-STANFORD", 2034), "mturk-287": ("EN-MTurk-287", 287),
    "simverb-3500": ("EN-SimVerb-3500", 3500), "verb-143": ("EN-VERB-143", 144), "yp-130": ("EN-YP-130", 130),
}  # fmt: skip
FASHION = "T-shirt,trouser,pullover,dress,coat,sandal,shirt,sneaker,bag,ankle boot"
_SCWS = "columns=id,left,left-pos,right,right-pos,left-context,right-context,score," + ",".join(
    f"rating{number}" for number in range(1, 11)
)

_SETS: dict[str, dict[str, object]] = {
    "aeslc-summarisation": {
        "task": "summarisation", "format": "jsonl", "columns": {"text": "body", "summary": "subject"},
        "parts": {
            "train": _one("train.jsonl.gz", 14436), "dev": _one("dev.jsonl.gz", 1960),
            "test": _one("test.jsonl.gz", 1906),
        },
        "about": "e-mails and their subject lines", "licence": "CC BY-NC-SA 4.0",
    },
    "cola": {
        "task": "classification", "format": "tsv", "settings": ("columns=source,label,mark,text",),
        "parts": {"train": _one("in_domain_train.tsv", 8551), "dev": _one("in_domain_dev.tsv", 527)},
        "about": "whether a sentence is acceptable English", "licence": "published examples, fair use",
    },
    "conll2000-chunking": {
        "task": "tagging", "format": "columns", "settings": ("layers=pos,chunk",),
        "parts": {"train": _one("train.txt.gz", 8936), "test": _one("test.txt", 2012)},
        "about": "base phrases of newspaper text, IOB2", "licence": "not stated; free for research",
    },
    "conll2003-ner": {
        "task": "tagging", "format": "columns", "settings": ("layers=pos,chunk,entity",),
        "parts": {
            "train": _one("eng.train.gz", 14041, 203621), "dev": _one("eng.testa.gz", 3250, 51362),
            "test": _one("eng.testb.gz", 3453, 46435),
        },
        "about": "names of persons, places and organisations, IOB1", "licence": "free for research",
    },
    "cranfield": {
        "task": "retrieval", "format": "cranfield",
        "parts": {
            "documents": _one("cran.all.1400.gz", 1400), "queries": _one("cran.qry", 225, settings=("ids=counted",)),
            "judgements": _one("QRelsCorrectedforTRECeval", 1837, format="judgements"),
            "codes": _one("cranqrel", 1837, format="judgements", settings=("grades=cranfield", "layout=plain")),
        },
        "about": "abstracts on aerodynamics, queries and judged relevance", "licence": "not stated",
    },
    "fashion-mnist": {
        "task": "images", "format": "idx", "settings": (f"names={FASHION}",),
        "parts": {
            "train": Part(("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"), 60000),
            "test": Part(("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"), 10000),
        },
        "about": "grey pictures of clothes, 28 by 28, ten classes", "licence": "MIT",
    },
    "flickr8k": {
        "task": "captions", "format": "images",
        "parts": {
            split: Part((f"images32-{split}.npz", f"captions-{split}.tsv.gz"), count)
            for split, count in (("train", 6000), ("dev", 1000), ("test", 1000))
        },
        "about": "photographs, 32 by 32, with five captions each", "licence": "non-commercial research and education",
    },
    "imdb": {
        "task": "classification", "format": "tsv", "settings": ("columns=label,stars,number,text",),
        "parts": {"train": _one("train.tsv.xz", 25000), "test": _one("test.tsv.xz", 25000)},
        "about": "film reviews, good or bad", "licence": "free for research",
    },
    "mrpc": {
        "task": "pairs", "format": "tsv", "settings": ("header=yes",),
        "columns": {"label": "Quality", "left": "#1 String", "right": "#2 String"},
        "parts": {"train": _one("train.tsv", 3576), "dev": _one("dev.tsv", 500)},
        "about": "whether two sentences of the news say the same", "licence": "Microsoft Shared Source",
    },
    "multi30k-de": _multi30k("de", "German"),
    "multi30k-de-raw": _multi30k("de", "German", raw=True),
    "multi30k-fr": _multi30k("fr", "French"),
    "multi30k-fr-raw": _multi30k("fr", "French", raw=True),
    "nab": {
        "task": "series", "format": "series", "settings": ("windows={folder}/combined_windows.json", "order=keep"),
        "parts": {name: _one(f"{kind}/{name}.csv.gz", 1) for kind, names in NAB.items() for name in names},
        "about": "series with marked anomalies, a part of the Numenta benchmark", "licence": "MIT",
    },
    "names": {
        "task": "language", "format": "text", "parts": {"all": _one("names.txt", 32033)},
        "about": "English first names, one a line", "licence": "MIT",
    },
    "novels": {
        "task": "language", "format": "text", "parts": {"all": _one("novels.txt.xz")},
        "about": "fifty English novels, 1839 to 1933", "licence": "old works; no licence stated",
    },
    "place-names": {
        "task": "language", "format": "text",
        "parts": {
            "world": _one("geonames-places.tsv.gz", 168750, format="tsv", settings=("columns=country,region,text",)),
            "catalan-municipalities": _one("catalan-municipalities.txt", 1666),
            "catalan-words": _one("catalan-toponym-words.txt", 13735),
        },
        "about": "names of places for models of characters", "licence": "CC BY 4.0, ODbL, LGPL 2.1",
    },
    "ptb-lm": {
        "task": "language", "format": "text",
        "parts": {
            "train": _one("ptb.train.txt.gz", 42068, 887521), "dev": _one("ptb.valid.txt", 3370, 70390),
            "test": _one("ptb.test.txt", 3761, 78669),
        },
        "about": "newspaper sentences in a vocabulary of ten thousand words", "licence": "research use (LDC)",
    },
    "ptb-trees-sample": {
        "task": "constituency", "format": "trees",
        "parts": {"train": _one("train.mrg", 3396), "dev": _one("dev.mrg", 273), "test": _one("test.mrg", 245)},
        "about": "phrase structure of newspaper sentences, with traces", "licence": "non-commercial (LDC sample)",
    },
    "rte": {
        "task": "pairs", "format": "tsv", "settings": ("header=yes",), "parts": {"train": _one("train.tsv", 2490)},
        "about": "whether a text entails a sentence", "licence": "not stated (GLUE)",
    },
    "scws": {
        "task": "similarity", "format": "similarity", "settings": (_SCWS,), "folder": "word-similarity",
        "parts": {"test": _one("SCWS-ratings.txt.gz", 2003)},
        "about": "pairs of words in their contexts, with ratings", "licence": "free for research",
    },
    "sick": {
        "task": "pairs", "format": "tsv", "settings": ("header=yes",),
        "columns": {"left": "sentence_A", "right": "sentence_B", "label": "entailment_judgment"},
        "parts": {"train": _one("SICK_train.txt", 4500), "dev": _one("SICK_trial.txt", 500)},
        "about": "whether one sentence entails another", "licence": "CC BY-NC-SA 3.0",
    },
    "sick-relatedness": {
        "task": "similarity", "format": "tsv", "settings": ("header=yes",), "folder": "sick",
        "columns": {"left": "sentence_A", "right": "sentence_B", "score": "relatedness_score"},
        "parts": {"train": _one("SICK_train.txt", 4500), "dev": _one("SICK_trial.txt", 500)},
        "about": "how related two sentences are, 1 to 5", "licence": "CC BY-NC-SA 3.0",
    },
    "snli-devtest": {
        "task": "pairs", "format": "tsv", "settings": ("columns=left,right,label",),
        "parts": {"dev": _one("dev.txt.gz", 9842), "test": _one("test.txt.gz", 9824)},
        "about": "entailed (0), neutral (1) or contradicted (2); no train part", "licence": "CC BY-SA 4.0",
    },
    "squad2-dev-half": {
        "task": "question-answering", "format": "squad", "folder": "squad-like",
        "parts": {"dev": _one("squad2-dev-half.json.gz", 6078)},
        "about": "questions on encyclopedia articles, half without an answer", "licence": "CC BY-SA 4.0",
    },
    "sst-trees": {
        "task": "classification", "format": "trees",
        "parts": {"train": _one("train.txt.gz", 8544), "dev": _one("dev.txt", 1101), "test": _one("test.txt", 2210)},
        "about": "film reviews as trees, every phrase rated 0 to 4", "licence": "free for research",
    },
    "sst2": {
        "task": "classification", "format": "tsv", "settings": ("columns=text,label",),
        "parts": {"train": _one("train.tsv", 6920), "dev": _one("dev.tsv", 872), "test": _one("test.tsv", 1821)},
        "about": "sentences of film reviews, good or bad", "licence": "free for research",
    },
    "sts-b": {
        "task": "similarity", "format": "tsv",
        "settings": ("columns=genre,file,year,number,score,left,right", "extra=keep"),
        "parts": {
            "train": _one("sts-train.csv", 5749), "dev": _one("sts-dev.csv", 1500),
            "test": _one("sts-test.csv", 1379),
        },
        "about": "how similar two sentences are, 0 to 5", "licence": "mixed sources",
    },
    "tatoeba-eng-fra": {
        "task": "translation", "format": "tsv", "settings": ("columns=left,right",),
        "parts": {"all": _one("fra.txt.gz", 142787)},
        "about": "English sentences and their French translations, short ones first", "licence": "CC BY 2.0",
    },
    "tatoeba-eng-tur": {
        "task": "translation", "format": "tsv", "settings": ("columns=left,right",),
        "parts": {"all": _one("tur.txt.gz", 41098)},
        "about": "English sentences and their Turkish translations, short ones first", "licence": "CC BY 2.0 FR",
    },
    "time-series": {
        "task": "series", "format": "series",
        "parts": {
            "etth1": _one("ETTh1.csv.gz", 1, 17420), "airline-passengers": _one("airline-passengers.csv", 1, 144),
            "daily-min-temperatures": _one("daily-min-temperatures.csv", 1, 3650),
            "daily-births": _one("daily-total-female-births.csv", 1, 365),
            "monthly-sunspots": _one("monthly-sunspots.csv", 1, 2820),
        },
        "about": "small series, and a transformer's oil temperature by the hour", "licence": "ETT CC BY-ND 4.0",
    },
    "tinyshakespeare": {
        "task": "language", "format": "text", "parts": {"all": _one("input.txt", 40000)},
        "about": "a million characters of plays", "licence": "public domain",
    },
    "tquad": {
        "task": "question-answering", "format": "squad", "folder": "squad-like",
        "parts": {"train": _one("tquad-train.json.gz", 8308), "dev": _one("tquad-dev.json.gz", 892)},
        "about": "questions on Turkish texts about the history of science", "licence": "not stated",
    },
    "trec-questions": {
        "task": "classification", "format": "labels", "settings": ("prefix=", "between=:"),
        "parts": {"train": _one("train.txt", 5452), "test": _one("test.txt", 500)},
        "about": "what a question asks for: six coarse labels, and a fine one after each",
        "licence": "free for research",
    },
    "ud-english-ewt": _treebank("English", "en_ewt", "CC BY-SA 4.0", ((12544, 204577), (2001, 25147), (2077, 25094))),
    "ud-french-sequoia": _treebank("French", "fr_sequoia", "LGPL-LR", ((2231, 50502), (412, 9999), (456, 10044))),
    "ud-turkish-imst": _treebank(
        "Turkish", "tr_imst", "CC BY-NC-SA 4.0", ((3435, 37522), (1100, 10542), (1100, 10032))
    ),
    "wiki-text": {
        "task": "language", "format": "text", "settings": ("unit=paragraph",),
        "parts": {"all": _one("wiki.txt.xz", 26062)},
        "about": "encyclopedia articles, cleaned", "licence": "CC BY-SA 3.0",
    },
    "wikiqa": {
        "task": "pairs", "format": "tsv", "settings": ("columns=left,right,label",),
        "parts": {
            "train": _one("train.txt.gz", 20360), "dev": _one("dev.txt.gz", 2733),
            "test": _one("test.txt.gz", 6165),
        },
        "about": "whether a sentence answers a question", "licence": "Microsoft Research data licence",
    },
    "wikitext-2": {
        "task": "language", "format": "text",
        "parts": {
            "train": _one("train.txt.gz", 36718, 2051910), "dev": _one("valid.txt", 3760, 213886),
            "test": _one("test.txt", 4358, 241211),
        },
        "about": "encyclopedia paragraphs in words, rare ones replaced", "licence": "CC BY-SA 3.0",
    },
    "wnli": {
        "task": "pairs", "format": "tsv", "settings": ("header=yes",),
        "parts": {"train": _one("train.tsv", 518), "dev": _one("dev.tsv", 71)},
        "about": "what a pronoun stands for", "licence": "not stated (GLUE)",
    },
    "word-analogy": {
        "task": "analogy", "format": "analogy", "parts": {"test": _one("questions-words.txt", 19544)},
        "about": "a is to b as c is to d, in fourteen sections", "licence": "Apache 2.0",
    },
    "word-categorization": {
        "task": "classification", "format": "categories", "settings": ("empty=keep",),
        "parts": {
            "ap": _one("ap.csv", 423), "battig": _one("battig.csv", 5231), "bless": _one("bless.csv", 217),
            "essli-2008": _one("essli-2008.csv", 45),
        },
        "about": "words and the category each belongs to", "licence": "not stated",
    },
    "word-similarity": {
        "task": "similarity", "format": "similarity",
        "parts": {split: _one(f"{name}.txt", count) for split, (name, count) in WORDS.items()},
        "about": "pairs of words with human ratings", "licence": "free for research",
    },
}  # fmt: skip
_FOLDERS = {f"multi30k-{name}": "multi30k" for name in ("de", "de-raw", "fr", "fr-raw")}
PUBLIC: dict[str, DataSet] = {
    name: DataSet(name, **{"folder": _FOLDERS.get(name, name), **values}) for name, values in _SETS.items()
}
