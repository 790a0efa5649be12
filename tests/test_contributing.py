"""CONTRIBUTING's examples, word for word, on a copy of the package: a preset, a mask, a head, a format."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import firth

SOURCE = Path(firth.__file__).parent
PAGE = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text()
CORPUS = "\n\n".join(f"the cat number {n} sat on the mat and saw the dog number {n % 7}" for n in range(300))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package, and a text beside it, in the working directory."""
    shutil.copytree(SOURCE, tmp_path / "firth", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "corpus.txt").write_text(CORPUS)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "firth"


def test_new_presets_are_planned_and_listed(package):
    wide, untied, entry = blocks("## Add a preset", "## Add a setting")
    edit(package / "presets" / "recurrent.py", lambda text: re.sub(r"_PLAIN = .*\n", wide, text) + untied)
    following = '    "transformer-lm": Preset('
    edit(package / "presets" / "__init__.py", lambda text: text.replace(following, entry + following, 1))
    assert "parameters" in command("train", "lstm-lm:wide", "--text", "corpus.txt", "--plan")
    shown = command("presets")
    assert "wide" in shown and "lstm-lm-untied" in shown
    assert "tied = false" in command("presets", "lstm-lm-untied")


def test_a_new_attention_pattern_trains_causally(package):
    function, entry, field = blocks("## Add an attention pattern", "## Add a head")
    edit(package / "nn" / "attention" / "mask.py", lambda text: with_mask(text, function, entry))
    edit(
        package / "config" / "schema" / "transformer.py",
        lambda text: re.sub(r"    mask: Literal\[.*?\] = \"causal\"\n", field, text),
    )
    settings = ["--set", "backbone.mask=strided", "--set", "backbone.positions=t5", "--budget", "30 steps"]
    command("train", "transformer-lm:tiny", "--text", "corpus.txt", *settings, "--out", "run")
    check = (
        "import firth, torch\n"
        "model = firth.load('run')\n"
        "backbone = model._engine.system.backbone\n"
        "assert backbone.pattern.causal and not backbone.positions.bidirectional\n"
        "print(model.perplexity())"
    )
    assert 1.0 < float(python("-c", check)) < 1000.0


def test_a_new_head_is_trained_scored_and_used(package):
    module, settings, union, line, sizes = blocks("## Add a head", "## Add something else")
    (package / "models" / "heads" / "cosine.py").write_text(module)
    schema, presets, build = package / "config" / "schema", package / "presets", package / "models" / "build.py"
    named = "    ClassificationHead,\n", "    ClassificationHead,\n    CosineHead,\n"
    entry = '    "cosine-classifier": Preset("cosines", text_classifiers.COSINE_SIZES, LABELLED, "Wang et al. 2017"),\n'
    imported, following = "from firth.models.heads.discriminator", "    schema.TaggingHead: TaggingHead,\n"
    changes = [
        (schema / "heads.py", "TaskHead = ClassificationHead | Tagg", f"{settings}{union.partition('Tagg')[0]}Tagg"),
        (schema / "__init__.py", *named),
        (build, imported, f"from firth.models.heads.cosine import CosineHead\n{imported}"),
        (build, following, line + following),
        (presets / "text_classifiers.py", *named),
        (presets / "text_classifiers.py", "REGRESSOR_SIZES", f"{sizes}REGRESSOR_SIZES"),
        (presets / "__init__.py", '    "text-cnn": Preset(', f'{entry}    "text-cnn": Preset('),
    ]
    for path, old, new in changes:
        edit(path, lambda text, old=old, new=new: text.replace(old, new, 1))
    rows = (f"{('a fine film', 'a dull film')[n % 2]} number {n}\t{('good', 'bad')[n % 2]}" for n in range(60))
    Path("films.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    arguments = ["--text", "films.tsv", "--budget", "30 steps", "--batch-size", "8", "--out", "run"]
    assert "accuracy: 1" in command("train", "cosine-classifier:tiny", *arguments)
    assert command("run", "run", "a dull film number 3").split()[1] == "bad"


def test_a_new_format_is_checked(package):
    (module,) = blocks("## Add a format", "\nAdd `")
    (package / "datasets" / "readers" / "riddles.py").write_text(module)
    entry, imported = '"riddles": Riddles()', "from firth.datasets.readers.series import"
    assert f"`{entry}`" in PAGE
    changes = {
        imported: f"from firth.datasets.readers.riddles import Riddles\n{imported}",
        '    "tsv": Table(),\n': f'    "tsv": Table(),\n    {entry},\n',
    }
    for old, new in changes.items():
        edit(package / "datasets" / "readers" / "__init__.py", lambda text, old=old, new=new: text.replace(old, new, 1))
    Path("my.riddles").write_text("What has keys? => A piano.\nWhat has a neck? => A bottle.\n")
    checked = command("data", "check", "my.riddles", "--task", "translation")
    assert "2 records for translation, format riddles" in checked


def blocks(begin: str, end: str) -> list[str]:
    """The Python blocks of a section."""
    start = PAGE.index(begin)
    return re.findall(r"```python\n(.*?)```", PAGE[start : PAGE.index(end, start)], flags=re.DOTALL)


def edit(path, change) -> None:
    """Change a file of the copy; it must not stay the same."""
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))


def with_mask(text: str, function: str, entry: str) -> str:
    first = text.index("class MaskPattern")
    end = text.index("\n}\n", text.index("MASKS: dict"))
    return text[:first] + function + "\n\n" + text[first:end] + "\n" + entry.rstrip("\n") + text[end:]


def command(*arguments: str) -> str:
    return python("-m", "firth", *arguments)


def python(*arguments: str) -> str:
    """What Python prints with the copied package."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, encoding="utf-8", env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
