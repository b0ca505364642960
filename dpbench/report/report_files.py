"""Write a sweep's report, the page with its figures and tables, into a folder that holds nothing else's files."""

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpbench.base.errors import Omissions, Refused, Unfinished
from dpbench.base.phases import phase
from dpbench.records.names import REPORT_FILE
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.html_page import GENERATOR, bare_page, page
from dpbench.report.latex_table import latex
from dpbench.report.summary import SweepSummary
from dpbench.report.tables import all_cells, tables_of

_FILE_NAMES = re.compile(r'<meta name="files" content="([^"]*)">')
_HEAD_CHARACTERS = 10_000
"""The generator and the names of the files are among a page's first characters."""


@phase("report")
def write_report(summary: SweepSummary, folder: Path, omissions: Omissions, *, pdfs: bool = True) -> list[str]:
    """Write the report, and return the names of its figures in their order. Without PDFs it takes less than half as long.

    A part that an error prevents is named on the page and in ``omissions``; the other parts are written.
    """
    from dpbench.report.figures import catalog  # matplotlib takes a third of a second to import

    folder.mkdir(parents=True, exist_ok=True)
    figures = omissions.attempt("the figures", lambda: catalog.save_figures(summary.sweep, folder, omissions, pdfs=pdfs)) or []
    tables = tables_of(summary, omissions)
    cells = omissions.attempt("the table summary", lambda: all_cells(summary.cells))
    for table in (*([cells] if cells else []), *tables):
        omissions.attempt(f"the table {table.name} as CSV", partial(_write, folder / f"{table.name}.csv", table.csv))
    for table in tables:
        omissions.attempt(
            f"the table {table.name} in LaTeX", partial(_write, folder / f"{table.name}.tex", partial(latex, table))
        )
    html = omissions.attempt("the page", lambda: page(summary, tables, figures, folder, omissions.sentences))
    if html is None:
        html = bare_page(omissions.attempt("the answer", lambda: summary.headlines) or [], omissions.sentences, folder)
    (folder / REPORT_FILE).write_text(html, encoding="utf-8")
    return [f"{figure.name}.png" for figure in figures]


def _write(path: Path, text: Callable[[], str]) -> None:
    path.write_text(text(), encoding="utf-8")


@dataclass(frozen=True)
class ReportFolder:
    """A folder that does not exist, is empty, or holds an earlier report: it is written whole or not at all."""

    path: Path

    def __post_init__(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise Refused(f"A report needs a folder. {str(self.path)!r} is a file: name another with --out.")
        if self.path.is_dir() and any(self.path.iterdir()) and self._earlier() is None:
            raise Refused(f"The folder {str(self.path)!r} has files but no report: name another one with --out.")

    def write(self, sweep: SweepRecord, omissions: Omissions) -> list[Path]:
        """Write to a temporary folder, then replace the earlier report; return the paths of the page and of its figures."""
        try:
            with tempfile.TemporaryDirectory(prefix="dpbench-") as temporary:
                figures = write_report(SweepSummary(sweep), Path(temporary), omissions)
                self._replace_earlier(Path(temporary))
        except (OSError, shutil.Error) as error:
            reason = getattr(error, "strerror", None) or "not every file could be copied"
            raise Unfinished(f"The report could not be written to {str(self.path)!r}: {reason}.") from None
        return [(self.path / name).resolve() for name in (REPORT_FILE, *figures)]

    def _replace_earlier(self, new: Path) -> None:
        earlier = self._earlier() or []
        names = sorted(path.name for path in new.iterdir() if path.name not in earlier)
        if taken := [name for name in names if (self.path / name).exists()]:
            raise Refused(
                f"The folder {str(self.path)!r} has files of the same names as this report's, which no report wrote: "
                f"{', '.join(taken)}. Move them, or name another folder with --out."
            )
        for name in earlier:
            (self.path / name).unlink(missing_ok=True)
        shutil.copytree(new, self.path, dirs_exist_ok=True)

    def _earlier(self) -> list[str] | None:
        """Return the files of the report in this folder; None if there is none."""
        page = self.path / REPORT_FILE
        head = page.read_text(encoding="utf-8", errors="replace")[:_HEAD_CHARACTERS] if page.is_file() else ""
        if GENERATOR not in head:
            return None
        names = _FILE_NAMES.search(head)
        return [REPORT_FILE, *(name for name in (names[1].split() if names else []) if Path(name).name == name)]
