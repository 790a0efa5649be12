"""The field's words: what practitioners search for is there, what only firth said is not (docs/glossary.md)."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import firth

SOURCE = Path(firth.__file__).parent
ROOT = SOURCE.parent.parent
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text().casefold()
MIGRATIONS = SOURCE / "config" / "migrations.py"

# Each is found in a module's name or docstring and in the glossary.
TERMS = [
    "activation",
    "attention",
    "attention mask",
    "authorship attribution",
    "beam search",
    "bits per byte",
    "byte-pair encoding",
    "causal language model",
    "character-level",
    "collate",
    "collocation",
    "concordance",
    "contrastive",
    "cross attention",
    "denoising",
    "distillation",
    "dynamic masking",
    "early stopping",
    "encoder-decoder",
    "exponential moving average",
    "few-shot",
    "global attention",
    "gradient accumulation",
    "gradient clipping",
    "hidden state",
    "hierarchical softmax",
    "initialisation",
    "input feeding",
    "keyness",
    "KV cache",
    "label smoothing",
    "learning rate",
    "length penalty",
    "locality-sensitive hashing",
    "masked language model",
    "metric",
    "negative log-likelihood",
    "negative sampling",
    "next-sentence prediction",
    "noisy channel",
    "nucleus",
    "out-of-vocabulary",
    "perplexity",
    "permutation language model",
    "pointer-generator",
    "position encoding",
    "prefix language model",
    "relative position",
    "replaced token detection",
    "rotary",
    "sampled softmax",
    "segment recurrence",
    "sequence to sequence",
    "sliding-window",
    "span corruption",
    "subsampling",
    "subword",
    "surprisal",
    "teacher forcing",
    "truncated BPTT",
    "two-stream attention",
    "variational dropout",
    "weight decay",
    "weight tying",
    "word alignment",
]
# Where a user sets it, the help of a command says it.
IN_HELP = {
    "train": [
        "batch",
        "budget",
        "dropout",
        "early stopping",
        "label smoothing",
        "learning rate",
        "negative samples",
        "pre-trained",
        "seed",
        "vocabulary",
    ],
    "run": ["beam", "temperature", "top-k", "top-p", "length penalty"],
    "lm --help": ["rank", "correct", "authorship", "surprisal", "few-shot", "prompts"],
    "corpus --help": ["concordance", "collocations", "keyness"],
}
# Names that were firth's own: whole identifiers of the syntax tree, and keyword strings of configuration.
PRIVATE_IDENTIFIERS = [
    "found",
    "told",
    "asked",
    "looks",
    "looking",
    "looked",
    "Looking",
    "Look",
    "sees",
    "attends",
    "central",
    "Scene",
    "View",
    "placed",
    "infuse",
    "infused",
    "keyed",
    "bent",
    "bend",
    "Hiding",
    "Written",
    "Permuted",
    "Replaced",
    "Framed",
    "Joined",
    "Apart",
    "Pictured",
    "yardstick",
    "surprises",
    "surprise",
    "foresee",
    "foretell",
    "least_rate",
    "least_part",
    "most_part",
    "redraw",
    "learned_start",
    "locked",
    "spread",
    "rivals",
    "telling",
    "going",
    "suiting",
    "climbing",
]
IN_THE_WORLD = {"Scene", "sees"}  # of shapes; a verb of the grammar
PRIVATE_PHRASES = [
    "fills gaps",
    "fill gaps",
    "drawn rivals",
    "yardstick",
    "foretell",
    "foretold",
    "start values",
    "reads both ways",
    "writes a text for a text",
    "texts for texts",
    "tokens that see all",
    "predicts tokens in any order",
    "network of letters",
]


def modules():
    return sorted(SOURCE.rglob("*.py"))


def docstrings():
    for path in modules():
        tree = ast.parse(path.read_text())
        texts = [str(path.relative_to(SOURCE)).replace("_", " ").replace("/", " ")]
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                texts.append(ast.get_docstring(node) or "")
        yield path, " ".join(" ".join(texts).split()).casefold()


DOCSTRINGS = dict(docstrings())


def plain(text):
    return re.sub(r"[\s-]+", " ", text.casefold())


@pytest.mark.parametrize("term", TERMS)
def test_a_term_of_the_field_is_found_in_the_code_and_in_the_glossary(term):
    wanted = plain(term)
    assert any(wanted in plain(text) for text in DOCSTRINGS.values()), f"no docstring says {term!r}"
    assert wanted in plain(GLOSSARY), f"docs/glossary.md does not say {term!r}"


@pytest.mark.parametrize("command", IN_HELP)
def test_the_help_says_what_a_user_sets(command):
    words = [*command.split(), *([] if "--help" in command else ["--help"])]
    shown = subprocess.run(
        [sys.executable, "-m", "firth", *words], capture_output=True, encoding="utf-8", check=True
    ).stdout
    missing = [term for term in IN_HELP[command] if plain(term) not in plain(shown)]
    assert not missing


def identifiers(tree):
    for node in ast.walk(tree):
        for name in ("id", "name", "attr", "arg", "asname"):
            value = getattr(node, name, None)
            if isinstance(value, str):
                yield value, getattr(node, "lineno", 0)


def test_no_private_identifier_is_left():
    private = set(PRIVATE_IDENTIFIERS)
    left = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules()
        if path != MIGRATIONS
        for name, line in identifiers(ast.parse(path.read_text()))
        if name in private and not ("world" in path.parts and name in IN_THE_WORLD)
    ]
    assert not left


def test_no_private_phrase_is_left():
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    left = [
        f"{path.relative_to(ROOT)}: {phrase}"
        for path in [*modules(), *pages]
        if path != MIGRATIONS
        for phrase in PRIVATE_PHRASES
        if phrase in " ".join(path.read_text().split()).casefold()
    ]
    assert not left
