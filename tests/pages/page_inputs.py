"""What pages take for granted: files of the reader's, and runs that another page has trained."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import cycle, islice
from pathlib import Path

from page_shell import Shell

from firth.datasets.public_sets import PUBLIC
from firth.datasets.world import World
from firth.datasets.world.gold import records
from firth.datasets.world.scene_images import SceneImage

ROOT = Path(__file__).parent.parent.parent
STORIES, LINES, LABELLED = 150, 50, 50
BANK = "Money in the bank is safe , said the man who sat by the river and read letters from the bank ."
GERMAN = ("Der Mann stand am Abend auf der Klippe.", "Jeden Morgen stieg die Frau die Treppe hinauf.",
          "Das Schiff fuhr mit den Kindern in den Hafen.", "Ein Vogel saß auf dem Turm und sang.")  # fmt: skip
LETTERS = (
    "The old lighthouse stood on the cliff, and every evening the keeper climbed the stairs to light the lamp.",
    "The old lighthouse stood on the cliff, and every evening the keeper climbed the stairs to light the lamp!",
    "Page 4",
    "0031 -- 0047 ... 12.50 | 13.70 | 99",
    "Der Leuchtturm stand auf der Klippe, und jeden Abend stieg der Wärter hinauf.",
    "She wrote to her sister about the ships that went by, and about the weather.",
    "Click here to subscribe to our newsletter and win a boat!",
    "In the morning the sea was calm, and the birds came back to the rocks.",
)


@cache
def stories() -> list[str]:
    return list(World().documents(STORIES))


@cache
def translations() -> list[tuple[str, str]]:
    return [(pair.left, pair.right) for pair in islice(records(World(), "translation", LINES), LINES)]


def reviews() -> Iterator[tuple[str, str]]:
    texts = (f"{story.split('.')[0]} ." for story in stories()[:LABELLED])
    return ((f"{opinion} {text}", label) for text, (label, opinion) in zip(texts, cycle(OPINIONS)))


OPINIONS = (("good", "A delight , a house and a dog ."), ("bad", "An awful , boring film ."))


def lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def source() -> str:
    return lines(left for left, _ in translations())


def target() -> str:
    return lines(right for _, right in translations())


def altered() -> str:
    """Translations with a word left out in some lines."""
    targets = (right for _, right in translations())
    return lines(re.sub(r" ta\b", "", text, count=1) if n % 3 else text for n, text in enumerate(targets))


def table(header: list[str], rows: Iterable[Iterable[str]], separator: str = "\t") -> str:
    made = io.StringIO()
    writer = csv.writer(made, delimiter=separator, lineterminator="\n")
    writer.writerows([*([header] if header else []), *rows])
    return made.getvalue()


def letters() -> str:
    """Letters that speak of a bank, with their authors."""
    rows = [(author, f"{BANK} {story}") for author, story in zip(cycle(("Ann", "Ben")), stories()[:40])]
    return table(["author", "text"], rows)


def corpus() -> str:
    return "\n\n".join(f"{story} {BANK}" for story in stories())


def image(number: int) -> bytes:
    """A PNG of the world."""
    from PIL import Image

    made = io.BytesIO()
    Image.fromarray(SceneImage(1, number).render()).save(made, "png")
    return made.getvalue()


def world_lines(start: int = 0) -> str:
    return lines(World().documents(LINES, start=start))


def public(name: str, content: Callable[[], str]) -> dict[str, Callable[[], str]]:
    """The files of a public data set, each with this content."""
    files = (file for split in PUBLIC[name].splits.values() for file in split.files)
    return {f"data/{PUBLIC[name].folder}/{file}": content for file in files}


def similar_pairs() -> Iterator[tuple[str, ...]]:
    """Rows of the STS benchmark: the score is in the fifth column, the sentences are in the last two."""
    return (("main", "test", "2012", "1", str(n % 6), left, right) for n, (left, right) in enumerate(translations()))


def word_pairs() -> Iterator[tuple[str, str, float | None]]:
    return ((pair.left, pair.right, pair.score) for pair in records(World(), "word-similarity", LINES))


def word_translations() -> list[tuple[str, str]]:
    """Many words and their translations, often enough that each gets a vector."""
    syllables = [consonant + vowel for consonant in "bdfklmnprst" for vowel in "aeiou"]
    invented = [(f"{one}{two}", f"{two}{one}x") for one in syllables for two in syllables[:30]]
    real = [("house", "maison"), ("dog", "chien"), ("dog", "chienne")]
    return [(f"{left} !", f"{right} !") for left, right in (invented + real) * 6]


def analogies() -> str:
    questions = islice(records(World(), "analogy", LINES), LINES)
    return lines([": words", *(" ".join(question.words) for question in questions)])


def categories() -> str:
    rows = (row for row in records(World(), "categories", LINES))
    return table(["", "category", "word"], ((str(n), row.labels[0], row.text) for n, row in enumerate(rows)), ",")


def passages(texts: Iterable[str]) -> str:
    """A collection in Cranfield's format."""
    return lines(f".I {n}\n.W\n{text}" for n, text in enumerate(texts, 1))


# Files that a page names and that are there when it begins.
FILES: dict[str, Callable[[], str | bytes]] = {
    "stories.txt": lambda: lines(stories()),
    "corpus.txt": corpus,
    "other.txt": world_lines,
    "novels.txt": corpus,
    "train.txt": world_lines,
    "valid.txt": lambda: world_lines(1000),
    "test.txt": lambda: world_lines(2000),
    "more.txt.gz": lambda: gzip.compress(world_lines().encode()),
    "wiki.txt.xz": lambda: lzma.compress(corpus().encode()),
    "folder/story.txt": world_lines,
    "notes/one.txt": corpus,
    "my-texts/one.txt": corpus,
    "reports/one.txt": corpus,
    "letters.tsv": letters,
    "baskets.txt": lambda: lines(["milk bread butter", "milk bread", "bread butter jam"] * LINES),
    "conrad.txt": lambda: lines(stories()[:50]),
    "haggard.txt": lambda: lines(stories()[50:100]),
    "forster.txt": lambda: lines(stories()[100:]),
    "unknown.txt": lambda: lines(World().documents(20, start=5000)),
    # labelled
    "reviews.tsv": lambda: table(["text", "label"], reviews()),
    "reviews.csv": lambda: table(["body", "stars"], reviews(), ","),
    "reviews.txt": lambda: lines(f"__label__{label} {text}" for text, label in reviews()),
    "other.tsv": lambda: table(["text", "label"], reviews()),
    "films.tsv": lambda: "good\tA fine film.\nbad\tIt never ends.\ngood\tLovely.\nbad\tBoring.\n",
    "films-test.tsv": lambda: "good\tA delight.\nbad\tAwful.\n",
    "old.tsv": lambda: "good\tDéjà vu.\n".encode("latin-1"),
    "image.png": lambda: image(0),
    "a.png": lambda: image(1),
    "b.png": lambda: image(2),
    **{f"{folder}photographs/{label}/{number}.png": lambda number=number: image(number)
       for folder in ("", "other-") for number, label in zip(range(24), cycle(("circle", "ring")))},
    # parallel
    **{f"{name}.{language}{ending}": side
       for name in ("notes", "new", "train", "test", "val", "more", "letters")
       for ending in ("", ".gz") for language, side in (("en", source), ("de", target))},
    **dict.fromkeys(("a.de", "ours.de"), altered),
    **dict.fromkeys(("b.de", "right.de"), target),
    "theirs.de": source,
    "pairs.tsv": lambda: table([], translations()),
    "english-german.tsv": lambda: table(["left", "right"], translations()),
    "eng.txt": lambda: lines(left for left, _ in word_translations()),
    "fra.txt": lambda: lines(right for _, right in word_translations()),
    # Penn Treebank's
    "ptb.train.txt.gz": lambda: gzip.compress(world_lines().encode()),
    "ptb.valid.txt": lambda: world_lines(1000),
    "ptb.test.txt": lambda: world_lines(2000),
}  # fmt: skip
# Files whose name stands for something else on one page.
OWN_FILES: dict[str, dict[str, Callable[[], str | bytes]]] = {
    "data.md": {f"{name}.tsv": lambda: table(["text", "label"], reviews()) for name in ("train", "test")},
    "cleaning.md": {
        "letters.txt": lambda: "\n\n".join(LETTERS),
        "english.txt": lambda: lines(stories()) + lines(LETTERS[:1] + LETTERS[5:]),
        "german.txt": lambda: lines(GERMAN * 40),
        "spam.txt": lambda: "subscribe\n",
    },
    "ladder.md": {"letters.txt": lambda: lines(stories())},
    "interop.md": {"FILE": lambda: lines(stories())},
    "fine-tuning.md": {
        **public("sst2", lambda: table([], reviews())),
        **public("sts-b", lambda: table([], similar_pairs())),
    },
    "results.md": public("sst2", lambda: table([], reviews())),
    "classifying.md": {"other.txt": lambda: lines(f"__label__{label} {text}" for text, label in reviews())},
    "tokenizers.md": {"stories.txt": lambda: lines(World().documents(2000))},
    "vectors.md": {
        **public("word-similarity", lambda: lines(f"{a}\t{b}\t{score}" for a, b, score in word_pairs())),
        **public("word-analogy", analogies),
        **public("word-categorization", categories),
        **public("trec-questions", lambda: lines(f"{label}:{label} {text}" for text, label in reviews())),
        **public("tatoeba-eng-fra", lambda: table([], word_translations())),
        "data/cranfield/cran.all.1400.gz": lambda: passages(stories()),
        "data/cranfield/cran.qry": lambda: passages(story.split(".")[0] for story in stories()[:20]),
        "data/cranfield/QRelsCorrectedforTRECeval": lambda: lines(f"{n} 0 {n} 1" for n in range(1, 21)),
        "data/cranfield/cranqrel": lambda: lines(f"{n} {n} 1" for n in range(1, 21)),
    },
}  # fmt: skip
LM = "firth train lstm-lm --text stories.txt --quiet --out runs/"
MT = "firth train transformer-mt --source notes.en --target notes.de --quiet --out runs/"
WORD_TESTS = "mkdir word-tests; firth data convert world-word-similarity word-tests/world.txt --to similarity"
# Commands whose runs and files a page uses.
COMMANDS_BEFORE: dict[str, list[str]] = {
    "README.md": ["firth train bert:tiny --text corpus.txt --quiet --out runs/x",
                  "firth export runs/x --to huggingface --out folder-of-a-bert",
                  "firth data convert world-parsing train.conllu --to conllu --split test"],
    "generation.md": [f"{LM}stories", *(f"{MT}en-de{number}" for number in ("", "-2", "-3"))],
    "interop.md": ["firth train bert:tiny --text stories.txt --quiet --out RUN",
                   "firth export RUN --to huggingface --out FOLDER"],
    "language-models.md": [f"{LM}stories"],
    "long-texts.md": ["firth train bert --text stories.txt --quiet --out runs/roberta"],
    "ngram.md": ["firth tokenizer train bpe.json --text corpus.txt --model byte-bpe --vocab-size 400"],
    "run-folder.md": [f"{LM}stories"],
    "pretraining.md": [f"firth train {name} --text stories.txt --quiet --out runs/{name}" for name in ("t5", "bart")],
    "prompting.md": ["firth train transformer-lm --text stories.txt --quiet --out runs/transformer",
                     "firth train transformer-lm --text stories.txt --quiet --out runs/tasks",
                     "firth train bert --text stories.txt --quiet --out runs/bert"],
    "python.md": ["firth train bert:tiny --text stories.txt --quiet --out runs/x",
                  "firth export runs/x --to huggingface --out bert-folder"],
    "results.md": ["firth train bert:tiny --text stories.txt --quiet --out RUN"],
    "tagging.md": ["firth data convert world-parsing train.conllu --to conllu --split test"],
    "vectors.md": ["firth train skipgram --text world --quiet --out runs/wiki",
                   "firth train ppmi --text world --quiet --out runs/wiki-ppmi",
                   "firth train skipgram --text eng.txt --quiet --out runs/eng",
                   "firth train skipgram --text fra.txt --quiet --out runs/fra"],
    "vectors-tutorial.md": [WORD_TESTS],
    "vectors-evaluation.md": [WORD_TESTS,
                              "firth train skipgram --text python-docs --quiet --out runs/words",
                              "firth train skipgram --text eng.txt --quiet --out runs/eng",
                              "firth train skipgram --text fra.txt --quiet --out runs/fra"],
    "vectors-files.md": ["firth train skipgram --text python-docs --quiet --out runs/words"],
}  # fmt: skip
# What a page writes in capitals for the reader to fill in.
FILLED_IN = {
    "results.md": {"PRESET": "transformer-lm", "RECIPE": "recipes/multi30k-bahdanau.toml", "LR": "1e-4", "N": "1"}
}


def prepare(page: Path, shell: Shell) -> None:
    """Write the files that a page names, then train what it uses."""
    commands, own_files = COMMANDS_BEFORE.get(page.name, []), OWN_FILES.get(page.name, {})
    text = "\n".join([page.read_text(encoding="utf-8"), *commands])
    for name, content in {**FILES, **own_files}.items():
        if name.split("/")[0] in text or name in own_files:
            path = shell.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            made = content()
            path.write_bytes(made.encode() if isinstance(made, str) else made)
    if "recipes/" in text:
        (shell.folder / "recipes").symlink_to(ROOT / "recipes")
    for command in commands:
        code, printed = shell.run(command)
        assert code == 0, f"before {page.name}: {command}\n{printed}"


def filled_in(page: str, command: str) -> str:
    """The command with the reader's own names."""
    for placeholder, name in FILLED_IN.get(page, {}).items():
        command = re.sub(rf"\b{placeholder}\b", name, command)
    return command
