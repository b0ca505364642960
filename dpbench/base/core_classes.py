"""Tell the classes of dpbench, with the plugins that come with it, from those of other plugins."""

import sys

PACKAGE = "dpbench"


def is_core_class(cls: type) -> bool:
    """Return whether a class is the one that dpbench itself has under its name: a name alone could be copied."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__.partition(".")[0] == PACKAGE and getattr(module, cls.__qualname__, None) is cls
