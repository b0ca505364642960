"""Every vendored file stands in the README beside it, with the sha256 that it has."""

from __future__ import annotations

import hashlib
import inspect
import re
from pathlib import Path

from dpbench.registry.lookup import registry


def test_the_readme_lists_every_vendored_file_with_its_sha256() -> None:
    plugin = inspect.getsourcefile(registry().get("dataset", "wine"))
    assert plugin is not None
    folder = Path(plugin).parent / "data"
    listed = dict(
        re.findall(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    )
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md"}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()} == listed


def test_a_changed_vendored_file_is_what_the_cell_s_key_would_not_hide(make) -> None:
    """The data's digest is part of every key."""
    names = [
        ("wine", {}),
        ("wine", {"color": "red"}),
        ("adult", {}),
        ("census", {}),
        ("census", {"variant": "heads"}),
        ("brazil", {}),
    ]
    digests = [make("dataset", name, **options).fingerprint() for name, options in names]
    assert all(digests)
    assert len(set(digests)) == len(digests)
