"""`firth vectors evaluate | senses`: evaluation of word vectors, and word sense induction."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.console import print_json, print_table, read_words, require_writable, sanitise
from firth.cli.options import DATA, ENCODING, JSON, SEED, TEXT, field_type
from firth.cli.vectors_arguments import KIND, LEXICON, METHOD, VECTORS, WORDS, load_vectors
from firth.embeddings.lookup import EvaluationOptions
from firth.errors import FirthError

if TYPE_CHECKING:
    from firth.embeddings.evaluation import Table
    from firth.embeddings.lookup import Result
    from firth.embeddings.senses import Superposition, WordSenses
    from firth.embeddings.word_vectors import Neighbour, WordVectors

PUBLIC_SETS = ("word-similarity", "scws", "word-analogy", "word-categorization")  # where none is named
Case, Oov = field_type(EvaluationOptions, "case"), field_type(EvaluationOptions, "oov")


def evaluate(
    vectors: VECTORS,
    sets: Annotated[
        list[str] | None,
        typer.Argument(metavar="FOLDER|FILE|SET", help="Evaluation sets; the public ones by default."),
    ] = None,
    others: Annotated[
        list[Path] | None, typer.Option("--with", metavar="VECTORS", help="Other vectors, to compare; repeatable.")
    ] = None,
    sections: Annotated[bool, typer.Option("--sections", help="Also the sections of each set.")] = False,
    restrict_vocab: Annotated[int, typer.Option(min=0, help="Only the n most frequent words; 0: all.")] = 0,
    case: Annotated[Case, typer.Option(help="fold: a word as written, else in lower case.")] = "fold",
    oov: Annotated[Oov, typer.Option(help="Vectors of out-of-vocabulary words.")] = "subwords",
    method: METHOD = "additive",
    seed: SEED = 0,
    kind: KIND = None,
    senses: Annotated[
        Path | None, typer.Option(help="Sense vectors of firth vectors senses, for words in context.")
    ] = None,
    wordnet: Annotated[bool, typer.Option("--wordnet", help="Also word pairs from WordNet.")] = False,
    lexicon: LEXICON = "",
    classify: Annotated[
        list[str] | None, typer.Option(metavar="SET", help="Also a classifier on mean vectors of a data set's texts.")
    ] = None,
    data: DATA = None,
    as_json: JSON = False,
) -> None:
    """Evaluate vectors on word similarity, analogies, categorisation and words in context."""
    from dataclasses import replace

    from firth.cli.lexicon_queries import open_named
    from firth.embeddings.evaluation import evaluate_similarity
    from firth.embeddings.senses import WordSenses
    from firth.embeddings.wordnet import wordnet_pairs

    options = EvaluationOptions(case=case, oov=oov, method=method, restrict_vocab=restrict_vocab, seed=seed)
    net = open_named(lexicon) if wordnet or lexicon else None
    paths = _find_sets(sets or [], data, bool(net or classify))
    sense_vectors, tables, pairs = WordSenses.load(senses) if senses else None, {}, []
    for path in [vectors, *(others or [])]:
        store = load_vectors(path, kind)
        table = _evaluate_sets(store, paths, options, sense_vectors)
        pairs = pairs or (wordnet_pairs(net, store, seed=seed) if net else [])  # of the first vectors' words, for all
        more = [evaluate_similarity(store, pairs, f"WordNet ({net.name})", options)] if net else []
        more += [_evaluate_classifier(store, name, options, data) for name in classify or []]
        tables[str(path)] = replace(table, results=(*table.results, *more))
    for name, table in tables.items() if as_json else ():
        print_json(_to_json(name, table, sections))
    if not as_json:
        _print(tables, sections)


def _find_sets(names: list[str], data: Path | None, optional: bool) -> list[Path]:
    """The files and folders of the evaluation sets; without names, the public sets that are there."""
    from firth.datasets import sets

    known, paths = sets.all_sets(data), []
    names = names or [name for name in PUBLIC_SETS if known[name].is_present()]
    if not names and not optional:
        raise FirthError("no evaluation sets", do="give files or a folder of them, or --data or FIRTH_DATA")
    for name in names:
        if Path(name).exists() or name not in known:
            paths.append(Path(name))
        else:
            dataset = sets.find(name, data)
            paths += [path for split in dataset.splits for path in dataset.paths(split)]
    return paths


def _evaluate_sets(
    store: WordVectors, paths: list[Path], options: EvaluationOptions, senses: WordSenses | None
) -> Table:
    """The results; a file that was named and is no evaluation set is an error."""
    from firth.embeddings.evaluation import evaluate_folder

    def show_progress(result: Result) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{sanitise(result.name)} …", end="", file=sys.stderr, flush=True)

    table = evaluate_folder(store, paths, options, senses, show_progress)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    named = {str(path) for path in paths}
    for path, reason in table.skipped:
        if path in named:
            raise FirthError(reason if reason.startswith(path) else f"{path}: {reason}")
    return table


def _evaluate_classifier(store: WordVectors, name: str, options: EvaluationOptions, data: Path | None) -> Result:
    """A classifier trained on the first split of a data set, tested on its test split, or its last."""
    from firth.datasets import sets
    from firth.embeddings.extrinsic import evaluate_classification

    dataset = sets.find(name, data)
    splits = list(dataset.splits)
    test = "test" if "test" in splits else splits[-1]
    if dataset.task != "classification" or test == splits[0]:
        raise FirthError("not a classification data set with a test split", where=name, do="see firth data")
    return evaluate_classification(store, dataset.examples(splits[0]), dataset.examples(test), name, options)


def _to_json(name: str, table: Table, sections: bool) -> dict[str, Any]:
    def row(result: Result) -> dict[str, Any]:
        about = {"set": result.name, "kind": result.kind, "scores": [score.to_dict() for score in result.scores],
                 "answered": result.answered, "total": result.total, "oov_words": list(result.oov_words)}  # fmt: skip
        nested = {"sections": [row(section) for section in result.sections]} if sections and result.sections else {}
        return {**about, **nested}

    return {"vectors": name, "results": [row(result) for result in table.results], "skipped": dict(table.skipped)}


def _print(tables: dict[str, Table], sections: bool) -> None:
    first, *others = tables.values()
    scores = {name: _scores(table, sections) for name, table in tables.items()}
    rows = []
    for row in first.rows(sections):
        cells = {"set": sanitise(row["set"]), "score": row["score"]}
        if others:
            values = {name: each.get((row["set"], row["kind"]), "n/a") for name, each in scores.items()}
            rows.append({**cells, **values, "asked": f"{row['asked']:,}"})
        else:
            counts = {key: f"{row[key]:,}" for key in ("answered", "asked", "unknown words")}
            rows.append({**cells, "value": _number(row["value"]), **counts})
    print_table(rows, full_width=True)
    if others:
        print("in brackets: questions answered; scores over different questions are not comparable")
    skipped = [Path(path).name for path, _ in first.skipped]
    if skipped:
        print(f"note: no evaluation set in {', '.join(skipped[:4])}{' …' if len(skipped) > 4 else ''}")


def _scores(table: Table, sections: bool) -> dict[tuple[str, str], str]:
    """The score of each set, and the number of questions answered."""
    rows = table.rows(sections)
    return {(row["set"], row["kind"]): f"{_number(row['value'])} ({row['answered']:,})" for row in rows}


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:z.4f}"


# --- senses -----------------------------------------------------------------------------------------------------------


def senses(
    vectors: VECTORS,
    words: WORDS,
    text: TEXT = "python-docs",
    count: Annotated[int, typer.Option(min=1, help="Neighbours to print for each sense.")] = 8,
    window: Annotated[int, typer.Option(min=1, help="Words of context on each side.")] = 5,
    max_senses: Annotated[int, typer.Option(min=1, help="Senses of a word at most.")] = 4,
    seed: SEED = 0,
    encoding: ENCODING = "utf-8",
    out: Annotated[Path | None, typer.Option(help="Save the sense vectors to this file.")] = None,
    as_json: JSON = False,
) -> None:
    """Word sense induction: cluster the contexts of words in a text."""
    from firth.embeddings.senses import InductionOptions, induce_senses, measure_superposition

    store, queries = load_vectors(vectors), list(read_words(words))
    require_writable(out)
    options = InductionOptions(window=window, max_senses=max_senses, seed=seed)
    induced = induce_senses(store, read_sentences(text, encoding), queries, options)
    superposition = measure_superposition(store, induced)
    if out:
        induced.save(out)
    neighbours = {word: _sense_neighbours(store, induced, word, count) for word in induced.words}
    missing = [word for word in queries if word not in induced]
    _print_senses(neighbours, induced, superposition, missing, as_json)


def _sense_neighbours(
    store: WordVectors, induced: WordSenses, word: str, count: int
) -> list[tuple[float, list[Neighbour]]]:
    """The fraction of each sense, and its nearest words other than the word itself."""
    senses = []
    for vector, fraction in zip(*induced.senses_of(word), strict=True):
        nearest = store.most_similar([vector], topn=count + 1)
        senses.append((float(fraction), [each for each in nearest if each.word != word][:count]))
    return senses


def read_sentences(text: str, encoding: str) -> Iterator[list[str]]:
    from firth.config import core, schema
    from firth.datasets.sources import open_source
    from firth.datasets.token_cache import default_cache
    from firth.tokenizers.split import split_sentences, split_words

    data = core.override(schema.Text(), [f"text={text}", f"encoding={encoding}"])
    for document in open_source(data.text, data, default_cache() / "spool"):
        yield from map(split_words, split_sentences(document))


def _print_senses(
    neighbours: dict[str, list[tuple[float, list[Neighbour]]]],
    induced: WordSenses,
    superposition: Superposition,
    missing: list[str],
    as_json: bool,
) -> None:
    if as_json:
        rows = {
            word: [{"fraction": fraction, "neighbours": [each._asdict() for each in row]} for fraction, row in senses]
            for word, senses in neighbours.items()
        }
        print_json({"senses": rows, "superposition": superposition.to_dict(), "not_in_text": missing})
        return
    for (word, senses), contexts in zip(neighbours.items(), induced.counts, strict=True):
        print(f"{sanitise(word)}: {len(senses)} sense{'s' * (len(senses) > 1)} in {contexts:,} contexts, "
              f"cosine with their weighted sum {superposition.per_word[word]:z.4f}")  # fmt: skip
        for fraction, row in senses:
            print(f"  {fraction:.2f}  {' '.join(sanitise(each.word) for each in row)}")
    means = {
        "weighted": superposition.weighted,
        "unweighted": superposition.unweighted,
        "dominant": superposition.dominant,
    }
    means |= {"another word's": superposition.baseline} if len(neighbours) > 1 else {}
    cosines = ", ".join(f"{name} {value:z.4f}" for name, value in means.items())
    print(f"mean cosine of words with the sum of their senses: {cosines}")
    if missing:
        print(f"note: not in the text: {', '.join(map(sanitise, missing))}")
