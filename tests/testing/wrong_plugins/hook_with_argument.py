"""A hook that wants an argument. Expected: Its function dpbench_mechanisms takes (curator), and hooks take no arguments."""

from dpbench import hookimpl

from ._good import Good


@hookimpl
def dpbench_mechanisms(curator):
    return [Good]
