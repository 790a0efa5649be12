"""The colours of pages and figures in the light and the dark theme, and their CSS variables."""

from __future__ import annotations

from typing import Literal

Theme = Literal["light", "dark"]
ColourName = str  # a key of THEMES: ink, soft, line, paper, accent, heat, or `group 1`, `group 2`, …

# ink, soft: text; line: grid lines and borders; accent: what is recommended; heat: high values, mixed with the paper
_LIGHT = {
    "ink": "#1a202c",
    "soft": "#586478",
    "line": "#d3dbe5",
    "paper": "#ffffff",
    "accent": "#2b7a52",
    "heat": "#dd6b20",
}
_DARK = {
    "ink": "#e2e8f0",
    "soft": "#a0aec0",
    "line": "#3b4657",
    "paper": "#171923",
    "accent": "#68d391",
    "heat": "#b5500f",
}
# Colours of groups, which colour-blind readers can distinguish; also of labels, so with the contrast of text.
_GROUPS = {
    "light": ("#2b6cb0", "#bf4f17", "#2b7a52", "#805ad5", "#b83280", "#4a5568"),
    "dark": ("#63b3ed", "#f6ad55", "#68d391", "#b794f4", "#f687b3", "#cbd5e0"),
}
GROUP_COUNT = len(_GROUPS["light"])
THEMES: dict[str, dict[ColourName, str]] = {
    theme: roles | {f"group {number}": colour for number, colour in enumerate(_GROUPS[theme], 1)}
    for theme, roles in (("light", _LIGHT), ("dark", _DARK))
}


def css_name(role: ColourName) -> str:
    """The name of a colour in CSS."""
    return role.replace(" ", "-")


def css_variables(selector: str) -> str:
    """CSS that sets the colours as variables: dark where the reader prefers it, on a screen; paper stays white."""
    light, dark = (
        "".join(f"--{css_name(role)}:{colour};" for role, colour in THEMES[theme].items())
        for theme in ("light", "dark")
    )
    return f"{selector}{{{light}}}@media screen and (prefers-color-scheme: dark){{{selector}{{{dark}}}}}"


def heat(percent: float) -> str:
    """CSS of a background that is so many percent of the heat colour; text on it stays readable up to 70."""
    return f"background:color-mix(in srgb,var(--heat) {percent:.0f}%,transparent)"
