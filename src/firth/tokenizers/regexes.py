"""Character classes (white space, punctuation, ideographs) and the regular expressions of words and pre-tokens.

The classes are explicit ranges, without names of Unicode properties, so that Python's `re` and the Rust library
match alike whatever version of Unicode each implements, and so that a saved tokenizer never changes.
"""

from __future__ import annotations

from firth.tokenizers.special_tokens import SPECIAL_TOKENS

LINE_ENDS = "\n-\r\x85\u2028\u2029"
BLANKS = "\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
SPACE = LINE_ENDS + BLANKS  # exactly the characters Unicode calls White_Space

# Control characters, punctuation and symbols of the living scripts, and private use. The underscore is a letter.
PUNCTUATION = (
    "\0-\x08\x0e-\x1f!-/:-@\\[-^`{-\x84\x86-\x9f\xa1-\xa9\xab\xac\xae-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7"
    "\u037e\u0387\u055a-\u055f\u0589-\u058f\u05be\u05c0\u05c3\u05c6"  # Greek, Armenian, Hebrew
    "\u0600-\u060f\u061b-\u061f\u066a-\u066d\u06d4\u06dd\u06de\u06e9\u0700-\u070d"  # Arabic, Syriac
    "\u0964\u0965\u0970\u09f2\u09f3\u0af0\u0af1\u0bf3-\u0bfa\u0df4"  # India
    "\u0e3f\u0e4f\u0e5a\u0e5b\u0f01-\u0f17\u0f3a-\u0f3d\u104a-\u104f\u17d4-\u17d6\u17d8-\u17db"  # Thai, Khmer
    "\u10fb\u1360-\u1368\u1800-\u180a"  # Georgian, Ethiopic, Mongolian
    "\u200b\u200e-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u206f"  # but not the joiners, which occur in words
    "\u207a-\u207e\u208a-\u208e\u20a0-\u20cf\u2100\u2101\u2103-\u2106\u2116-\u2118\u211e-\u2123\u2190-\u2bff\u2e00-\u2e7f"
    "\u2ff0-\u2fff\u3001-\u3004\u3008-\u3020\u3030\u3036\u3037\u303d-\u303f\u309b\u309c\u30a0\u30fb"
    "\u3190-\u319f\u31c0-\u31ef\u3200-\u33ff\u4dc0-\u4dff\ue000-\uf8ff"
    "\ufe10-\ufe19\ufe30-\ufe6f\ufeff-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffff"
    "\U0001d000-\U0001d37f\U0001f000-\U0001fbff\U000e0000-\U000e00ff\U000f0000-\U0010ffff"
)

# Chinese characters, kana and bopomofo: written without spaces, so that each one is a word.
IDEOGRAPHS = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3038-\u303c\u3040-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)

MAX_PRETOKEN_LENGTH = 64  # longer pre-tokens are cut, since encoding takes quadratic time

_WORD = f"[^{SPACE}{PUNCTUATION}{IDEOGRAPHS}]"
_LETTER = f"[^0-9{SPACE}{PUNCTUATION}]"
_WHITESPACE_RUNS = (
    f"[{LINE_ENDS}]{{1,{MAX_PRETOKEN_LENGTH}}}|[{BLANKS}]{{1,{MAX_PRETOKEN_LENGTH}}}(?![^{SPACE}])|[{BLANKS}]"
)
_SPECIAL = f"(?:{'|'.join(name[1:-1] for name in SPECIAL_TOKENS)})\\]"

# Words: only white space lies between matches. A symbol includes its emoji modifiers.
WORDS = (
    f"[0-9]+(?:[.,][0-9]+)+|{_WORD}+(?:['’·\u2010\u2011-]{_WORD}+)*|[{IDEOGRAPHS}]"
    f"|\\.\\.\\.|--|[{PUNCTUATION}](?:[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d[{PUNCTUATION}])*"
)
WHITESPACE = f"[^{SPACE}]+"
TABS = f"[^{SPACE}](?:[^\t{LINE_ENDS}]*[^{SPACE}])?"  # all text between tabs, stripped

# Pre-tokens of subword models: they cover the whole text; a word includes one space before it.
PRETOKENS = (
    f" ?{_LETTER}{{1,{MAX_PRETOKEN_LENGTH}}}|(?<={_LETTER})['’]{_LETTER}{{1,{MAX_PRETOKEN_LENGTH}}}"
    f"| ?[0-9]{{1,{MAX_PRETOKEN_LENGTH}}}| ?[{PUNCTUATION}]{{1,16}}|{_WHITESPACE_RUNS}"
)
# Cut after the bracket of a literal "[END]", so that no subword can be spelled like a special token.
WHITESPACE_PRETOKENS = f" ?(?:[^{SPACE}\\[]|\\[(?!{_SPECIAL})){{1,{MAX_PRETOKEN_LENGTH}}}| ?\\[|{_WHITESPACE_RUNS}"

# The bracket of a word that equals a special token, and of one that starts with it.
SPECIAL_WORD = f"(?<![^{SPACE}])\\[(?={_SPECIAL}(?![^{SPACE}]))"
SPECIAL_START = f"(?<![^{SPACE}])\\[(?={_SPECIAL})"

# Detokenisation, spaces to remove: before closing punctuation, after opening punctuation, between ideographs.
_CLOSING = ",.;:!?%)\\]}»”’…、。，．！？；：）］」』】》"
_OPENING = "(\\[{«“‘„¿¡$£€（［「『【《"
DETOKENIZATION = (
    f" (?=[{_CLOSING}])",
    f"(?<=[{_OPENING}]) ",
    f"(?<=[{IDEOGRAPHS}、。，．！？；：）］」』】》]) (?=[{IDEOGRAPHS}（［「『【《])",
)
