"""`firth vectors evaluate | senses`: how good vectors are, and the meanings of a word in a text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli import stores
from firth.cli.tables import show
from firth.errors import FirthError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firth.vectors.asking import Asking, Result
    from firth.vectors.evaluation import Table
    from firth.vectors.senses import Law, Senses
    from firth.vectors.store import Neighbour, WordVectors

# The public sets that are asked where none is named.
QUESTIONS = ("word-similarity", "scws", "word-analogy", "word-categorization")


def evaluate(
    vectors: stores.VECTORS,
    sets: Annotated[
        list[str] | None,
        typer.Argument(metavar="FOLDER|FILE|SET...", help="Questions about words; the public sets otherwise."),
    ] = None,
    others: Annotated[
        list[Path] | None, typer.Option("--with", metavar="VECTORS", help="Other vectors, to compare; repeat for more.")
    ] = None,
    parts: Annotated[bool, typer.Option("--parts", help="Also the sections of each set.")] = False,
    among: Annotated[int, typer.Option(min=0, help="Only so many words, the most frequent; 0: all.")] = 0,
    case: Annotated[str, typer.Option(help="fold (as written, else in lower case) or exact.")] = "fold",
    unseen: Annotated[str, typer.Option(help="Words without a vector: subwords or skip.")] = "subwords",
    how: stores.HOW = "additive",
    seed: stores.SEED = 0,
    kind: stores.KIND = "",
    senses: Annotated[
        Path | None, typer.Option(help="Senses that firth vectors senses kept, for words in context.")
    ] = None,
    wordnet: Annotated[bool, typer.Option("--wordnet", help="Also pairs made from WordNet.")] = False,
    lexicon: stores.LEXICON = "",
    classify: Annotated[
        list[str] | None, typer.Option(metavar="SET", help="Also a classifier on the mean vectors of a set's texts.")
    ] = None,
    data: stores.DATA = None,
    as_json: stores.JSON = False,
) -> None:
    """Test vectors on similarity, analogies, categories, choices and words in context, a whole folder at once."""
    from dataclasses import replace

    from firth.vectors.asking import Asking
    from firth.vectors.evaluation import evaluate_similarity
    from firth.vectors.senses import Senses
    from firth.vectors.wordnet import open_wordnet, wordnet_pairs

    asking = Asking(_one_of("case", case, ("fold", "exact")), _one_of("unseen", unseen, ("subwords", "skip")),
                    _one_of("how", how, ("additive", "multiplicative")), among, seed)  # fmt: skip
    net = open_wordnet(lexicon) if wordnet or lexicon else None
    roots = _questions(sets or [], data, bool(net or classify))
    loaded, tables, pairs = Senses.load(senses) if senses else None, {}, []
    for path in [vectors, *(others or [])]:
        store = stores.opened(path, kind)
        table = _asked(store, roots, asking, loaded)
        pairs = pairs or (wordnet_pairs(net, store, seed=seed) if net else [])  # the first vectors' words, for all
        more = [evaluate_similarity(store, pairs, f"WordNet ({net.name})", asking)] if net else []
        more += [_classified(store, name, asking, data) for name in classify or []]
        tables[str(path)] = replace(table, results=(*table.results, *more))
    for name, table in tables.items() if as_json else ():
        stores.print_json(_values(name, table, parts))
    if not as_json:
        _print(tables, parts)


def _one_of(option: str, value: str, known: Sequence[str]) -> Any:
    from firth.errors import unknown

    if value not in known:
        raise unknown(f"value of --{option}", value, known)
    return value


def _questions(names: list[str], data: Path | None, other: bool) -> list[Path]:
    """The files and folders that are asked; without any, the public sets that are there."""
    from firth.data import sets

    known, found = sets.all_sets(data), []
    names = names or [name for name in QUESTIONS if known[name].present()]
    if not names and not other:
        raise FirthError("no questions about words", do="give files or a folder of them, or --data or FIRTH_DATA")
    for name in names:
        if Path(name).exists() or name not in known:
            found.append(Path(name))
        else:
            chosen = sets.find(name, data)
            found += [path for split in chosen.parts for path in chosen.paths(split)]
    return found


def _asked(store: WordVectors, roots: list[Path], asking: Asking, senses: Senses | None) -> Table:
    """The table; a file that was named and asks nothing is an error."""
    from firth.vectors.evaluation import evaluate_folder

    def tell(result: Result) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{stores.plain(result.name)} …", end="", file=sys.stderr, flush=True)

    found = evaluate_folder(store, roots, asking, senses, tell)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    named = {str(root) for root in roots}
    for path, reason in found.skipped:
        if path in named:
            raise FirthError(reason if reason.startswith(path) else f"{path}: {reason}")
    return found


def _classified(store: WordVectors, name: str, asking: Asking, data: Path | None) -> Result:
    """A classifier on a set: learned from its first split, tested on its test split, or its last."""
    from firth.data import sets
    from firth.vectors.classifying import evaluate_classification

    found = sets.find(name, data)
    splits = list(found.parts)
    test = "test" if "test" in splits else splits[-1]
    if found.task != "classification" or test == splits[0]:
        raise FirthError("not a set of labelled texts with a part to test on", where=name, do="see firth data")
    return evaluate_classification(store, found.examples(splits[0]), found.examples(test), name, asking)


def _values(name: str, table: Table, parts: bool) -> dict[str, Any]:
    def row(result: Result) -> dict[str, Any]:
        about = {"set": result.name, "kind": result.kind, "scores": [score.to_dict() for score in result.scores],
                 "answered": result.answered, "asked": result.asked, "unknown": list(result.unknown)}  # fmt: skip
        return {**about, "parts": [row(part) for part in result.parts]} if parts and result.parts else about

    return {"vectors": name, "results": [row(result) for result in table.results], "skipped": dict(table.skipped)}


def _print(tables: dict[str, Table], parts: bool) -> None:
    first, *others = tables.values()
    answers = {name: _answers(table, parts) for name, table in tables.items()}
    shown = []
    for row in first.rows(parts):
        cells = {"set": stores.plain(row["set"]), "score": row["score"]}
        if others:
            values = {name: found.get((row["set"], row["kind"]), "n/a") for name, found in answers.items()}
            shown.append({**cells, **values, "asked": f"{row['asked']:,}"})
        else:
            counts = {key: f"{row[key]:,}" for key in ("answered", "asked", "unknown words")}
            shown.append({**cells, "value": _number(row["value"]), **counts})
    show(shown, whole=True)
    if others:
        print("in brackets: questions answered; scores over different questions cannot be compared")
    skipped = [Path(path).name for path, _ in first.skipped]
    if skipped:
        print(f"note: no questions about words in {', '.join(skipped[:4])}{' …' if len(skipped) > 4 else ''}")


def _answers(table: Table, parts: bool) -> dict[tuple[str, str], str]:
    """The score of each set, and over how many questions."""
    rows = table.rows(parts)
    return {(row["set"], row["kind"]): f"{_number(row['value'])} ({row['answered']:,})" for row in rows}


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:z.4f}"


# --- senses -----------------------------------------------------------------------------------------------------------


def senses(
    vectors: stores.VECTORS,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words, or - to read one a line.")],
    text: Annotated[
        str, typer.Option(help="Files, folders, python-docs or world; several with commas.")
    ] = "python-docs",
    count: Annotated[int, typer.Option(min=1, help="Neighbours of each sense.")] = 8,
    window: Annotated[int, typer.Option(min=1, help="Words on each side that are a context.")] = 5,
    most: Annotated[int, typer.Option(min=1, help="Senses of a word at most.")] = 4,
    seed: stores.SEED = 0,
    encoding: Annotated[str, typer.Option(help="Of the text files.")] = "utf-8",
    out: Annotated[Path | None, typer.Option(help="Keep the senses in this file.")] = None,
    as_json: stores.JSON = False,
) -> None:
    """Find the senses of words in a text, and measure how near each word's vector is to their weighted sum."""
    from firth.runs import files
    from firth.vectors.senses import Inducing, induce, law

    store, asked = stores.opened(vectors), list(stores.words_of(words))
    if out:
        files.destination(out)  # told before the text is read, not after it
    found = induce(store, _sentences(text, encoding), asked, Inducing(window=window, most=most, seed=seed))
    measured = law(store, found)
    if out:
        found.save(out)
    listed = {word: _listed(store, found, word, count) for word in found.words}
    _print_senses(listed, found, measured, [word for word in asked if word not in found], as_json)


def _listed(store: WordVectors, found: Senses, word: str, count: int) -> list[tuple[float, list[Neighbour]]]:
    """The share of each sense, and the words nearest to it but for the word itself."""
    rows = (
        (float(share), store.most_similar([row], count=count + 1)) for row, share in zip(*found.of(word), strict=True)
    )
    return [(share, [near for near in row if near.word != word][:count]) for share, row in rows]


def _sentences(text: str, encoding: str):
    from firth.config import core, schema
    from firth.data.cache import default_cache
    from firth.data.sources import open_source
    from firth.text.split import sentences, words

    data = core.override(schema.Text(), [f"text={text}", f"encoding={encoding}"])
    for document in open_source(data.text, data, default_cache() / "spool"):
        yield from map(words, sentences(document))


def _print_senses(listed: dict[str, list], found: Senses, measured: Law, lost: list[str], as_json: bool) -> None:
    if as_json:
        rows = {
            word: [{"share": share, "neighbours": [near._asdict() for near in row]} for share, row in senses]
            for word, senses in listed.items()
        }
        stores.print_json({"senses": rows, "law": measured.to_dict(), "not_in_text": lost})
        return
    for (word, senses), places in zip(listed.items(), found.counts, strict=True):
        print(f"{stores.plain(word)}: {len(senses)} sense{'s' * (len(senses) > 1)} in {places:,} places, "
              f"cosine with their weighted sum {measured.each[word]:z.4f}")  # fmt: skip
        for share, row in senses:
            print(f"  {share:.2f}  {' '.join(stores.plain(near.word) for near in row)}")
    law = {"by shares": measured.weighted, "all alike": measured.equal, "largest alone": measured.largest}
    law |= {"another word's": measured.chance} if len(listed) > 1 else {}
    shown = ", ".join(f"{name} {value:z.4f}" for name, value in law.items())
    print(f"mean cosine of words with the sum of their senses: {shown}")
    if lost:
        print(f"note: not in the text: {', '.join(map(stores.plain, lost))}")
