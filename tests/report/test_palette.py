"""Contrast of the palette (WCAG 2.2, AA), in both themes."""

import itertools
import re

import pytest

from firth.report.drawing import Circle, Drawing, Line, Text, to_svg
from firth.report.ladder_page import _LEVELS
from firth.report.page import html_page
from firth.report.palette import GROUP_COUNT, THEMES, css_variables, heat

TEXT, LARGE = 4.5, 3.0  # contrast of text; of large text and of graphics that carry meaning


def channels(colour):
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def luminance(rgb):
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def mix(colour, paper, percent):
    """What `color-mix(in srgb, colour percent%, transparent)` shows on the paper."""
    return [percent / 100 * a + (1 - percent / 100) * b for a, b in zip(channels(colour), channels(paper), strict=True)]


def test_the_formula_agrees_with_the_standard():
    assert contrast(channels("#000000"), channels("#ffffff")) == pytest.approx(21)
    assert contrast(channels("#777777"), channels("#ffffff")) == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("role", ["ink", "soft", "accent", *(f"group {n}" for n in range(1, GROUP_COUNT + 1))])
def test_text_has_enough_contrast_with_the_paper(theme, role):
    colours = THEMES[theme]
    assert contrast(channels(colours[role]), channels(colours["paper"])) >= TEXT


@pytest.mark.parametrize("theme", THEMES)
def test_text_has_enough_contrast_with_backgrounds(theme):
    colours = THEMES[theme]
    ink, soft = channels(colours["ink"]), channels(colours["soft"])
    for percent in (*(level for _, level in _LEVELS), 70):
        assert contrast(ink, mix(colours["heat"], colours["paper"], percent)) >= TEXT
    assert contrast(soft, mix(colours["accent"], colours["paper"], 12)) >= TEXT  # the row of the recommended rung
    assert contrast(ink, channels(colours["line"])) >= TEXT  # a command


@pytest.mark.parametrize("theme", THEMES)
def test_group_colours_differ_from_each_other(theme):
    groups = [channels(THEMES[theme][f"group {n}"]) for n in range(1, GROUP_COUNT + 1)]
    for first, second in itertools.combinations(groups, 2):
        assert sum(abs(a - b) for a, b in zip(first, second, strict=True)) > 0.25


def test_dark_is_for_screens_only_and_everywhere():
    drawing = Drawing(10, 10, "t", (Circle(1, 1, 1, "group 2"), Line(((0, 0), (1, 1)), "line"), Text(0, 0, "x")))
    for text in (html_page("t", []), to_svg(drawing)):
        assert "@media screen and (prefers-color-scheme: dark)" in text
        assert text.count("prefers-color-scheme") == text.count("screen and (prefers-color-scheme")
    shapes = re.sub(r"<style>.*?</style>", "", to_svg(drawing))
    assert shapes.count("fill=") + shapes.count("stroke=") - shapes.count('"none"') == shapes.count("class=") - 1
    assert all(f"--{name.replace(' ', '-')}:" in css_variables(":root") for name in THEMES["dark"])


def test_heat_never_exceeds_what_text_can_be_read_on():
    assert heat(34) == "background:color-mix(in srgb,var(--heat) 34%,transparent)"
    assert max(level for _, level in _LEVELS) <= 70
