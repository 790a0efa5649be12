"""A lexicon of a few words, our own, written in both formats: Princeton's database files and WN-LMF.

entity ← animal ← dog (hound) ← puppy;  animal ← cat;  entity ← plant ← tree;  dog ← guide dog;  animal, pet ← parrot;
entity ← city, of which Paris is one.  move ← run, move ← walk;  think stands alone.  hot is the antonym of cold, and
torrid, searing are similar to it.  A bank is a slope or a house of money; trees have leaves.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A synset: its part of speech, words, definition, examples, the relations to others by their keys, and how often
    its first word occurs in this sense."""

    pos: str
    words: tuple[str, ...]
    gloss: str = "-"
    examples: tuple[str, ...] = ()
    hypernyms: tuple[str, ...] = ()
    instance_of: str = ""
    antonym: str = ""  # of the first words
    similar: tuple[str, ...] = ()
    part_of: str = ""
    count: int = 0


SYNSETS = {
    "entity": Entry("n", ("entity",), "whatever is"),
    "animal": Entry("n", ("animal", "beast"), "a living being that moves", hypernyms=("entity",)),
    "pet": Entry("n", ("pet",), "a living being kept at home", hypernyms=("entity",)),
    "dog": Entry("n", ("dog", "hound"), "a tame animal that barks", ("the dog barked",), ("animal",), count=7),
    "puppy": Entry("n", ("puppy",), "a young dog", hypernyms=("dog",)),
    "guide": Entry("n", ("guide dog",), "a dog that leads people", hypernyms=("dog",)),
    "cat": Entry("n", ("cat",), "a tame animal that purrs", hypernyms=("animal",)),
    "parrot": Entry("n", ("parrot",), "a bird that talks", hypernyms=("animal", "pet")),
    "goose": Entry("n", ("goose",), "a large white bird", hypernyms=("animal",)),
    "plant": Entry("n", ("plant",), "a living being that grows from a seed", hypernyms=("entity",)),
    "tree": Entry("n", ("tree",), "a tall plant with a trunk", hypernyms=("plant",)),
    "leaf": Entry("n", ("leaf",), "a flat green part of a plant", hypernyms=("entity",), part_of="tree"),
    "slope": Entry("n", ("bank", "slope"), "the land beside a river", ("they sat on the bank",), ("entity",), count=3),
    "money": Entry("n", ("bank",), "a house that keeps money", ("she took money from the bank", "a bank lends"),
                   ("entity",), count=5),
    "city": Entry("n", ("city",), "a large town", hypernyms=("entity",)),
    "paris": Entry("n", ("Paris",), "a city by a river", instance_of="city"),
    "move": Entry("v", ("move",), "change place"),
    "run": Entry("v", ("run",), "move fast on foot", hypernyms=("move",)),
    "walk": Entry("v", ("walk",), "move slowly on foot", hypernyms=("move",)),
    "think": Entry("v", ("think",), "use the mind"),
    "bank-verb": Entry("v", ("bank",), "put money away"),
    "hot": Entry("a", ("hot",), "of high heat", antonym="cold", similar=("torrid",)),
    "cold": Entry("a", ("cold",), "of low heat", antonym="hot"),
    "torrid": Entry("s", ("torrid", "searing"), "extremely hot", similar=("hot",)),
    "quickly": Entry("r", ("quickly",), "with speed"),
}  # fmt: skip
NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
FORMS = {"n": {"geese": "goose", "leaves": "leaf"}, "v": {"ran": "run", "thought": "think"}, "a": {"hotter": "hot"}}
ORDER = {"bank": ("money", "slope")}  # of the senses of a word, where it is not that of the table


def category(pos: str) -> str:
    return "a" if pos == "s" else pos


def links(key: str) -> list[tuple[str, str]]:
    """The relations of a whole synset, in the names of WN-LMF, those that others have to it included."""
    entry = SYNSETS[key]
    found = [("hypernym", other) for other in entry.hypernyms]
    found += [("instance_hypernym", entry.instance_of)] if entry.instance_of else []
    found += [("similar", other) for other in entry.similar]
    found += [("holo_part", entry.part_of)] if entry.part_of else []
    for other, each in SYNSETS.items():
        found += [("hyponym", other)] if key in each.hypernyms else []
        found += [("instance_hyponym", other)] if key == each.instance_of else []
        found += [("mero_part", other)] if key == each.part_of else []
    return found


# --- WN-LMF -----------------------------------------------------------------------------------------------------------


def write_lmf(path: Path, language: str = "en", name: str = "tiny") -> Path:
    """The lexicon as WN-LMF."""
    return _write(path, lmf_text(language, name))


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def lmf_text(language: str = "en", name: str = "tiny") -> str:
    entries, synsets = [], []
    keys = sorted(SYNSETS, key=lambda key: next((o.index(key) for o in ORDER.values() if key in o), 0))
    for key in keys:
        synset = SYNSETS[key]
        forms = {base: form for form, base in FORMS.get(category(synset.pos), {}).items()}
        for number, word in enumerate(synset.words):
            antonym = f'<SenseRelation relType="antonym" target="s-{synset.antonym}-0"/>' if synset.antonym else ""
            form = f'<Form writtenForm="{forms[word]}"/>' if word in forms else ""
            entries.append(
                f'<LexicalEntry id="e-{key}-{number}"><Lemma writtenForm="{word}" partOfSpeech="{synset.pos}"/>{form}'
                f'<Sense id="s-{key}-{number}" synset="y-{key}">{antonym}</Sense></LexicalEntry>\n'
            )
        related = "".join(f'<SynsetRelation relType="{kind}" target="y-{target}"/>' for kind, target in links(key))
        examples = "".join(f"<Example>{example}</Example>" for example in synset.examples)
        synsets.append(
            f'<Synset id="y-{key}" ili="" partOfSpeech="{synset.pos}"><Definition>{synset.gloss}</Definition>'
            f"{related}{examples}</Synset>\n"
        )
    about = f'id="{name}" label="{name}" language="{language}" email="a@example.org" license="none" version="1"'
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE LexicalResource SYSTEM '
    head += '"http://globalwordnet.github.io/schemas/WN-LMF-1.0.dtd">\n<LexicalResource>'
    return f"{head}<Lexicon {about}>{''.join(entries)}{''.join(synsets)}</Lexicon></LexicalResource>"


# --- Princeton's files ------------------------------------------------------------------------------------------------

_HEAD = "  1 WordNet 3.0 Copyright nobody, a test\n"
SYMBOLS = {"hypernym": "@", "instance_hypernym": "@i", "hyponym": "~", "instance_hyponym": "~i", "similar": "&",
           "holo_part": "#p", "mero_part": "%p"}  # fmt: skip
TYPES = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}


def write_database(folder: Path) -> Path:
    """The lexicon as the files of WordNet's database; offsets are those of bytes."""
    folder.mkdir(parents=True)
    offsets = {key: (0, category(entry.pos)) for key, entry in SYNSETS.items()}
    for _ in range(2):  # lines do not change their length, so the second time all offsets are right
        files = {pos: _HEAD for pos in NAMES}
        for key, entry in SYNSETS.items():
            pos = category(entry.pos)
            offsets[key] = (len(files[pos]), pos)
            files[pos] += _line(key, entry, offsets)
    for pos, content in files.items():
        (folder / f"data.{NAMES[pos]}").write_text(content)
        (folder / f"index.{NAMES[pos]}").write_text(_HEAD + "".join(sorted(_index(pos, offsets))))
        exceptions = sorted(f"{form} {base}\n" for form, base in FORMS.get(pos, {}).items())
        (folder / f"{NAMES[pos]}.exc").write_text("".join(exceptions))
    (folder / "lexnames").write_text("00\tall\t1\n")
    (folder / "index.sense").write_text("")
    counts = sorted(f"{sense_key(key)} 1 {entry.count}\n" for key, entry in SYNSETS.items() if entry.count)
    (folder / "cntlist.rev").write_text("".join(counts))
    return folder


def sense_key(key: str) -> str:
    """The sense key of the first word of a synset."""
    entry = SYNSETS[key]
    head = f"{entry.similar[0]}:00" if entry.pos == "s" else ":"
    return f"{entry.words[0].lower().replace(' ', '_')}%{TYPES[entry.pos]}:00:0{int(key == 'money')}:{head}"


def _line(key: str, entry: Entry, offsets: dict[str, tuple[int, str]]) -> str:
    def pointer(symbol: str, target: str, which: str = "0000") -> str:
        return f" {symbol} {offsets[target][0]:08d} {offsets[target][1]} {which}"

    pointers = [pointer(SYMBOLS[kind], target) for kind, target in links(key)]
    pointers += [pointer("!", entry.antonym, "0101")] if entry.antonym else []
    marker = "(p)" if entry.pos == "s" else ""
    words = " ".join(f"{word.replace(' ', '_')}{marker} {int(key == 'money')}" for word in entry.words)
    frames = " 00" if entry.pos == "v" else ""
    gloss = "; ".join([entry.gloss, *(f'"{example}"' for example in entry.examples)])
    first = f"{offsets[key][0]:08d} 00 {entry.pos} {len(entry.words):02x} {words}"
    return f"{first} {len(pointers):03d}{''.join(pointers)}{frames} | {gloss}  \n"


def _index(pos: str, offsets: dict[str, tuple[int, str]]):
    keys: dict[str, list[str]] = {}
    for key, entry in SYNSETS.items():
        for word in entry.words if category(entry.pos) == pos else ():
            keys.setdefault(word.lower().replace(" ", "_"), []).append(key)
    for word, its in keys.items():
        its = [key for key in ORDER.get(word, its) if key in its] if len(its) > 1 else its
        places = " ".join(f"{offsets[key][0]:08d}" for key in its)
        yield f"{word} {pos} {len(its)} 1 @ {len(its)} 0 {places}  \n"
