"""`firth lexicon info | synsets | senses | relations | hypernyms | hyponyms | similar | lemmas`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.console import print_json, print_table, progress_line, read_words, sanitise
from firth.cli.options import DOCUMENT, ENCODING, JSON, choice
from firth.errors import FirthError
from firth.lexicon.synsets import PARTS_OF_SPEECH

if TYPE_CHECKING:
    from firth.lexicon import InformationContent, Lexicon, Sense, Synset

LEXICON = Annotated[
    str,
    typer.Option(
        help="A folder with data.noun, a file in WN-LMF, world, nltk, or a lexicon of wn; by default FIRTH_LEXICON."
    ),
]
POS = Annotated[choice(("", *PARTS_OF_SPEECH)), typer.Option(help="Part of speech; all by default.")]
WORDS = Annotated[list[str], typer.Argument(metavar="WORD…", help="Words, or - for one per line.")]
NAME = Annotated[str, typer.Argument(metavar="WORD|SYNSET", help="A word, or a synset: dog.n.01.")]
_ENOUGH = 10_000  # synsets of a tree that are printed at most


def open_named(name: str) -> Lexicon:
    """The lexicon of this name; what takes a while is said."""
    from firth.lexicon import open_lexicon

    return open_lexicon(name, lambda line: print(line, file=sys.stderr))


def info(lexicon: LEXICON = "", as_json: JSON = False) -> None:
    """Describe the lexicon: where it is, and the number of its synsets."""
    opened = open_named(lexicon)
    counts = {name: sum(1 for _ in opened.reader.taxonomy(pos)) for pos, name in PARTS_OF_SPEECH.items()}
    about = {"name": opened.name, "language": opened.reader.language, "place": opened.reader.place}
    irregular = bool(getattr(opened.reader, "has_exceptions", True))
    if as_json:
        print_json({**about, "synsets": counts, "irregular_forms": irregular})
        return
    rows = {**about, **{f"{name} synsets": f"{count:,}" for name, count in counts.items()}}
    rows["irregular forms"] = "yes" if irregular else "none: there are no files noun.exc, verb.exc …"
    for name, value in rows.items():
        print(f"{name:<17}  {sanitise(str(value))}")


def synsets(words: WORDS, pos: POS = "", lexicon: LEXICON = "", as_json: JSON = False) -> None:
    """List the synsets of words: their names, words and definitions."""
    opened = open_named(lexicon)
    for number, word in enumerate(read_words(words)):
        entries = opened.find(word, pos)
        if as_json:
            print_json({"word": word, "synsets": [_to_json(opened, synset) for synset in entries]})
            continue
        if number:
            print()
        for synset in entries:
            print(_line(opened, synset))
            for example in synset.examples:
                print(f"    {sanitise(example)}")


def senses(words: WORDS, pos: POS = "", lexicon: LEXICON = "", as_json: JSON = False) -> None:
    """List the senses of words: number, key, count, antonyms and related forms."""
    opened = open_named(lexicon)
    for number, word in enumerate(read_words(words)):
        if not opened.find(word, pos):
            continue
        rows = [_sense_row(opened, sense) for sense in opened.senses(word, pos)]
        if as_json:
            print_json({"word": word, "senses": rows})
            continue
        if number:
            print()
        shown = [{**row, "count": str(row["count"]), **{k: ", ".join(row[k]) for k in _LEXICAL}} for row in rows]
        empty = [key for key in shown[0] if all(row[key] in ("", "0") for row in shown)] if shown else []
        print_table([{key: sanitise(row[key]) for key in row if key not in empty} for row in shown], full_width=True)


_LEXICAL = ("antonyms", "related forms")  # of the word in this sense


def _sense_row(lexicon: Lexicon, sense: Sense) -> dict[str, Any]:
    kinds = {"antonyms": ("antonym",), "related forms": ("derivation", "pertainym", "participle")}
    related = {name: list(_lexically_related(lexicon, sense, of)) for name, of in kinds.items()}
    about = {"sense": sense.name, "key": sense.key, "count": sense.count}
    return {**about, **related, "definition": sense.synset.definition}


def _lexically_related(lexicon: Lexicon, sense: Sense, kinds: tuple[str, ...]) -> Iterator[str]:
    """The words that a sense is related to."""
    words = [word.lower() for word in sense.synset.words]
    number = words.index(sense.word) + 1 if sense.word in words else 0
    for relation in sense.synset.relations:
        if relation.kind in kinds and relation.word in (0, number):
            targets = lexicon.reader.synset(relation.target).words
            yield targets[max(0, relation.target_word - 1)]


def relations(name: NAME, pos: POS = "", lexicon: LEXICON = "", as_json: JSON = False) -> None:
    """List all relations of the synsets of a word, or of one synset."""
    opened = open_named(lexicon)
    entries = opened.find(name, pos)
    if as_json:
        print_json([{**_to_json(opened, synset), "relations": _relations(opened, synset)} for synset in entries])
        return
    for number, synset in enumerate(entries):
        print(("\n" if number else "") + _line(opened, synset))
        for kind, targets in _relations(opened, synset).items():
            print(f"  {kind}: {sanitise(', '.join(targets))}")


def _relations(lexicon: Lexicon, synset: Synset) -> dict[str, list[str]]:
    """The names of the related synsets by relation."""
    kinds = dict.fromkeys(relation.kind for relation in synset.relations)
    return {kind.replace("_", " "): list(map(lexicon.sense_name, lexicon.related(synset, kind))) for kind in kinds}


# --- trees ----------------------------------------------------------------------------------------------------------


def hypernyms(
    name: NAME,
    levels: Annotated[int, typer.Option(min=0, help="Levels to print; 0: all.")] = 0,
    pos: POS = "",
    lexicon: LEXICON = "",
    as_json: JSON = False,
) -> None:
    """Print what is above the synsets of a word, level by level."""
    _print_trees(name, pos, lexicon, levels, "hypernyms", as_json)


def hyponyms(
    name: NAME,
    levels: Annotated[int, typer.Option(min=0, help="Levels to print; 0: all.")] = 1,
    pos: POS = "",
    lexicon: LEXICON = "",
    as_json: JSON = False,
) -> None:
    """Print what is below the synsets of a word, level by level."""
    _print_trees(name, pos, lexicon, levels, "hyponyms", as_json)


def _print_trees(name: str, pos: str, lexicon: str, levels: int, direction: str, as_json: bool) -> None:
    opened = open_named(lexicon)
    follow = getattr(opened, direction)
    entries = opened.find(name, pos)
    if as_json:
        print_json([_tree_json(opened, synset, follow, levels or _ENOUGH, direction, ()) for synset in entries])
        return
    printed = 0
    for number, synset in enumerate(entries):
        if number:
            print()
        for depth, below in _walk(synset, follow, levels or _ENOUGH, ()):
            printed += 1
            if printed > _ENOUGH:
                raise FirthError(f"more than {_ENOUGH:,} synsets", where=name, do="give fewer --levels, or --json")
            print("  " * depth + _line(opened, below))


Follow = Callable[["Synset"], tuple["Synset", ...]]


def _walk(synset: Synset, follow: Follow, levels: int, above: tuple[str, ...]) -> Iterator[tuple[int, Synset]]:
    """The synset and those that `follow` leads to, depth first; a cycle ends where it closes."""
    yield len(above), synset
    if len(above) < levels:
        for other in follow(synset):
            if other.id not in above and other.id != synset.id:
                yield from _walk(other, follow, levels, (*above, synset.id))


def _tree_json(
    lexicon: Lexicon, synset: Synset, follow: Follow, levels: int, direction: str, above: tuple[str, ...]
) -> dict[str, Any]:
    others = [other for other in follow(synset) if other.id not in (*above, synset.id)] if len(above) < levels else []
    nested = [_tree_json(lexicon, each, follow, levels, direction, (*above, synset.id)) for each in others]
    return {**_to_json(lexicon, synset), direction: nested}


# --- similarity and lemmas ------------------------------------------------------------------------------------------


def similar(
    a: Annotated[str, typer.Argument(metavar="A", help="A word, or a synset: dog.n.01.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    text: Annotated[str, typer.Option(help="Text to count words in, for Resnik, Lin and Jiang-Conrath.")] = "",
    pos: POS = "",
    lexicon: LEXICON = "",
    document: DOCUMENT = "auto",
    encoding: ENCODING = "utf-8",
    as_json: JSON = False,
) -> None:
    """Print the similarity of two words or synsets by every measure, and their lexical relation."""
    from firth.lexicon import MEASURES, word_similarity
    from firth.lexicon.semantic_similarity import BY_PATH

    opened = open_named(lexicon)
    content = _count(opened, text, document, encoding) if text else None
    best_of = {m: word_similarity(opened, a, b, m, content, pos) for m in (MEASURES if content else BY_PATH)}
    rows = [
        {"measure": measure, "value": None if best is None else best.value,
         "synsets": [] if best is None else [opened.sense_name(each) for each in (best.left, best.right)]}
        for measure, best in best_of.items()
    ]  # fmt: skip
    relation = opened.relation(a, b)
    if as_json:
        print_json({"words": [a, b], "relation": relation, "similarities": rows})
        return
    shown = ({**row, "value": "n/a" if row["value"] is None else f"{row['value']:.4f}"} for row in rows)
    print_table([{**row, "synsets": "  ".join(row["synsets"])} for row in shown], full_width=True)
    if relation:
        print(f"{sanitise(b)} is {_RELATION_NAMES[relation]} of {sanitise(a)}")


_RELATION_NAMES = {
    "form": "a form", "synonym": "a synonym", "antonym": "an antonym", "hypernym": "a hypernym", "hyponym": "a hyponym",
    "co-hyponym": "a co-hyponym",
}  # fmt: skip


def _count(lexicon: Lexicon, text: str, document: str, encoding: str) -> InformationContent:
    """The information content by the words of a text."""
    from firth.config import core, schema
    from firth.corpus import open_corpus, open_index
    from firth.lexicon import information_content

    data = core.override(schema.Text(), [f"text={text}", f"document={document}", f"encoding={encoding}"])
    index = open_index(open_corpus(data.text, data), on_progress=progress_line("indexing")).fold_case()
    counts = index.counts.tolist()
    return information_content(lexicon, {index.types.word(at): count for at, count in enumerate(counts) if count})


def lemmas(words: WORDS, pos: POS = "", lexicon: LEXICON = "", as_json: JSON = False) -> None:
    """Print the lemmas (base forms) of word forms that the lexicon has, by exceptions and rules (morphy)."""
    opened = open_named(lexicon)
    for word in read_words(words):
        pairs = opened.lemmas(word, pos)
        if as_json:
            print_json({"word": word, "lemmas": [{"lemma": lemma, "pos": part} for lemma, part in pairs]})
        else:
            shown = ", ".join(f"{lemma} ({PARTS_OF_SPEECH[part]})" for lemma, part in pairs)
            print(f"{sanitise(word)}  {sanitise(shown) or 'not in the lexicon'}")


# --- synsets as text and JSON ---------------------------------------------------------------------------------------


def _line(lexicon: Lexicon, synset: Synset) -> str:
    about = f"{', '.join(synset.words)}: {synset.definition}"
    return f"{sanitise(lexicon.sense_name(synset))}  {sanitise(about)}"


def _to_json(lexicon: Lexicon, synset: Synset) -> dict[str, Any]:
    about = {"name": lexicon.sense_name(synset), "id": synset.id, "pos": synset.pos, "words": list(synset.words)}
    return {**about, "definition": synset.definition, "examples": list(synset.examples)}
