"""The subcommand ``export``."""

from __future__ import annotations

from pathlib import Path

import pytest
from release_factory import make_release

from dpbench.__main__ import main
from dpbench.data.table import Column

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The file of a release."""
    facts = {"epsilon": 1.0, "delta": 0.0, "neighbours": "replace_one", "rows": 100, "noise": "secure", "accounting": "closed"}
    released = make_release(
        columns=(Column("age", 18, 70),),
        target=Column("wage", 0, 3000),
        weights={"intercept": 0.0, "age": 0.5},
        privacy={**facts, "ledger": {"entries": []}},
    )
    released.save(tmp_path / "model.json")
    return tmp_path / "model.json"


def test_a_card_and_an_entry_are_written(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "model.json", "card=card.md", "registry=wages.yaml"]) == 0
    out = capsys.readouterr().out
    assert "Model card: card.md\nRegistry entry: wages.yaml\nFill in, because only a human knows them:\n" in out
    assert {path.name for path in tmp_path.iterdir()} == {"card.md", "model.json", "wages.yaml"}
    assert main(["export", "model.json", "card=card.md"]) == 2
    assert main(["export", "model.json", "card=card.md", "overwrite=true"]) == 0


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([], "must say what to write: card=…, onnx=…, registry=…, mlflow=…"),
        (["pmml=a"], "There is no key of export named 'pmml'"),
        (["card=model.json", "overwrite=true"], "is a file that is read"),
        (["card=a.md", "registry=a.md"], "must name different files"),
        (["tracking.uri=sqlite:///a.db"], "needs its name: mlflow=wages"),
        (["mlflow=a/b"], "The name of a model in MLflow"),
    ],
)
def test_a_wrong_export_is_refused_and_writes_nothing(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: list[str], words: str
) -> None:
    assert main(["export", "model.json", *keys]) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
