"""Probing of trained runs: from Python and from the command line, with its page."""

import json

import pytest

import firth
from firth.cli.main import app
from firth.errors import FirthError
from firth.report.probe_page import probe_page

WORLD = {"budget": "3 steps", "threads": 1, "text": "world:300"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {name: firth.train(f"{name}:tiny", out=folder / name, **WORLD) for name in ("lstm-lm", "t5")}


@pytest.mark.parametrize("name", ["lstm-lm", "t5"])
def test_a_run_is_probed(runs, name):
    result = firth.probe(runs[name], "pos", max_words=300)
    assert [layer.layer for layer in result.layers][:2] == ["embeddings", "1"]
    assert 0 < result.majority < result.word_type <= 1
    assert result.layers[0].accuracy > result.majority
    again = firth.probe(runs[name].run.path, "pos", max_words=300)
    assert again.to_dict() == result.to_dict()
    assert "</svg>" in probe_page(result) and "<script" not in probe_page(result)


def test_other_layers_of_tags_and_files(runs, tmp_path):
    assert firth.probe(runs["lstm-lm"], "ner", max_words=300).about["task"] == "entity"
    assert firth.probe(runs["lstm-lm"], "upos", max_words=300).about["task"] == "upos"
    lines = ["Ann N", "sees V", "rain N", "", "Bob N", "hears V", "Tom N", ""]
    (tmp_path / "a.conll").write_text("\n".join(lines * 6))
    result = firth.probe(runs["lstm-lm"], text=tmp_path / "a.conll", test=tmp_path / "a.conll", max_words=100)
    assert result.about["train_words"] == 36 and result.word_type == 1.0
    with pytest.raises(FirthError, match="unknown layer 'colour'"):
        firth.probe(runs["lstm-lm"], "colour", text=tmp_path / "a.conll")
    with pytest.raises(FirthError, match="unknown pooling 'sum'"):
        firth.probe(runs["lstm-lm"], pooling="sum")


def test_a_model_without_layers(tmp_path):
    model = firth.train("naive-bayes", out=tmp_path / "run")
    with pytest.raises(FirthError, match="this model has no layers; probe a neural network"):
        firth.probe(model)


def test_the_command(runs, tmp_path, capsys):
    page = tmp_path / "probe.html"
    arguments = ["inspect", "probe", str(runs["lstm-lm"].run.path), "--max-words", "300", "--out", str(page)]
    app(arguments, standalone_mode=False)
    printed = capsys.readouterr().out
    assert "selectivity" in printed and "most frequent tag of each word" in printed and page.exists()
    app([*arguments, "--json"], standalone_mode=False)
    answer = json.loads(capsys.readouterr().out)
    assert answer["file"] == str(page) and answer["layers"][0]["layer"] == "embeddings"
