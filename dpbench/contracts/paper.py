"""What a paper is to dpbench: a folder with the presets of its figures and the claims it makes about its results."""

from dataclasses import dataclass
from pathlib import Path

from dpbench.base.errors import Refused, check_spelling


@dataclass(frozen=True)
class Paper:
    """A paper brings figures as presets, and claims about its results. A study without a publication is announced the same way.

    Its folder may hold:

    - ``presets/<figure>.yaml``: one preset each, run by ``experiment=<name>/<figure>``
    - ``choices.yaml``: sentences by short keys, for what the paper leaves open; a preset lists the keys that apply to it, as
      ``preset.choices``
    - ``claims.yaml``: what the paper asserts, each claim with the check that decides it
    - ``scores.csv``: the scores of a leaderboard, which ``python -m dpbench leaderboard`` puts another mechanism next to
    """

    name: str
    """What presets and claims are called by on the command line."""
    title: str
    """The authors, the year and the title, in one line."""
    folder: Path

    def __post_init__(self) -> None:
        check_spelling("a paper", self.name)
        if not (isinstance(self.title, str) and self.title.strip()):
            raise Refused(f"The title of the paper {self.name} must be a text. Got {self.title!r} instead.")
        object.__setattr__(self, "folder", Path(self.folder))
        if not self.folder.is_dir():
            raise Refused(f"The folder of the paper {self.name} must exist. Got {str(self.folder)!r} instead.")

    def summary(self) -> str:
        """Return what listings show."""
        return self.title

    @property
    def preset_files(self) -> dict[str, Path]:
        """The files of its presets, by their names on the command line."""
        return {f"{self.name}/{path.stem}": path for path in sorted(self.folder.glob("presets/*.yaml"))}

    @property
    def choices_file(self) -> Path:
        """What the paper leaves open, and what was chosen. It need not exist."""
        return self.folder / "choices.yaml"

    @property
    def claims_file(self) -> Path:
        """What the paper asserts, and how it is checked. It need not exist."""
        return self.folder / "claims.yaml"

    @property
    def scores_file(self) -> Path:
        """The scores of a leaderboard. Only a study that ranks mechanisms has them."""
        return self.folder / "scores.csv"
