"""Watch the process that started Ray, and end what Ray leaves behind: ``python -m dpbench.sweeps.engines.ray_guard FOLDER``.

Some of Ray's processes outlive a killed parent by minutes. They are recognised by the files that they have open in Ray's folder.
"""

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

POLL_SECONDS = 0.1


def processes_of(folder: str, parent: int) -> set[int]:
    """Return the processes that have files of this folder open, except the parent. Only Linux shows them."""
    ids = set()
    for path in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it has ended, or belongs to somebody else
            if os.readlink(path).startswith(f"{folder}/"):
                ids.add(int(path.parts[2]))
    return ids - {parent}


def main(folder: str) -> None:
    """Wait until the parent has closed its end of our input, or has ended, and clear up."""
    parent = os.getppid()
    sys.stdin.buffer.read()
    while processes := processes_of(folder, parent):  # some may have been started while others were killed
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
