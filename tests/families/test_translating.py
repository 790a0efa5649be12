"""Laws of networks that write texts for texts, on small models of their own."""

import json
from itertools import product

import numpy as np
import pytest

import firth
from firth import api
from firth.build import build
from firth.data.records import Pair
from firth.errors import FirthError
from firth.families.cutting import pieces
from firth.families.unknown import text_of
from firth.uses.linking import link_files

WORDS = {"one": "uno", "two": "due", "three": "tre", "four": "catra", "five": "cinca", "six": "sei", "seven": "sette"}
PAIRS = [
    (" ".join(words), " ".join(WORDS[word] for word in reversed(words)))
    for words in product(WORDS, repeat=4)
    if len({*words}) == 4
][::2]
SETTINGS = {
    "tokenizer.model": "word",
    "tokenizer.size": 40,
    "batching.tokens": 512,
    "batching.length": 10,
    "train.budget": "240 steps",
    "train.evaluate": 120,
    "train.save": 120,
    "train.threads": 1,
    "train.optimizer.rate": 0.01,
    "train.schedule.warmup": 10,
}
SMALL = {f"backbone.{part}.width": 32 for part in ("encoder", "decoder")}
TURNED = {**SETTINGS, **SMALL, "backbone.encoder.heads": 2, "backbone.decoder.heads": 2}


def lines(pairs=PAIRS):
    return [f"{left}\t{right}" for left, right in pairs]


@pytest.fixture(scope="module", params=["transformer-mt", "bahdanau", "luong"])
def model(request, tmp_path_factory):
    settings = dict(TURNED if request.param == "transformer-mt" else SETTINGS)
    if request.param != "transformer-mt":
        both = request.param == "bahdanau"
        settings |= {"backbone.encoder.width": 24 if both else 48, "backbone.decoder.width": 48}
    if request.param == "luong":
        settings |= {"data.vocabularies": "separate"}
    out = tmp_path_factory.mktemp("run") / request.param
    return firth.train(f"{request.param}:tiny", text=PAIRS, out=out, settings=settings)


def test_it_learns_to_translate_and_is_the_same_again(model):
    found = {score.name: score.value for score in model.evaluate()}
    assert found["BLEU"] > 90 and found["chrF2"] > 90 and found["exact_match"] > 0.8
    again = firth.load(model.run.path)
    assert {score.name: score.value for score in again.evaluate()} == found
    texts = [left for left, _ in PAIRS[:9]]
    assert again.translate(texts, beam=3) == model.translate(texts, beam=3)


def test_what_is_written_does_not_depend_on_company(model):
    texts = ["one two three", "six", "", "seven six five four"]
    together = model.translate(texts, length=8, beam=3)
    assert together == [model.translate([text], length=8, beam=3)[0] for text in texts]


def test_scores_say_how_they_came_about(model):
    signatures = {score.name: score.signature for score in model.evaluate()}
    assert "|tok:13a|" in signatures["BLEU"] and "beam:5" in signatures["BLEU"] and "split:test" in signatures["BLEU"]
    assert signatures["BLEU"].startswith("by:word/")


def test_weights_have_a_row_for_each_word_written_and_sum_to_at_most_one(model):
    (found,) = model.align(["one two three"], ["tre due uno"])
    assert found.read == ("one", "two", "three") and found.written == ("tre", "due", "uno")
    assert found.weights.shape == (3, 3) and (found.weights >= 0).all() and (found.weights.sum(1) < 1 + 1e-5).all()
    assert len(found.links) == 3


def test_a_recurrent_network_looks_at_the_word_that_it_translates(model):
    if model.config.backbone.decoder.kind == "transformer":
        pytest.skip("a layer's heads need not look at one word")
    texts = [left for left, _ in PAIRS[:20]]
    others = [right for _, right in PAIRS[:20]]
    turned = [(3, 0), (2, 1), (1, 2), (0, 3)]
    right = sum(link in turned for found in model.align(texts, others) for link in found.links)
    assert right > 60  # of 80


def test_an_unknown_word_is_copied_unless_it_is_asked_for(model):
    known = model.tokenizer.id_of("uno")
    ids = [model.tokenizer.special.unknown, known]
    assert text_of(model, "zanzibar one", ids, "copy") in ("zanzibar uno", "one uno")
    assert text_of(model, "zanzibar one", ids, "spell") == text_of(model, "zanzibar one", ids, "copy")
    assert text_of(model, "zanzibar one", ids, "keep") == "[UNK] uno"


def test_rules_hold(model):
    (found,) = model.translate(["one two three"], beam=4, require=("sei",))
    assert "sei" in found.split()
    (found,) = model.translate(["one two three"], begin="due")
    assert found.startswith("due")
    assert "due" not in model.translate(["one two three"], beam=3, ban=("due",))[0].split()
    with pytest.raises(FirthError, match="'zanzibar' is not in the vocabulary"):
        model.translate(["one"], beam=3, require=("zanzibar",))
    with pytest.raises(FirthError, match="one text, where several are read"):
        model.translate("one two")


def test_pictures_are_drawn_and_answers_told(model, tmp_path):
    looks, tree = tmp_path / "looks.svg", tmp_path / "tree.svg"
    options = {"picture": str(looks), "tree": str(tree), "beam": 3}
    (told,) = model.answers(["one two three four"], options)
    assert told["texts"] == model.translate(["one two three four"], beam=3) and len(told["scores"]) == 1
    assert "uno" in looks.read_text() and "[END]" in tree.read_text()


def test_a_long_text_is_read_in_parts(model):
    if not model.limit:
        pytest.skip("a recurrent network reads any number of words")
    text = "One two three. Four five six. Seven one two. Three four five."
    read = pieces(text, model.source, model.limit)
    assert len(read) > 1
    assert " ".join(read) == text
    (whole,) = model.translate([text])
    assert whole == " ".join(model.translate(read))
    cut = pieces("one " * 30, model.source, model.limit)
    assert len(cut) > 1 and " ".join(cut) == ("one " * 30).strip()
    assert model.translate(["", " "]) == ["", ""]


def test_a_model_that_writes_with_itself_writes_the_same(model, tmp_path):
    texts = [left for left, _ in PAIRS[:6]]
    twice = model.joined_by([firth.load(model.run.path)])
    assert twice.translate(texts, beam=3) == model.translate(texts, beam=3)
    other = firth.train("luong:tiny", text=lines(PAIRS[:60]), out=tmp_path / "other", settings=quick())
    with pytest.raises(FirthError, match="its tokenizer is another one"):
        model.joined_by([other])


@pytest.mark.parametrize("weights", ["half", "int8"])
def test_lighter_weights_write_much_the_same(model, weights):
    lighter = firth.load(model.run.path, weights=weights)
    texts = [left for left, _ in PAIRS[:40]]
    same = [a == b for a, b in zip(lighter.translate(texts), model.translate(texts), strict=True)]
    assert sum(same) >= 36
    assert f"prec:{weights}" in lighter.signed() and "prec:float32" in model.signed()
    assert len(lighter.align(texts[:1], ["uno due"])[0].weights) == 2


def test_weights_of_no_known_form_are_refused(model):
    with pytest.raises(FirthError, match="unknown form of weights 'int4'"):
        firth.load(model.run.path, weights="int4")


def test_words_that_the_vocabulary_lacks_are_read_and_spelled_by_letters(tmp_path):
    names = ["".join(letters) for letters in product("abc", repeat=2)]
    pairs = [(f"say {one} to {two}", f"a {two.upper()} dire {one.upper()}!") for one in names for two in names] * 4
    settings = {**SETTINGS, "tokenizer.size": 17, "input.letters": 32, "head.letters": 32, "train.budget": "400 steps"}
    settings |= {"backbone.encoder.width": 24, "backbone.decoder.width": 48, "train.evaluate": 200}
    model = firth.train("hybrid-mt:tiny", text=lines(pairs), out=tmp_path / "run", settings=settings)
    known = model.tokenizer.vocabulary()
    one, two = [name for name in names if name not in known and name.upper() not in known][:2]
    found = {score.name: score.value for score in model.evaluate()}
    assert found["exact_match"] > 0.8  # [UNK] has no letters, and what is copied is not in capitals
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
    return {**SETTINGS, **SMALL, "train.budget": "2 steps", "train.evaluate": 2, "train.save": 2, **change}


def test_two_files_are_pairs_line_by_line(tmp_path):
    given = files(tmp_path, *zip(*PAIRS, strict=True))
    model = firth.train("seq2seq-lstm:tiny", out=tmp_path / "run", settings=quick(), **given)
    assert {(pair.left, pair.right) for pair in model.held_out} <= {*PAIRS}
    with pytest.raises(FirthError, match="looks at no token"):
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
    given = files(tmp_path, left, [right for _, right in PAIRS])
    settings = quick(**{"data.empty": "drop"})
    model = firth.train("luong:tiny", out=tmp_path / "run", settings=settings, **given)
    assert all(pair.left.strip() for pair in model.held_out)


@pytest.mark.parametrize("more", [{"text": "other.tsv"}, {"valid": "other.tsv"}, {"settings": {"data.prefixes": "x:"}}])
def test_two_ways_to_say_what_is_read_are_refused(tmp_path, more):
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("one\ntwo\nthree\nfour\n")
    files = {"source": str(tmp_path / "a.en"), "target": str(tmp_path / "a.de")}
    with pytest.raises(FirthError, match="--source says what is read"):
        firth.train("luong:tiny", out=tmp_path / "run", **files, **more)


@pytest.mark.parametrize(
    ("preset", "setting", "message"),
    [
        ("transformer-mt:tiny", "backbone.looks.score=dot", "looks in its own way"),
        ("transformer-mt:tiny", "backbone.bridge=none", "looks in its own way"),
        ("luong:tiny", "backbone.decoder.learned_start=true", "no first state to learn"),
        ("luong:tiny", "backbone.decoder.locked=true", "drawn for anew at every token"),
        ("gpt:tiny", "head.letters=16", "spelled only where texts are written for texts"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(preset, setting, message):
    with pytest.raises(FirthError, match=message):
        build(api.choose(preset, [setting]).config, 40)


def test_a_run_that_goes_on_keeps_the_sides_of_its_vocabulary(model, tmp_path):
    path, sides = str(model.run.path), model.config.data.vocabularies
    assert api.choose(path, short={"start": path}).config.data.vocabularies == sides
    other = "shared" if sides == "separate" else "separate"
    with pytest.raises(FirthError, match="the tokenizer of that run is kept"):
        api.choose(path, [f"data.vocabularies={other}"], {"start": path})


def test_pairs_are_scored_however_they_are_given(model):
    by_tuples = model.evaluate(PAIRS[:6])
    assert by_tuples == model.evaluate([Pair(*pair) for pair in PAIRS[:6]])
    assert all("data:" in score.signature for score in by_tuples)


def test_links_are_where_it_looks_most(model, tmp_path):
    pairs = PAIRS[:5]
    found = model.links(pairs)
    looks = model.align(*map(list, zip(*pairs, strict=True)))
    assert found == [[(int(row.argmax()), n) for n, row in enumerate(each.weights)] for each in looks]
    for name, side in (("left", 0), ("right", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    files = tmp_path / "left", tmp_path / "right"
    assert link_files(*files, run=model.run.path).links == found
    with pytest.raises(FirthError, match="nothing to join"):
        link_files(*files, run=model.run.path, join="union")


def test_a_layer_that_is_not_there_is_refused(model):
    with pytest.raises(FirthError, match="no layer 9"):
        model.align(["one two"], ["due uno"], layer=9)


def test_a_picture_is_of_one_text(model, tmp_path):
    for lines_given in (["one two", "two one"], [""]):
        with pytest.raises(FirthError, match="a picture is drawn of one text"):
            model.answers(lines_given, {"picture": str(tmp_path / "looks.svg")})


def test_a_file_without_its_other_is_refused(tmp_path):
    given = files(tmp_path, ["one"], ["uno"])
    with pytest.raises(FirthError, match="1 files of texts to read and 0"):
        firth.train("luong:tiny", out=tmp_path / "run", settings=quick(), source=given["source"])


def test_weights_are_kept_by_what_is_written_if_asked(tmp_path):
    settings = quick(**{"train.best": "quality", "train.budget": "40 steps", "train.evaluate": 10})
    model = firth.train("luong:tiny", text=lines(), out=tmp_path / "run", settings=settings)
    told = [json.loads(line) for line in (model.run.path / "log.jsonl").read_text().splitlines()]
    found = [(line["rank"], line["value"], line["metric"]) for line in told if line.get("split") == "valid"]
    assert len(found) == 4 and all(rank == -value and metric == "BLEU" for rank, value, metric in found)
    with pytest.raises(FirthError, match="writes no texts that could be judged"):
        plain = {"train.best": "quality", "train.budget": "2 steps", "tokenizer.size": 300}
        firth.train("gpt:tiny", text=["a b c"] * 40, out=tmp_path / "gpt", settings=plain)


def test_a_run_of_another_kind_has_no_such_verbs(tmp_path):
    settings = {"train.budget": "2 steps", "tokenizer.size": 300, "train.threads": 1}
    model = firth.train("gpt:tiny", text=["a b c d"] * 60, out=tmp_path / "gpt", settings=settings)
    with pytest.raises(FirthError, match="this model has no --picture"):
        model.answer("a b", {"picture": "x.svg"})


def test_words_are_found_by_their_characters():
    from firth.families.looks import looks
    from firth.text.tokenizer import Encoding

    read = Encoding([1, 2, 3, 4], [], [(0, 3), (3, 4), (4, 9), (9, 12)])
    told = Encoding([1, 2], [], [(0, 1), (1, 2)])
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    found = looks(" abc  def gh", "xy", weights, (read, told))
    assert found.read == ("abc", "def", "gh") and found.written == ("xy",)
    np.testing.assert_allclose(found.weights, [[0.5, 0.25, 0.25]])


@pytest.mark.parametrize("preset", ["luong", "pointer-summary", "hybrid-mt"])
def test_low_precision_writes_too(preset, tmp_path):
    settings = quick(**{"train.precision": "bf16", "tokenizer.size": 20})
    model = firth.train(f"{preset}:tiny", text=lines(PAIRS[:60]), out=tmp_path / "run", settings=settings)
    assert isinstance(model.translate(["one two"], beam=2)[0], str)


def test_a_network_of_one_text_does_not_start_from_a_translator(model):
    with pytest.raises(FirthError, match="one of the two reads a text and writes another"):
        api.choose("lstm-lm:tiny", [], {"start": str(model.run.path)})
    with pytest.raises(FirthError, match="no source to copy from"):
        build(api.choose("lstm-lm:tiny", ["head.kind=copying"]).config, 30)


def test_short_names_reach_both_parts():
    short = {"width": "64", "depth": "1", "dropout": "0.2", "smoothing": "0.3"}
    config = api.choose("transformer-mt:tiny", [], short).config
    for part in (config.backbone.encoder, config.backbone.decoder):
        assert (part.width, part.depth, part.dropout) == (64, 1, 0.2)
    assert config.objective.smoothing == 0.3
