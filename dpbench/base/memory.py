"""Refuse what this machine cannot hold, before it is made, with the memory that it would take."""

import os

from dpbench.base.errors import Refused

GIGABYTE = 10**9


def machine_memory() -> int:
    """Return the memory of this machine in bytes, or as much as a machine can have where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**62


def refuse_beyond_memory(what: str, size: int, time: str = "", limit: int | None = None) -> None:
    """Refuse something that needs more bytes than the machine (or ``limit``) has; ``time`` says how long it would take."""
    limit = machine_memory() if limit is None else limit
    if size > limit:
        and_time = f" and {time} or more" if time else ""
        raise Refused(
            f"{what} would take {size / GIGABYTE:,.0f} GB of memory{and_time}. This machine has {limit / GIGABYTE:,.0f} GB."
        )
