"""The environment variables of dpbench: an unknown name is a typo that would otherwise have no effect, so it is refused."""

import os
import threading

from dpbench.base.errors import Refused, unknown

PREFIX = "DPBENCH_"
PLUGIN_SECONDS = "DPBENCH_PLUGIN_SECONDS"
UNRESPONSIVE_PLUGINS = "DPBENCH_UNRESPONSIVE_PLUGINS"
"""Set by dpbench for its worker processes: plugins that took too long in this one."""
VARIABLES = (
    *("DPBENCH_PLUGINS_DIR", "DPBENCH_DISABLE_PLUGINS", "DPBENCH_STRICT_PLUGINS", PLUGIN_SECONDS),
    *("DPBENCH_BUDGET_BOOK", "DPBENCH_CACHE", "DPBENCH_KEY_FILE", "DPBENCH_FRAMES", "DPBENCH_AUDIT_LEVEL"),
)
"""The variables that dpbench itself reads."""
OTHER_ENDS = ("_URL", "_DATA")
"""How the names of other variables end: those of plugins' servers and of folders with data."""
TEST_PREFIX = f"{PREFIX}TEST_"
SWITCHES = ("DPBENCH_STRICT_PLUGINS",)
"""Variables that are 0 or 1."""


def check_environment() -> None:
    """Refuse variables that begin with DPBENCH_ and that nothing reads, and wrong switches and durations."""
    for name in sorted(os.environ):
        known = name in (*VARIABLES, UNRESPONSIVE_PLUGINS) or name.endswith(OTHER_ENDS) or name.startswith(TEST_PREFIX)
        if name.startswith(PREFIX) and not known:
            raise unknown("environment variable", name, VARIABLES)
    for name in SWITCHES:
        if (value := os.environ.get(name, "")) not in ("", "0", "1"):
            raise Refused(f"The environment variable {name} must be 0 or 1. Got {value!r} instead.")
    if not _is_duration(value := os.environ.get(PLUGIN_SECONDS, "")):
        raise Refused(f"The environment variable {PLUGIN_SECONDS} must be a number of seconds above 0. Got {value!r} instead.")


def _is_duration(text: str) -> bool:
    """Return whether a text is empty, or a positive number of seconds that a clock can count."""
    try:
        return not text or 0 < float(text) <= threading.TIMEOUT_MAX
    except ValueError:
        return False
