"""Makes the module of made-up cells importable: the tests are no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

spec = importlib.util.spec_from_file_location("made_cells", Path(__file__).with_name("made_cells.py"))
assert spec is not None
assert spec.loader is not None
sys.modules["made_cells"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["made_cells"])
