"""Turn what Hydra and OmegaConf raise into one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from dpbench.base.errors import Refused


@contextmanager
def hydra_errors_refused() -> Iterator[None]:
    """Refuse the request if Hydra cannot compose it: users never see a traceback of Hydra's."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise Refused(first_line(error)) from None
    except YAMLError as error:
        raise Refused(f"A configuration file is not YAML: {' '.join(str(error).split())}.") from None


def first_line(error: Exception) -> str:
    """Return the first line of an error's text: the others say where in Hydra it happened."""
    return " ".join(str(error).split("\n")[0].split())
