"""Pages that are made from the code are up to date with it."""

import runpy
from pathlib import Path

from firth.config.short_names import ARGUMENTS
from firth.config.train_arguments import TrainArguments

ROOT = Path(__file__).parent.parent


def test_the_tables_of_settings_are_those_of_the_schema():
    made = runpy.run_path(str(ROOT / "tools" / "settings.py"))
    assert made["PAGE"].read_text() == made["page"](), "run: python tools/settings.py"


def test_the_parameter_counts_of_presets_are_those_of_the_systems():
    made = runpy.run_path(str(ROOT / "tools" / "parameter_counts.py"))
    assert made["TABLE"].read_text() == made["table"](), "run: python tools/parameter_counts.py"


def test_the_typed_arguments_of_train_are_the_short_names_and_the_types_of_their_fields():
    made = runpy.run_path(str(ROOT / "tools" / "train_arguments.py"))
    assert made["MODULE"].read_text() == made["module"](), "run: python tools/train_arguments.py"
    assert set(TrainArguments.__annotations__) == {*ARGUMENTS} - {"text"}
