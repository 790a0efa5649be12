"""The figure of per-token probabilities: its numbers, its texts, its files."""

import math
import xml.etree.ElementTree as ET

import pytest

from firth.data.world import World
from firth.errors import FirthError
from firth.report.surprise import KINDS, Passage, Strand, means
from firth.uses.surprising import Asked, study

DOCUMENTS = [" ".join(World().documents(6, start=6000 + 6 * n)) for n in range(6)]
ASKED = Asked(passages=3, prompt=8, length=30, beam=3)


@pytest.fixture(scope="module")
def found(world):
    return study(world, DOCUMENTS, ASKED, "the world")


def test_human_text_is_the_documents_own(world, found):
    assert len(found.passages) == 3
    for passage, document in zip(found.passages, (DOCUMENTS[0], DOCUMENTS[2], DOCUMENTS[5]), strict=True):
        human = passage.strands[0]
        assert human.kind == "human" and document.startswith(passage.prompt + "".join(human.tokens))
        scores = world.token_scores([document])[0][ASKED.prompt : ASKED.prompt + ASKED.length]
        assert [math.log(chance) for chance in human.chances] == pytest.approx(scores.tolist(), abs=1e-4)


def test_greedy_text_is_greedy_and_every_kind_is_there(world, found):
    for passage in found.passages:
        assert [strand.kind for strand in passage.strands] == list(KINDS)
        greedy = passage.strands[1]
        text = world.generate(passage.prompt, temperature=0.0, length=ASKED.length)[0]
        assert passage.prompt + "".join(t for t in greedy.tokens if t != "[END]") == text
        assert all(len(strand.tokens) == len(strand.chances) for strand in passage.strands)
        assert all(0 < chance <= 1 for strand in passage.strands for chance in strand.chances)


def test_no_first_token_is_more_probable_than_the_greedy_one(found):
    for passage in found.passages:
        assert passage.strands[1].chances[0] == max(strand.chances[0] for strand in passage.strands)


def test_the_numbers_are_those_of_the_tokens(found):
    rows = {row["text"]: row for row in found.rows}
    human = [chance for passage in found.passages for chance in passage.strands[0].chances]
    assert rows["human"]["tokens"] == len(human) == 90
    assert rows["human"]["perplexity"] == pytest.approx(math.exp(-sum(map(math.log, human)) / len(human)))


def test_the_files_are_whole_and_escaped(found, tmp_path):
    for name in ("page.html", "figure.svg"):
        found.save(tmp_path / name)
        text = (tmp_path / name).read_text()
        assert "<script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    root = ET.fromstring((tmp_path / "figure.svg").read_text())
    lines = [node for node in root.iter() if node.tag.endswith("polyline")]
    assert len(lines) > 2 * len(KINDS)  # a mean and a passage of each, and the scale
    page = (tmp_path / "page.html").read_text()
    assert page.count("<h3>Passage") == 3 and "perplexity" in page
    with pytest.raises(FirthError, match=r"no figure with the ending '.png'; name it ….svg or ….html"):
        found.save(tmp_path / "figure.png")


def test_means_are_over_passages_and_neighbours():
    passages = [
        Passage("", (Strand("human", ("a",) * 6, row),)) for row in ((0.0,) * 6, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    ]
    assert means(passages, "human") == pytest.approx([0.5, 0.375, 0.3, 0.2, 0.125, 0.0])
    assert means(passages, "beam") == []


def test_a_text_with_tags_cannot_break_the_page(world, tmp_path):
    strange = ["<b>& \x00 the</b> " * 12]
    page = study(world, strange, Asked(passages=1, prompt=2, length=10), "<i>").html()
    assert "<b>" not in page and "<i>" not in page


def test_too_short_texts_are_refused(world):
    with pytest.raises(
        FirthError, match=r"the longest document has .* tokens, and 18 are needed; give a shorter --prompt"
    ):
        study(world, ["the cat"], ASKED)
