"""Wait for a store that does not answer: a server or a database that is back within a minute costs nothing but the wait."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dpbench.base.errors import Unfinished
from dpbench.base.interruption import interrupted_while_held
from dpbench.base.phases import phase
from dpbench.tracking.connection import reason_of
from dpbench.tracking.store_uri import SERVERS, masked, scheme

if TYPE_CHECKING:
    from mlflow import MlflowClient

Result = TypeVar("Result")

PATIENCE_SECONDS = 90.0
"""How long one outage is waited for: a restart takes less than a minute."""
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 5.0
SECONDS_BETWEEN_ATTEMPTS = 30.0
"""After the wait has been in vain, the store is asked this often, and not waited for again."""
_STEP_SECONDS = 0.1

_LASTING = ("readonly database", "read-only", "no such table", "not authorized", "permission denied", "disk is full")
"""What a database says that waiting does not change."""


class StoreLost(Unfinished):
    """The store cannot be written now: what is finished must be kept elsewhere."""


class Patience:
    """Repeats what a store did not answer until it does, or until waiting has been in vain."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.waited = False
        """Whether anything was repeated: the store may have done what it did not answer."""
        self._given_up: float | None = None
        """When the last attempt failed after a wait in vain."""
        self._said = False
        """Whether the user knows of an outage."""

    @phase("tracking")
    def call(self, action: Callable[[], Result]) -> Result:
        """Return the result of an action that may be done twice; raise StoreLost if the store does not come back."""
        start, pause = time.monotonic(), FIRST_PAUSE_SECONDS
        if self._given_up is not None and start - self._given_up < SECONDS_BETWEEN_ATTEMPTS:
            raise self._lost("it did not come back")
        while True:
            try:
                result = action()
            except Exception as error:
                if not self._is_outage(error):
                    raise
                now, reason = time.monotonic(), reason_of(error, self.uri)
                if self._is_lasting(error):  # other calls may succeed: what cannot be written can often be read
                    raise self._lost(reason) from error
                if self._given_up is not None or now - start > PATIENCE_SECONDS or interrupted_while_held():
                    self._given_up = now
                    raise self._lost(reason) from error
                if not self._said:
                    self._say(f"does not answer ({reason}): waiting for up to {PATIENCE_SECONDS:.0f} seconds.")
                self.waited = self._said = True
                _sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                if self._said:
                    self._say("answers again.")
                self._given_up, self._said = None, False
                return result

    def _is_outage(self, error: Exception) -> bool:
        """Return whether an error is the store's own, rather than one of what was asked."""
        from mlflow.exceptions import MlflowException
        from sqlalchemy import exc

        if isinstance(error, StoreLost):
            return False
        if isinstance(error, MlflowException):
            if scheme(self.uri) in SERVERS:
                return int(error.get_http_status_code()) >= 500
            if error.error_code == "TEMPORARILY_UNAVAILABLE":
                return True
            return isinstance(error.__cause__, exc.SQLAlchemyError) and self._is_outage(error.__cause__)
        if isinstance(error, exc.SQLAlchemyError):  # a lost connection shows itself in many ways, a wrong statement in these
            return not isinstance(error, exc.IntegrityError | exc.ProgrammingError | exc.DataError | exc.NotSupportedError)
        return isinstance(error, OSError)  # of a file, or of requests

    def _is_lasting(self, error: Exception) -> bool:
        """Return whether waiting cannot help: the store may not be written, or its disk is full."""
        if isinstance(error, OSError):
            return scheme(self.uri) not in SERVERS
        return any(word in str(error).lower() for word in _LASTING)

    def _lost(self, reason: str) -> StoreLost:
        return StoreLost(f"The tracking store {masked(self.uri)!r} cannot be written now: {reason}.")

    def _say(self, what: str) -> None:
        print(f"The tracking store {masked(self.uri)!r} {what}", file=sys.stderr)


def patient(client: "MlflowClient", patience: Patience) -> "MlflowClient":
    """Return a client each of whose calls waits for the store."""
    return cast("MlflowClient", _PatientClient(client, patience))


def impatient(client: "MlflowClient") -> "MlflowClient":
    """Return MLflow's own client, whose calls fail at once: for what is done again soon anyway."""
    return cast("_PatientClient", client)._client if isinstance(client, _PatientClient) else client


class _PatientClient:
    def __init__(self, client: "MlflowClient", patience: Patience) -> None:
        self._client, self._patience = client, patience

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if not callable(attribute) or name.startswith("_"):
            return attribute
        return lambda *arguments, **options: self._patience.call(lambda: attribute(*arguments, **options))


def _sleep(seconds: float) -> None:
    """Sleep, but not on when somebody wants to end the command."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not interrupted_while_held():
        time.sleep(_STEP_SECONDS)
