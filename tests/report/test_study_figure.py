"""The figure of a hyperparameter study: the fixed settings and points of its panels, and invalid rows."""

from xml.etree import ElementTree

import pytest

from firth.errors import FirthError
from firth.report.study_figure import panels, study_figure

SVG = "{http://www.w3.org/2000/svg}"


def row(width=100, window=5, side="symmetric", words=1_000_000, semantic=0.3, syntactic=0.5, total=0.4):
    return dict(width=width, window=window, side=side, words=words, semantic=semantic, syntactic=syntactic, total=total)


GRID = [
    row(width, window, side, words, width / 1000, window / 100, 0.2)
    for width in (50, 100, 200)
    for window in (2, 5)
    for side in ("symmetric", "left")
    for words in (1_000_000, 20_000_000)
]


def test_a_panel_changes_one_setting_only():
    shown = panels(GRID)
    assert [(panel.axis, panel.fixed) for panel in shown] == [
        ("width", {"window": 5, "side": "symmetric", "words": 20_000_000}),
        ("window", {"width": 200, "side": "symmetric", "words": 20_000_000}),
        ("window", {"width": 200, "side": "left", "words": 20_000_000}),
        ("words", {"width": 200, "window": 5, "side": "symmetric"}),
    ]
    assert shown[0].line("semantic") == [(50, 0.05), (100, 0.1), (200, 0.2)]
    assert shown[1].line("syntactic") == [(2, 0.02), (5, 0.05)]


def test_the_slice_with_most_points_is_shown():
    rows = [row(width=300, words=9_000_000), *(row(width=width) for width in (50, 100, 200))]
    assert panels(rows)[0].fixed["words"] == 1_000_000
    assert [x for x, _ in panels(rows)[0].line("total")] == [50, 100, 200]


def test_seeds_are_averaged_and_missing_scores_left_out():
    rows = [row(total=0.2), row(total=0.4), row(width=200, semantic=None)]
    (panel,) = panels(rows)
    assert panel.line("total") == [(100, pytest.approx(0.3)), (200, 0.4)]
    assert panel.line("semantic") == [(100, 0.3)]


def test_the_page_has_a_panel_each_and_all_rows():
    page = study_figure(GRID, title="<Study>")
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    texts = ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    for name in ("semantic", "syntactic", "total", "vector width", "corpus size (words)", "20M", "<Study>"):
        assert name in texts
    assert texts.count("window size") == 2
    assert "width 200, symmetric, 20M words" in texts and "width 200, left context only, 20M words" in texts
    assert page.count("<tr>") == len(GRID) + 1
    assert "<script" not in page and "&lt;Study&gt;" in page
    lines = [node for node in ElementTree.fromstring(svg).iter(f"{SVG}circle")]
    assert len(lines) == 3 * (3 + 2 + 2 + 2)


def test_higher_scores_are_higher_and_points_go_from_left_to_right():
    page = study_figure([row(width=width, semantic=width / 1000) for width in (300, 50, 100)])
    svg = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    semantic = [node for node in svg.iter(f"{SVG}circle") if "semantic" in node.find(f"{SVG}title").text]
    across, down = ([float(node.attrib[name]) for node in semantic] for name in ("cx", "cy"))
    assert across == sorted(across) and down == sorted(down, reverse=True)
    assert "semantic 30.0% at 300" in page


def test_one_row_is_enough_and_scores_may_all_be_missing():
    assert "syntactic 50.0% at 100" in study_figure([row()])
    assert "n/a" in study_figure([row(semantic=None, syntactic=None, total=None)])


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "without rows"),
        ([row(), {"width": 3}], "row 2 of the study has no 'window'"),
        ([row(total=45.0)], "45.0 as 'total'"),
        ([row(total=float("nan"))], "nan as 'total'"),
        ([row(words=0)], "0 as 'words'"),
        ([row(width="100")], "'100' as 'width'"),
    ],
)
def test_invalid_rows_are_named(rows, message):
    with pytest.raises(FirthError) as raised:
        study_figure(rows)
    assert message in str(raised.value)
