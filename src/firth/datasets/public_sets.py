"""Public data sets that firth knows: their files in a data folder, formats, sizes and licences. Facts only."""

from __future__ import annotations

from firth.datasets.publishers import PUBLISHERS
from firth.datasets.sets import Dataset, SplitFiles


def _one(name: str, records: int | None = None, words: int | None = None, **more) -> SplitFiles:
    return SplitFiles((name,), records, words, **more)


def _treebank(language: str, prefix: str, licence: str, counts: tuple[tuple[int, int], ...]) -> dict[str, object]:
    sizes = zip(("train", "dev", "test"), counts, strict=True)
    files = {split: _one(f"{prefix}-ud-{split}.conllu.gz", *count) for split, count in sizes}
    about = f"dependency treebank of {language}, Universal Dependencies"
    return {"task": "parsing", "format": "conllu", "splits": files, "about": about, "licence": licence}


def _multi30k(other: str, language: str, raw: bool = False) -> dict[str, object]:
    def files(split: str, compressed: bool = True) -> tuple[str, ...]:
        suffix = ".gz" * (compressed or raw)
        folder, middle = ("raw", "") if raw else ("tok", ".lc.norm.tok")
        return tuple(f"{folder}/{split}{middle}.{side}{suffix}" for side in ("en", other))

    counts = {"train": ("train", 29000), "dev": ("val", 1014), "test": ("test_2016_flickr", 1000)}
    splits = {split: SplitFiles(files(name, split == "train"), count) for split, (name, count) in counts.items()}
    about = f"image captions in English and {language}, {'as written' if raw else 'lower-cased and tokenised'}"
    licence = "research use; derived from Flickr30K"
    return {"task": "translation", "format": "parallel", "splits": splits, "about": about, "licence": licence}


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

_TREC = {"train": _one("train.txt", 5452), "test": _one("test.txt", 500)}
_SETS: dict[str, dict[str, object]] = {
    "aeslc-summarisation": {
        "task": "summarisation", "format": "jsonl", "columns": {"text": "body", "summary": "subject"},
        "splits": {
            "train": _one("train.jsonl.gz", 14436), "dev": _one("dev.jsonl.gz", 1960),
            "test": _one("test.jsonl.gz", 1906),
        },
        "about": "summarisation: e-mails and their subject lines", "licence": "CC BY-NC-SA 4.0",
    },
    "cola": {
        "task": "classification", "format": "tsv", "settings": ("columns=source,label,mark,text",),
        "splits": {"train": _one("in_domain_train.tsv", 8551), "dev": _one("in_domain_dev.tsv", 527)},
        "about": "linguistic acceptability of English sentences (CoLA)", "licence": "published examples, fair use",
    },
    "conll2000-chunking": {
        "task": "tagging", "format": "columns", "settings": ("layers=pos,chunk",),
        "splits": {"train": _one("train.txt.gz", 8936), "test": _one("test.txt", 2012)},
        "about": "phrase chunking of newspaper text, IOB2", "licence": "not stated; free for research",
    },
    "conll2003-ner": {
        "task": "tagging", "format": "columns", "settings": ("layers=pos,chunk,entity",),
        "splits": {
            "train": _one("eng.train.gz", 14041, 203621), "dev": _one("eng.testa.gz", 3250, 51362),
            "test": _one("eng.testb.gz", 3453, 46435),
        },
        "about": "named entity recognition of newspaper text, IOB1", "licence": "free for research",
    },
    "cranfield": {
        "task": "retrieval", "format": "cranfield",
        "splits": {
            "documents": _one("cran.all.1400.gz", 1400), "queries": _one("cran.qry", 225, settings=("ids=counted",)),
            "judgements": _one("QRelsCorrectedforTRECeval", 1837, format="judgements"),
            "codes": _one("cranqrel", 1837, format="judgements", settings=("grades=cranfield", "layout=plain")),
        },
        "about": "abstracts on aerodynamics, queries and relevance judgements", "licence": "not stated",
    },
    "fashion-mnist": {
        "task": "images", "format": "idx", "settings": (f"names={FASHION}",),
        "splits": {
            "train": SplitFiles(("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"), 60000),
            "test": SplitFiles(("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"), 10000),
        },
        "about": "grey images of clothes, 28 by 28, ten classes", "licence": "MIT",
    },
    "flickr8k": {
        "task": "captions", "format": "images",
        "splits": {
            split: SplitFiles((f"images32-{split}.npz", f"captions-{split}.tsv.gz"), count)
            for split, count in (("train", 6000), ("dev", 1000), ("test", 1000))
        },
        "about": "photographs, 32 by 32, with five captions each", "licence": "non-commercial research and education",
    },
    "imdb": {
        "task": "classification", "format": "tsv", "settings": ("columns=label,stars,number,text",),
        "splits": {"train": _one("train.tsv.xz", 25000), "test": _one("test.tsv.xz", 25000)},
        "about": "sentiment of film reviews, positive or negative", "licence": "free for research",
    },
    "mrpc": {
        "task": "pairs", "format": "tsv", "settings": ("header=yes",),
        "columns": {"label": "Quality", "left": "#1 String", "right": "#2 String"},
        "splits": {"train": _one("train.tsv", 3576), "dev": _one("dev.tsv", 500)},
        "about": "paraphrase detection in news sentences", "licence": "Microsoft Shared Source",
    },
    "multi30k-de": _multi30k("de", "German"),
    "multi30k-de-raw": _multi30k("de", "German", raw=True),
    "multi30k-fr": _multi30k("fr", "French"),
    "multi30k-fr-raw": _multi30k("fr", "French", raw=True),
    "nab": {
        "task": "series", "format": "series", "settings": ("windows={folder}/combined_windows.json", "order=keep"),
        "splits": {name: _one(f"{kind}/{name}.csv.gz", 1) for kind, names in NAB.items() for name in names},
        "about": "anomaly detection in time series, a part of NAB", "licence": "MIT",
    },
    "names": {
        "task": "language", "format": "text", "splits": {"all": _one("names.txt", 32033)},
        "about": "English first names, one per line", "licence": "MIT",
    },
    "novels": {
        "task": "language", "format": "text", "splits": {"all": _one("novels.txt.xz")},
        "about": "fifty English novels, 1839 to 1933", "licence": "old works; no licence stated",
    },
    "place-names": {
        "task": "language", "format": "text",
        "splits": {
            "world": _one("geonames-places.tsv.gz", 168750, format="tsv", settings=("columns=country,region,text",)),
            "catalan-municipalities": _one("catalan-municipalities.txt", 1666),
            "catalan-words": _one("catalan-toponym-words.txt", 13735),
        },
        "about": "names of places, for character-level models", "licence": "CC BY 4.0, ODbL, LGPL 2.1",
    },
    "ptb-lm": {
        "task": "language", "format": "text",
        "splits": {
            "train": _one("ptb.train.txt.gz", 42068, 887521), "dev": _one("ptb.valid.txt", 3370, 70390),
            "test": _one("ptb.test.txt", 3761, 78669),
        },
        "about": "Penn Treebank text for language modelling, 10,000 words", "licence": "research use (LDC)",
    },
    "ptb-trees-sample": {
        "task": "constituency", "format": "trees",
        "splits": {"train": _one("train.mrg", 3396), "dev": _one("dev.mrg", 273), "test": _one("test.mrg", 245)},
        "about": "constituency trees of newspaper sentences, with traces", "licence": "non-commercial (LDC sample)",
    },
    "rte": {
        "task": "pairs", "format": "tsv", "settings": ("header=yes",), "splits": {"train": _one("train.tsv", 2490)},
        "about": "textual entailment: text and sentence", "licence": "not stated (GLUE)",
    },
    "scws": {
        "task": "similarity", "format": "similarity", "settings": (_SCWS,), "folder": "word-similarity",
        "splits": {"test": _one("SCWS-ratings.txt.gz", 2003)},
        "about": "word similarity in context, human ratings", "licence": "free for research",
    },
    "sick": {
        "task": "pairs", "format": "tsv", "settings": ("header=yes",),
        "columns": {"left": "sentence_A", "right": "sentence_B", "label": "entailment_judgment"},
        "splits": {"train": _one("SICK_train.txt", 4500), "dev": _one("SICK_trial.txt", 500)},
        "about": "natural language inference (SICK)", "licence": "CC BY-NC-SA 3.0",
    },
    "sick-relatedness": {
        "task": "similarity", "format": "tsv", "settings": ("header=yes",), "folder": "sick",
        "columns": {"left": "sentence_A", "right": "sentence_B", "score": "relatedness_score"},
        "splits": {"train": _one("SICK_train.txt", 4500), "dev": _one("SICK_trial.txt", 500)},
        "about": "semantic relatedness of sentence pairs, 1 to 5", "licence": "CC BY-NC-SA 3.0",
    },
    "snli-devtest": {
        "task": "pairs", "format": "tsv", "settings": ("columns=left,right,label",),
        "splits": {"dev": _one("dev.txt.gz", 9842), "test": _one("test.txt.gz", 9824)},
        "about": "NLI: entailment 0, neutral 1, contradiction 2; no train split", "licence": "CC BY-SA 4.0",
    },
    "squad2-dev-half": {
        "task": "question-answering", "format": "squad", "folder": "squad-like",
        "splits": {"dev": _one("squad2-dev-half.json.gz", 6078)},
        "about": "questions on Wikipedia articles, half of them unanswerable", "licence": "CC BY-SA 4.0",
    },
    "sst-trees": {
        "task": "classification", "format": "trees",
        "splits": {"train": _one("train.txt.gz", 8544), "dev": _one("dev.txt", 1101), "test": _one("test.txt", 2210)},
        "about": "sentiment trees of film reviews, every phrase rated 0 to 4", "licence": "free for research",
    },
    "sst-phrases": {
        "task": "classification", "format": "trees", "folder": "sst-trees",
        "settings": ("classes=0:negative,1:negative,3:positive,4:positive",),
        "splits": {
            "train": _one("train.txt.gz", 77616, settings=("unit=phrase",)), "dev": _one("dev.txt", 872),
            "test": _one("test.txt", 1821),
        },
        "about": "sentiment of film review sentences; of every phrase in training", "licence": "free for research",
    },
    "sst2": {
        "task": "classification", "format": "tsv", "settings": ("columns=text,label",),
        "splits": {"train": _one("train.tsv", 6920), "dev": _one("dev.tsv", 872), "test": _one("test.tsv", 1821)},
        "about": "sentiment of film review sentences, positive or negative", "licence": "free for research",
    },
    "sts-b": {
        "task": "similarity", "format": "tsv",
        "settings": ("columns=genre,file,year,number,score,left,right", "extra=keep"),
        "splits": {
            "train": _one("sts-train.csv", 5749), "dev": _one("sts-dev.csv", 1500),
            "test": _one("sts-test.csv", 1379),
        },
        "about": "semantic textual similarity of sentence pairs, 0 to 5", "licence": "mixed sources",
    },
    "tatoeba-eng-fra": {
        "task": "translation", "format": "tsv", "settings": ("columns=left,right",),
        "splits": {"all": _one("fra.txt.gz", 142787)},
        "about": "English sentences and their French translations, short ones first", "licence": "CC BY 2.0",
    },
    "tatoeba-eng-tur": {
        "task": "translation", "format": "tsv", "settings": ("columns=left,right",),
        "splits": {"all": _one("tur.txt.gz", 41098)},
        "about": "English sentences and their Turkish translations, short ones first", "licence": "CC BY 2.0 FR",
    },
    "time-series": {
        "task": "series", "format": "series",
        "splits": {
            "etth1": _one("ETTh1.csv.gz", 1, 17420), "airline-passengers": _one("airline-passengers.csv", 1, 144),
            "daily-min-temperatures": _one("daily-min-temperatures.csv", 1, 3650),
            "daily-births": _one("daily-total-female-births.csv", 1, 365),
            "monthly-sunspots": _one("monthly-sunspots.csv", 1, 2820),
        },
        "about": "small time series, and the hourly oil temperature of a transformer", "licence": "ETT CC BY-ND 4.0",
    },
    "tinyshakespeare": {
        "task": "language", "format": "text", "splits": {"all": _one("input.txt", 40000)},
        "about": "Shakespeare's plays, a million characters", "licence": "public domain",
    },
    "tquad": {
        "task": "question-answering", "format": "squad", "folder": "squad-like",
        "splits": {"train": _one("tquad-train.json.gz", 8308), "dev": _one("tquad-dev.json.gz", 892)},
        "about": "questions on Turkish texts about the history of science", "licence": "not stated",
    },
    "trec-6": {
        "task": "classification", "format": "labels", "settings": ("prefix=", "between=:", "levels=1"), "splits": _TREC,
        "about": "question classification: six coarse labels", "licence": "free for research",
    },
    "trec-50": {
        "task": "classification", "format": "labels", "settings": ("prefix=",), "splits": _TREC,
        "about": "question classification: fifty fine labels", "licence": "free for research",
    },
    "trec-questions": {
        "task": "classification", "format": "labels", "settings": ("prefix=", "between=:"), "splits": _TREC,
        "about": "question classification: six coarse labels, and a fine one after each",
        "licence": "free for research",
    },
    "ud-english-ewt": _treebank("English", "en_ewt", "CC BY-SA 4.0", ((12544, 204577), (2001, 25147), (2077, 25094))),
    "ud-french-sequoia": _treebank("French", "fr_sequoia", "LGPL-LR", ((2231, 50502), (412, 9999), (456, 10044))),
    "ud-turkish-imst": _treebank(
        "Turkish", "tr_imst", "CC BY-NC-SA 4.0", ((3435, 37522), (1100, 10542), (1100, 10032))
    ),
    "wiki-text": {
        "task": "language", "format": "text", "settings": ("unit=paragraph",),
        "splits": {"all": _one("wiki.txt.xz", 26062)},
        "about": "Wikipedia articles, cleaned", "licence": "CC BY-SA 3.0",
    },
    "wikiqa": {
        "task": "pairs", "format": "tsv", "settings": ("columns=left,right,label",),
        "splits": {
            "train": _one("train.txt.gz", 20360), "dev": _one("dev.txt.gz", 2733),
            "test": _one("test.txt.gz", 6165),
        },
        "about": "answer sentence selection: question and sentence", "licence": "Microsoft Research data licence",
    },
    "wikitext-2": {
        "task": "language", "format": "text",
        "splits": {
            "train": _one("train.txt.gz", 36718, 2051910), "dev": _one("valid.txt", 3760, 213886),
            "test": _one("test.txt", 4358, 241211),
        },
        "about": "WikiText-2: Wikipedia paragraphs, rare words replaced by <unk>", "licence": "CC BY-SA 3.0",
    },
    "wnli": {
        "task": "pairs", "format": "tsv", "settings": ("header=yes",),
        "splits": {"train": _one("train.tsv", 518), "dev": _one("dev.tsv", 71)},
        "about": "pronoun resolution as sentence pairs (Winograd)", "licence": "not stated (GLUE)",
    },
    "word-analogy": {
        "task": "analogy", "format": "analogy", "splits": {"test": _one("questions-words.txt", 19544)},
        "about": "word analogies, in fourteen sections", "licence": "Apache 2.0",
    },
    "word-categorization": {
        "task": "classification", "format": "categories", "settings": ("empty=keep",),
        "splits": {
            "ap": _one("ap.csv", 423), "battig": _one("battig.csv", 5231), "bless": _one("bless.csv", 217),
            "essli-2008": _one("essli-2008.csv", 45),
        },
        "about": "words and their categories", "licence": "not stated",
    },
    "word-similarity": {
        "task": "similarity", "format": "similarity",
        "splits": {split: _one(f"{name}.txt", count) for split, (name, count) in WORDS.items()},
        "about": "word similarity, human ratings", "licence": "free for research",
    },
}  # fmt: skip
_FOLDERS = {f"multi30k-{name}": "multi30k" for name in ("de", "de-raw", "fr", "fr-raw")}
_FOLDERS |= {"trec-6": "trec-questions", "trec-50": "trec-questions"}
PUBLIC: dict[str, Dataset] = {
    name: Dataset(name, **{"folder": _FOLDERS.get(name, name), **values}, publisher=PUBLISHERS[name])
    for name, values in _SETS.items()
}
