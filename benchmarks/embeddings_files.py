"""Word vectors in files and whole trainings: loading time, and peak memory with reading and saving."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import texts
from benchmarks.harness import Options, Row, Settings, memory_row, time_row
from benchmarks.processes import Program, compare, compare_cold

# --- loading ---


def our_loading(settings: Settings, path: str, peer_path: str) -> Callable[[], str]:
    """From a file to the first neighbours."""
    from firth.embeddings.word_vectors import WordVectors

    return lambda: WordVectors.load(path).most_similar("w77")[0][0]


def gensim_loading(settings: Settings, path: str, peer_path: str) -> Callable[[], str]:
    """The same by gensim."""
    from gensim.models import KeyedVectors

    binary = peer_path.endswith(".bin")
    return lambda: KeyedVectors.load_word2vec_format(peer_path, binary=binary).most_similar("w77")[0][0]


def loading(options: Options) -> Iterator[Row]:
    """Seconds and memory from the start of a process to the first neighbours, of three formats."""
    import numpy as np

    from firth.embeddings.word_vectors import WordVectors

    words, settings = options.choose(20_000, 1_000_000), Settings(options.threads)
    values = np.random.default_rng(1).standard_normal((words, 300), dtype=np.float32)
    vectors = WordVectors([f"w{number}" for number in range(words)], values)
    programs = {"ours": Program(our_loading, settings), "gensim": Program(gensim_loading, settings, "gensim")}
    for ending in (".bin", ".txt", ".safetensors"):
        path = options.folder / f"vectors{ending}"
        vectors.save(path)
        peer_path = options.folder / "vectors.bin" if ending == ".safetensors" else path
        measured = compare_cold(programs, options.choose(2, 3), path=str(path), peer_path=str(peer_path))
        name = f"loading {words:,} x 300, {ending}: gensim"
        yield time_row(name, measured["ours"], measured.get("gensim"), 3.0)
        yield memory_row(name, measured["ours"], measured.get("gensim"))


# --- memory of a whole training ---


def our_run(settings: Settings, plain: str, preset: str) -> Callable[[], None]:
    """`firth train`: reading, one epoch, saving."""
    import firth

    chosen = {"data.valid_fraction": 0, "data.document": "line", "tokenizer.split": "whitespace"}
    out = Path(plain).with_name(f"run-{preset}")

    def run() -> None:
        firth.train(preset, text=plain, out=out, epochs=1, threads=settings.threads, settings=chosen)

    return run


def gensim_run(settings: Settings, plain: str, preset: str) -> Callable[[], None]:
    """The same by gensim."""
    from gensim.models import Word2Vec

    def run() -> None:
        skip_gram = int(preset == "skipgram")
        Word2Vec(corpus_file=plain, vector_size=100, sg=skip_gram, epochs=1, workers=settings.threads).save(
            str(Path(plain).with_name(f"gensim-{preset}"))
        )

    return run


def fasttext_run(settings: Settings, plain: str, preset: str) -> Callable[[], None]:
    """The same by fastText."""
    import fasttext as library

    def run() -> None:
        model = library.train_unsupervised(plain, dim=100, epoch=1, thread=settings.threads, verbose=0)
        model.save_model(str(Path(plain).with_name("fasttext.bin")))

    return run


def memory(options: Options) -> Iterator[Row]:
    """Peak memory of a whole training of one epoch, reading and saving included."""
    plain, settings = str(texts.write_words(options, options.choose(300_000, 2_000_000))), Settings(options.threads)
    peers = {"gensim": gensim_run, "fasttext": fasttext_run}
    for preset, peer in (("skipgram", "gensim"), ("cbow", "gensim"), ("fasttext", "fasttext")):
        programs = {"ours": Program(our_run, settings), "peer": Program(peers[peer], settings, peer)}
        measured = compare(programs, 0, plain=plain, preset=preset)
        yield memory_row(f"{preset}, whole training: {peer}", measured["ours"], measured.get("peer"))
