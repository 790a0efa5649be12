"""Corpora: concordance, language identification against py3langid, near-duplicates against datasketch, filters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from benchmarks import texts
from benchmarks.harness import Options, Row, Settings, interleave, is_installed, make_row, memory_row, note, speed_row
from benchmarks.processes import Program, compare

CLOCK = Settings(1, clock="cpu")
FIRST_LINES = 1.0  # seconds to the first lines of a concordance, at most
LANGUAGES = {  # files, and the column of a line
    "en": (("multi30k/raw/train.en.gz", 0), ("tatoeba-eng-fra/fra.txt.gz", 0)),
    "de": (("multi30k/raw/train.de.gz", 0),),
    "fr": (("multi30k/raw/train.fr.gz", 0), ("tatoeba-eng-fra/fra.txt.gz", 1)),
    "tr": (("tatoeba-eng-tur/tur.txt.gz", 1),),
}
CUTS = {"whole lines": None, "first 3 words": 3, "1 word": 1}


# --- concordance ---


def indexing(settings: Settings, path: str) -> Callable[[], None]:
    """Index a text file."""
    from firth.corpus import index

    return lambda: index(path) and None


def concordance(options: Options) -> Iterator[Row]:
    """Indexing, then the first lines of a frequent and of a rare word, in text order and sorted by context."""
    from firth.corpus import concordance as search
    from firth.corpus import index

    path = texts.write_english(options, options.choose(20_000_000, 500_000_000))
    megabytes = path.stat().st_size / 1e6
    # one cold run in a process of its own: a second would find the index
    measured = compare({"ours": Program(indexing, Settings(options.threads))}, 0, path=str(path))["ours"]
    yield make_row(f"index, {megabytes:.0f} MB", megabytes / measured.warmup, None, "MB/s")
    yield memory_row(f"index, {megabytes:.0f} MB", measured, None)
    indexed = index(str(path))
    for word, sort in itertools.product(("house", "the"), ("position", "right")):
        work = {"ours": lambda word=word, sort=sort: search(indexed, word, sort=sort)}
        seconds = interleave(work, Settings(1), options.choose(2, 7))["ours"].seconds
        name = f"concordance, {word!r} sorted by {sort} (limit)"
        yield make_row(name, seconds, FIRST_LINES, "s", 1.0, lower_is_better=True)


# --- languages ---


def language_lines(options: Options, language: str) -> list[str]:
    """Lines in a language; none if a file is not there."""
    lines = []
    for name, column in LANGUAGES[language]:
        path = texts.find(options, name)
        if path is None:
            return []
        lines += [line.split("\t")[column] for line in texts.read(path).splitlines() if line.strip()]
    return lines


def languages(options: Options) -> Iterator[Row]:
    """Accuracy on odd lines after training on even ones (all, or 200 of each), and lines per second."""
    from firth.corpus import NgramLanguageIdentifier

    lines = {language: language_lines(options, language) for language in LANGUAGES}
    if not all(lines.values()):
        return
    tested = options.choose(500, 3000)
    test = {language: Random(1).sample(found[1::2], tested) for language, found in lines.items()}
    train = {language: found[::2] for language, found in lines.items()}
    every = NgramLanguageIdentifier.train(train)
    few = NgramLanguageIdentifier.train({language: Random(2).sample(found, 200) for language, found in train.items()})
    peer = _py3langid() if is_installed("py3langid") else None
    for name, words in CUTS.items():
        cut = [(" ".join(line.split()[:words]), language) for language, found in test.items() for line in found]
        theirs = None if peer is None else _accuracy(peer, cut)
        for label, identifier in (("", every), (", trained on 200 lines of each", few)):
            accuracy = _accuracy(lambda text, identifier=identifier: identifier.identify(text)[0], cut)
            title = f"language identification, {name}{label}: py3langid"
            yield make_row(title, accuracy, theirs, "accuracy", quality=True)
    some = [line for found in test.values() for line in found]
    works: dict[str, Any] = {"ours": lambda: [every.identify(line)[0] for line in some]}
    if peer is not None:
        works["peer"] = lambda: [peer(line) for line in some]
    measured = interleave(works, Settings(1), options.choose(2, 5))
    pair = measured["ours"], measured.get("peer")
    yield speed_row("language identification, whole lines: py3langid", *pair, len(some), "lines/s")


def _py3langid() -> Callable[[str], str]:
    """The package, restricted to the same languages."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(LANGUAGES))
    return lambda text: identifier.classify(text)[0]


def _accuracy(identify: Callable[[str], str], examples: list[tuple[str, str]]) -> float:
    return sum(identify(text) == language for text, language in examples) / len(examples)


# --- near-duplicates ---

SHINGLE, WORDS = 5, 200  # words of a shingle, and of a document
CASES = ((0.8, 128), (0.8, 512), (0.5, 128))  # similarity threshold, hashes


def shingles(words: list[str]) -> frozenset[tuple[str, ...]]:
    """All runs of SHINGLE words."""
    return frozenset(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def with_copies(articles: list[list[str]], random: Random) -> list[list[str]]:
    """Each article and two copies in which up to 6 % of the words are replaced, shuffled."""
    vocabulary, made = [word for article in articles for word in article], []
    for article in articles:
        made.append(article)
        for _ in range(2):
            fraction = random.uniform(0, 0.06)
            made.append([random.choice(vocabulary) if random.random() < fraction else word for word in article])
    random.shuffle(made)
    return made


def articles(options: Options, count: int) -> list[list[str]]:
    """The first WORDS words of long documents."""
    split = (document.split()[:WORDS] for document in texts.english(options))
    return list(itertools.islice((words for words in split if len(words) == WORDS), count))


Add = Callable[[list[str]], bool]  # adds a document; whether it is new, that is near none before


def our_index(threshold: float, hashes: int) -> Add:
    """MinHash with LSH."""
    from firth.datasets.near_duplicates import MinHasher, MinHashLSH

    return MinHashLSH(threshold, MinHasher(SHINGLE, hashes)).add


def datasketch_index(threshold: float, hashes: int) -> Add:
    """The same by datasketch."""
    import datasketch

    index, numbers = datasketch.MinHashLSH(threshold=threshold, num_perm=hashes), itertools.count()

    def add(words: list[str]) -> bool:
        sketch = datasketch.MinHash(num_perm=hashes)
        sketch.update_batch(" ".join(shingle).encode() for shingle in shingles(words))
        if index.query(sketch):
            return False
        index.insert(str(next(numbers)), sketch, check_duplication=False)
        return True

    return add


def judge(add: Add, documents: list[list[str]], threshold: float) -> dict[str, tuple[int, int]]:
    """Recall at the threshold, recall 0.05 above it and precision, by exact similarity to the documents kept before."""
    kept: list[frozenset[tuple[str, ...]]] = []
    near = clear = dropped = right = clear_right = 0
    for words in documents:
        own = shingles(words)
        exact = max((len(own & other) / len(own | other) for other in kept if own & other), default=0.0)
        new = add(words)
        near, clear, dropped = near + (exact >= threshold), clear + (exact >= threshold + 0.05), dropped + (not new)
        right += not new and exact >= threshold
        clear_right += not new and exact >= threshold + 0.05
        if new:
            kept.append(own)
    return {"recall": (right, near), "recall 0.05 above": (clear_right, clear), "precision": (right, dropped)}


def near_duplicates(options: Options) -> Iterator[Row]:
    """Recall and precision against exact similarity, and documents per second."""
    chosen = articles(options, options.choose(150, 1000))
    documents, installed = with_copies(chosen, Random(3)), is_installed("datasketch")
    for threshold, hashes in CASES:
        name = f"near-duplicates at {threshold}, {hashes} hashes"
        ours = judge(our_index(threshold, hashes), documents, threshold)
        peer = judge(datasketch_index(threshold, hashes), documents, threshold) if installed else None
        for measure, (hits, total) in ours.items():
            theirs = None if peer is None else peer[measure][0] / max(1, peer[measure][1])
            value = hits / max(1, total)
            yield make_row(f"{name}, {measure}: datasketch", value, theirs, f"of {total}", quality=True)
        works: dict[str, Any] = {"ours": lambda a=threshold, b=hashes: [*map(our_index(a, b), documents)]}
        if installed:
            works["peer"] = lambda a=threshold, b=hashes: [*map(datasketch_index(a, b), documents)]
        measured = interleave(works, Settings(1), 2)
        pair = measured["ours"], measured.get("peer")
        yield speed_row(f"{name}: datasketch", *pair, len(documents), "documents/s")


# --- filters ---


def filters(options: Options) -> Iterator[Row]:
    """MB per second of processor time of seven filters over articles."""
    from firth.corpus import NgramLanguageIdentifier, clean, most_common_words
    from firth.corpus import filters as f

    lines = {language: language_lines(options, language)[:29_000] for language in ("en", "de", "fr")}
    path = texts.write_english(options, options.choose(5_000_000, 55_000_000))
    documents = path.read_text(encoding="utf-8").split("\n\n")
    chosen = [f.CharacterCountFilter(50), f.WordCountFilter(10), f.LetterFractionFilter(0.6)]
    if all(lines.values()):
        chosen.append(f.LanguageFilter(("en",), NgramLanguageIdentifier.train(lines)))
    chosen += [f.StopWordFractionFilter(tuple(most_common_words(documents, 100)), 0.1), f.ExactDeduplicator()]
    chosen.append(f.NearDeduplicator(0.8))

    def work() -> tuple[int, int]:
        cleaned = clean(documents, chosen)
        return sum(1 for _ in cleaned), cleaned.seen

    measured = interleave({"ours": work}, CLOCK, 1)["ours"]
    kept, seen = measured.result
    note(f"{len(chosen)} filters kept {kept:,} of {seen:,} documents")
    size = path.stat().st_size / 1e6
    yield speed_row(f"{len(chosen)} filters", measured, None, size, "MB/s")
