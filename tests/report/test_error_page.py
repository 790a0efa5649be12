"""The error page: ranked, escaped, filtered without a script."""

import re

import numpy as np

from firth.display import Table
from firth.metrics.error_analysis import AnalysedExample, Mark, analysis
from firth.report.error_page import error_page

ATTACK = "<script>alert('&')</script>"


def example(loss, correct=False, text="Ada met Grace", marks=(), gold="good"):
    return AnalysedExample(loss, correct, gold, "bad", (text,), (("bad", 0.75), (gold, 0.25)), marks, "a.txt:3")


def page(*examples, **more):
    tables = {"classes": Table([{"label": ATTACK, "f1": 0.5}]), "confusions": Table()}
    return error_page("run", analysis("test", tables, examples), **more)


def test_examples_are_ranked_by_loss_and_cut():
    html = page(example(0.5), example(np.inf), example(2.0), count=2)
    assert re.findall(r"loss ([\w.]+)</span>", html) == ["inf", "2.000"] and "3 examples" in html


def test_everything_is_escaped_and_there_is_no_script():
    marks = (Mark(2, 9, ATTACK, "gold"),)
    html = page(example(1.0, text=ATTACK, gold=ATTACK, marks=marks), example(1.0, text=ATTACK, gold=ATTACK))
    assert "<script" not in html and "&lt;script&gt;" in html
    text = re.sub(r"<sub>.*?</sub>", "", re.findall(r"<p>(.*?)</p>", html)[1])
    assert re.sub(r"<[^>]*>", "", text) == "&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;"


def test_every_filter_has_its_cards():
    html = page(example(3.0), example(2.0), example(1.0, correct=True))
    assert html.count('class="card is-wrong is-kind-0"') == 2 and html.count('class="card is-right"') == 1
    for name in re.findall(r'id="show-([\w-]+)"', html):
        assert name == "all" or f"body:has(#show-{name}:checked) .card:not(.is-{name})" in html


def test_overlapping_spans_are_both_drawn():
    html = page(example(1.0, marks=(Mark(0, 7, "PER", "gold"), Mark(4, 13, "ORG", "predicted"))))
    (card,) = re.findall(r"<article.*?</article>", html)
    assert card.count('<mark class="gold"') == card.count('<mark class="predicted"') == 2
    assert re.sub(r"<[^>]*>", "", re.sub(r"<sub>.*?</sub>", "", re.search(r"<p>(.*?)</p>", card)[1])) == "Ada met Grace"
