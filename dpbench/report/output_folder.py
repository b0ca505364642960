"""A folder that holds one report: written whole or not at all, and never over somebody else's files."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dpbench.base.errors import Refused, Unfinished
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.write_report import PAGE, write_report

_OURS = '<meta name="generator" content="dpbench report">'
_FILES = re.compile(r'<meta name="files" content="([^"]*)">')
_HEAD = 10_000
"""The marks of a page stand in its first characters."""


@dataclass(frozen=True)
class Folder:
    """Where a report goes: a folder that does not exist, is empty, or holds an earlier report."""

    path: Path

    def __post_init__(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise Refused(f"A report needs a folder. {str(self.path)!r} is a file: name another with --out.")
        if self.path.is_dir() and any(self.path.iterdir()) and self._earlier() is None:
            raise Refused(
                f"The folder {str(self.path)!r} holds files and no report of dpbench: name another, or an empty one, with --out."
            )

    def write(self, sweep: SweepRecord) -> Path:
        """Write the report aside, then put it in the place of the earlier one; the path of its page."""
        with tempfile.TemporaryDirectory(prefix="dpbench-") as aside:
            write_report(sweep, Path(aside))
            earlier = self._earlier() or []
            theirs = sorted(
                new.name for new in Path(aside).iterdir() if new.name not in earlier and (self.path / new.name).exists()
            )
            if theirs:
                raise Refused(
                    f"The folder {str(self.path)!r} holds files that no report wrote and that have the names of this one's: "
                    f"{', '.join(theirs)}. Move them, or name another folder with --out."
                )
            try:
                for name in earlier:
                    (self.path / name).unlink(missing_ok=True)
                shutil.copytree(aside, self.path, dirs_exist_ok=True)
            except (OSError, shutil.Error) as error:
                reason = getattr(error, "strerror", None) or "not every file could be copied"
                raise Unfinished(f"The report could not be written to {str(self.path)!r}: {reason}.") from None
        return (self.path / PAGE).resolve()

    def _earlier(self) -> list[str] | None:
        """The files of the report that is here; None where there is none."""
        page = self.path / PAGE
        head = page.read_text(encoding="utf-8", errors="replace")[:_HEAD] if page.is_file() else ""
        if _OURS not in head:
            return None
        found = _FILES.search(head)
        names = found[1].split() if found else []
        return [PAGE, *(name for name in names if Path(name).name == name)]
