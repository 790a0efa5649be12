"""N-gram models: scoring against KenLM, estimation against KenLM's `lmplz` and nltk, quality on Penn Treebank."""

from __future__ import annotations

import itertools
import math
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import texts
from benchmarks.harness import (
    Measurement,
    Options,
    Part,
    Row,
    Settings,
    load_row,
    make_row,
    memory_row,
    note,
    speed_row,
)
from benchmarks.processes import Comparison, Program, compare

if TYPE_CHECKING:
    from firth.ngram import Model

ORDER = 5
FULL_SCORES, SCORE = 3.0, 1.0  # times KenLM's speed
PTB_PERPLEXITY = 142.0  # of the test text, at most, by modified Kneser–Ney of order 5


def blocks(path: Path) -> Iterator[bytes]:
    """The content of a file."""
    with path.open("rb") as file:
        yield from iter(lambda: file.read(1 << 20), b"")


def estimate(path: Path, threads: int) -> tuple[Model, list[str]]:
    """A model of the lines of a file, from text to probabilities, and its vocabulary."""
    import numpy as np

    from firth.config.schema import Ngram
    from firth.corpus.text_scanner import count_words_in_lines, encode_lines
    from firth.ngram import fit
    from firth.tokenizers.special_tokens import SpecialTokens

    words = count_words_in_lines(blocks(path))
    ids, starts = encode_lines(blocks(path), words)
    special = ["<s>", "</s>", "<unk>"]
    vocabulary = [*special, *(word for word in words.words if word not in special)]
    index = {word: number for number, word in enumerate(vocabulary)}
    numbers = np.array([index[word] for word in words.words], np.uint32)
    ended = np.insert(numbers[ids], starts[1:], index["</s>"])
    tokens = SpecialTokens(start=0, end=1, unknown=2)
    offsets = starts + np.arange(len(starts))
    fitted = fit(ended, offsets, len(vocabulary), tokens, Ngram(order=ORDER), threads=threads)
    return fitted.model, vocabulary


def write_texts(options: Options) -> tuple[Path, Path]:
    """Training and test text, a sentence or paragraph a line: WikiText-2, else python-docs."""
    train = texts.write_lines(options, "wikitext-2/train.txt.gz")
    test = texts.write_lines(options, "wikitext-2/test.txt", options.choose(1, 4))
    if train and test:
        return train, test
    lines = [line for document in texts.python_docs() for line in document.splitlines() if line.split()]
    paths = options.folder / "train.txt", options.folder / "test.txt"
    cut = len(lines) * 9 // 10
    for path, part in zip(paths, (lines[:cut], lines[cut:]), strict=True):
        path.write_text("\n".join(part) + "\n", encoding="utf-8")
    return paths


# --- scoring ---


def our_scoring(settings: Settings, arpa: str, test: str) -> Callable[..., Any]:
    """From a text file to the scores of all its words; `check`: the log10 probability of each line."""
    from firth.ngram import document_sums, read_arpa
    from firth.ngram.scoring import score_lines

    model, vocabulary = read_arpa(arpa)

    def run(check: bool = False) -> Any:
        scores = score_lines(model, vocabulary, blocks(Path(test)), threads=settings.threads)
        if not check:
            return None
        sums = document_sums(scores.logprobs, scores.starts) / math.log(10)
        return {"sums": sums.tolist(), "tokens": len(scores.logprobs)}

    return run


def kenlm_score(settings: Settings, arpa: str, test: str) -> Callable[..., Any]:
    """KenLM's score of each line, which has no scores of words."""
    import kenlm

    model = kenlm.Model(arpa)

    def run(check: bool = False) -> Any:
        with Path(test).open(encoding="utf-8") as file:
            sums = [model.score(line) for line in file if line.split()]
        return {"sums": sums} if check else None

    return run


def kenlm_full_scores(settings: Settings, arpa: str, test: str) -> Callable[..., Any]:
    """KenLM's scores of all words, line by line."""
    import kenlm

    model = kenlm.Model(arpa)

    def run(check: bool = False) -> Any:
        with Path(test).open(encoding="utf-8") as file:
            scores = [list(model.full_scores(line)) for line in file if line.split()]
        return {"sums": [sum(word[0] for word in line) for line in scores]} if check else None

    return run


def scoring(options: Options) -> Iterator[Row]:
    """Words per second of a text file, from one ARPA file; KenLM's Python module has one thread."""
    from firth.ngram import write_arpa

    train, test = write_texts(options)
    arpa = options.folder / "model.arpa"
    write_arpa(*estimate(train, options.threads), arpa)
    one = Settings(1)
    programs = {
        "ours": Program(our_scoring, one),
        "ours, all threads": Program(our_scoring, Settings(options.threads)),
        "kenlm full_scores": Program(kenlm_full_scores, one, "kenlm"),
        "kenlm score": Program(kenlm_score, one, "kenlm"),
    }
    words = sum(len(line.split()) for line in test.read_text(encoding="utf-8").splitlines())
    with Comparison(programs, arpa=str(arpa), test=str(test)) as comparison:
        measured = comparison.measure(options.choose(3, 7))
        checked = comparison.measure(0, check=True)
    for peer, target in (("kenlm full_scores", FULL_SCORES), ("kenlm score", SCORE)):
        name = f"n-gram scoring: {peer}"
        yield speed_row(name, measured["ours"], measured.get(peer), words, "words/s", target)
        if options.threads > 1:
            pair = measured["ours, all threads"], measured.get(peer)
            yield speed_row(name, *pair, words, "words/s", target, f"{options.threads} threads")
    yield memory_row("n-gram scoring, ARPA file: kenlm", measured["ours"], measured.get("kenlm score"))
    yield load_row("n-gram scoring, ARPA file: kenlm", measured["ours"], measured.get("kenlm score"))
    yield _same_perplexity(checked)


def _same_perplexity(checked: dict[str, Measurement]) -> Row:
    """The perplexity of one ARPA file in both programs; scores of lines must agree."""
    ours, peer = checked["ours"].result, checked.get("kenlm score")
    sums = [ours["sums"], None if peer is None else peer.result["sums"]]
    if peer and max(abs(one - other) for one, other in zip(*sums, strict=True)) > 1e-3:  # sums of float32
        note("n-gram scoring: KenLM gives other scores than ours")
    perplexities = [None if each is None else 10 ** (-sum(each) / ours["tokens"]) for each in sums]
    return make_row("n-gram perplexity: the same in kenlm", *perplexities, "", lower_is_better=True, quality=True)


# --- estimation ---


def our_estimation(settings: Settings, text: str, arpa: str) -> Callable[[], None]:
    """From a text file to a model, and to an ARPA file if one is named."""
    from firth.ngram import write_arpa

    def run() -> None:
        model, vocabulary = estimate(Path(text), settings.threads)
        if arpa:
            write_arpa(model, vocabulary, f"{arpa}.ours")

    return run


def nltk_estimation(settings: Settings, text: str, arpa: str) -> Callable[[], None]:
    """nltk, which only counts now and smooths when it is asked."""
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    def run() -> None:
        lines = Path(text).read_text(encoding="utf-8").splitlines()
        ngrams, words = padded_everygram_pipeline(ORDER, [line.split() for line in lines])
        KneserNeyInterpolated(ORDER).fit(ngrams, words)

    return run


def lmplz(settings: Settings, text: str, arpa: str) -> Callable[[], None]:
    """KenLM's own estimation, from a text file to an ARPA file."""
    command = ["lmplz", "-o", str(ORDER), "--memory", "1G", "--discount_fallback", "--skip_symbols"]
    command += ["--temp_prefix", f"{Path(arpa).parent}/", "--text", text, "--arpa", f"{arpa}.lmplz"]
    return lambda: subprocess.run(command, check=True, capture_output=True) and None


def count_words(path: Path) -> int:
    """Of a file."""
    with path.open("rb") as file:
        return sum(len(line.split()) for line in file)


def estimation(options: Options) -> Iterator[Row]:
    """Words per second and peak memory: beside lmplz with the ARPA file, beside nltk on a part of the text."""
    train, _ = write_texts(options)
    every, one = Settings(options.threads), Settings(1)
    rounds, words = options.choose(3, 7), count_words(train)
    arpa = options.folder / "estimated"
    programs = {"ours": Program(our_estimation, every), "peer": Program(lmplz, every, "lmplz")}
    measured = compare(programs, rounds, text=str(train), arpa=str(arpa))
    name = f"n-gram estimation to ARPA, {words:,} words: lmplz"
    yield speed_row(name, measured["ours"], measured.get("peer"), words, "words/s", 1.0)
    yield memory_row(name, measured["ours"], measured.get("peer"))
    if "peer" in measured:
        yield _lmplz_perplexity(options, arpa)
    alone = compare({"ours": Program(our_estimation, every)}, rounds, text=str(train), arpa="")["ours"]
    yield speed_row(f"n-gram estimation, {words:,} words", alone, None, words, "words/s")
    yield memory_row(f"n-gram estimation, {words:,} words", alone, None)
    yield from _beside_nltk(options, train, one, every)


def _lmplz_perplexity(options: Options, arpa: Path) -> Row:
    """Of the test text, by the ARPA file of each."""
    test = str(write_texts(options)[1])
    results = [our_scoring(Settings(1), f"{arpa}.{program}", test)(check=True) for program in ("ours", "lmplz")]
    perplexities = [10 ** (-sum(each["sums"]) / each["tokens"]) for each in results]
    return make_row("n-gram perplexity: lmplz", *perplexities, "", 0.999, lower_is_better=True, quality=True)


def _beside_nltk(options: Options, train: Path, one: Settings, every: Settings) -> Iterator[Row]:
    part = options.folder / "part.txt"
    with train.open(encoding="utf-8") as source, part.open("w", encoding="utf-8") as file:
        file.writelines(itertools.islice(source, options.choose(1500, 6000)))
    programs = {
        "ours": Program(our_estimation, one),
        "all": Program(our_estimation, every),
        "peer": Program(nltk_estimation, one, "nltk"),
    }
    measured, words = compare(programs, options.choose(2, 3), text=str(part), arpa=""), count_words(part)
    name, peer = f"n-gram estimation, {words:,} words: nltk (counts only)", measured.get("peer")
    yield speed_row(name, measured["ours"], peer, words, "words/s")
    if options.threads > 1:
        yield speed_row(name, measured["all"], peer, words, "words/s", None, f"{options.threads} threads")
    yield memory_row(name, measured["ours"], peer)


# --- quality ---


def quality(options: Options) -> Iterator[Row]:
    """Penn Treebank: words as they are, a sentence a document."""
    import numpy as np

    from firth.ngram.scoring import score_lines

    train, test = (texts.write_lines(options, f"ptb-lm/{name}") for name in ("ptb.train.txt.gz", "ptb.test.txt"))
    if train is None or test is None:
        return
    model, vocabulary = estimate(train, options.threads)
    scores = score_lines(model, vocabulary, blocks(test))
    perplexity = math.exp(-scores.logprobs.mean(dtype=np.float64))
    name = "n-gram perplexity, Penn Treebank test (limit)"
    yield make_row(name, perplexity, PTB_PERPLEXITY, "", 1.0, lower_is_better=True, quality=True)


PARTS: dict[str, Part] = {"scoring": scoring, "estimation": estimation, "quality": quality}
