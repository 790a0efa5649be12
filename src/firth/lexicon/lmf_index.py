"""A lexicon in WN-LMF as sorted text files in the cache: built once for a file, then looked up where they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from firth.datasets.token_cache import usable_cache
from firth.errors import FirthError
from firth.lexicon.lmf import LmfFile, hypernyms_of, make_synsets, read_lmf
from firth.lexicon.sorted_lines import SortedLines
from firth.lexicon.synsets import Relation, Synset, category, normalise_word
from firth.runs import atomic_files

FORMAT = 1
CACHED = 1 << 14  # synsets
WORDS, SYNSETS, ABOUT = "words.tsv", "synsets.tsv", "about.json"


class LmfIndex:
    """A reader of the index of a file; ids are those of the file."""

    def __init__(self, folder: Path, place: str) -> None:
        about = _parse_json((folder / ABOUT).read_bytes(), folder)
        self.name, self.language, self.place = str(about["name"]), str(about["language"]), place
        self._folder = folder
        self._words, self._synsets = SortedLines(folder / WORDS, b"\t"), SortedLines(folder / SYNSETS, b"\t")
        self.synset: Callable[[str], Synset] = lru_cache(CACHED)(self._read)

    def ids(self, word: str, pos: str) -> tuple[str, ...]:
        """The synsets of a word in the order of its senses."""
        return tuple(self._word(word).get(pos, ()))

    def base_forms(self, form: str, pos: str) -> tuple[str, ...]:
        """The lemmas of which the file lists this form."""
        return tuple(self._word(form).get(f"{pos} forms", ()))

    def _word(self, word: str) -> dict[str, list[str]]:
        line = self._words.find(word.encode("utf-8", "surrogatepass"))
        return _parse_json(line.partition(b"\t")[2], self._folder) if line else {}

    def taxonomy(self, pos: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The synsets in alphabetical order, with their hypernyms."""
        types = b"as" if pos == "a" else re.escape(pos.encode())
        for match in self._synsets.matches(re.compile(rb"^([^\t\n]+)\t[" + types + rb"]\t([^\t\n]*)", re.MULTILINE)):
            yield match[1].decode(), tuple(match[2].decode().split())

    def count(self, key: str) -> int:
        """0: the format has no counts of its own."""
        return 0

    def _read(self, id_: str) -> Synset:
        line = self._synsets.find(id_.encode("utf-8", "surrogatepass"))
        if line is None:
            raise KeyError(id_)
        _, pos, _, values = line.split(b"\t", 3)
        words, definition, examples, relations, keys = _parse_json(values, self._folder)
        links = tuple([Relation(*relation) for relation in relations])
        return Synset(id_, pos.decode(), tuple(words), definition, tuple(examples), links, tuple(keys))


def open_lmf(path: Path, say: Callable[[str], None] = lambda _: None) -> LmfIndex:
    """The index of a file in WN-LMF, built now if it is not in the cache."""
    try:
        status = path.stat()
    except OSError as error:
        raise FirthError(f"cannot be read ({error.strerror})", where=path, do="check the path") from None
    identity = json.dumps([FORMAT, str(path.resolve()), status.st_size, status.st_mtime_ns])
    folder = usable_cache() / "lexicons" / hashlib.sha256(identity.encode()).hexdigest()[:24]
    if not (folder / ABOUT).is_file():
        say(f"{path}: indexing, once")
        _build(read_lmf(path), folder)
    return LmfIndex(folder, str(path))


def _build(file: LmfFile, folder: Path) -> None:
    """Build in a temporary folder beside, rename."""
    with atomic_files.building(folder) as temporary, atomic_files.explain_errors(folder):
        _write_lines(temporary / WORDS, _word_lines(file))
        _write_lines(temporary / SYNSETS, map(_synset_line, make_synsets(file)))
        languages = dict.fromkeys(file.languages)
        about = {"name": " ".join(file.names), "language": next(iter(languages)) if len(languages) == 1 else ""}
        (temporary / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        try:
            atomic_files.rename(temporary, folder)
        except OSError:  # it exists: built by another process meanwhile, or the rest of a damaged one
            if not (folder / ABOUT).exists():
                atomic_files.remove_folder(folder)
                atomic_files.rename(temporary, folder)


def _write_lines(path: Path, lines: Iterable[tuple[str, str]]) -> None:
    """Write lines (key, rest) in the order of the bytes of their keys."""
    rows = sorted((key.encode("utf-8", "surrogatepass"), rest) for key, rest in lines)
    with path.open("wb") as file:
        file.writelines(key + b"\t" + rest.encode("utf-8", "surrogatepass") + b"\n" for key, rest in rows)


def _word_lines(file: LmfFile) -> Iterator[tuple[str, str]]:
    words: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for sense in file.senses.values():
        words[normalise_word(sense.lemma)][category(sense.pos)].append((sense.order, sense.synset))
    for parts in words.values():
        for pos, senses in parts.items():
            parts[pos] = list(dict.fromkeys(synset for _, synset in sorted(senses, key=lambda sense: sense[0])))
    for (form, pos), lemmas in file.forms.items():
        words[form][f"{category(pos)} forms"] += lemmas
    return ((word, json.dumps(parts)) for word, parts in words.items())


def _synset_line(synset: Synset) -> tuple[str, str]:
    values = (synset.words, synset.definition, synset.examples, synset.relations, synset.keys)
    return synset.id, "\t".join((synset.pos, " ".join(hypernyms_of(synset)), json.dumps(values)))


def _parse_json(text: bytes, folder: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise FirthError("the cached lexicon is damaged", where=folder, do="remove this folder") from None
