"""Write a sweep's report, the page with its figures and tables, into a folder that holds nothing else's files."""

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dpbench.base.errors import Refused, Unfinished
from dpbench.base.phases import phase
from dpbench.records.names import REPORT_FILE
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.html_page import page
from dpbench.report.latex_table import latex
from dpbench.report.summary import SweepSummary
from dpbench.report.tables import all_cells, tables_of

_GENERATOR = '<meta name="generator" content="dpbench report">'
_FILE_NAMES = re.compile(r'<meta name="files" content="([^"]*)">')
_HEAD_CHARACTERS = 10_000
"""The two marks above are among a page's first characters."""


@phase("report")
def write_report(summary: SweepSummary, folder: Path, *, pdfs: bool = True) -> list[str]:
    """Write the report, and return the names of its figures in their order. Without PDFs it takes less than half as long."""
    from dpbench.report.figures import catalog  # matplotlib takes a third of a second to import

    folder.mkdir(parents=True, exist_ok=True)
    figures = catalog.save_figures(summary.sweep, folder, pdfs=pdfs)
    tables = tables_of(summary)
    for table in (all_cells(summary.cells), *tables):
        (folder / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
    for table in tables:
        (folder / f"{table.name}.tex").write_text(latex(table), encoding="utf-8")
    (folder / REPORT_FILE).write_text(page(summary, tables, figures, folder), encoding="utf-8")
    return [f"{figure.name}.png" for figure in figures]


@dataclass(frozen=True)
class ReportFolder:
    """A folder that does not exist, is empty, or holds an earlier report: it is written whole or not at all."""

    path: Path

    def __post_init__(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise Refused(f"A report needs a folder. {str(self.path)!r} is a file: name another with --out.")
        if self.path.is_dir() and any(self.path.iterdir()) and self._earlier() is None:
            raise Refused(f"The folder {str(self.path)!r} has files but no report: name another one with --out.")

    def write(self, sweep: SweepRecord) -> list[Path]:
        """Write to a temporary folder, then replace the earlier report; return the paths of the page and of its figures."""
        with tempfile.TemporaryDirectory(prefix="dpbench-") as temporary:
            figures = write_report(SweepSummary(sweep), Path(temporary))
            earlier = self._earlier() or []
            names = sorted(new.name for new in Path(temporary).iterdir() if new.name not in earlier)
            if taken := [name for name in names if (self.path / name).exists()]:
                raise Refused(
                    f"The folder {str(self.path)!r} has files of the same names as this report's, which no report wrote: "
                    f"{', '.join(taken)}. Move them, or name another folder with --out."
                )
            try:
                for name in earlier:
                    (self.path / name).unlink(missing_ok=True)
                shutil.copytree(temporary, self.path, dirs_exist_ok=True)
            except (OSError, shutil.Error) as error:
                reason = getattr(error, "strerror", None) or "not every file could be copied"
                raise Unfinished(f"The report could not be written to {str(self.path)!r}: {reason}.") from None
        return [(self.path / name).resolve() for name in (REPORT_FILE, *figures)]

    def _earlier(self) -> list[str] | None:
        """Return the files of the report in this folder; None if there is none."""
        page = self.path / REPORT_FILE
        head = page.read_text(encoding="utf-8", errors="replace")[:_HEAD_CHARACTERS] if page.is_file() else ""
        if _GENERATOR not in head:
            return None
        names = _FILE_NAMES.search(head)
        return [REPORT_FILE, *(name for name in (names[1].split() if names else []) if Path(name).name == name)]
