"""The list of hand-made faults keeps up with the code: `python tools/mutants.py` can apply and test each of them."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from mutants_list import FAULTS  # noqa: E402


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.file}: {fault.old}")
def test_a_fault_can_be_applied_once_and_has_tests(fault):
    text = (ROOT / "src" / "firth" / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1
    ast.parse(text.replace(fault.old, fault.new))  # a syntax error would be caught by any test
    assert fault.tests.split()
    assert all((ROOT / "tests" / name).exists() for name in fault.tests.split())


def test_no_fault_is_listed_twice():
    assert len(set(FAULTS)) == len(FAULTS)
