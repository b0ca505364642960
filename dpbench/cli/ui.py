"""``python -m dpbench ui``: look at the recorded runs in MLflow's UI."""

import click

from dpbench.base.terminal import say


@click.command("ui")
@click.option("--uri", default=None, help="The tracking store [default: MLFLOW_TRACKING_URI, else sqlite:///mlflow.db].")
@click.option("--experiment", default="dpbench", show_default=True, help="The MLflow experiment to open.")
@click.option(
    "--port", default=5000, show_default=True, type=click.IntRange(1, 65535), help="The first port to try on 127.0.0.1."
)
@click.option("--browser/--no-browser", default=False, help="Also open the page in the browser.  [default: no]")
def command(uri: str | None, experiment: str, port: int, browser: bool) -> None:
    """Open the recorded runs in MLflow's UI, and print the link that shows them."""
    from dpbench.tracking.ui_server import show

    show(uri, experiment, port, say, browser=browser)
