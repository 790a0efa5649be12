"""The built-in English text: always the same, long enough, and nothing is imported for it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import sysconfig
from pathlib import Path

from firth.datasets import python_docs


def test_documents_are_distinct_text_of_a_useful_size():
    result = python_docs.documents()
    assert len(result) == len(set(result)) > 1000
    assert all(text.strip() and not text.startswith("\n") and not text.endswith("\n") for text in result)
    assert 800_000 < sum(len(text.encode()) for text in result) < 4_000_000
    paragraphs = [paragraph for text in result for paragraph in text.split("\n\n")]
    assert len(paragraphs) == len(set(paragraphs))


def test_another_process_finds_the_same_and_imports_no_library_module():
    program = (
        "import sys, hashlib, json; from firth.datasets import python_docs as p; found = p.documents();"
        "print(hashlib.sha256(json.dumps(found).encode()).hexdigest());"
        "print([name for name in ('turtle', 'smtplib', 'antigravity', 'tkinter') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    here = hashlib.sha256(json.dumps(python_docs.documents()).encode()).hexdigest()
    assert result == f"{here}\n[]\n"


def test_without_sources_the_topics_remain(tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path / "python311.zip")})
    alone = python_docs.documents.__wrapped__()
    assert 50 < len(alone) < 200 and alone == python_docs.documents()[: len(alone)]


def test_docstrings_are_found_where_they_stand_and_broken_files_passed_over(tmp_path):
    long, deep, short = "module." * 40, "method." * 40, "short"
    (tmp_path / "b.py").write_text(f'"""{long}"""\nclass A:\n  """{short}"""\n  def f(self):\n    """{deep}"""\n')
    (tmp_path / "a.py").write_text("def broken(:\n")
    (tmp_path / "c.py").write_bytes(b"\0\xff")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "d.py").write_text(f'"""{"test " * 100}"""')
    assert list(python_docs._docstrings(Path(tmp_path))) == [long, deep]


def test_marks_of_restructured_text_go_and_words_stay():
    marked = 'The "x" thing\n*************\n\nSee :class:`~a.B` and ``code``, \\*args.  \n\nEnd - here.\n'
    assert python_docs.clean(marked) == 'The "x" thing\n\nSee ~a.B and code, *args.\n\nEnd - here.'


def test_paragraphs_of_sentences_are_taken_and_code_is_not():
    first = 'Return the "value" of the key, or None\nif there is no such key in the table.'
    others = (
        "A heading of more than six words here",
        "Use it like this:\n\n    for key in table: print it, once for every key.",
        ">>> print the value of the key in the table.",
        "start ::= word of the grammar or another word.",
        "x1 = f(x2), x3 = f(x4), and so on, until it ends.",
        "Too few words.",
    )
    text = "\n\n".join((first, *others, "The last paragraph (as always) ends with a sentence."))
    assert list(python_docs.prose(text)) == [
        " ".join(first.split()), "The last paragraph (as always) ends with a sentence."
    ]  # fmt: skip
