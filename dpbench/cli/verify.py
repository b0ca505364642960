"""Check what a released model says of its privacy: ε from its ledger, statement, versions, audit."""

import click

from dpbench.base.terminal import say_prose


@click.command(name="verify")
@click.argument("model")
def command(model: str) -> int:
    """Check what a released model says of its privacy; no row is read.

    One line per check: every answer of the ledger has a proof, and costs what its noise costs; ε and δ follow from the ledger,
    by dpbench's accounting and by dp-accounting (extra `accounting`); the statement says them, and no others; the audit passed;
    which version made the file; its mechanism and model have the code that was replayed. The exit code is 0 if all hold, 1 if
    one does not, 2 if MODEL is not a release.
    """
    from dpbench.accounting.privacy_loss import require
    from dpbench.releases.release_file import load_release
    from dpbench.releases.verification import verify

    require("python -m dpbench verify")
    checks = verify(load_release(model))
    for check in checks:
        say_prose(check.line(), indent=8)
    return 0 if all(check.holds for check in checks) else 1
