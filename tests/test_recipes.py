"""Every recipe is what a person can run: it is read whole, and its first step is taken."""

from pathlib import Path

import pytest

from firth import api
from firth.config import core, schema

RECIPES = sorted((Path(__file__).parent.parent / "recipes").glob("*.toml"))
TEXT = [f"the {animal} sat on the {place} and said {word}" for animal in ("cat", "dog", "owl", "hen")
        for place in ("mat", "roof", "wall") for word in ("yes", "no")]  # fmt: skip
LABELLED = "\n".join(["label\ttext", *(f"{'good' if n % 3 else 'bad'}\t{line}" for n, line in enumerate(TEXT))]) + "\n"
TAGGED = "\n\n".join(
    "\n".join(
        f"{word} {'DT' if word == 'the' else 'NN'} B-NP {'B-X' if word == 'cat' else 'O'}" for word in line.split()
    )
    for line in TEXT
)
TAGGING = {"accuracy", "accuracy_known_words", "accuracy_unknown_words", "f1", "precision", "recall"}
SMALL = {"backbone.width": 12, "backbone.heads": 2, "tokenizer.vocabulary_size": 300, "train.budget": "1 steps"}
SMALL |= {f"backbone.{part}.depth": 1 for part in ("encoder", "decoder")}
SPLITS = ("", "valid-", "test-")


def test_there_are_recipes():
    assert RECIPES


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_trains(path, tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    whole = api.resolve_config(str(path)).config
    tagged, labelled = isinstance(whole.data, schema.TaggedWords), core.has(whole, "data.tasks")
    text = tmp_path / ("text.conll" if tagged else "text.tsv" if labelled else "text.txt")
    text.write_text(f"{TAGGED}\n" if tagged else LABELLED if labelled else "\n".join(TEXT) + "\n")
    small = [f"{name}={value}" for name, value in SMALL.items() if core.has(whole, name)]
    pairs = core.has(whole, "data.source")
    names = (
        [f"{split}{side}" for split in SPLITS for side in ("source", "target")] if pairs else ("text", "valid", "test")
    )
    model = api.train_config(api.resolve_config(str(path), small, dict.fromkeys(names, str(text))), tmp_path / "run")
    translated = {"seq2seq_perplexity", "seq2seq_accuracy", "exact_match", "BLEU", "chrF2"}
    expected = translated if pairs else {"accuracy", "macro_f1"} if labelled else {"perplexity", "bits_per_byte"}
    found = {score["name"] for score in model.run.scores()}
    assert "accuracy" in found <= TAGGING if tagged else found == expected
