"""N-gram models as runs: laws of any language model, the world's entropy, exact reproduction, small and odd text."""

import json
import math
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

import firth
from firth import ngram
from firth.datasets.world import World
from firth.errors import FirthError
from firth.ngram import counts as counting
from firth.pipelines.ngram_lm import sample_texts
from firth.runs.progress import Quiet
from firth.runs.summary import compare_runs, summary
from firth.types import Batch, Tokens

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
OTHER = ["3 and 4 are friends", "7 and 99 are", "", "strangers strangers 11", "übel"]


class Recorder(Quiet):
    """Records messages and evaluations."""

    def __init__(self):
        self.lines, self.entries = [], []

    def say(self, text):
        self.lines.append(text)

    def evaluation(self, entry):
        self.entries.append(entry)


def trained(out, text=DOCUMENTS, **more):
    return firth.train("ngram-lm:tiny", text=text, out=out, **more)


def batch(rows):
    ids = torch.tensor(rows)
    return Batch({"text": Tokens(ids, torch.ones_like(ids, dtype=torch.bool))}, {})


@pytest.fixture(scope="module", params=["byte-bpe", "word", "char", "byte"])
def model(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    return trained(out, tokenizer=request.param, vocab_size=300)


# --- laws ---------------------------------------------------------------------------------------------------------


def test_loading_gives_the_same_model(model):
    again = firth.load(model.run.path)
    assert again.score(DOCUMENTS[:5]) == model.score(DOCUMENTS[:5])
    assert again.evaluate() == model.evaluate()


def test_scores_do_not_depend_on_the_batch(model):
    texts = [*DOCUMENTS[:9], *OTHER]
    assert model.score(texts) == [model.score([text])[0] for text in texts]


def test_a_whole_text_is_a_prefix_that_ends(model):
    for longer, shorter in zip(model.token_scores(OTHER), model.token_scores(OTHER, whole=False), strict=True):
        assert np.array_equal(longer[:-1], shorter) and longer[-1] < 0


def test_perplexity_is_that_of_the_documents(model):
    tokens = sum(len(ids) + 1 for ids in model.tokenizer.encode_batch(OTHER[:2]))
    expected = math.exp(-sum(model.score(OTHER[:2])) / tokens)
    assert model.perplexity(OTHER[:2]) == pytest.approx(expected, rel=1e-6)


def test_the_stepper_agrees_with_the_scores(model):
    stepper, special = model._engine.stepper, model.tokenizer.special
    for text in DOCUMENTS[:3]:
        ids = [special.start, *model.tokenizer.encode(text), special.end]
        state, log_probs = stepper.start(batch([ids[:1]])), []
        for last, following in pairwise(ids):
            row, state = stepper.step(torch.tensor([last]), state)
            assert row.shape == (1, stepper.size) and float(row.double().exp().sum()) == pytest.approx(1, abs=1e-5)
            log_probs.append(float(row[0, following]))
        assert np.array_equal(np.float32(log_probs), model.token_scores([text])[0])
        at_once, _ = stepper.step(torch.tensor(ids[-2:-1]), stepper.start(batch([ids[:-1]])))
        assert float(at_once[0, special.end]) == log_probs[-1]


def test_states_can_be_reordered_and_selected(model):
    stepper, special = model._engine.stepper, model.tokenizer.special
    rows = [[special.start, *model.tokenizer.encode(text)[:3]] for text in (DOCUMENTS[5], DOCUMENTS[100])]
    last = torch.tensor([row[-1] for row in rows])
    both, _ = stepper.step(last, stepper.start(batch(rows)))
    order = torch.tensor([1, 0, 1])
    reordered, _ = stepper.step(last[order], stepper.start(batch(rows)).reorder(order).select_inputs(order))
    assert torch.equal(reordered, both[order])


def test_samples_have_the_models_distribution(model):
    special = model.tokenizer.special
    rows = sample_texts(model.counted, special, count=4000, length=1, temperature=1.0, seed=5)
    counts = np.bincount([row[0] if row else special.end for row in rows], minlength=model.tokenizer.vocab_size)
    log_probs = ngram.distribution(model.counted, np.array([[special.start]]))[0].astype(np.float64)
    log_probs[sorted(special.ids - {special.end})] = -np.inf
    expected = np.exp(log_probs) / np.exp(log_probs).sum()
    assert (np.abs(counts - 4000 * expected) <= 5 * np.sqrt(4000 * expected * (1 - expected)) + 1).all()


def test_generation_is_repeatable_and_begins_with_the_prompt(model):
    texts = model.generate("3 and", max_length=12, count=3, seed=2)
    assert texts == model.generate("3 and", max_length=12, count=3, seed=2)
    assert all(text.startswith("3 and") for text in texts) and len(set(texts)) > 1


# --- evaluation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokenizer", "order"), [("byte-bpe", 3), ("word", 3), ("char", 7)])
def test_no_model_beats_the_world_itself(tmp_path, tokenizer, order):
    world = World(seed=3)
    unseen = list(world.documents(150, start=50_000))
    seen = list(world.documents(1500))
    model = trained(tmp_path / "run", seen, tokenizer=tokenizer, order=order, vocab_size=2000)
    true = -sum(map(world.log_probability, unseen)) / math.log(2) / sum(len(text.encode()) for text in unseen)
    value = model.bits_per_byte(unseen)
    assert true < value < 2 * true


def test_unknown_words_do_not_make_a_model_better(tmp_path):
    """The fewer words are known, the lower the perplexity; bits per byte charge what is unknown, and rise."""
    text = list(World(seed=3).documents(600))
    scores = []
    for min_count in (1, 5, 50, 10_000):
        settings = {"tokenizer.model": "word", "tokenizer.min_count": min_count, "tokenizer.lowercase": "yes"}
        model = trained(tmp_path / str(min_count), text, settings=settings)
        scores.append([score.value for score in model.evaluate()])
    perplexities, bits = zip(*scores, strict=True)
    assert perplexities[0] > perplexities[-2] > perplexities[-1]
    assert all(second > first for first, second in pairwise(bits))
    rows, notes = compare_runs([str(tmp_path / str(count)) for count in (50, 5, 1)])
    assert [Path(row["run"]).name for row in rows] == ["1", "5", "50"] and "test perplexity" not in rows[0]
    assert any("perplexities do not compare" in note for note in notes) and "ranked by bits per byte" in notes[-1]


def test_the_log_and_the_scores_agree(tmp_path):
    recorder = Recorder()
    model = trained(tmp_path / "run", progress=recorder)
    about = summary(tmp_path / "run")
    (entry,) = recorder.entries
    scores = {(score["name"], "valid" in score["signature"]): score["value"] for score in model.run.scores()}
    assert entry["value"] == pytest.approx(scores["perplexity", True]) and len(scores) == 4
    assert about["state"] == "done" and about["parameters"] == sum(model.counted.sizes)
    first = json.loads((tmp_path / "run" / "log.jsonl").read_text().splitlines()[0])
    assert about["tokens_seen"] == first["tokens"] > 500 and about["seconds"] == first["seconds"] >= 0
    report = (tmp_path / "run" / "report.html").read_text()
    assert report.count("<pre>") == 3 and "longest known n-gram" in report and "<script" not in report


def test_stupid_backoff_has_no_perplexity(tmp_path):
    recorder = Recorder()
    model = trained(tmp_path / "run", smoothing="stupid-backoff", progress=recorder)
    assert [score.value for score in model.evaluate()] == [None, None] and not recorder.entries
    assert any("scores, not probabilities" in line for line in recorder.lines)
    assert model.score(DOCUMENTS[:1])[0] < 0 and len(model.generate(count=2)) == 2


def test_without_smoothing_new_text_has_probability_zero(tmp_path):
    recorder = Recorder()
    model = trained(tmp_path / "run", smoothing="mle", tokenizer="word", progress=recorder)
    assert model.perplexity() == math.inf and any("probability 0" in line for line in recorder.lines)
    assert "probability 0" in summary(tmp_path / "run")["notes"][0]


def test_a_text_ends_where_only_unknown_words_can_follow(tmp_path):
    text = [f"a b x{number}" for number in range(20)]
    model = trained(tmp_path / "run", text, tokenizer="word", min_count=2, smoothing="mle")
    assert model.generate(count=3) == ["a b"] * 3


# --- reproducibility ------------------------------------------------------------------------------------------------


def files_of(run):
    names = ("model.safetensors", "config.json", "scores.json", "tokenizers/text.json")
    return {name: (run / name).read_bytes() for name in names}


@pytest.mark.parametrize("function", ["save", "load"])
def test_an_interrupted_run_starts_again_with_the_same_result(tmp_path, monkeypatch, function):
    trained(tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(ngram, function, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "stopped")
    assert (tmp_path / "stopped" / "model.safetensors").exists() == (function == "load")
    trained(tmp_path / "stopped")
    assert files_of(tmp_path / "stopped") == files_of(tmp_path / "whole")
    assert len((tmp_path / "stopped" / "log.jsonl").read_text().splitlines()) == 2


def test_any_number_of_threads_gives_the_same_bytes(tmp_path, monkeypatch):
    for threads in (1, 3):
        monkeypatch.setattr(counting, "default_threads", lambda threads=threads: threads)
        trained(tmp_path / str(threads))
    assert files_of(tmp_path / "1") == files_of(tmp_path / "3")


def test_damaged_weights_are_estimated_again(tmp_path):
    trained(tmp_path / "run")
    before, weights = files_of(tmp_path / "run"), tmp_path / "run" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])
    with pytest.raises(FirthError, match="not an n-gram model that firth wrote"):
        firth.load(tmp_path / "run")
    firth.resume(tmp_path / "run")
    assert files_of(tmp_path / "run") == before


def test_other_text_and_an_edited_configuration_are_refused(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(DOCUMENTS))
    trained(tmp_path / "run", str(text))
    text.write_text("\n\n".join(DOCUMENTS[1:]))
    with pytest.raises(FirthError, match="text has changed"):
        firth.resume(tmp_path / "run")
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace('"order": 3', '"order": 4'))
    with pytest.raises(FirthError, match="not the one these n-grams were trained with"):
        firth.load(tmp_path / "run")


def test_no_torch_is_needed(tmp_path):
    code = (
        "import sys, firth\n"
        "firth.train('ngram-lm:tiny', text=['a b c d'] * 40, out=sys.argv[1])\n"
        "model = firth.load(sys.argv[1])\n"
        "model.evaluate(), model.score(['a b']), model.export('arpa', sys.argv[1] + '.arpa')\n"
        "assert 'torch' not in sys.modules, 'torch'"
    )
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # the text is too short to be worth compiling for
    subprocess.run([sys.executable, "-c", code, tmp_path / "run"], check=True, env=plain)


# --- little text --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokenizer", ["byte-bpe", "word", "char"])
def test_three_lines_are_enough(tmp_path, tokenizer):
    recorder = Recorder()
    text = tmp_path / "small.txt"
    text.write_text("the cat sat\nthe dog sat on the mat\na cat\n")
    model = trained(
        tmp_path / "run", str(text), document="line", tokenizer=tokenizer, vocab_size=300, progress=recorder
    )
    assert any(line.startswith("note: ") and "discounts" in line for line in recorder.lines)
    assert math.isfinite(model.perplexity()) and math.isfinite(model.perplexity(["entirely other words"]))


def test_without_held_out_text_there_are_no_scores(tmp_path):
    model = trained(tmp_path / "run", ["a b c"], settings={"data.valid_fraction": 0, "data.test_fraction": 0})
    assert model.run.scores() == [] and model.score(["a b c"])[0] > model.score(["c b a"])[0]


def test_a_plan_and_an_order_too_high_are_refused(tmp_path):
    with pytest.raises(FirthError, match="order"):
        trained(tmp_path / "run", order=11)
    with pytest.raises(FirthError, match="--plan is for neural models"):
        firth.plan(firth.api.resolve_config("ngram-lm"))
