"""Folders of other programs, made and spoiled."""

from __future__ import annotations

import json

import pytest
import safetensors.torch

import tokenizers
from firth import FirthError
from firth.interop.importer import load_pretrained

SIZE = 40
NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_tokenizer(path, size=SIZE, names=NAMES):
    words = {name: number for number, name in enumerate([*names, *(f"w{n}" for n in range(len(names), size))])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token=names[0] if len(names) == 1 else "[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(names)
    made.save(str(path / "tokenizer.json"))


def change(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def weights(folder):
    return safetensors.torch.load_file(folder / "model.safetensors")


def put(folder, tensors):
    safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def refused(folder, *parts):
    with pytest.raises(FirthError) as error:
        load_pretrained(folder)
    line = str(error.value)
    assert "\n" not in line
    for part in parts:
        assert str(part) in line, line
