"""`python -m dpbench claims` judges papers and files against a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.experiments.claims import claims_of, papers_with_claims
from dpbench.tracking.store import open_store


@dataclass
class Command:
    folder: Path
    capture: pytest.CaptureFixture[str] = field(repr=False)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        self.capture.readouterr()
        code = main(["claims", *arguments])
        return code, *self.capture.readouterr()


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return Command(tmp_path, capsys)


PAPER = """
    from pathlib import Path
    from dpbench import Paper, hookimpl

    @hookimpl
    def dpbench_papers():
        return [Paper("mine", "Mine 2020", Path(__file__).parent)]
"""
MINE = """
title: Mine
claims:
  - says: FM is above no privacy.
    check: {above: {cells: {mechanism: fm}, against: {mechanism: no_privacy}}}
  - says: FM is below DPME.
    check: {below: {cells: {mechanism: fm}, against: {mechanism: dpme}}}
"""


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
class TestCommand:
    def test_without_a_store_every_claim_names_its_command(self, command: Command) -> None:
        code, out, err = command.run()
        assert code == 0
        assert "There are no runs" in err
        for preset in {name for paper in papers_with_claims().values() for claim in claims_of(paper) for name in claim.presets}:
            assert f"python -m dpbench -m experiment={preset}\n" in out
        assert list(command.folder.iterdir()) == []

    def test_a_store_that_cannot_be_used_is_refused(self, command: Command) -> None:
        code, out, err = command.run("--uri", "nowhere://x")
        assert (code, out) == (2, "")
        assert err.count("\n") == 1

    def test_a_paper_with_wrong_claims_is_left_out_unless_it_is_asked_for(
        self, command: Command, drop_in: Callable[[str], None], tmp_path: Path
    ) -> None:
        drop_in(PAPER)
        (tmp_path / "claims.yaml").write_text("claims: [{say: x}]", encoding="utf-8")
        code, out, err = command.run()
        assert (code, "Park and Welling" in out) == (0, True)
        assert "The claims of the paper 'mine' are left out: There is no option of a claim of mine named 'say'." in err
        code, out, err = command.run("mine")
        assert (code, out, err.count("\n")) == (2, "", 1)

    def test_an_empty_experiment_is_no_error(self, command: Command) -> None:
        open_store("sqlite:///mlflow.db").close()
        code, out, _ = command.run("park2016")
        assert code == 0
        assert "not run" in out
        assert "Park and Welling" in out
        assert "Zhang" not in out

    def test_the_files_are_there_before_anything_is_printed(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        there: list[bool] = []
        name = "dpbench.cli.claims.print_scorecard"
        monkeypatch.setattr(name, lambda _: there.append((command.folder / "a" / "b.md").exists()))
        _, out, _ = command.run("park2016", "--out", "a/b.md")
        assert there == [True]
        assert out == f"Written: {command.folder / 'a' / 'b.md'}\n"

    def test_a_file_that_cannot_be_written_is_refused(self, command: Command) -> None:
        (command.folder / "file").write_text("", encoding="utf-8")
        code, out, err = command.run("park2016", "--csv", "file/card.csv")
        assert (code, out) == (2, "")
        assert "cannot be written" in err

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["zhang2021"], ["zhang2021", "Did you mean zhang2012"]),
            (["--claims", "none.yaml"], ["none.yaml", "No such file"]),
            (["zhang2012", "--claims", "x.yaml"], ["not both"]),
            (["--sweep", "abcdef"], ["--sweep"]),
        ],
    )
    def test_a_wrong_request_is_one_sentence(self, command: Command, arguments: list[str], words: list[str]) -> None:
        code, out, err = command.run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert all(word in err for word in words)

    def test_a_real_sweep_is_judged(self, command: Command) -> None:
        grid = ["mechanism=fm,no_privacy", "epsilon=0.1,1", "dataset=wine", "splits.repeats=6", "splits.folds=2", "engine=serial"]
        assert main(["-m", *grid]) == 0
        (command.folder / "mine.yaml").write_text(MINE, encoding="utf-8")
        code, out, _ = command.run("--claims", "mine.yaml", "--out", "new/card.md", "--csv", "card.csv")
        assert code == 0
        assert "holds (2 of 2)" in out
        assert "python -m dpbench -m mechanism=fm,no_privacy" in out.partition("Read: sweep ")[2].partition("\n")[0]
        assert ", 3 cells: " in out
        assert "the sweep has no finished cell with mechanism = dpme" in " ".join(out.replace("│", " ").split())
        assert "Not run yet" not in out
        assert "the paper's own data" not in out
        assert out.endswith(f"Written: {command.folder / 'new' / 'card.md'}\nWritten: {command.folder / 'card.csv'}\n")
        assert "**holds (2 of 2)**" in (command.folder / "new" / "card.md").read_text(encoding="utf-8")
        assert len((command.folder / "card.csv").read_text(encoding="utf-8").splitlines()) == 4
        code, out, _ = command.run("zhang2012")
        assert (code, "holds" in out) == (0, False)
