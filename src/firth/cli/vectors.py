"""`firth vectors info | neighbours | similarity | analogy | odd-one-out | recommend | convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli.console import print_json, print_scores, read_words, sanitise
from firth.cli.options import COUNT, JSON, choice
from firth.cli.vectors_arguments import KIND, LEXICON, METHOD, RESTRICT_VOCAB, VECTORS, WORDS, load_vectors
from firth.embeddings.formats import FORMATS
from firth.errors import FirthError


def info(vectors: VECTORS, as_json: JSON = False) -> None:
    """Describe word vectors: vocabulary, width, context vectors, subwords, size."""
    store = load_vectors(vectors)
    subwords = store.subwords
    about: dict[str, Any] = {
        "words": len(store),
        "width": store.width,
        "mean_norm": round(float(store.norms.mean()), 4),
        "context_vectors": store.context is not None,
        "tokens": None if store.counts is None else int(store.counts.sum()),
        "subwords": subwords and {"min_n": subwords.min_n, "max_n": subwords.max_n, "buckets": subwords.bucket_count},
        "bytes": _size(vectors),
        "first": store.words[:10],
    }
    if as_json:
        print_json(about)
        return
    for key, value in about.items():
        print(f"{key.replace('_', ' '):<16} {_format(value)}")


def _format(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {number:,}" for key, number in value.items())
    if isinstance(value, list):
        return " ".join(map(sanitise, value))
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"


def _size(path: Path) -> int:
    """Bytes of the file, or of the vectors' files in a folder."""
    if path.is_file():
        return path.stat().st_size
    files = [path / name for name in ("model.safetensors", "vectors.tsv", "metadata.tsv")]
    return sum(file.stat().st_size for file in files if file.is_file())


def neighbours(
    vectors: VECTORS,
    words: WORDS,
    count: COUNT = 10,
    restrict_vocab: RESTRICT_VOCAB = 0,
    kind: KIND = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Approximate search: fast for many queries, may miss some.")
    ] = False,
    wordnet: Annotated[bool, typer.Option("--wordnet", help="Print the WordNet relation of each neighbour.")] = False,
    lexicon: LEXICON = "",
    as_json: JSON = False,
) -> None:
    """List the nearest neighbours of words."""
    from firth.cli.lexicon_queries import open_named

    if approximate and restrict_vocab:
        raise FirthError("--approximate searches all words", do="leave out --restrict-vocab or --approximate")
    net = open_named(lexicon) if wordnet or lexicon else None
    store = load_vectors(vectors, kind)
    index = store.approximate_index() if approximate else None
    for number, word in enumerate(read_words(words)):
        nearest = store.most_similar(word, topn=count, restrict_vocab=restrict_vocab or None, index=index)
        relations = [net.relation(word, neighbour.word) for neighbour in nearest] if net else []
        if as_json:
            rows = [neighbour._asdict() for neighbour in nearest]
            for row, relation in zip(rows, relations, strict=False):
                row["relation"] = relation
            print_json({"word": word, "neighbours": rows})
            continue
        print(("\n" if number else "") + sanitise(word))
        print_scores(nearest, relations)


def similarity(
    vectors: VECTORS,
    a: Annotated[str, typer.Argument(metavar="A", help="A word.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another word.")],
    kind: KIND = None,
    as_json: JSON = False,
) -> None:
    """Print the cosine similarity of two words."""
    cosine = load_vectors(vectors, kind).similarity(a, b)
    print_json({"a": a, "b": b, "similarity": cosine}) if as_json else print(f"{cosine:z.4f}")


def analogy(
    vectors: VECTORS,
    a: Annotated[str, typer.Argument(metavar="A", help="A is to …")],
    b: Annotated[str, typer.Argument(metavar="B", help="… B as …")],
    c: Annotated[str, typer.Argument(metavar="C", help="… C is to what?")],
    count: COUNT = 5,
    method: METHOD = "additive",
    restrict_vocab: RESTRICT_VOCAB = 0,
    kind: KIND = None,
    as_json: JSON = False,
) -> None:
    """Solve an analogy: A is to B as C is to what?"""
    store = load_vectors(vectors, kind)
    answers = store.most_similar([b, c], [a], topn=count, method=method, restrict_vocab=restrict_vocab or None)
    if as_json:
        print_json({"a": a, "b": b, "c": c, "method": method, "answers": [answer._asdict() for answer in answers]})
        return
    print(f"{sanitise(a)} is to {sanitise(b)} as {sanitise(c)} is to")
    print_scores(answers)


def odd_one_out(
    vectors: VECTORS,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Three words or more.")],
    kind: KIND = None,
    as_json: JSON = False,
) -> None:
    """Print the word that does not match the others."""
    if len(words) < 3:
        raise FirthError(f"no odd one out among {len(words)} words", do="give three or more")
    odd = load_vectors(vectors, kind).doesnt_match(words)
    print_json({"words": words, "odd": odd}) if as_json else print(sanitise(odd))


def recommend(
    vectors: VECTORS,
    items: Annotated[list[str], typer.Argument(metavar="ITEM", help="Items, such as a basket, or - for one per line.")],
    count: COUNT = 10,
    restrict_vocab: RESTRICT_VOCAB = 0,
    kind: KIND = None,
    as_json: JSON = False,
) -> None:
    """List the items nearest to the mean of some items."""
    query = list(read_words(items, "item"))
    nearest = load_vectors(vectors, kind).most_similar(query, topn=count, restrict_vocab=restrict_vocab or None)
    if as_json:
        print_json({"items": query, "recommended": [neighbour._asdict() for neighbour in nearest]})
        return
    print_scores(nearest)


def convert(
    vectors: VECTORS,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, or a folder for the projector.")],
    to: Annotated[choice(FORMATS) | None, typer.Option(help="Format; by default that of the file's extension.")] = None,
    kind: KIND = None,
    top: Annotated[int, typer.Option(min=0, help="Only the n most frequent words; 0: all.")] = 0,
    as_json: JSON = False,
) -> None:
    """Convert word vectors to another format, or to a smaller vocabulary.

    The run of a fastText classifier becomes a whole model in fastText's format.
    """
    if (out / "config.json").is_file() or (out.parent / "config.json").is_file():
        raise FirthError("this would change a run", where=out, do="write the file somewhere else")
    if _is_classifier(vectors) and (to or out.suffix.removeprefix(".")) in ("fasttext", "bin"):
        from firth import api

        api.load(vectors).export(out)
        print_json({"file": str(out)}) if as_json else print(f"{out}: a fastText classifier")
        return
    store = load_vectors(vectors, kind)
    store = store.most_frequent(top) if top else store
    store.save(out, to or "")
    about = {"file": str(out), "words": len(store), "width": store.width, "bytes": _size(out)}
    if as_json:
        print_json(about)
        return
    print(f"{out}: {len(store):,} words, width {store.width:,}, {about['bytes']:,} bytes")


def _is_classifier(path: Path) -> bool:
    from firth.config.schema import FastTextClassifier
    from firth.runs.run_folder import Run

    return (path / "config.json").is_file() and isinstance(Run(path).record.config, FastTextClassifier)
