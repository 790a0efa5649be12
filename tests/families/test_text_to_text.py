"""Laws of networks that read one text and write another, on small models of their own."""

import os
import signal

import pytest

import firth
from firth import api
from firth.errors import FirthError
from firth.runs.progress import Quiet
from firth.training.guard import Interrupted

DOCUMENTS = [f"{a} and {b} are {'friends' if (a + b) % 2 else 'strangers'}" for a in range(12) for b in range(12)]
SIZE = {"width": 32, "depth": 1, "heads": 2, "spread": 0.15}
SETTINGS = {
    "tokenizer.model": "word",
    "tokenizer.size": 300,
    **{f"backbone.{part}.{name}": value for part in ("encoder", "decoder") for name, value in SIZE.items()},
    "batching.tokens": 256,
    "batching.length": 16,
    "train.budget": "60 steps",
    "train.evaluate": 30,
    "train.save": 30,
    "train.threads": 1,
    "train.optimizer.rate": 0.01,
    "train.schedule.warmup": 10,
}
T5 = {**SETTINGS, "input.spread": 1.7, "tokenizer.sentinels": 10, "objective.share": 0.3}
ONE = {  # of one stack
    **{name: value for name, value in SETTINGS.items() if "backbone" not in name and name != "batching.tokens"},
    **{f"backbone.{name}": value for name, value in SIZE.items()},
    "batching.rows": 8,
}


@pytest.fixture(scope="module", params=["t5", "bart"])
def model(request, tmp_path_factory):
    settings = T5 if request.param == "t5" else SETTINGS
    out = tmp_path_factory.mktemp("run") / request.param
    return firth.train(f"{request.param}:tiny", text=DOCUMENTS, out=out, settings=settings)


def test_it_learns_to_write_what_it_read_or_what_is_missing(model):
    found = {score.name: score.value for score in model.evaluate()}
    assert found["denoising_perplexity"] < 8
    assert found["denoising_accuracy"] > 0.5
    again = {score.name: score.value for score in firth.load(model.run.path).evaluate()}
    assert again == found


def test_what_is_written_does_not_depend_on_company(model):
    texts = ["3 and [MASK] are friends", "5 [MASK] friends", "[MASK]", "", "11 and 4 are [MASK]"]
    together = model.generate(texts, length=12)
    assert together == [model.generate([text], length=12)[0] for text in texts]
    assert all(isinstance(text, str) for text in together)


def test_greedy_choice_is_a_beam_of_one_and_a_wider_beam_finds_no_less(model):
    text = "7 and [MASK] are strangers"
    ((greedy,),) = model.write([text], length=12)
    ((one,),) = model.write([text], length=12, beam=1)
    assert greedy == pytest.approx(one) or greedy.text == one.text
    best = model.write([text], length=12, beam=4, count=3)[0]
    assert len(best) == 3
    assert best[0].log_probability >= greedy.log_probability - 1e-4
    assert [each.log_probability for each in best] == sorted((e.log_probability for e in best), reverse=True)


def test_drawn_texts_follow_the_seed(model):
    how = {"length": 12, "temperature": 1.5, "count": 4}
    one, again, other = (model.write(["1 and [MASK]"], seed=seed, **how) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_a_filled_text_has_no_marks_of_gaps_but_those_nothing_was_written_for(model):
    for text in ("3 and [MASK] are friends", "[MASK] and 2 are [MASK]"):
        found = model.fill(text, length=14)
        assert "<extra_id" not in found
        assert found.count("[MASK]") <= text.count("[MASK]")
    found = model.fill("3 and [MASK] are friends", length=1)  # too short to fill anything
    assert "<extra_id" not in found and (found.count("[MASK]") == 1 or model.config.objective.noise != ("spans",))


def test_its_answers_are_the_same_for_people_and_machines(model):
    found = model.answer("3 and [MASK] are friends", {"length": 14, "count": 1})
    assert found["texts"] == model.generate(["3 and [MASK] are friends"], length=14)
    assert model.shown(found)
    assert model.hint.startswith("firth run")
    assert model.samples(1) and isinstance(model.sample(), str)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("7 and 8 " * 20, {}, "reads at most 18 at once"),
        ("7", {"score": True}, "this model has no --score"),
        ("7", {"count": 3, "beam": 2}, "a beam of 2 has no 3 best"),
    ],
)
def test_what_it_cannot_do_is_said(model, text, options, message):
    with pytest.raises(FirthError, match=message):
        model.answer(text, options)


def test_one_text_is_no_list(model):
    with pytest.raises(FirthError, match="put it into a list"):
        model.generate("7 and 8")


def test_gaps_have_marks_where_they_are_filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marks")
    settings = {**T5, "train.budget": "20 steps"}
    model = firth.train("t5:tiny", text=DOCUMENTS, out=folder / "t5", settings=settings)
    gaps = ("<extra_id_0>", "[MASK]")
    named, plain = (model.write([f"3 and {gap} are friends"], length=12) for gap in gaps)
    assert named == plain
    written = [*_gap(model, 0, "8"), *_gap(model, 1, "friends")]
    read = model._read("3 and [MASK] are [MASK]").ids
    found = model._told(read, written, -1.0)
    assert found.text == "<extra_id_0> 8 <extra_id_1> friends"
    assert found.filled == "3 and 8 are friends"
    assert model._told(read, _gap(model, 0, "8"), -1.0).filled == "3 and 8 are [MASK]"
    with pytest.raises(FirthError, match="does not mark gaps by <extra_id_77>"):
        model.fill("3 and <extra_id_77>")


def _gap(model, number, text):
    return [model.tokenizer.sentinels[number], *model.tokenizer.ids(text)]


class Stopper(Quiet):
    """Sends this process a signal at a certain step."""

    def step(self, entry):
        if entry["step"] == 13:
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("preset", ["t5-v1.1", "electra"])
def test_a_stopped_run_goes_on_to_the_same_bytes(preset, tmp_path):
    """With dropout, and with tokens that are drawn in the forward pass."""
    own = {**T5, "backbone.encoder.dropout": 0.1} if preset == "t5-v1.1" else {**ONE, "backbone.dropout": 0.1}
    settings = {**own, "train.budget": "20 steps", "train.evaluate": 10, "train.save": 10}
    whole = firth.train(f"{preset}:tiny", text=DOCUMENTS, out=tmp_path / "whole", settings=settings)
    with pytest.raises(Interrupted):
        firth.train(f"{preset}:tiny", text=DOCUMENTS, out=tmp_path / "cut", settings=settings, progress=Stopper())
    firth.train(f"{preset}:tiny", text=DOCUMENTS, out=tmp_path / "cut", settings=settings)
    one, two = (path / "model.safetensors" for path in (whole.run.path, tmp_path / "cut"))
    assert one.read_bytes() == two.read_bytes()


def test_a_language_model_with_a_prefix_reads_the_prompt_both_ways(tmp_path):
    model = firth.train("prefix-lm:tiny", text=DOCUMENTS, out=tmp_path / "run", settings=ONE)
    assert model.perplexity() < 12
    assert model.bits_per_byte() is not None
    assert len(model.generate("3 and 4", length=5, count=2)) == 2
    assert model.score(DOCUMENTS[:3])


def test_the_objective_and_the_backbone_must_fit(tmp_path):
    with pytest.raises(FirthError, match="seen both ways"):
        firth.train("prefix-lm:tiny", text=DOCUMENTS, out=tmp_path / "a", settings={"backbone.sees": "left"})
    with pytest.raises(FirthError, match="no tokens that mark gaps"):
        settings = {**SETTINGS, "objective.noise": "spans"}
        firth.train("bart:tiny", text=DOCUMENTS, out=tmp_path / "b", settings=settings)


def test_tasks_with_prefixes_are_learned_together_and_from_a_run(tmp_path):
    one, two = tmp_path / "once.tsv", tmp_path / "twice.tsv"
    numbers = [(a, "please " * b) for a in range(12) for b in range(6)]
    one.write_text("left\tright\n" + "".join(f"{many}{a}\t{a}\n" for a, many in numbers))
    two.write_text("left\tright\n" + "".join(f"{many}{a}\t{a} {a}\n" for a, many in numbers))
    own = {
        **SETTINGS,
        "input.spread": 1.7,
        "data.text": f"{one},{two}",
        "data.prefixes": "once:,twice:",
        "train.budget": "100 steps",
        "train.evaluate": 50,
    }
    model = firth.train("text-to-text:tiny", out=tmp_path / "tasks", settings=own)
    found = {score.name: score.value for score in model.evaluate()}
    assert set(found) == {"writing_perplexity", "writing_accuracy", "exact_match"}
    assert found["writing_accuracy"] > 0.8
    assert found["exact_match"] > 0.6
    assert found == {score.name: score.value for score in firth.load(model.run.path).evaluate()}
    other = {score.name: score.value for score in model.evaluate(str(one))}
    assert set(other) == set(found)
    assert '"once: ' in model.hint
    again = {name: own[name] for name in ("data.text", "data.prefixes")}
    again |= {"train.budget": "2 steps", "train.optimizer.rate": 1e-6}
    more = firth.train("text-to-text:tiny", out=tmp_path / "more", start=model.run.path, settings=again)
    asked = ["once: please 3", "twice: 4"]
    assert more.generate(asked, length=6) == model.generate(asked, length=6)


LEARNED = {f"backbone.{part}.positions": "learned" for part in ("encoder", "decoder")}  # as public BARTs have them


@pytest.mark.parametrize(("name", "settings"), [("t5", T5), ("bart", {**SETTINGS, **LEARNED})])
def test_a_network_that_was_taught_a_task_goes_out(name, settings, tmp_path):
    transformers = pytest.importorskip("transformers")
    import torch

    few = {"train.budget": "2 steps", "train.evaluate": 2, "train.save": 2}
    firth.train(f"{name}:tiny", text=DOCUMENTS, out=tmp_path / "begun", settings={**settings, **few})
    pairs = [(text, text.split()[-1]) for text in DOCUMENTS]
    how = {"start": tmp_path / "begun", "settings": {"data.tasks": "translation", **few}}
    told = firth.train("text-to-text:tiny", text=pairs, out=tmp_path / "run", **how)
    said = api.export_model(tmp_path / "run", to="huggingface", out=tmp_path / "out", verify=True)
    assert "the same logits" in said
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval()
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    ids = read("3 and 4 are friends", return_tensors="pt").input_ids
    assert ids[0].tolist() == told.row("3 and 4 are friends").ids
    mine = told.forced("3 and 4 are friends", told.tokenizer.ids("4 and"))
    with torch.no_grad():
        his = theirs(input_ids=ids, decoder_input_ids=mine.streams["target"].ids).logits.log_softmax(-1)
        chances = told.system.objective.chances(told.system, mine)
    torch.testing.assert_close(chances, his, atol=1e-5, rtol=1e-5)
