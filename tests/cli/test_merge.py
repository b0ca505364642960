"""``merge`` names its stores, and says what it copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.__main__ import main


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ([], "The other store must be given once"),
        (["theirs.db"], "The other store must be given once"),
        (["other.uri=sqlite:///nowhere.db"], "There are no runs in the tracking store"),
        (["other.url=sqlite:///theirs.db"], "Did you mean other.uri?"),
    ],
)
def test_a_wrong_request_is_refused(
    line: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["merge", *line]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
