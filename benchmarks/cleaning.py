"""Cleaning: languages against py3langid, near-duplicates against exact similarity, and the speed of all filters.

Languages: English, German, French and Turkish lines of Multi30k and Tatoeba; even lines to learn from, odd ones to
test. Near-duplicates: articles cut to 200 words, each with two copies in which up to 6 % of the words are changed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import time
from itertools import islice
from pathlib import Path
from random import Random

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from firth.text import Languages, clean
from firth.text.duplicates import Seen, Signer
from firth.text.filters import Characters, InLanguage, Letters, NotNear, NotSeen, StopWordShare, Words
from firth.text.lists import common_words

SOURCES = {  # files, and which column of a line
    "en": (("multi30k/raw/train.en.gz", 0), ("tatoeba-eng-fra/fra.txt.gz", 0)),
    "de": (("multi30k/raw/train.de.gz", 0),),
    "fr": (("multi30k/raw/train.fr.gz", 0), ("tatoeba-eng-fra/fra.txt.gz", 1)),
    "tr": (("tatoeba-eng-tur/tur.txt.gz", 1),),
}
CUTS = {"whole lines": None, "first 3 words": 3, "1 word": 1}


def row(name: str, ours: float, peer: float | None, unit: str) -> dict:
    """A line of the table; a ratio over 1 means that ours is better."""
    ratio = None if peer is None else ours / peer
    print(f"{name:58} {ours:10.4f} {'-' if peer is None else f'{peer:.4f}':>10} {unit}", flush=True)
    return {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "target": None, "unit": unit}


def lines_of(data: Path, language: str) -> list[str]:
    found = []
    for name, column in SOURCES[language]:
        text = gzip.decompress((data / name).read_bytes()).decode()
        found += [line.split("\t")[column] for line in text.splitlines() if line.strip()]
    return found


def languages(data: Path, tested: int) -> list[dict]:
    """Shares of right answers: of ours (all lines, then 200 of each) against the package told the same languages."""
    lines = {language: lines_of(data, language) for language in SOURCES}
    test = {language: Random(1).sample(found[1::2], tested) for language, found in lines.items()}
    ours = Languages.train({language: found[::2] for language, found in lines.items()})
    few = Languages.train({language: Random(2).sample(found[::2], 200) for language, found in lines.items()})
    theirs = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    theirs.set_languages(list(SOURCES))
    judges = [lambda text: ours.identify(text)[0], lambda text: few.identify(text)[0], lambda t: theirs.classify(t)[0]]
    rows = []
    for name, words in CUTS.items():
        cut = [(" ".join(line.split()[:words]), language) for language in test for line in test[language]]
        right = [sum(judge(text) == language for text, language in cut) / len(cut) for judge in judges]
        rows.append(row(f"languages, {name} (peer: py3langid)", right[0], right[2], "right"))
        rows.append(row(f"languages, {name}, learnt from 200 lines of each", right[1], right[2], "right"))
    return rows


def shingles(words: list[str], size: int) -> frozenset:
    return frozenset(zip(*(words[at:] for at in range(size)), strict=False))


def copies(articles: list[list[str]], random: Random) -> list[list[str]]:
    """Each article, and two copies with some words changed, in a mixed order."""
    every, found = [word for article in articles for word in article], []
    for article in articles:
        found.append(article)
        for _ in range(2):
            share = random.uniform(0, 0.06)
            found.append([random.choice(every) if random.random() < share else word for word in article])
    random.shuffle(found)
    return found


def near(data: Path, count: int, threshold: float, hashes: int) -> list[dict]:
    """Of the documents that are near one kept before, how many are found; of those found, how many are."""
    with lzma.open(data / "wiki-text/wiki.txt.xz", "rt", encoding="utf-8") as file:
        articles = (article.split()[:200] for article in file.read().split("\n\n"))
        chosen = list(islice((words for words in articles if len(words) == 200), count))
    seen, kept = Seen(threshold, Signer(5, hashes)), []
    hit = near_ones = clear = clear_hit = dropped = 0
    for words in copies(chosen, Random(3)):
        own = shingles(words, 5)
        exact = max((len(own & other) / len(own | other) for other in kept if own & other), default=0.0)
        new = seen.add(words)
        near_ones, clear = near_ones + (exact >= threshold), clear + (exact >= threshold + 0.05)
        hit, clear_hit = hit + (not new and exact >= threshold), clear_hit + (not new and exact >= threshold + 0.05)
        dropped += not new
        if new:
            kept.append(own)
    name = f"near-duplicates at {threshold}, {hashes} hashes"
    return [
        row(f"{name}: found", hit / near_ones, None, f"of {near_ones}"),
        row(f"{name}: found of those 0.05 above", clear_hit / clear, None, f"of {clear}"),
        row(f"{name}: right among dropped", hit / dropped, None, f"of {dropped}"),
    ]


def pipeline(data: Path, megabytes: float) -> list[dict]:
    """All filters over articles."""
    with lzma.open(data / "wiki-text/wiki.txt.xz", "rt", encoding="utf-8") as file:
        articles = file.read(int(megabytes * 1e6)).split("\n\n")
    known = Languages.train({language: lines_of(data, language)[:29_000] for language in ("en", "de", "fr")})
    stop = tuple(common_words(articles, 100))
    filters = [Characters(50), Words(10), Letters(0.6), InLanguage(("en",), known), StopWordShare(stop, 0.1), NotSeen(),
               NotNear(0.8)]  # fmt: skip
    began = time.process_time()
    cleaned = clean(articles, filters)
    kept = sum(len(text) for text in cleaned)
    seconds = time.process_time() - began
    print(f"kept {cleaned.kept} of {cleaned.seen} documents, {kept / 1e6:.1f} million characters")
    return [row("seven filters", sum(map(len, articles)) / 1e6 / seconds, None, "MB/s")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--json", action="store_true", help="the last line is the table as JSON")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    print(f"{'':58} {'ours':>10} {'peer':>10}")
    rows = languages(options.data, 500 if options.quick else 3000)
    for threshold, hashes in ((0.8, 128), (0.8, 512), (0.5, 128)):
        rows += near(options.data, 300 if options.quick else 1000, threshold, hashes)
    rows += pipeline(options.data, 5 if options.quick else 55)
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
