"""Write the report of a recorded sweep: a page with its figures, as PDF too, and its tables."""

import webbrowser

import click

from dpbench.base.errors import Omissions
from dpbench.base.terminal import say, say_prose


@click.command("report")
@click.argument("sweep", required=False)
@click.option("--out", default="report", show_default=True, metavar="DIR", help="The folder to write.")
@click.option("--uri", default=None, help="The tracking store [default: MLFLOW_TRACKING_URI, else sqlite:///mlflow.db].")
@click.option("--experiment", default="dpbench", show_default=True, help="The MLflow experiment that holds the sweep.")
@click.option("--browser/--no-browser", default=False, help="Also open the page in the browser.  [default: no]")
def command(sweep: str | None, out: str, uri: str | None, experiment: str, browser: bool) -> None:
    """Write the report of a recorded sweep into a folder: report.html with its figures and tables, from the records alone.

    Here each figure is a PNG, a PDF, and a PDF for a column of a paper; the report in the store has the PNG alone.

    SWEEP is the run id of a sweep (its first 6 characters are enough) or the name of a preset; by default it is
    the newest sweep. A report that lies in the folder already is replaced; other files there are never touched, and where one
    has the name of a file of the new report nothing is written. What an error prevents is named on the page and on the terminal,
    and everything else is written.
    """

    from dpbench.base.user_path import user_path
    from dpbench.report.file_lines import file_lines
    from dpbench.report.formatting import plural
    from dpbench.report.report_files import ReportFolder
    from dpbench.tracking.store import open_store
    from dpbench.tracking.sweep_files import read_sweep

    folder, omissions = ReportFolder(user_path(out)), Omissions()
    with open_store(uri, experiment, create=False) as store:
        record = read_sweep(store, sweep)
        files = folder.write(record, omissions)
    name = (record.preset.name if record.preset else "Sweep") + (" (changed)" if record.changed else "")
    say(f"{name} {record.run_id}, {plural(len(record.cells), 'cell')}: {record.command}")
    for line in file_lines(record, files):
        say(line)
    for sentence in omissions.sentences:
        say_prose(sentence, error=True)
    if browser and not webbrowser.open(files[0].as_uri()):
        say("There is no browser here: open the report yourself.")
