"""A lexicon of a few words, our own, written as the two packages read it: WN-LMF for `wn`, database files for nltk.

entity ← animal ← dog (hound) ← puppy;  animal ← cat;  entity ← plant ← tree;  dog ← guide dog;
entity ← city, of which Paris is one.  move ← run, move ← walk;  think stands alone.  hot is the antonym of cold.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Synset(NamedTuple):
    """A synset: its part of speech, its lemmas, and its relations."""

    pos: str
    words: tuple[str, ...]
    hypernym: str = ""
    instance_of: str = ""
    antonym: str = ""


SYNSETS = {
    "entity": Synset("n", ("entity",)),
    "animal": Synset("n", ("animal", "beast"), hypernym="entity"),
    "dog": Synset("n", ("dog", "hound"), hypernym="animal"),
    "puppy": Synset("n", ("puppy",), hypernym="dog"),
    "guide": Synset("n", ("guide dog",), hypernym="dog"),
    "cat": Synset("n", ("cat",), hypernym="animal"),
    "plant": Synset("n", ("plant",), hypernym="entity"),
    "tree": Synset("n", ("tree",), hypernym="plant"),
    "city": Synset("n", ("city",), hypernym="entity"),
    "paris": Synset("n", ("Paris",), instance_of="city"),
    "move": Synset("v", ("move",)),
    "run": Synset("v", ("run",), hypernym="move"),
    "walk": Synset("v", ("walk",), hypernym="move"),
    "think": Synset("v", ("think",)),
    "hot": Synset("a", ("hot",), antonym="cold"),
    "cold": Synset("a", ("cold",), antonym="hot"),
}
NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


# --- wn ---------------------------------------------------------------------------------------------------------------


def write_lmf(path: Path, language: str = "en", name: str = "tiny") -> Path:
    """The lexicon as WN-LMF."""
    entries, synsets = [], []
    for key, synset in SYNSETS.items():
        for number, word in enumerate(synset.words):
            antonym = f'<SenseRelation relType="antonym" target="s-{synset.antonym}-0"/>' if synset.antonym else ""
            entries.append(
                f'<LexicalEntry id="e-{key}-{number}"><Lemma writtenForm="{word}" partOfSpeech="{synset.pos}"/>'
                f'<Sense id="s-{key}-{number}" synset="y-{key}">{antonym}</Sense></LexicalEntry>'
            )
        targets = {"hypernym": synset.hypernym, "instance_hypernym": synset.instance_of}
        links = "".join(
            f'<SynsetRelation relType="{kind}" target="y-{target}"/>' for kind, target in targets.items() if target
        )
        synsets.append(f'<Synset id="y-{key}" ili="" partOfSpeech="{synset.pos}">{links}</Synset>')
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
    offsets = {key: (0, synset.pos) for key, synset in SYNSETS.items()}
    for _ in range(2):  # lines do not change their length, so the second time all offsets are right
        files = {pos: _HEAD for pos in NAMES}
        for key, synset in SYNSETS.items():
            offsets[key] = (len(files[synset.pos]), synset.pos)
            files[synset.pos] += _line(key, synset, offsets)
    for pos, content in files.items():
        (folder / f"data.{NAMES[pos]}").write_text(content)
        (folder / f"index.{NAMES[pos]}").write_text(_HEAD + "".join(sorted(_index(pos, offsets))))
        (folder / f"{NAMES[pos]}.exc").write_text("")
    (folder / "lexnames").write_text("00\tall\t1\n")
    for name in ("index.sense", "cntlist.rev"):
        (folder / name).write_text("")
    return folder


def _line(key: str, synset: Synset, offsets: dict[str, tuple[int, str]]) -> str:
    def pointer(symbol: str, target: str, which: str = "0000") -> list[str]:
        return [f"{symbol} {offsets[target][0]:08d} {offsets[target][1]} {which}"] if target else []

    links = [*pointer("@", synset.hypernym), *pointer("@i", synset.instance_of), *pointer("!", synset.antonym, "0101")]
    words = " ".join(f"{word.replace(' ', '_')} 0" for word in synset.words)
    frames = " 00" if synset.pos == "v" else ""
    linked = "".join(f" {link}" for link in links)
    first = f"{offsets[key][0]:08d} 00 {synset.pos} {len(synset.words):02x} {words}"
    return f"{first} {len(links):03d}{linked}{frames} | -\n"


def _index(pos: str, offsets: dict[str, tuple[int, str]]):
    for key, synset in SYNSETS.items():
        for word in synset.words if synset.pos == pos else ():
            yield f"{word.lower().replace(' ', '_')} {pos} 1 0 1 0 {offsets[key][0]:08d}\n"
