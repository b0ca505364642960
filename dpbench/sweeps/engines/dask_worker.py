"""What Dask loads first in the workers of a cluster that dpbench started."""

from typing import Any

from dpbench.sweeps.engines.worker_processes import prepare_worker


def dask_setup(worker: Any) -> None:
    """Make the process a worker of dpbench; Dask calls this before it sends units."""
    prepare_worker()
