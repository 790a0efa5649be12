"""Word embeddings as runs: every preset, exact resume, continued training, small and bad input."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import firth
from firth.embeddings import drift, word2vec
from firth.embeddings.method import Loss
from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.runs.checkpoints import Interrupted
from firth.runs.progress import Quiet

PEOPLE, PLACES = ("ada", "bo", "cy", "di"), ("oslo", "rome", "kyiv", "lima")
PRESETS = ("skipgram", "cbow", "fasttext", "glove", "ppmi", "lsa", "hellinger", "items")
LOSSES = ("negative-sampling", "nce", "hierarchical-softmax", "softmax")


def sentences(count=300, seed=0):
    """People meet people, places are near places."""
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        kind, verb = (PEOPLE, "met") if random.integers(2) else (PLACES, "borders")
        a, b = random.choice(kind, 2, replace=False)
        texts.append(f"{a} {verb} {b} and {b} {verb} {a}")
    return texts


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))


def trained(out, preset="skipgram:tiny", text=None, **more):
    # 24 different sentences, which every split should have
    settings = {"method.width": 10, "data.group_duplicates": False, **more.pop("settings", {})}
    return firth.train(preset, text=text or sentences(), out=out, settings=settings, **more)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_learns_which_words_are_similar(preset, tmp_path):
    kind = {} if preset in ("ppmi", "lsa", "hellinger") else {"epochs": 60, "learning_rate": 0.1}
    sampled = {"method.subsample": 0.0} if preset in ("skipgram", "cbow", "fasttext", "items") else {}
    width = {"method.width": 4} if preset in ("ppmi", "lsa", "hellinger") else {}
    model = trained(tmp_path / "run", f"{preset}:tiny", settings={**sampled, **width}, **kind)
    store = model.vectors
    assert np.isfinite(store.vectors).all() and set(PEOPLE + PLACES) <= set(store.words)
    similarity = np.mean([store.similarity("ada", other) for other in PEOPLE[1:]])
    assert similarity > np.mean([store.similarity("ada", other) for other in PLACES]) + 0.2
    again = firth.load(tmp_path / "run")
    assert np.array_equal(again.vectors.vectors, store.vectors)
    assert "report.html" in {path.name for path in (tmp_path / "run").iterdir()}


@pytest.mark.parametrize("preset", PRESETS)
def test_fifty_words_are_enough(preset, tmp_path):
    text = ["the cat sat on the mat and the dog sat on the cat", "a dog and a cat ran to the mat and sat"] * 2
    model = trained(tmp_path / "run", f"{preset}:tiny", text=text, settings={"method.width": 3})
    assert np.isfinite(model.vectors.vectors).all() and "cat" in model.vectors


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("preset", ["skipgram:tiny", "cbow:tiny"])
def test_every_loss_falls_on_held_out_text(preset, loss, tmp_path):
    values = []

    class Listener(Quiet):
        def evaluation(self, entry):
            values.append((entry["split"], entry["value"]))

    rate = (
        0.03 if (preset, loss) == ("cbow:tiny", "hierarchical-softmax") else 0.1
    )  # there 0.1 is too fast for so few words
    settings = {"method.loss": loss, "method.subsample": 0.0, "method.learning_rate": rate}
    model = trained(tmp_path / "run", preset, settings=settings, epochs=12, deterministic=True, progress=Listener())
    losses = [value for split, value in values if split == "valid"]
    assert len(losses) == 12 and losses[-1] < 0.97 * losses[0]
    if loss != "hierarchical-softmax":  # whose tree is not in the file
        (score,) = model.evaluate(split="valid")
        assert score.value == pytest.approx(losses[-1], rel=1e-6)


@pytest.mark.parametrize("preset", ["skipgram:tiny", "cbow:tiny", "fasttext:tiny", "glove:tiny"])
def test_deterministic_runs_are_the_same_whatever_the_threads(preset, tmp_path):
    vectors = [trained(tmp_path / str(n), preset, threads=n, deterministic=True).vectors for n in (1, 2)]
    assert np.array_equal(vectors[0].vectors, vectors[1].vectors)
    assert np.array_equal(vectors[0].context, vectors[1].context)
    other = trained(tmp_path / "other", preset, deterministic=True, seed=2).vectors
    assert other.words != vectors[0].words or not np.array_equal(other.vectors, vectors[0].vectors)


@pytest.mark.parametrize("after", [0, 1, 7, 13, 29])
def test_an_interrupted_run_ends_with_the_same_bytes(after, tmp_path, monkeypatch):
    monkeypatch.setattr(word2vec, "CHUNK_TOKENS", 300)
    more = {"deterministic": True, "settings": {"train.checkpoint_seconds": 1e-9}}
    whole = trained(tmp_path / "whole", **more)
    calls, train_chunk = [], word2vec.Word2VecTrainer.train_chunk

    def breaking(self, epoch, chunk):
        calls.append((epoch, chunk))
        if len(calls) == after + 1:
            raise KeyboardInterrupt
        return train_chunk(self, epoch, chunk)

    monkeypatch.setattr(word2vec.Word2VecTrainer, "train_chunk", breaking)
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "broken", **more)
    monkeypatch.setattr(word2vec.Word2VecTrainer, "train_chunk", train_chunk)
    firth.resume(tmp_path / "broken")
    assert whole.run.weights.read_bytes() == (tmp_path / "broken" / "model.safetensors").read_bytes()


def test_a_signal_saves_a_checkpoint_to_resume_from(tmp_path, monkeypatch):
    import os
    import signal

    monkeypatch.setattr(word2vec, "CHUNK_TOKENS", 300)
    whole, train_chunk = trained(tmp_path / "whole", deterministic=True), word2vec.Word2VecTrainer.train_chunk

    def signalled(self, epoch, chunk):
        if (epoch, chunk) == (2, 3):
            os.kill(os.getpid(), signal.SIGTERM)
        return train_chunk(self, epoch, chunk)

    monkeypatch.setattr(word2vec.Word2VecTrainer, "train_chunk", signalled)
    with pytest.raises(Interrupted) as stop:
        trained(tmp_path / "run", deterministic=True)
    assert stop.value.signal_number == signal.SIGTERM and stop.value.step > 0
    monkeypatch.setattr(word2vec.Word2VecTrainer, "train_chunk", train_chunk)
    model = trained(tmp_path / "run", deterministic=True)  # the same request continues the run
    assert np.array_equal(model.vectors.vectors, whole.vectors.vectors)


def test_the_progress_callback_can_stop(tmp_path):
    class Listener(Quiet):
        def evaluation(self, entry):
            return entry["split"] == "valid" and entry["epoch"] == 2

    model = trained(tmp_path / "run", epochs=50, progress=Listener(), settings={"method.subsample": 0.0})
    assert len(model.vectors) and len((tmp_path / "run" / "log.jsonl").read_text().splitlines()) < 30


def test_early_stopping_keeps_the_best(tmp_path, monkeypatch):
    losses, seen, held_out = [3.0, 2.0, 2.5, 2.2, 1.0], [], word2vec.Word2VecTrainer.held_out

    def made_up(self, corpus):
        seen.append(self.inputs.copy())
        return Loss(1, losses[len(seen) - 1])

    monkeypatch.setattr(word2vec.Word2VecTrainer, "held_out", made_up)
    settings = {"method.subsample": 0.0, "train.patience": 2}
    model = trained(tmp_path / "run", epochs=5, deterministic=True, settings=settings)
    monkeypatch.setattr(word2vec.Word2VecTrainer, "held_out", held_out)
    assert len(seen) == 5  # four epochs; the last is the score of the finished run
    assert np.array_equal(model.vectors.vectors, seen[1][:, :10])


def test_all_threads_work_from_an_iterator(tmp_path, monkeypatch):
    from threading import get_ident

    monkeypatch.setattr(word2vec, "CHUNK_TOKENS", 300)
    seen, train_chunk = set(), word2vec.Word2VecTrainer.train_chunk

    def recorded(*args):
        seen.add(get_ident())
        return train_chunk(*args)

    monkeypatch.setattr(word2vec.Word2VecTrainer, "train_chunk", recorded)
    trained(tmp_path / "run", text=(line for line in sentences(2000)), threads=2)
    assert len(seen) == 2


def test_phrases_become_words(tmp_path):
    text = [f"new york {line}" for line in sentences(200)] + ["a new day"] * 20
    model = trained(
        tmp_path / "run", text=text, phrases=1, settings={"phrases.threshold": 0.1, "method.subsample": 0.0}
    )
    assert "new_york" in model.vectors and "york" not in model.vectors and model.run.record.data["phrases"]
    assert model.evaluate(split="valid")[0].value > 0


# --- continued training --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["skipgram:tiny", "fasttext:tiny"])
def test_continued_training_keeps_old_words_and_learns_new_ones(preset, tmp_path):
    before = trained(tmp_path / "old", preset, epochs=20)
    messages = []

    class Listener(Quiet):
        def say(self, text):
            messages.append(text)

    text = [line.replace("ada", "zoe") for line in sentences(100, seed=3) if "lima" not in line]
    after = trained(tmp_path / "new", preset, text=text, init_from=str(tmp_path / "old"), progress=Listener())
    assert {"zoe", "ada", "lima"} <= set(after.vectors.words) and "zoe" not in before.vectors.words
    assert any(line.startswith("known before: 11 words; new: 1") for line in messages)
    lima = after.vectors.vector("lima") @ before.vectors.vector("lima")
    assert lima > 0.9 * np.linalg.norm(before.vectors.vector("lima")) ** 2  # not in the new text: hardly moved
    assert "known before: " in (tmp_path / "new" / "report.html").read_text()


def test_drift_measures_what_was_forgotten():
    random = np.random.default_rng(0)
    words, rows = [f"w{n}" for n in range(200)], random.normal(size=(200, 8)).astype(np.float32)
    same = drift.measure(WordVectors(words, rows), WordVectors(words, rows))
    assert same.neighbour_overlap == 1.0 and same.mean_cosine == pytest.approx(1.0) and same.new_words == 0
    changed = rows.copy()
    changed[7] = random.normal(size=8)
    shift = drift.measure(WordVectors(words, rows), WordVectors([*words, "new"], np.vstack([changed, rows[:1]])))
    assert (
        shift.most_changed[0][0] == "w7"
        and 0.9 < shift.neighbour_overlap < 1.0
        and shift.new_words == 1
        and shift.shared_words == 200
    )


def test_initial_vectors_must_fit(tmp_path):
    trained(tmp_path / "old", epochs=1)
    with pytest.raises(FirthError, match="initial vectors have width 10, the configuration has width 12"):
        trained(tmp_path / "new", init_from=str(tmp_path / "old"), settings={"method.width": 12})
    with pytest.raises(FirthError, match="only word2vec and fastText"):
        trained(tmp_path / "glove", "glove:tiny", init_from=str(tmp_path / "old"))


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (["   ", "\n"], {}, "no text in it"),
        (["a b c"] * 30, {"tokenizer.min_count": 100}, "no word occurs 100 times"),
        (["a b c"] * 30, {"method.width": 0}, "method.width = 0: must be at least 1"),
        (["a b c"] * 30, {"method.max_n": 3, "method.min_n": 5}, "character n-grams of 5 to 3 characters"),
        (["a b c"] * 30, {"method.window": 0}, "method.window = 0: must be at least 1"),
        (["a b c"] * 30, {"init_from": "nowhere.bin"}, "nowhere.bin"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(text, settings, message, tmp_path):
    with pytest.raises(FirthError, match=message) as error:
        trained(tmp_path / "run", text=text, settings=settings)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run" / "config.json").exists()


def test_settings_of_other_families_are_refused(tmp_path):
    with pytest.raises(FirthError, match="skipgram has no setting 'depth'"):
        firth.train("skipgram", text=sentences(), out=tmp_path / "run", depth=2)
    with pytest.raises(FirthError, match="this model has no --temperature; it takes --count"):
        trained(tmp_path / "run").answer("ada", {"temperature": 0.5})


def test_changed_text_and_edited_folders_are_refused(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(sentences()))
    model = trained(tmp_path / "run", text=str(text))
    text.write_text("\n\n".join(sentences(seed=5)))
    with pytest.raises(FirthError, match="text has changed"):
        model.evaluate(split="valid")
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace('"negatives": 5', '"negatives": 6'))
    with pytest.raises(FirthError, match="not the one these vectors were trained with"):
        firth.load(tmp_path / "run")


def test_no_torch_is_needed(tmp_path):
    code = (
        "import sys, firth\n"
        "model = firth.train('skipgram:tiny', text=['a b c d'] * 40, out=sys.argv[1], epochs=1)\n"
        "firth.load(sys.argv[1]).vectors.most_similar('a')\n"
        "assert 'torch' not in sys.modules, 'torch'"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "run"], check=True)


def test_training_ends_early_when_the_callback_says_so_after_the_training_loss(tmp_path):
    class Stopper(Quiet):
        def evaluation(self, entry):
            return entry["split"] == "train" and entry["epoch"] == 2

    model = trained(tmp_path / "run", text=sentences(10), epochs=9, progress=Stopper())
    epochs = [line for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines() if '"train"' in line]
    assert len(epochs) == 2 and len(model.vectors)


def test_changed_initial_vectors_are_refused(tmp_path, monkeypatch):
    class Breaker(Quiet):
        def evaluation(self, entry):
            raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    WordVectors(["ada", "zoo"], np.ones((2, 10), np.float32)).save("old.txt")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "run", init_from="old.txt", progress=Breaker())
    WordVectors(["ada"], np.ones((1, 10), np.float32)).save("old.txt")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(FirthError, match="the vectors it was initialised from have changed"):
        firth.api.resume(tmp_path / "run")


def test_an_item_with_blanks_is_one_question(tmp_path):
    text = ["red shoe\tblue hat", "blue hat\tred shoe"] * 20
    model = trained(tmp_path / "run", "items:tiny", text=text, settings={"tokenizer.split": "tabs"}, epochs=1)
    assert [word for word, _ in model.answer("red shoe", {})["neighbours"]] == ["blue hat"]


def test_words_that_keep_all_neighbours_are_not_among_those_that_changed():
    store = WordVectors(["a", "b", "c"], np.eye(3, 4, dtype=np.float32))
    shift = drift.measure(store, store)
    assert (
        shift.most_changed == ()
        and shift.neighbour_overlap == 1
        and not any("changed" in line for line in shift.lines())
    )
    one = WordVectors(["a"], np.ones((1, 4), np.float32))
    assert drift.measure(one, store).neighbour_overlap == 1
