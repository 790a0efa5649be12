"""--json of every command: values are numbers and lists, no text with a unit in it."""

from __future__ import annotations

import json
import re

import pytest
import typer
from cli_samples import OPTIONS, assert_done

# 12.5 MB, 90s, 1,234 tokens, 3 of 8, 0.98 (AVX2), perplexity 9.5 …: a number with a unit or a name beside it
NUMBER_WITH_UNIT = re.compile(
    r"(?<![\w.:/-])[+-]?\d[\d,]*(\.\d+)?\s*(%|[kMGT]?B\b|GFLOP/s|ms\b|s\b|min\b|m\b|h\b|"
    r"(bytes|tokens|documents|words|steps|epochs|seconds|parameters|labels|records|of \d)\b)"
    r"|\b\d{1,3}(,\d{3})+\b"
    r"|\b(perplexity|byte|accuracy|step|loss) [\d.]+\b"
)
# Messages for people, text of the user, commands to type, and names: not values.
PROSE = {"notes", "warnings", "sentences", "command", "caption", "about", "training", "sample", "samples", "text",
         "texts", "input", "path", "file", "run", "report", "signature", "paper", "model"}  # fmt: skip
RECIPES = ("presets lstm-lm",)  # settings as they are written: budget = "90s"


def strings(value, key=""):
    """The strings of a JSON value that are no prose, with their keys."""
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from strings(entry, name)
    elif isinstance(value, list):
        for entry in value:
            yield from strings(entry, key)
    elif isinstance(value, str) and key not in PROSE:
        yield key, value


def prose_with_numbers(output):
    """What the JSON lines of an output say in text instead of numbers."""
    assert output.strip()
    values = [json.loads(line) for line in output.splitlines()]
    return [(key, text) for value in values for key, text in strings(value) if NUMBER_WITH_UNIT.search(text)]


@pytest.mark.parametrize(
    "text",
    ["22.0 GB free", "90s", "1,201 (byte-bpe)", "41 GFLOP/s", "done, step 6 of 6", "perplexity 9.5", "1800 documents",
     "12 %", "2m"],
)  # fmt: skip
def test_text_with_a_number_is_noticed(text):
    assert prose_with_numbers(json.dumps({"a": [{"b": text}]})) == [("b", text)]


@pytest.mark.parametrize("text", ["2.13.0+cpu", "5-gram", "lstm-lm:tiny", "AVX512", "byte/5d6e936b", "a1b2", "1st"])
def test_names_with_digits_are_allowed(text):
    assert not prose_with_numbers(json.dumps({"b": text}))


TEXT = "".join(f"the {animal} sees a {thing} near the {thing} {n}\n\n" for n in range(8)
               for animal in ("cat", "dog", "fox") for thing in ("tree", "house", "river"))  # fmt: skip
VECTORS = "6 2\ncat 1 0.1\ndog 0.9 0.2\nfox 0.8 0.3\ntree 0.1 1\nhouse 0 0.9\nriver 0.2 0.8\n"
ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n-0.3\ta\n\n\\end\\\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, trained):
    """Tiny files for every command, and the run that `trained` is."""
    path = tmp_path_factory.mktemp("json")
    (path / "a.txt").write_text(TEXT)
    (path / "b.txt").write_text(TEXT.replace("tree", "boat"))
    (path / "v.txt").write_text(VECTORS)
    (path / "s.tsv").write_text("cat\tdog\t9\ncat\ttree\t1\nfox\tdog\t8\nriver\tdog\t2\n")
    (path / "q.txt").write_text(": animals\ncat dog fox dog\n")
    labelled = (f"{label}\ta {label} text {n}\n" for n in range(9) for label in "xy")
    (path / "labels.tsv").write_text("".join(["label\ttext\n", *labelled]))
    (path / "a.arpa").write_text(ARPA)
    (path / "pairs.txt").write_text("cat cat\ndog dog\ntree tree\nriver river\n")
    (path / "lines.txt").write_text("the cat sees\na dog\n")
    (path / "run").symlink_to(trained)
    return path


COMMANDS = """
presets
presets lstm-lm
train lstm-lm:tiny --text a.txt --out new OPTIONS
train lstm-lm:tiny --text a.txt --plan OPTIONS
train ngram-lm --text a.txt --out counts
train skipgram:tiny --text a.txt --out vectors --epochs 1 --threads 1 --min-count 1
eval run
eval run --text a.txt
run run the --max-length 3
run run the --score
info run
compare run new
ladder --text a.txt --rungs 1-gram,2-gram --out ladder
doctor
import a.arpa --out imported
export counts --to arpa --out counts.arpa
data
data show labels.tsv
data check labels.tsv --task classification
data add mine --task classification --train labels.tsv
data convert labels.tsv out.jsonl --to jsonl
tokenizer train t.json --text a.txt --vocab-size 300
tokenizer encode t.json the
tokenizer decode t.json 40
tokenizer info t.json --text a.txt
tokenizer export t.json t --to gpt2
tokenizer import t t2.json
tokenizer edit t.json --out t3.json --add zebra
corpus clean --text a.txt --min-words 3 --deduplicate --out clean.txt
corpus stats --text a.txt
corpus concordance cat --text a.txt
corpus collocations cat --text a.txt
corpus keyness b.txt --text a.txt
score lines.txt --reference lines.txt
lm rank counts the-cat a-dog
lm correct counts cot
lm authorship --text a.txt --author a=a.txt --author b=b.txt --out authors --no-normalise
lm rescore world world-nbest:test --weight 1 --max-lists 4 --out lists.tsv
lm surprisal new --out s.html --text a.txt --passages 1 --prompt-length 2 --max-length 10
lm prompts new the a
inspect probe new --max-words 100
vectors info v.txt
vectors neighbours v.txt cat
vectors similarity v.txt cat dog
vectors analogy v.txt cat dog fox
vectors odd-one-out v.txt cat dog tree
vectors recommend v.txt cat dog
vectors convert v.txt v.vec
vectors evaluate v.txt s.tsv q.txt
vectors pseudo-words v.txt --text a.txt --pairs cat/tree
lexicon synsets dog --lexicon world
lexicon senses dog --lexicon world
lexicon relations dog --lexicon world
lexicon hypernyms dog --lexicon world
lexicon hyponyms animal --lexicon world
lexicon similar dog cat --lexicon world
lexicon lemmas dogs --lexicon world
lexicon info --lexicon world
lexicon disambiguate the-dog --lexicon world
lexicon evaluate --max-words 5 --max-train 50
lexicon gloss-pairs world-senses --max-words 3 --out pairs.tsv
vectors senses v.txt cat --text a.txt
vectors search v.txt cat-dog --text a.txt --document paragraph
vectors align v.txt v.txt --seed-lexicon pairs.txt --translate cat
vectors study q.txt --text a.txt --out study.html --widths 4 --windows 2 --contexts symmetric --fractions 1 --epochs 1
align lines.txt lines.txt --threads 1
lm few-shot new --template {text}:{label} --examples labels.tsv --shots 0 --max-examples 2
vectors map v.txt --out map.svg
vectors arrows v.txt cat:dog tree:house --out arrows.svg
"""


def test_every_command_prints_json_without_units(command, folder, monkeypatch):
    """In one test, since later commands use what earlier ones wrote."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FIRTH_SETS", str(folder / "sets"))
    found = {}
    for line in COMMANDS.strip().splitlines():
        words = [word for part in line.split() for word in (OPTIONS if part == "OPTIONS" else [part])]
        found[line] = prose_with_numbers(assert_done(command(*words, "--json")).out)
    assert {line: texts for line, texts in found.items() if texts and line not in RECIPES} == {}


def commands(group, *path):
    """The names of all commands with --json, as words."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, *path, name)
        elif any("--json" in parameter.opts for parameter in command.params):
            yield " ".join((*path, name))


def test_no_command_with_json_is_missing():
    from firth.cli.main import app

    named = set(commands(typer.main.get_command(app)))
    assert len(named) > 40
    lines = [f"{line} " for line in COMMANDS.splitlines()]
    assert [name for name in named if not any(line.startswith(f"{name} ") for line in lines)] == []
