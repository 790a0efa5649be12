"""A lexicon of a few words, our own, written as the two packages read it: WN-LMF for `wn`, database files for nltk.

entity ← animal ← dog (hound) ← puppy;  animal ← cat;  entity ← plant ← tree;  dog ← guide dog;
entity ← city, of which Paris is one.  move ← run, move ← walk;  think stands alone.  hot is the opposite of cold.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Meaning(NamedTuple):
    """A synset: its part of speech, its words, and what it points to."""

    part: str
    words: tuple[str, ...]
    above: str = ""
    instance_of: str = ""
    opposite: str = ""


MEANINGS = {
    "entity": Meaning("n", ("entity",)),
    "animal": Meaning("n", ("animal", "beast"), above="entity"),
    "dog": Meaning("n", ("dog", "hound"), above="animal"),
    "puppy": Meaning("n", ("puppy",), above="dog"),
    "guide": Meaning("n", ("guide dog",), above="dog"),
    "cat": Meaning("n", ("cat",), above="animal"),
    "plant": Meaning("n", ("plant",), above="entity"),
    "tree": Meaning("n", ("tree",), above="plant"),
    "city": Meaning("n", ("city",), above="entity"),
    "paris": Meaning("n", ("Paris",), instance_of="city"),
    "move": Meaning("v", ("move",)),
    "run": Meaning("v", ("run",), above="move"),
    "walk": Meaning("v", ("walk",), above="move"),
    "think": Meaning("v", ("think",)),
    "hot": Meaning("a", ("hot",), opposite="cold"),
    "cold": Meaning("a", ("cold",), opposite="hot"),
}
NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


# --- wn ---------------------------------------------------------------------------------------------------------------


def write_lmf(path: Path, language: str = "en", name: str = "tiny") -> Path:
    """The lexicon as WN-LMF."""
    entries, synsets = [], []
    for key, meaning in MEANINGS.items():
        for number, word in enumerate(meaning.words):
            opposed = f'<SenseRelation relType="antonym" target="s-{meaning.opposite}-0"/>' if meaning.opposite else ""
            entries.append(
                f'<LexicalEntry id="e-{key}-{number}"><Lemma writtenForm="{word}" partOfSpeech="{meaning.part}"/>'
                f'<Sense id="s-{key}-{number}" synset="y-{key}">{opposed}</Sense></LexicalEntry>'
            )
        targets = {"hypernym": meaning.above, "instance_hypernym": meaning.instance_of}
        links = "".join(
            f'<SynsetRelation relType="{kind}" target="y-{target}"/>' for kind, target in targets.items() if target
        )
        synsets.append(f'<Synset id="y-{key}" ili="" partOfSpeech="{meaning.part}">{links}</Synset>')
    about = f'id="{name}" label="{name}" language="{language}" email="a@example.org" license="none" version="1"'
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE LexicalResource SYSTEM '
    head += '"http://globalwordnet.github.io/schemas/WN-LMF-1.0.dtd">\n<LexicalResource>'
    path.write_text(f"{head}<Lexicon {about}>{''.join(entries)}{''.join(synsets)}</Lexicon></LexicalResource>")
    return path


# --- nltk -------------------------------------------------------------------------------------------------------------

_HEAD = "  1 WordNet 3.0 Copyright nobody, a test\n"


def write_database(folder: Path) -> Path:
    """The lexicon as the files of WordNet's database; offsets are those of bytes."""
    folder.mkdir(parents=True)
    places = {key: (0, meaning.part) for key, meaning in MEANINGS.items()}
    for _ in range(2):  # lines do not change their length, so the second time all places are right
        files = {part: _HEAD for part in NAMES}
        for key, meaning in MEANINGS.items():
            places[key] = (len(files[meaning.part]), meaning.part)
            files[meaning.part] += _line(key, meaning, places)
    for part, content in files.items():
        (folder / f"data.{NAMES[part]}").write_text(content)
        (folder / f"index.{NAMES[part]}").write_text(_HEAD + "".join(sorted(_index(part, places))))
        (folder / f"{NAMES[part]}.exc").write_text("")
    (folder / "lexnames").write_text("00\tall\t1\n")
    for name in ("index.sense", "cntlist.rev"):
        (folder / name).write_text("")
    return folder


def _line(key: str, meaning: Meaning, places: dict[str, tuple[int, str]]) -> str:
    def pointer(symbol: str, target: str, which: str = "0000") -> list[str]:
        return [f"{symbol} {places[target][0]:08d} {places[target][1]} {which}"] if target else []

    links = [*pointer("@", meaning.above), *pointer("@i", meaning.instance_of), *pointer("!", meaning.opposite, "0101")]
    words = " ".join(f"{word.replace(' ', '_')} 0" for word in meaning.words)
    frames = " 00" if meaning.part == "v" else ""
    linked = "".join(f" {link}" for link in links)
    first = f"{places[key][0]:08d} 00 {meaning.part} {len(meaning.words):02x} {words}"
    return f"{first} {len(links):03d}{linked}{frames} | -\n"


def _index(part: str, places: dict[str, tuple[int, str]]):
    for key, meaning in MEANINGS.items():
        for word in meaning.words if meaning.part == part else ():
            yield f"{word.lower().replace(' ', '_')} {part} 1 0 1 0 {places[key][0]:08d}\n"
