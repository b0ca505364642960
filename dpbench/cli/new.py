"""``new``: write a plugin that works at once, for you to change."""

from pathlib import Path
from shlex import quote

import click

from dpbench.base.errors import Refused
from dpbench.base.terminal import say
from dpbench.contracts.hooks import OFFERS
from dpbench.registry.lookup import registry


@click.command("new")
@click.argument("kind", metavar="|".join(OFFERS))
@click.argument("name")
@click.option("--single-file", is_flag=True, help="Write one file, NAME.py, for --plugins-dir, and no distribution.")
def command(kind: str, name: str, single_file: bool) -> None:
    """Write a plugin with one component that works at once, for you to change.

    KIND is what the plugin brings; NAME is what it will be called on the command line. In the working folder it writes a
    distribution dpbench-NAME: the component with its entry point, a test, a README and a script for continuous integration.
    """
    from dpbench.scaffold.new_plugin import NewPlugin

    taken = registry().names(kind)  # refuses an unknown kind
    plugin = NewPlugin(kind, name)
    if name in taken:
        raise Refused(f"There is a {kind} named {name!r} already: two of one name cannot be used. Choose another name.")
    if single_file:
        path = plugin.write_file(Path())
        steps = [f"python -m dpbench --plugins-dir . {rest}" for rest in (plugin.sweep, f"check {name}")]
    else:
        path = plugin.write_distribution(Path())
        steps = [f"pip install -e {quote(str(path))}", f"python -m dpbench {plugin.sweep}", f"python -m dpbench check {name}"]
    say("\n".join([f"Written: {path}", "It works as it is. Next:", *(f"    {step}" for step in steps)]))
