"""Word maps and analogy plots: their words, labels and values, and the files they are written to."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageFont

from firth.embeddings.word_vectors import WordVectors
from firth.errors import FirthError
from firth.report import png
from firth.report.drawing import THEMES, Circle, Drawing, Line, Text, arrow, group_style, marker, to_svg
from firth.report.word_maps import analogy_plot, word_map

SVG = "{http://www.w3.org/2000/svg}"


def random_vectors(words, width=8, seed=0, **more):
    return WordVectors(words, np.random.default_rng(seed).normal(size=(len(words), width)), **more)


@pytest.fixture(scope="module")
def store():
    words = [f"w{number}" for number in range(120)]
    return random_vectors(words, counts=np.random.default_rng(1).permutation(120) + 1)


def broken():
    """A store with NaN in it."""
    return WordVectors(["w1", "w2"], np.array([[1, np.nan], [0, 1]]))


def texts(svg):
    """The texts of an SVG document, without their titles."""
    return [
        "".join(node.itertext()).removeprefix(_title(node)) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")
    ]


def _title(node):
    found = node.find(f"{SVG}title")
    return "" if found is None else found.text


# --- selection of words ---


def test_a_map_shows_the_words_it_is_given_once_each_in_their_order(store):
    figure = word_map(store, ["w5", "w3", "w5", "w9"], method="pca")
    assert [row["word"] for row in figure.rows] == ["w5", "w3", "w9"]
    assert {"w5", "w3", "w9"} <= set(texts(figure.svg()))
    assert figure.dropped_labels == 0 and all(row["labelled"] for row in figure.rows)


def test_without_words_the_most_frequent_are_shown(store):
    shown = [row["word"] for row in word_map(store, method="pca", top_n=7).rows]
    assert shown == [store.words[place] for place in sorted(range(120), key=lambda n: -store.counts[n])[:7]]
    uncounted = WordVectors(store.words, store.vectors)
    assert [row["word"] for row in word_map(uncounted, method="pca", top_n=3).rows] == ["w0", "w1", "w2"]


def test_neighbours_are_a_group_of_their_word(store):
    figure = word_map(store, ["w1"], method="pca", neighbours_of=["w7", "w8"], neighbours=4)
    expected = {"w7": ["w7", *(word for word, _ in store.most_similar("w7", topn=4))]}
    assert [row["word"] for row in figure.rows if row["group"] == "w7"] == [w for w in expected["w7"] if w != "w1"]
    assert figure.rows[0]["word"] == "w1"
    assert {row["group"] for row in figure.rows[1:]} == {"w7", "w8"}


def test_groups_have_colours_markers_and_a_legend(store):
    groups = {f"group <{number}>": [f"w{number}", f"w{number + 20}"] for number in range(8)}
    figure = word_map(store, ["w99"], method="pca", groups=groups)
    assert [name for name in texts(figure.svg()) if name.startswith("group")] == list(groups)
    styles = [group_style(number) for number in range(24)]
    assert len(set(styles)) == 24
    tree = ElementTree.fromstring(figure.svg())
    squares = [node for node in tree.iter(f"{SVG}polygon")]
    assert len(squares) == 2 * (1 + 2)  # of the last two groups: a marker of the legend and two words each
    assert next(row for row in figure.rows if row["word"] == "w99")["group"] == ""


def test_a_word_of_two_groups_belongs_to_the_first(store):
    rows = word_map(store, method="pca", groups={"one": ["w1", "w2"], "two": ["w2", "w3"]}).rows
    assert {row["word"]: row["group"] for row in rows} == {"w1": "one", "w2": "one", "w3": "two"}


def test_both_axes_have_the_same_scale(store):
    figure = word_map(store, method="pca", top_n=40)
    dots = [shape for shape in figure.drawing.shapes if isinstance(shape, Circle)]
    here = np.array([[dot.x, -dot.y] for dot in dots])
    there = np.array([[row["x"], row["y"]] for row in figure.rows])
    ratio = np.linalg.norm(here[:, None] - here, axis=2)[np.triu_indices(40, 1)]
    ratio /= np.linalg.norm(there[:, None] - there, axis=2)[np.triu_indices(40, 1)]
    assert ratio == pytest.approx(np.full(len(ratio), ratio[0]))
    assert (here[:, 0] > 0).all() and (here[:, 0] < figure.drawing.width).all()
    assert (here[:, 1] < 0).all() and (-here[:, 1] < figure.drawing.height).all()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_words_have_a_map(store, size):
    figure = word_map(store, [f"w{number}" for number in range(size)])
    assert len(figure.rows) == size and figure.dropped_labels == 0
    assert figure.caption.startswith("PCA")  # the method that was used


def test_a_map_of_many_equal_words_has_dropped_labels_in_its_caption():
    figure = word_map(WordVectors([f"word{n}" for n in range(90)], np.ones((90, 4))), method="pca")
    lacking = sum(not row["labelled"] for row in figure.rows)
    assert figure.dropped_labels == lacking > 0
    assert f"{lacking} labels have no room" in figure.caption
    titles = [node.text for node in ElementTree.fromstring(figure.svg()).iter(f"{SVG}title")]
    assert {row["word"] for row in figure.rows} <= set(titles)  # they still have tooltips


def test_the_pca_caption_has_the_explained_variance():
    flat = np.zeros((30, 5))
    flat[:, :2] = np.random.default_rng(2).normal(size=(30, 2))
    store = WordVectors([f"w{n}" for n in range(30)], flat)
    assert "100% of their variance" in word_map(store, method="pca", top_n=30).caption


# --- analogy plots ---


def test_arrows_are_labelled_with_the_cosine_to_the_mean_offset(store):
    pairs = [("w1", "w2"), ("w3", "w4"), ("w5", "w2")]
    unit = {word: store.vector(word) / np.linalg.norm(store.vector(word)) for pair in pairs for word in pair}
    offsets = np.array([unit[b] - unit[a] for a, b in pairs], np.float64)
    mean = offsets.mean(0)
    expected = offsets @ mean / np.linalg.norm(offsets, axis=1) / np.linalg.norm(mean)
    figure = analogy_plot(store, pairs)
    assert [(row["from"], row["to"]) for row in figure.rows] == pairs
    assert [row["cosine"] for row in figure.rows] == pytest.approx(expected, abs=1e-5)
    shown = texts(figure.svg())
    assert {"w1", "w2", "w3", "w4", "w5", *(f"{value:.2f}" for value in expected)} <= set(shown)
    assert sum(isinstance(shape, Line) for shape in figure.drawing.shapes) >= 3


def test_parallel_pairs_agree_and_opposite_ones_do_not():
    vectors = np.zeros((4, 3))
    vectors[0], vectors[1] = (1, 0, 0), (0, 1, 0)
    store = WordVectors(["a", "b", "c", "d"], np.array([(1, 0, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0)]))
    assert [row["cosine"] for row in analogy_plot(store, [("a", "b"), ("c", "d")]).rows] == pytest.approx([1, 1])
    opposite = analogy_plot(store, [("a", "b"), ("b", "a")])
    assert [row["cosine"] for row in opposite.rows] == [None, None]
    assert "n/a" in texts(opposite.svg())
    assert "as it must" in analogy_plot(store, [("a", "b")]).caption


def test_an_arrow_points_from_the_first_to_the_second():
    line, head = arrow((0, 0), (100, 0), "soft", 5)
    assert line.points[0] == (5, 0)
    assert max(x for x, _ in head.points) == 95 and head.points[0] == (95, 0)
    assert len(arrow((0, 0), (3, 0), "soft", 5)) == 1  # no room for a head


# --- files ---


def test_a_page_is_complete_escaped_and_without_script(tmp_path):
    store = random_vectors(["<script>alert(1)</script>", "a&b", '"q"', "bell\x07", "日本", "w5"])
    figure = word_map(store, method="pca", title="<b> & more")
    for ending in (".svg", ".html"):
        assert figure.save(tmp_path / f"map{ending}") == []
    page, svg = (tmp_path / "map.html").read_text(), (tmp_path / "map.svg").read_text()
    for text in (page, svg):
        assert "<script" not in text and "<b>" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text and "a&amp;b" in text
    assert {"a&b", '"q"', "bell\ufffd", "日本", "<b> & more"} <= set(texts(svg))
    assert page.startswith("<!doctype html>") and "</svg>" in page


def test_colours_follow_the_readers_theme(store):
    svg = word_map(store, method="pca", top_n=5).svg()
    assert "prefers-color-scheme: dark" in svg
    for theme in ("light", "dark"):
        assert f"--paper:{THEMES[theme]['paper']}" in svg
    assert THEMES["light"].keys() == THEMES["dark"].keys()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_has_the_size_background_and_markers_of_the_drawing(theme):
    drawing = Drawing(
        60, 40, "t", (marker(20, 20, 6, "group 1"), marker(45, 20, 6, "group 2", "square"), Text(2, 12, "hi"))
    )
    image = Image.open(io.BytesIO(png.to_png(drawing, theme, scale=3)))
    image.load()
    assert image.size == (180, 120) and image.format == "PNG"
    colours = THEMES[theme]

    def at(x, y):
        return "#{:02x}{:02x}{:02x}".format(*image.getpixel((3 * x, 3 * y)))

    assert at(20, 20) == colours["group 1"] and at(45, 20) == colours["group 2"]
    assert at(32, 35) == colours["paper"]
    assert len(set(image.crop((6, 15, 36, 36)).get_flattened_data())) > 2  # some text is drawn


def test_a_map_and_arrows_as_png_can_be_opened(store, tmp_path):
    for name, figure in {
        "map": word_map(store, method="pca", top_n=30),
        "arrows": analogy_plot(store, [("w1", "w2")]),
    }.items():
        assert figure.save(tmp_path / f"{name}.png") == []
        with Image.open(tmp_path / f"{name}.png") as image:
            image.load()
            assert image.size == (round(2 * figure.drawing.width), round(2 * figure.drawing.height))


def test_text_that_a_png_cannot_draw_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(png, "_FONTS", ("", "no such font.ttf"))
    figure = word_map(random_vectors(["日本", "dog", "кот"]), method="pca")
    (message,) = figure.save(tmp_path / "map.png")
    assert message.startswith("2 texts have characters that no installed font has for PNG (日本, кот)")
    assert ".svg" in message


def test_fonts_fall_back_for_missing_glyphs(monkeypatch):
    used = []
    fonts = {"first": ImageFont.load_default, "second": ImageFont.load_default}
    monkeypatch.setattr(png, "_FONTS", tuple(fonts))
    monkeypatch.setattr(png, "_has_glyph", lambda name, character: name == "second" or character != "b")
    monkeypatch.setattr(png, "_font", lambda name, size: used.append(name) or fonts[name](size))
    png.to_png(Drawing(40, 20, "t", (Text(0, 12, "aa"), Text(20, 12, "ab"))))
    assert used == ["first", "second"]
    assert png.unsupported_texts(["aa", "ab"]) == []


def test_scripts_that_need_shaping_are_unsupported_without_it(monkeypatch):
    monkeypatch.setattr(png, "_has_glyph", lambda name, character: True)
    monkeypatch.setattr(png, "_has_shaping", lambda: False)
    assert png.unsupported_texts(["dog", "caf\u00e9", "cafe\u0301", "\u0633\u0644\u0627\u0645"]) == [
        "\u0633\u0644\u0627\u0645"
    ]
    monkeypatch.setattr(png, "_has_shaping", lambda: True)
    assert png.unsupported_texts(["\u0633\u0644\u0627\u0645"]) == []


@pytest.mark.parametrize("name", ["map.jpg", "map", "map.svg.gz"])
def test_an_unknown_format_is_an_error_before_anything_is_written(store, tmp_path, name):
    with pytest.raises(FirthError, match=r"…\.svg, …\.html, …\.png") as raised:
        word_map(store, method="pca", top_n=3).save(tmp_path / name)
    assert str(tmp_path / name) in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_an_extension_in_capitals_is_the_same(store, tmp_path):
    word_map(store, method="pca", top_n=3).save(tmp_path / "MAP.SVG")
    assert (tmp_path / "MAP.SVG").read_text().startswith("<svg")


def test_without_pillow_the_error_says_what_to_do(store, tmp_path, monkeypatch):
    monkeypatch.setattr("PIL.features.check", lambda name: False)
    with pytest.raises(FirthError, match=r'pip install "firth\[images\]", or save it as \.svg or \.html'):
        word_map(store, method="pca", top_n=3).save(tmp_path / "map.png")


# --- invalid input ---


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda store: word_map(store, ["w1", "wq1"]), "'wq1' has no vector"),
        (lambda store: word_map(store, neighbours_of=["w1x"]), "did you mean 'w1'"),
        (lambda store: word_map(store, groups={"none": []}), "the group 'none' has no words"),
        (lambda store: word_map(store, top_n=0), "a map of 0 words"),
        (lambda store: word_map(store, method="mds"), "unknown projection method 'mds'"),
        (lambda store: analogy_plot(store, []), "no pairs"),
        (lambda store: analogy_plot(store, [("w1", "w1")]), "two different words"),
        (lambda store: analogy_plot(store, [("w1", "w2", "w3")]), "no arrow from 'w1' to 'w2' to 'w3'"),
        (lambda store: analogy_plot(store, ["w1"]), "no arrow from 'w1'"),
        (lambda store: word_map(broken()), "NaN"),
        (lambda store: analogy_plot(broken(), [("w1", "w2")]), "NaN"),
        (lambda store: analogy_plot(store, [("w1", "nothing")]), "'nothing' has no vector"),
    ],
)
def test_invalid_input_is_an_error_of_one_line(store, call, message):
    with pytest.raises(FirthError) as raised:
        call(store)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_one_word_may_be_given_as_a_string(store):
    assert [row["word"] for row in word_map(store, "w11", method="pca").rows] == ["w11"]


def test_svg_has_colours_as_attributes_for_other_programs():
    svg = to_svg(Drawing(10, 10, "t", (Circle(1, 2, 3, "group 1"),)))
    (circle,) = ElementTree.fromstring(svg).iter(f"{SVG}circle")
    assert circle.attrib["fill"] == THEMES["light"]["group 1"]  # without CSS variables
