"""Which process of which machine this is, and whether such a process still runs: process ids alone are used again."""

import os
import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def host_name() -> str:
    """Return the name within which a process id means one process: of the machine and, on Linux, of the id's namespace."""
    with suppress(OSError):  # two containers may have the same name, but they number their processes separately
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    return platform.node()


def start_of(pid: int) -> str | None:
    """Return when a process of this host started, in a form to be compared only; "" if it is gone; None if that is unknown."""
    if sys.platform == "win32":
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:  # it runs for another user
        pass
    if sys.platform == "linux":
        try:
            state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:  # the system hides the processes of others
            return None
        return "" if state in "ZX" else f"{boot} {numbers[18]}"
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    with suppress(OSError):
        shown = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        return shown.stdout.strip() or None
    return None
