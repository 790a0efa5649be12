"""What holds of every page: well-formed HTML without script, whose colours are all of the palette."""

import re
from html.parser import HTMLParser

from firth.report.palette import THEMES

_VOID = {"meta", "br", "rect", "hr", "img", "input", "link"}
_PALETTE = {colour for theme in THEMES.values() for colour in theme.values()}
_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(|:\s*(?:white|black|red|green|blue|gr[ea]y)\b")


class _Page(HTMLParser):
    """Checks that elements are closed in order; collects styles and elements."""

    def __init__(self):
        super().__init__()
        self.open, self.styles, self.elements = [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} twice"
        self.styles += [value for name, value in attrs if name in ("style", "fill", "stroke")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in _VOID:
            assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            self.styles.append(data)


def check_page(text):
    """The elements of a page (name, attributes, ancestors), after the checks."""
    page = _Page()
    page.feed(text)
    page.close()
    assert not page.open
    names = {name for name, _, _ in page.elements}
    assert not names & {"script", "img", "link", "iframe", "object", "embed", "form"}
    assert not any(name.startswith("on") or name in ("src", "href") for _, attrs, _ in page.elements for name in attrs)
    foreign = {match for style in page.styles for match in _COLOUR.findall(style)} - _PALETTE
    assert not foreign, f"colours outside the palette: {foreign}"
    used = {name for style in page.styles for name in re.findall(r"var\(--([\w-]+)\)", style)}
    assert used <= {name.replace(" ", "-") for name in THEMES["light"]}
    return page.elements
