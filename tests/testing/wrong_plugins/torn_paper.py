"""A paper whose folder is missing. Expected: The folder of the paper torn_paper must exist."""

from dpbench import Paper, hookimpl


@hookimpl
def dpbench_papers():
    return [Paper("torn_paper", "Torn 2020", "/no/such/folder")]
