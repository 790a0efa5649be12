"""Lemmas of English word forms: lists of exceptions, else rules of detachment (morphy)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

# Endings and what replaces them, in the order in which they are tried.
ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "n": (("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
          ("men", "man"), ("ies", "y")),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip
FULL = "ful"  # spoonsful is the plural of spoonful


def base_forms(
    form: str, pos: str, irregular: Sequence[str], is_word: Callable[[str], bool], inflects: bool = True
) -> tuple[str, ...]:
    """The base forms of a word form that are words: the form itself and its exceptions, else what the rules make."""
    known = [word for word in dict.fromkeys((form, *irregular)) if is_word(word)]
    if irregular or not inflects:
        return tuple(known)
    suffix = FULL if pos == "n" and form.endswith(FULL) else ""
    stem = form.removesuffix(suffix)
    made = [
        stem[: len(stem) - len(ending)] + replacement + suffix
        for ending, replacement in ENDINGS.get(pos, ())
        if stem.endswith(ending) and len(stem) > len(ending)
    ]
    return tuple(dict.fromkeys([*known, *(word for word in made if is_word(word))]))
