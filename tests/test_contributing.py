"""CONTRIBUTING's example of a new attention pattern, followed word for word on a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import firth

SOURCE = Path(firth.__file__).parent
PAGE = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text()


def test_a_new_attention_pattern_trains_causally(tmp_path):
    section = PAGE[PAGE.index("## Add an attention pattern") : PAGE.index("## Add something else")]
    function, entry, field = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    shutil.copytree(SOURCE, tmp_path / "firth", ignore=shutil.ignore_patterns("__pycache__"))
    masks = tmp_path / "firth" / "nn" / "attention" / "mask.py"
    text = masks.read_text()
    table = text.index("MASKS: dict")
    first = text.index("class MaskPattern")
    end = text.index("\n}\n", table)
    masks.write_text(text[:first] + function + "\n\n" + text[first:end] + "\n" + entry.rstrip("\n") + text[end:])
    transformer = tmp_path / "firth" / "config" / "schema" / "transformer.py"
    changed = re.sub(r"    mask: Literal\[.*?\] = \"causal\"\n", field, transformer.read_text())
    assert changed != transformer.read_text()
    transformer.write_text(changed)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(
        "\n\n".join(f"the cat number {n} sat on the mat and saw the dog number {n % 7}" for n in range(300))
    )
    settings = ["--set", "backbone.mask=strided", "--set", "backbone.positions=t5"]
    command = [sys.executable, "-m", "firth", "train", "transformer-lm:tiny", "--text", str(corpus), *settings]
    command += ["--budget", "30 steps", "--out", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", env=environment(tmp_path))
    assert done.returncode == 0, done.stderr
    check = (
        "import firth, torch\n"
        f"model = firth.load({str(tmp_path / 'run')!r})\n"
        "backbone = model._engine.system.backbone\n"
        "assert backbone.pattern.causal and not backbone.positions.bidirectional\n"
        "print(model.perplexity())"
    )
    shown = subprocess.run(
        [sys.executable, "-c", check], cwd=tmp_path, capture_output=True, encoding="utf-8", env=environment(tmp_path)
    )
    assert shown.returncode == 0, shown.stderr
    assert 1.0 < float(shown.stdout) < 1000.0


def environment(root):
    import os

    return {**os.environ, "PYTHONPATH": str(root)}
