"""The good path of every verb and option, and of the same things from Python."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
import tomllib

import pytest
from cli_samples import OPTIONS, SMALL, TEXT, assert_done, outcome

import firth
from firth.errors import FirthError
from firth.runs import checkpoints
from firth.runs.run_folder import Run

# --- presets ------------------------------------------------------------------------------------------------------


def test_presets_lists_every_preset(command):
    from firth.presets import PRESETS

    rows = json.loads(assert_done(command("presets", "--json")).out)
    assert [row["preset"] for row in rows] == list(PRESETS)
    shown = assert_done(command("presets")).out
    assert all(name in shown for name in PRESETS)


@pytest.mark.parametrize("name", ["lstm-lm", "lstm-lm:medium"])
def test_a_preset_as_toml_is_the_preset(command, tmp_path, name):
    from firth.api import resolve_config

    path = tmp_path / "recipe.toml"
    path.write_text(assert_done(command("presets", name)).out)
    assert resolve_config(str(path)) == resolve_config(name)
    assert json.loads(assert_done(command("presets", name, "--json")).out) == tomllib.loads(path.read_text())


# --- train --------------------------------------------------------------------------------------------------------


def test_train_makes_a_whole_run_folder_and_quietly_says_nothing(command, training, tmp_path):
    out = tmp_path / "out"
    assert assert_done(command(*training, "--out", out)) == (0, "", "")
    wanted = ".lock config.json log.jsonl model.safetensors report.html scores.json state tokenizers"
    assert sorted(path.name for path in out.iterdir()) == wanted.split()
    assert sorted(path.name for path in (out / "state").iterdir()) == ["step-000003", "step-000006"]
    steps = [json.loads(line)["step"] for line in (out / "log.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3, 3, 4, 5, 6, 6]  # evaluations have a line of their own


def test_train_tells_its_scores_and_its_folder(command, training, tmp_path):
    words = [word for word in training if word != "--quiet"]
    found = assert_done(command(*words, "--out", tmp_path / "out"))
    assert "test perplexity: " in found.out and f"run folder: {tmp_path / 'out'}" in found.out
    assert "validation perplexity" in found.err
    assert "6,647 parameters; the budget of 6 steps begins" in found.err


def test_train_as_json_has_a_line_for_everything(command, training, tmp_path):
    words = [word for word in training if word != "--quiet"]
    found = assert_done(command(*words, "--out", tmp_path / "out", "--json"))
    events = [json.loads(line) for line in found.out.splitlines()]
    assert [event["step"] for event in events if event["event"] == "step"] == [1, 2, 3, 4, 5, 6]
    assert [event["step"] for event in events if event["event"] == "evaluation"] == [3, 6]
    assert events[-1]["event"] == "done" and {score["name"] for score in events[-1]["scores"]} == {
        "perplexity", "bits_per_byte"}  # fmt: skip
    assert found.err == ""


def test_a_plan_writes_no_run_folder(command, training, tmp_path):
    found = assert_done(command(*training, "--out", tmp_path / "out", "--plan"))
    assert "parameters  6,647 (inputs 4,208, backbone 2,176, head 263)" in found.out and "steps       6 " in found.out
    plan = json.loads(assert_done(command(*training, "--out", tmp_path / "out", "--plan", "--json")).out)
    assert plan["parameters"] == sum(plan["parts"].values()) == 6647 and plan["steps"] == 6
    assert plan["seconds"] > 0 and plan["memory"] > 0 and plan["disk"] > 0
    assert not (tmp_path / "out").exists()


def test_a_plan_tells_what_bf16_would_take_where_the_processor_has_it(command, training, monkeypatch):
    for has in (True, False):
        monkeypatch.setattr("firth.training.device.has_bf16", lambda has=has: has)
        found = assert_done(command(*training, "--plan"))
        assert ("or          6 steps in about" in found.out) == has
        plan = json.loads(assert_done(command(*training, "--plan", "--json")).out)
        assert (plan["in_bf16"] is not None) == has
    monkeypatch.setattr("firth.training.device.has_bf16", lambda: True)
    assert "--precision" not in assert_done(command(*training, "--precision", "bf16", "--plan")).out


def test_the_next_free_folder_is_taken(command, training, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("lstm-lm-tiny", "lstm-lm-tiny-2"):
        assert_done(command(*training))
        assert (tmp_path / "runs" / name / "model.safetensors").is_file()


def test_a_recipe_trains_the_same_as_its_options(command, trained, corpus, tmp_path):
    """Bits per byte and weights are those of the same settings on the command line."""
    path = tmp_path / "recipe.toml"
    path.write_text(
        f'preset = "lstm-lm:tiny"\n[data]\ntext = ["{corpus}"]\n[tokenizer]\nmodel = "byte"\n[backbone]\nwidth = 16\n'
        '[batching]\nbatch_size = 4\nlength = 8\n[train]\nbudget = "6 steps"\n'
        "evaluate_every = 3\ncheckpoint_every = 3\nthreads = 1\n"
    )
    assert_done(command("train", path, "--out", tmp_path / "out", "--quiet"))
    assert outcome(tmp_path / "out") == outcome(trained)


def scores(run) -> list[float]:
    return [score["value"] for score in json.loads((run / "scores.json").read_text())]


def test_standard_input_and_packed_files_are_text_like_any_other(command, training, trained, tmp_path):
    packed = tmp_path / "corpus.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert_done(command(*training, "--text", packed, "--out", tmp_path / "packed"))
    assert_done(command(*training, "--text", "-", "--out", tmp_path / "piped", stdin=TEXT.encode()))
    assert scores(tmp_path / "packed") == scores(tmp_path / "piped") == scores(trained)
    assert_done(command("eval", tmp_path / "piped", "--split", "valid"))  # what was read only once is still there


def test_own_validation_and_test_text_leave_the_whole_text_for_training(command, training, trained, tmp_path):
    valid, test = tmp_path / "valid.txt", tmp_path / "test.txt"
    valid.write_text("1 2 3\n4 5 6\n")
    test.write_text("7 8 9\n")
    words = [*training, "--valid", valid, "--test", test, "--out", tmp_path / "out"]
    notes = assert_done(command(*[word for word in words if word != "--quiet"])).err
    for name, count in {"train": 60, "valid": 2, "test": 1}.items():
        assert re.search(rf"^{name} +{count} documents ", notes, flags=re.MULTILINE)
    assert len(scores(tmp_path / "out")) == 2


def test_validation_text_may_come_from_standard_input(command, training, tmp_path):
    assert_done(command(*training, "--valid", "-", "--out", tmp_path / "out", stdin=b"1 2 3\n4 5 6\n"))
    assert_done(command("eval", tmp_path / "out", "--split", "valid"))


@pytest.mark.parametrize("again", ["run", "command"])
def test_an_unfinished_run_is_continued_by_its_folder_or_by_the_same_command(command, training, trained, run, again):
    for path in (run / "state/step-000006").iterdir():
        path.unlink()
    (run / "model.safetensors").unlink()
    assert checkpoints.newest_checkpoint(run) == run / "state/step-000003"
    assert_done(command("train", run, "--quiet") if again == "run" else command(*training, "--out", run))
    assert outcome(run) == outcome(trained)


@pytest.mark.parametrize("again", ["run", "command"])
def test_a_finished_run_stays_as_it_is(command, training, trained, run, again):
    assert_done(command("train", run, "--quiet") if again == "run" else command(*training, "--out", run))
    assert outcome(run) == outcome(trained) and scores(run) == scores(trained)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_says_how_to_go_on_and_costs_nothing(command, corpus, tmp_path, number, code):
    settings = {**SMALL, "train.budget": "120 steps", "train.evaluate_every": 60, "train.checkpoint_every": 60}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    words = ["train", "lstm-lm:tiny", "--text", str(corpus), *options]
    out, whole = tmp_path / "out", tmp_path / "whole"
    process = subprocess.Popen([sys.executable, "-m", "firth", *words, "--out", str(out), "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    for line in process.stdout:
        if json.loads(line).get("step") == 5:
            break
    process.send_signal(number)
    err = process.communicate()[1]
    assert process.returncode == code
    step = int(checkpoints.newest_checkpoint(out).name.removeprefix("step-"))
    assert 5 <= step < 120
    assert err == f"firth: stopped and saved at step {step}; resume with: firth train {out}\n"
    assert f"open, step {step} of 120" in assert_done(command("info", out)).out
    assert_done(command("train", out, "--quiet"))
    assert_done(command(*words, "--out", whole, "--quiet"))
    assert outcome(out) == outcome(whole)


# --- eval ---------------------------------------------------------------------------------------------------------


def test_eval_repeats_the_scores_of_training(command, run):
    found = json.loads(assert_done(command("eval", run, "--json")).out)
    assert found == json.loads((run / "scores.json").read_text())
    assert assert_done(command("eval", run)).out == (
        f"test perplexity: {found[0]['value']:.4g}   bits per byte {found[1]['value']:.4g}\n"
    )
    shown = assert_done(command("eval", run, "--verbose")).out.splitlines()
    assert shown[1] == f"test bits per byte: {found[1]['value']:.4g}  [{found[1]['signature']}]" and len(shown) == 2


def test_eval_of_another_split_is_kept_beside(command, run):
    assert_done(command("eval", run, "--split", "valid"))
    signatures = " ".join(score["signature"] for score in json.loads((run / "scores.json").read_text()))
    assert signatures.count("|split:test|") == signatures.count("|split:valid|") == 2


def test_eval_of_a_text_is_the_score_of_its_documents(command, run, tmp_path):
    """Bits per byte of a text of one document are its log-probability over its bytes."""
    path = tmp_path / "one.txt"
    path.write_text("11 22 33 44\n")
    before = (run / "scores.json").read_text()
    _, bits = json.loads(assert_done(command("eval", run, "--text", path, "--json")).out)
    value = json.loads(assert_done(command("run", run, "11 22 33 44", "--score", "--json")).out)["log_probability"]
    assert bits["value"] == pytest.approx(-value / 0.6931471805599453 / 11, rel=1e-5)
    assert "|split:given|" in bits["signature"] and (run / "scores.json").read_text() == before


# --- run ----------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_text(command, trained):
    words = ["run", trained, "1 2", "--max-length", 12, "--json"]
    texts = [json.loads(assert_done(command(*words, "--seed", seed)).out)["texts"] for seed in (7, 7, 8)]
    assert texts[0] == texts[1] != texts[2]
    assert all(text.startswith("1 2") for found in texts for text in found)


def test_temperature_zero_does_not_depend_on_the_seed(command, trained):
    found = {
        command("run", trained, "1 2", "--max-length", 9, "--temperature", 0, "--seed", seed).out for seed in (1, 2)
    }
    found |= {command("run", trained, "1 2", "--max-length", 9, "--top-k", 1, "--seed", 3).out}
    assert len(found) == 1


def test_several_continuations_are_told_apart(command, trained):
    words = ["run", trained, "1 2", "--count", 3, "--max-length", 5, "--top-p", 0.9]
    assert len(json.loads(assert_done(command(*words, "--json")).out)["texts"]) == 3
    assert assert_done(command(*words)).out.count("\n---\n") == 2


def test_a_prefix_is_at_least_as_probable_as_the_whole(command, trained):
    lines = ["1 2 3", "", "5"]
    stdin = "".join(f"{line}\n" for line in lines).encode()
    values = []
    for extra in ([], ["--prefix"]):
        found = assert_done(command("run", trained, "-", "--score", "--json", *extra, stdin=stdin)).out
        entries = [json.loads(line) for line in found.splitlines()]
        assert [entry["input"] for entry in entries] == lines
        values.append([entry["log_probability"] for entry in entries])
    assert all(prefix >= whole for whole, prefix in zip(*values, strict=True))
    assert values[1][1] == 0.0  # every document begins with nothing
    shown = assert_done(command("run", trained, "1 2 3", "--score")).out
    assert shown == f"{values[0][0]:.4f}\t1 2 3\n"


def test_each_line_of_standard_input_is_a_prompt(command, trained):
    found = assert_done(command("run", trained, "-", "--max-length", 3, "--json", stdin=b"1 2\n3 4\n")).out
    assert [json.loads(line)["input"] for line in found.splitlines()] == ["1 2", "3 4"]


# --- info and compare ---------------------------------------------------------------------------------------------


def test_info_tells_about_a_run(command, trained, corpus):
    about = json.loads(assert_done(command("info", trained, "--json")).out)
    assert about["state"] == "done" and about["step"] == about["steps"] == 6
    assert about["parameters"] == 6647 and about["text"] == [str(corpus)]
    assert about["tokens_seen"] == 6 * 4 * 8 and about["preset"] == "lstm-lm:tiny" and len(about["scores"]) == 2
    shown = assert_done(command("info", trained)).out
    assert "state        done, step 6 of 6" in shown and "signature" not in shown and "[tok:" not in shown
    assert f"scores       test perplexity: {about['scores'][0]['value']:.4g}   bits per byte " in shown
    assert about["scores"][0]["signature"] in assert_done(command("info", trained, "--verbose")).out
    assert "parameters   6,647\n" in shown
    assert re.search(r"^time         \d s$", shown, re.M) and re.search(r"^disk         0\.\d MB$", shown, re.M)


def test_compare_warns_where_scores_cannot_be_compared(command, training, trained, tmp_path):
    words, other = ["--set", "tokenizer.model=char"], tmp_path / "other.txt"
    other.write_text(TEXT[::-1].strip())
    assert_done(command(*training, *words, "--out", tmp_path / "char"))
    assert_done(command(*training, "--text", other, "--out", tmp_path / "other"))
    notes = {
        trained: [],
        tmp_path / "char": [
            "these runs have different vocabularies: their perplexities do not compare and are left out; "
            "ranked by bits per byte, the best first"
        ],
        tmp_path / "other": ["these runs were tested on different text, so their scores cannot be compared"],
    }
    for run, warnings in notes.items():
        found = json.loads(assert_done(command("compare", trained, run, "--json")).out)
        assert {row["run"] for row in found["rows"]} == {str(trained), str(run)}
        assert found["warnings"] == warnings
        assert all(row["scores"] == Run(row["run"]).scores() for row in found["rows"])
        bits = {row["run"]: row["test bits per byte"] for row in found["rows"]}
        assert bits == {str(trained): scores(trained)[1], str(run): scores(run)[1]}
        if run.name == "char":
            assert list(bits.values()) == sorted(bits.values())
        assert all(f"note: {warning}" in assert_done(command("compare", trained, run)).out for warning in warnings)


# --- tokenizer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["char", "byte", "word", "bpe", "byte-bpe", "wordpiece", "unigram"])
def test_a_tokenizer_goes_there_and_back(command, corpus, tmp_path, model):
    path = tmp_path / "tokenizer.json"
    said = assert_done(command("tokenizer", "train", path, "--text", corpus, "--model", model, "--vocab-size", 300)).out
    assert said.startswith(f"{path}: ")
    encoded = json.loads(assert_done(command("tokenizer", "encode", path, "12 34", "--json")).out)
    assert set(encoded) == {"ids", "tokens", "offsets"} and encoded["offsets"][-1][1] == 5
    ids = assert_done(command("tokenizer", "encode", path, "12 34")).out
    assert ids == f"{' '.join(map(str, encoded['ids']))}\n"
    tokens = assert_done(command("tokenizer", "encode", path, "--tokens", "12 34")).out
    assert tokens == f"{' '.join(encoded['tokens'])}\n"
    assert assert_done(command("tokenizer", "decode", path, ids.strip())).out == "12 34\n"
    about = json.loads(assert_done(command("tokenizer", "info", path, "--text", corpus, "--json")).out)
    assert about["kind"] == model and about["unknown_fraction"] == 0.0 and about["sample"] == str(corpus)
    assert "characters per token" in assert_done(command("tokenizer", "info", path, "--text", corpus)).out


def test_a_tokenizer_reads_lines_and_run_folders(command, trained):
    ids = assert_done(command("tokenizer", "encode", trained, "-", stdin=b"12\n34\n")).out
    assert len(ids.splitlines()) == 2
    assert assert_done(command("tokenizer", "decode", trained, "-", stdin=ids.encode())).out == "12\n34\n"


def test_a_tokenizer_file_trains_as_a_tokenizer_of_its_own(command, training, trained, tmp_path):
    words = ["--set", f"tokenizer.file={trained / 'tokenizers/text.json'}", "--out", tmp_path / "out"]
    assert_done(command(*training, *words))
    assert scores(tmp_path / "out") == scores(trained)


# --- Python -------------------------------------------------------------------------------------------------------


def test_every_public_name_resolves():
    """In a process of its own: what another test has imported must not help."""
    code = "import firth\nfor name in firth.__all__: assert getattr(firth, name) is not None, name"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        firth.nonsense  # noqa: B018


def test_python_trains_from_an_iterator_and_loads_what_it_trained(tmp_path):
    documents = (line for line in TEXT.splitlines())
    model = firth.train("lstm-lm:tiny", text=documents, out=tmp_path / "run", settings=SMALL, width=8, seed=3)
    assert next(documents, None) is None and model.config.backbone.width == 16 and model.config.seed == 3
    again = firth.load(tmp_path / "run")
    assert again.perplexity() == model.perplexity() and again.generate("1", max_length=9) == model.generate(
        "1", max_length=9
    )
    assert again.evaluate(["1 2 3"]) == model.evaluate(["1 2 3"]) and again.score(["1 2"]) == model.score(["1 2"])
    assert sum(again.token_scores(["1 2"])[0]) == pytest.approx(again.score(["1 2"])[0])
    before = outcome(tmp_path / "run")
    firth.resume(tmp_path / "run")
    assert outcome(tmp_path / "run") == before


def test_python_plans(corpus):
    from firth.api import resolve_config

    choice = resolve_config("lstm-lm:tiny", [f"{key}={value}" for key, value in {**SMALL, "data.text": corpus}.items()])
    assert firth.plan(choice).steps == 6


def test_python_and_the_command_line_train_alike(command, trained, corpus, tmp_path):
    assert_done(command("train", "lstm-lm:tiny", "--text", corpus, "--out", tmp_path / "out", "--quiet", *OPTIONS))
    assert outcome(tmp_path / "out") == outcome(trained)


def test_python_refuses_what_the_command_line_refuses(trained):
    with pytest.raises(FirthError, match=r"^top_p = 0\.0: must be above 0"):
        firth.load(trained).generate(top_p=0)
    with pytest.raises(FirthError, match="no such run folder"):
        firth.load(trained / "nowhere")
