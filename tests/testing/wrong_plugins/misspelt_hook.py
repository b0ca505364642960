"""A hook that nobody calls. Expected: There is no hook named 'dpbench_mechanism'. Did you mean dpbench_mechanisms"""

from dpbench import hookimpl


@hookimpl
def dpbench_mechanism():
    return []
