"""Laws of text-to-text networks (translation), on small models of their own."""

import json
from itertools import product

import numpy as np
import pytest
from typer.testing import CliRunner

import firth
from firth import api
from firth.cli.main import app
from firth.datasets.records import Pair
from firth.errors import FirthError
from firth.models.build import build
from firth.pipelines.chunking import split_text
from firth.pipelines.unknown_words import decode_with_unknowns
from firth.workflows.align_files import align_files

WORDS = {"one": "uno", "two": "due", "three": "tre", "four": "catra", "five": "cinca", "six": "sei", "seven": "sette"}
PAIRS = [
    (" ".join(words), " ".join(WORDS[word] for word in reversed(words)))
    for words in product(WORDS, repeat=4)
    if len({*words}) == 4
][::2]
SETTINGS = {
    "tokenizer.model": "word",
    "tokenizer.vocabulary_size": 40,
    "batching.tokens_per_batch": 512,
    "batching.length": 10,
    "train.budget": "240 steps",
    "train.evaluate_every": 120,
    "train.checkpoint_every": 120,
    "train.threads": 1,
    "train.optimizer.learning_rate": 0.01,
    "train.schedule.warmup_steps": 10,
}
SMALL = {f"backbone.{part}.width": 32 for part in ("encoder", "decoder")}
TRANSFORMER = {
    **SETTINGS,
    **SMALL,
    "backbone.encoder.heads": 2,
    "backbone.decoder.heads": 2,
    "train.budget": "400 steps",
    "train.evaluate_every": 200,
    "train.checkpoint_every": 200,
    "train.optimizer.learning_rate": 0.005,  # at 0.01 it depends on the seed and the processor whether it learns
}


def lines(pairs=PAIRS):
    return [f"{left}\t{right}" for left, right in pairs]


@pytest.fixture(scope="module", params=["modern-mt", "bahdanau", "luong"])
def model(request, tmp_path_factory):
    settings = dict(TRANSFORMER if request.param == "modern-mt" else SETTINGS)
    if request.param != "modern-mt":
        both = request.param == "bahdanau"
        settings |= {"backbone.encoder.width": 24 if both else 48, "backbone.decoder.width": 48}
    if request.param == "luong":
        settings |= {"data.vocabularies": "separate"}
    out = tmp_path_factory.mktemp("run") / request.param
    return firth.train(f"{request.param}:tiny", text=PAIRS, out=out, settings=settings)


def test_it_learns_to_translate_and_is_the_same_again(model):
    scores = {score.name: score.value for score in model.evaluate()}
    assert scores["BLEU"] > 90 and scores["chrF2"] > 90 and scores["exact_match"] > 0.8
    again = firth.load(model.run.path)
    assert {score.name: score.value for score in again.evaluate()} == scores
    texts = [left for left, _ in PAIRS[:9]]
    assert again.translate(texts, beam=3) == model.translate(texts, beam=3)


def test_two_parallel_files_are_evaluated_on_the_command_line(model, tmp_path):
    for name, side in (("source", 0), ("target", 1)):
        (tmp_path / name).write_text("\n".join(pair[side] for pair in PAIRS[:20]) + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]
    result = CliRunner().invoke(app, ["eval", str(model.run.path), *files])
    assert result.exit_code == 0, result.output
    (bleu,) = [score.value for score in model.evaluate(PAIRS[:20]) if score.name == "BLEU"]
    assert f"BLEU {bleu:.4g}" in result.output


def test_translations_do_not_depend_on_the_batch(model):
    texts = ["one two three", "six", "", "seven six five four"]
    together = model.translate(texts, max_length=8, beam=3)
    assert together == [model.translate([text], max_length=8, beam=3)[0] for text in texts]


def test_scores_say_how_they_came_about(model):
    signatures = {score.name: score.signature for score in model.evaluate()}
    assert "|tok:13a|" in signatures["BLEU"] and "beam:5" in signatures["BLEU"] and "split:test" in signatures["BLEU"]
    assert signatures["BLEU"].startswith("by:word/")


def test_attention_weights_have_a_row_for_each_target_word_and_sum_to_at_most_one(model):
    (attention,) = model.align(["one two three"], ["tre due uno"])
    assert attention.source == ("one", "two", "three") and attention.target == ("tre", "due", "uno")
    weights = attention.weights
    assert weights.shape == (3, 3) and (weights >= 0).all() and (weights.sum(1) < 1 + 1e-5).all()
    assert len(attention.links) == 3


def test_a_recurrent_network_attends_to_the_word_that_it_translates(model):
    if model.config.backbone.decoder.kind == "transformer":
        pytest.skip("a layer's heads need not attend to one word")
    texts = [left for left, _ in PAIRS[:20]]
    others = [right for _, right in PAIRS[:20]]
    reverse = [(3, 0), (2, 1), (1, 2), (0, 3)]
    correct = sum(link in reverse for attention in model.align(texts, others) for link in attention.links)
    assert correct > 60  # of 80


def test_an_unknown_word_is_copied_or_kept(model):
    known = model.tokenizer.token_to_id("uno")
    ids = [model.tokenizer.special.unknown, known]
    copied, spelled, kept = (
        decode_with_unknowns(model, "zanzibar one", ids, name) for name in ("copy", "spell", "keep")
    )
    assert copied in ("zanzibar uno", "one uno")
    assert spelled == copied
    assert kept == "[UNK] uno"


def test_constraints_hold(model):
    (text,) = model.translate(["one two three"], beam=4, force_words=("sei",))
    assert "sei" in text.split()
    (text,) = model.translate(["one two three"], target_prefix="due")
    assert text.startswith("due")
    assert "due" not in model.translate(["one two three"], beam=3, bad_words=("due",))[0].split()
    with pytest.raises(FirthError, match="'zanzibar' is not in the vocabulary"):
        model.translate(["one"], beam=3, force_words=("zanzibar",))
    assert [model.translate("one two")] == model.translate(["one two"])
    with pytest.raises(FirthError, match="texts: a value of type int"):
        model.translate(12)


def test_attention_and_search_tree_are_plotted(model, tmp_path):
    plot, tree = tmp_path / "attention.svg", tmp_path / "tree.svg"
    options = {"plot": str(plot), "tree": str(tree), "beam": 3}
    (answer,) = model.answers(["one two three four"], options)
    assert answer["texts"] == model.translate(["one two three four"], beam=3) and len(answer["scores"]) == 1
    assert "uno" in plot.read_text() and "[END]" in tree.read_text()


def test_a_long_text_is_translated_in_chunks(model):
    if not model.limit:
        pytest.skip("a recurrent network has no maximum length")
    text = "One two three. Four five six. Seven one two. Three four five."
    chunks = split_text(text, model.source, model.limit)
    assert len(chunks) > 1
    assert " ".join(chunks) == text
    (whole,) = model.translate([text])
    assert whole == " ".join(model.translate(chunks))
    cut = split_text("one " * 30, model.source, model.limit)
    assert len(cut) > 1 and " ".join(cut) == ("one " * 30).strip()
    assert model.translate(["", " "]) == ["", ""]


def test_an_ensemble_of_a_model_with_itself_is_the_model(model, tmp_path):
    texts = [left for left, _ in PAIRS[:6]]
    twice = model.ensemble_with([firth.load(model.run.path)])
    assert twice.translate(texts, beam=3) == model.translate(texts, beam=3)
    other = firth.train("luong:tiny", text=lines(PAIRS[:60]), out=tmp_path / "other", settings=quick())
    with pytest.raises(FirthError, match="its tokenizer differs"):
        model.ensemble_with([other])


@pytest.mark.parametrize("weights", ["half", "int8"])
def test_quantized_weights_translate_much_the_same(model, weights):
    quantized = firth.load(model.run.path, weights=weights)
    texts = [left for left, _ in PAIRS[:40]]
    same = [a == b for a, b in zip(quantized.translate(texts), model.translate(texts), strict=True)]
    assert sum(same) >= 36
    assert f"prec:{weights}" in quantized.signed() and "prec:float32" in model.signed()
    assert len(quantized.align(texts[:1], ["uno due"])[0].weights) == 2


def test_an_unknown_weight_format_is_refused(model):
    with pytest.raises(FirthError, match="unknown weight format 'int4'"):
        firth.load(model.run.path, weights="int4")


def test_out_of_vocabulary_words_are_encoded_and_decoded_by_characters(tmp_path):
    names = ["".join(pair) for pair in product("abc", repeat=2)]
    pairs = [(f"say {one} to {two}", f"a {two.upper()} dire {one.upper()}!") for one in names for two in names] * 4
    settings = {**SETTINGS, "tokenizer.vocabulary_size": 17, "train.budget": "400 steps"}
    settings |= {"inputs.text.character_width": 32, "head.character_width": 32}
    settings |= {"backbone.encoder.width": 24, "backbone.decoder.width": 48, "train.evaluate_every": 200}
    model = firth.train("hybrid-mt:tiny", text=lines(pairs), out=tmp_path / "run", settings=settings)
    known = model.tokenizer.vocabulary()
    one, two = [name for name in names if name not in known and name.upper() not in known][:2]
    scores = {score.name: score.value for score in model.evaluate()}
    assert scores["exact_match"] > 0.8  # [UNK] has no characters, and what is copied is not in capitals
    text = f"say {one} to {two}"
    assert firth.load(model.run.path).translate([text]) == model.translate([text])
    assert model.translate([text], unknown="keep") == ["a [UNK] dire [UNK]!"]


# --- files ----------------------------------------------------------------------------------------------------------


def files(tmp_path, left, right):
    source, target = tmp_path / "a.en", tmp_path / "a.it"
    source.write_text("".join(f"{line}\n" for line in left))
    target.write_text("".join(f"{line}\n" for line in right))
    return {"source": str(source), "target": str(target)}


def quick(**change):
    steps = {"train.budget": "2 steps", "train.evaluate_every": 2, "train.checkpoint_every": 2}
    return {**SETTINGS, **SMALL, **steps, **change}


def test_two_files_are_pairs_line_by_line(tmp_path):
    paths = files(tmp_path, *zip(*PAIRS, strict=True))
    model = firth.train("seq2seq-lstm:tiny", out=tmp_path / "run", settings=quick(), **paths)
    assert {(pair.left, pair.right) for pair in model.held_out} <= {*PAIRS}
    with pytest.raises(FirthError, match="no attention over the source"):
        model.align(["one"], ["uno"])


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (["one"] * 30, ["uno"] * 28, "ends after 28 lines, but .*a.en has 30"),
        (["one"] * 20 + [""] + ["two"] * 20, ["uno"] * 41, "a.it:21: an empty text in a pair"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(tmp_path, left, right, message):
    with pytest.raises(FirthError, match=message):
        firth.train("luong:tiny", out=tmp_path / "run", settings=quick(), **files(tmp_path, left, right))


def test_empty_lines_can_be_dropped(tmp_path):
    left = [left for left, _ in PAIRS]
    left[3] = " "
    paths = files(tmp_path, left, [right for _, right in PAIRS])
    settings = quick(**{"data.empty_pairs": "drop"})
    model = firth.train("luong:tiny", out=tmp_path / "run", settings=settings, **paths)
    assert all(pair.left.strip() for pair in model.held_out)


@pytest.mark.parametrize("more", [{"text": "other.tsv"}, {"valid": "other.tsv"}, {"settings": {"data.prefixes": "x:"}}])
def test_two_ways_to_say_what_is_read_are_refused(tmp_path, more):
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("one\ntwo\nthree\nfour\n")
    files = {"source": str(tmp_path / "a.en"), "target": str(tmp_path / "a.de")}
    with pytest.raises(FirthError, match="both --source and"):
        firth.train("luong:tiny", out=tmp_path / "run", **files, **more)


@pytest.mark.parametrize(
    ("preset", "setting", "message"),
    [
        ("transformer-mt:tiny", "backbone.attention.score=dot", "has its own cross-attention"),
        ("transformer-mt:tiny", "backbone.bridge=none", "has its own cross-attention"),
        ("luong:tiny", "backbone.decoder.learned_initial_state=true", "so it cannot be learned"),
        ("luong:tiny", "backbone.decoder.variational_dropout=true", "this decoder would sample one per step"),
        ("transformer-lm:tiny", "head.character_width=16", "for sequence-to-sequence models only"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(preset, setting, message):
    with pytest.raises(FirthError, match=message):
        build(api.resolve_config(preset, [setting]).config, 40)


def test_a_run_initialised_from_another_keeps_its_vocabularies(model, tmp_path):
    path, sides = str(model.run.path), model.config.data.vocabularies
    assert api.resolve_config(path, short={"init-from": path}).config.data.vocabularies == sides
    other = "shared" if sides == "separate" else "separate"
    with pytest.raises(FirthError, match="the tokenizer of that run is kept"):
        api.resolve_config(path, [f"data.vocabularies={other}"], {"init-from": path})


def test_pairs_are_scored_however_they_are_given(model):
    by_tuples = model.evaluate(PAIRS[:6])
    assert by_tuples == model.evaluate([Pair(*pair) for pair in PAIRS[:6]])
    assert all("data:" in score.signature for score in by_tuples)


def test_links_are_the_highest_attention_weights(model, tmp_path):
    pairs = PAIRS[:5]
    links = model.links(pairs)
    attention = model.align(*map(list, zip(*pairs, strict=True)))
    assert links == [[(int(row.argmax()), n) for n, row in enumerate(each.weights)] for each in attention]
    for name, side in (("left", 0), ("right", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    files = tmp_path / "left", tmp_path / "right"
    assert align_files(*files, run=model.run.path).links == links
    with pytest.raises(FirthError, match="links in one direction only"):
        align_files(*files, run=model.run.path, symmetrisation="union")


def test_a_layer_that_is_not_there_is_refused(model):
    with pytest.raises(FirthError, match="no layer 9"):
        model.align(["one two"], ["due uno"], layer=9)


def test_a_plot_is_of_one_text(model, tmp_path):
    for inputs in (["one two", "two one"], [""]):
        with pytest.raises(FirthError, match="a plot shows one text"):
            model.answers(inputs, {"plot": str(tmp_path / "attention.svg")})


def test_a_file_without_its_other_is_refused(tmp_path):
    paths = files(tmp_path, ["one"], ["uno"])
    with pytest.raises(FirthError, match="1 source files and 0 target files"):
        firth.train("luong:tiny", out=tmp_path / "run", settings=quick(), source=paths["source"])


def test_the_best_weights_are_selected_by_the_metric_if_configured(tmp_path):
    settings = quick(**{"train.best_by": "metric", "train.budget": "40 steps", "train.evaluate_every": 10})
    model = firth.train("luong:tiny", text=lines(), out=tmp_path / "run", settings=settings)
    log = [json.loads(line) for line in (model.run.path / "log.jsonl").read_text().splitlines()]
    lines_ = [line for line in log if line.get("split") == "valid"]
    assert len(lines_) == 4
    assert all(line["selection_score"] == -line["value"] and line["metric"] == "BLEU" for line in lines_)
    with pytest.raises(FirthError, match="has no metric of generated texts"):
        plain = {"train.best_by": "metric", "train.budget": "2 steps", "tokenizer.vocabulary_size": 300}
        firth.train("transformer-lm:tiny", text=["a b c"] * 40, out=tmp_path / "transformer-lm", settings=plain)


def test_a_run_of_another_kind_has_no_such_options(tmp_path):
    settings = {"train.budget": "2 steps", "tokenizer.vocabulary_size": 300, "train.threads": 1}
    model = firth.train(
        "transformer-lm:tiny", text=["a b c d"] * 60, out=tmp_path / "transformer-lm", settings=settings
    )
    with pytest.raises(FirthError, match="this model has no --plot"):
        model.answer("a b", {"plot": "x.svg"})


def test_token_weights_become_word_weights_by_character_offsets():
    from firth.pipelines.attention_weights import word_attention
    from firth.tokenizers.tokenizer import Encoding

    source = Encoding([1, 2, 3, 4], [], [(0, 3), (3, 4), (4, 9), (9, 12)])
    target = Encoding([1, 2], [], [(0, 1), (1, 2)])
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    attention = word_attention(" abc  def gh", "xy", weights, (source, target))
    assert attention.source == ("abc", "def", "gh") and attention.target == ("xy",)
    np.testing.assert_allclose(attention.weights, [[0.5, 0.25, 0.25]])


@pytest.mark.parametrize("preset", ["luong", "pointer-summary", "hybrid-mt"])
def test_bf16_translates_too(preset, tmp_path):
    settings = quick(**{"train.precision": "bf16", "tokenizer.vocabulary_size": 20})
    model = firth.train(f"{preset}:tiny", text=lines(PAIRS[:60]), out=tmp_path / "run", settings=settings)
    assert isinstance(model.translate(["one two"], beam=2)[0], str)


def test_a_network_of_one_text_does_not_start_from_a_translator(model):
    with pytest.raises(FirthError, match="one of the two is an encoder-decoder"):
        api.resolve_config("lstm-lm:tiny", [], {"init-from": str(model.run.path)})
    with pytest.raises(FirthError, match="no source to copy from"):
        build(api.resolve_config("lstm-lm:tiny", ["head.kind=pointer-generator"]).config, 30)


def test_short_names_reach_both_parts():
    short = {"width": "64", "depth": "1", "dropout": "0.2", "label-smoothing": "0.3"}
    config = api.resolve_config("transformer-mt:tiny", [], short).config
    for part in (config.backbone.encoder, config.backbone.decoder):
        assert (part.width, part.depth, part.dropout) == (64, 1, 0.2)
    assert config.objective.label_smoothing == 0.3
