"""The tables of Lin, Slavković and Bhoomireddy 2026 are the ones in their list."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "plugins" / "papers" / "lin2026" / "data"


def test_each_vendored_file_is_the_one_in_the_list() -> None:
    listed = dict(re.findall(r"^\| `(\S+)` .* `([0-9a-f]{64})` \|$", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE))
    files = [path for path in FOLDER.iterdir() if path.suffix != ".md"]
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files} == listed
    assert len(files) == 5
