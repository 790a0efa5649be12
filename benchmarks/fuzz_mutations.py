"""Mutations of good files that know their structure: lines and cells, JSON, binary fields, headers of safetensors."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from typing import Any

MAX_GROWTH = 1 << 16  # bytes that mutations may add to a file
TOKENS = [
    b"\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"(", b")", b"[", b"]", b'"',
    b"{", b"}", b"'", b"\\", b"*", b"#", b"=", b":", b",", b"/", b"../", b"0", b"-1", b"-0", b"9" * 30,
    b"9" * 5000, b"1e999", b"-1e-400", b"NaN", b"nan", b"inf", b"1_0", b"0x10", b"\xed\xa0\x80", b"\\ud800",
    b"\x1b[2J", b"[" * 3000, b"(" * 3000, b'{"a":' * 3000, b"a" * 5000, "\u202e\u2066\u200b".encode(),
    "\u0301".encode() * 9, "\x85\u2028".encode(), "١²１".encode(), "😀".encode(), b"\x1f\x8b\x08", b"(BZh",
    b"(a+)+$", b"[^\n]*" * 9, b"</s>", b"<unk>", b"__label__",
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 2, 127, 128, 255, 256, 32767, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) - 1,
    (1 << 53) + 1, (1 << 63) - 1, 1 << 63, -(1 << 63), (1 << 64) - 1, 10**30, 0.5, -0.0, 1e-300, 1e300,
]  # fmt: skip
STRINGS = [
    "", " ", "a", "..", "/dev/zero", "../../x", "\0", "\n", "\ud800", "é\u0301", "\u202e", "x" * 2000, "1",
    "(a+)+$", "%s{0}", "none", "null", "nan", "F32", "Sequence", "none:1",
]  # fmt: skip
RAW = [
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-0", b"9" * 5000, b"[" * 3000 + b"]" * 3000, b'"\\ud800"',
    b"01", b'{"a": 1, "a": 2}', b"", b"'a'", b"true false", b'"\0"', b"1.0", b"[1,]", b"//",
]  # fmt: skip
_HOLE = "\ue123hole"  # stands for raw text in a JSON value until it is written
FIELDS = ("<b", "<h", "<i", "<q", ">b", ">h", ">i", ">q", "<f", "<d")
FLOATS = (float("nan"), float("inf"), float("-inf"), 1e38, -1e38, 0.0, 1e-45)

Mutation = Callable[[random.Random, bytes], bytes]


def mutate(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """One to five mutations of a file, by its structure or blind; rarely a crossing with another file."""
    if rng.random() < 0.03:
        return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]
    structured, limit = MUTATIONS[kind(data)], len(data) + MAX_GROWTH
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        data = (structured if rng.random() < 0.75 else mutate_bytes)(rng, data)[:limit]
    return data


def kind(data: bytes) -> str:
    """The structure of a file, by its content."""
    if data[8:9] == b"{" and data[3:8] == b"\0" * 5:
        return "safetensors"
    if data[:1] in (b"{", b"["):
        return "json" if _parsed(data) is not None else "json lines"
    controls = len(data) - len(data.translate(None, bytes(range(9)) + bytes(range(14, 32))))
    return "binary" if controls * 20 > len(data) else "lines"


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """An insertion, a deletion, a repetition or a change of some bytes."""
    start = rng.randint(0, len(data))
    stop = min(len(data), start + rng.choice((0, 0, 1, 2, 4, 12, 100)))
    middle = rng.choice(
        (rng.choice(TOKENS), rng.randbytes(rng.randint(0, 3)), data[start:stop] * rng.choice((2, 2, 50)))
    )
    return data[:start] + middle + data[stop:]


def mutate_binary(rng: random.Random, data: bytes) -> bytes:
    """A field of a header gets a boundary value; or the file is cut, or gets longer."""
    action = rng.random()
    if action < 0.15 or len(data) < 8:
        return data[: rng.randint(0, len(data))] if rng.random() < 0.7 else data + rng.randbytes(rng.randint(1, 9))
    if action < 0.3:
        return mutate_bytes(rng, data)
    layout = rng.choice(FIELDS)
    size = struct.calcsize(layout)
    at = rng.randint(0, min(len(data), 256) if rng.random() < 0.7 else len(data))
    if layout[1] in "fd":
        value = struct.pack(layout, rng.choice(FLOATS))
    else:
        number = rng.choice((*(n for n in NUMBERS if isinstance(n, int)), len(data), len(data) - 1, rng.randint(0, 99)))
        value = struct.pack(layout.upper(), number & ((1 << 8 * size) - 1))
    return data[:at] + value + data[at + size :]


def mutate_lines(rng: random.Random, data: bytes) -> bytes:
    """A line is dropped, repeated, moved, joined or cut; or a cell of it changes."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    action = rng.randrange(8)
    if action == 0:
        del lines[at]
    elif action == 1:
        lines[at:at] = [lines[at]] * rng.choice((1, 1, 2, 300))
    elif action == 2:
        lines.insert(rng.randrange(len(lines) + 1), lines.pop(at))
    elif action == 3:
        lines[at] = lines[at][: rng.randint(0, len(lines[at]))]
    else:
        lines[at] = _mutate_cells(rng, lines[at])
    return b"\n".join(lines)


def _mutate_cells(rng: random.Random, line: bytes) -> bytes:
    separators = [mark for mark in (b"\t", b" ", b",", b"|", b"=", b";", b"/", b"-") if mark in line]
    separator = rng.choice(separators) if separators else b" "
    cells = line.split(separator)
    at = rng.randrange(len(cells))
    action = rng.randrange(6)
    if action == 0:
        del cells[at]
    elif action == 1:
        cells.insert(at, cells[rng.randrange(len(cells))])
    elif action == 2:
        cells[at] = str(rng.choice(NUMBERS)).encode()
    elif action == 3:
        cells[at] = cells[at] + rng.choice(TOKENS)
    else:
        cells[at] = rng.choice((rng.choice(TOKENS), rng.choice(STRINGS).encode(errors="surrogatepass")))
    return separator.join(cells)


# --- JSON ---------------------------------------------------------------------------------------------------------


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def mutate_json(rng: random.Random, data: bytes) -> bytes:
    """A value is replaced, a key dropped, renamed or written twice, a list repeated or emptied."""
    value = _parsed(data)
    if value is None or rng.random() < 0.1:
        return mutate_bytes(rng, data)
    holder = [value]
    raw = _change(rng, *rng.choice(_places(holder, [])))
    try:
        text = json.dumps(holder[0], ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass")
    except (ValueError, RecursionError):
        return data
    return text.replace(json.dumps(_HOLE).encode(), raw).replace(f'"{_HOLE}"'.encode(), raw)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every place of a JSON value as container and key; of long lists and tables a few."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    for key in keys[:40] + keys[-3:]:
        found.append((value, key))
        _places(value[key], found)
    return found


def _change(rng: random.Random, container: Any, key: Any) -> bytes:
    """Change one place; the raw text that stands where the hole is."""
    value, action = container[key], rng.randrange(10)
    if action == 0 and isinstance(container, dict):
        del container[key]
    elif action == 1 and isinstance(container, dict):
        container[rng.choice(STRINGS) or key] = container.pop(key)
    elif action == 2:
        container[key] = _HOLE
        return rng.choice(RAW)
    elif action == 3 and isinstance(value, list):
        container[key] = rng.choice(([], value * 2, value[:1], value[::-1], [value], value + value[:1]))
    elif action == 4 and isinstance(value, str):
        place = rng.randint(0, len(value))
        container[key] = value[:place] + rng.choice(STRINGS) + value[place + 1 :]
    elif action == 5 and isinstance(value, (int, float)):
        container[key] = rng.choice((value + 1, value - 1, -value, value * 1000, str(value), bool(value), value + 0.5))
    else:
        container[key] = rng.choice(
            (None, True, False, [], {}, [[]], {"": {}}, rng.choice(NUMBERS), rng.choice(NUMBERS), rng.choice(STRINGS))
        )
    return b""


def mutate_json_lines(rng: random.Random, data: bytes) -> bytes:
    """One line changes as JSON, or the lines as lines."""
    if rng.random() < 0.3:
        return mutate_lines(rng, data)
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = mutate_json(rng, lines[at])
    return b"\n".join(lines)


def mutate_safetensors(rng: random.Random, data: bytes) -> bytes:
    """The JSON header changes (names, types, shapes, offsets, metadata), or the length before it."""
    (length,) = struct.unpack("<Q", data[:8])
    header, body = data[8 : 8 + length], data[8 + length :]
    action = rng.random()
    if action < 0.1:
        return struct.pack("<Q", rng.choice([n for n in NUMBERS if isinstance(n, int)]) & ((1 << 64) - 1)) + data[8:]
    if action < 0.25:
        return data[: 8 + length] + mutate_binary(rng, body)
    if action < 0.5:
        value = _parsed(header)
        if isinstance(value, dict):
            header = json.dumps(_move_offsets(rng, value)).encode(errors="surrogatepass")
    else:
        header = mutate_json(rng, header)
    return struct.pack("<Q", len(header)) + header + body


def _move_offsets(rng: random.Random, header: dict[str, Any]) -> dict[str, Any]:
    """Offsets and shapes that overlap, run backwards, or lie outside of the file; metadata that is JSON within JSON."""
    names = [name for name, entry in header.items() if isinstance(entry, dict)]
    entry = header[rng.choice(names)] if names else {}
    if isinstance(entry.get("data_offsets"), list) and len(entry["data_offsets"]) == 2:
        field = rng.choice(("data_offsets", "shape"))
        values = list(entry[field]) if isinstance(entry.get(field), list) else []
        if values:
            values[rng.randrange(len(values))] = rng.choice(NUMBERS)
        entry[field] = values
        return header
    for key, text in list(entry.items()):
        if isinstance(text, str) and rng.random() < 0.5:
            entry[key] = mutate_json(rng, text.encode(errors="replace")).decode(errors="replace")
    return header


MUTATIONS: dict[str, Mutation] = {
    "json": mutate_json,
    "json lines": mutate_json_lines,
    "safetensors": mutate_safetensors,
    "binary": mutate_binary,
    "lines": mutate_lines,
}
