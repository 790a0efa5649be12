"""The surprisal study of human and model text: its statistics, texts and files."""

import math
import xml.etree.ElementTree as ET

import pytest

from firth.datasets.world import World
from firth.errors import FirthError
from firth.report.surprisal_plot import KINDS, Continuation, Passage, mean_probabilities
from firth.workflows.surprisal import SurprisalConfig, study_surprisal

DOCUMENTS = [" ".join(World().documents(6, start=6000 + 6 * n)) for n in range(6)]
CONFIG = SurprisalConfig(passages=3, prompt_length=8, length=30, beam_size=3)


@pytest.fixture(scope="module")
def result(world):
    return study_surprisal(world, DOCUMENTS, CONFIG, "the world")


def test_human_text_is_the_documents_own(world, result):
    assert len(result.passages) == 3
    for passage, document in zip(result.passages, (DOCUMENTS[0], DOCUMENTS[2], DOCUMENTS[5]), strict=True):
        human = passage.continuations[0]
        assert human.kind == "human" and document.startswith(passage.prompt + "".join(human.tokens))
        scores = world.token_scores([document])[0][CONFIG.prompt_length : CONFIG.prompt_length + CONFIG.length]
        assert [math.log(probability) for probability in human.probabilities] == pytest.approx(
            scores.tolist(), abs=1e-4
        )


def test_greedy_text_is_greedy_and_every_kind_is_there(world, result):
    for passage in result.passages:
        assert [continuation.kind for continuation in passage.continuations] == list(KINDS)
        greedy = passage.continuations[1]
        text = world.generate(passage.prompt, temperature=0.0, max_length=CONFIG.length)[0]
        assert passage.prompt + "".join(t for t in greedy.tokens if t != "[END]") == text
        assert all(
            len(continuation.tokens) == len(continuation.probabilities) for continuation in passage.continuations
        )
        assert all(
            0 < probability <= 1 for continuation in passage.continuations for probability in continuation.probabilities
        )


def test_no_first_token_is_more_probable_than_the_greedy_one(result):
    for passage in result.passages:
        assert passage.continuations[1].probabilities[0] == max(
            continuation.probabilities[0] for continuation in passage.continuations
        )


def test_the_statistics_are_those_of_the_tokens(result):
    rows = {row["text"]: row for row in result.rows}
    human = [probability for passage in result.passages for probability in passage.continuations[0].probabilities]
    assert rows["human"]["tokens"] == len(human) == 90
    assert rows["human"]["perplexity"] == pytest.approx(math.exp(-sum(map(math.log, human)) / len(human)))


def test_the_files_are_whole_and_escaped(result, tmp_path):
    for name in ("page.html", "figure.svg"):
        result.save(tmp_path / name)
        text = (tmp_path / name).read_text()
        assert "<script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    root = ET.fromstring((tmp_path / "figure.svg").read_text())
    lines = [node for node in root.iter() if node.tag.endswith("polyline")]
    assert len(lines) > 2 * len(KINDS)  # a mean and a passage of each, and the scale
    page = (tmp_path / "page.html").read_text()
    assert page.count("<h3>Passage") == 3 and "perplexity" in page
    with pytest.raises(FirthError, match=r"unknown figure format '.png'; name it ….svg or ….html"):
        result.save(tmp_path / "figure.png")


def test_means_are_over_passages_and_neighbours():
    passages = [
        Passage("", (Continuation("human", ("a",) * 6, row),)) for row in ((0.0,) * 6, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    ]
    assert mean_probabilities(passages, "human") == pytest.approx([0.5, 0.375, 0.3, 0.2, 0.125, 0.0])
    assert mean_probabilities(passages, "beam") == []


def test_a_text_with_tags_cannot_break_the_page(world, tmp_path):
    strange = ["<b>& \x00 the</b> " * 12]
    page = study_surprisal(world, strange, SurprisalConfig(passages=1, prompt_length=2, length=10), "<i>").html()
    assert "<b>" not in page and "<i>" not in page


def test_too_short_texts_are_an_error(world):
    with pytest.raises(
        FirthError, match=r"the longest document has .* tokens, and 18 are needed; give a shorter --prompt"
    ):
        study_surprisal(world, ["the cat"], CONFIG)
