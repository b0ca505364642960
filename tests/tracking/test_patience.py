"""A store that is away for a while costs the wait, one sentence and nothing else; a store that stays away is given up."""

from __future__ import annotations

import errno
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import BAD_REQUEST, INTERNAL_ERROR, INVALID_PARAMETER_VALUE, TEMPORARILY_UNAVAILABLE
from requests.exceptions import ConnectionError as NoConnection
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError, PendingRollbackError, ProgrammingError

from dpbench.tracking import patience as module
from dpbench.tracking.patience import Patience, StoreLost, impatient, patient

DATABASE, SERVER = "postgresql://me:secret@127.0.0.1/mlflow", "http://127.0.0.1:5000"
AWAY = MlflowException("(psycopg2.OperationalError) the server closed the connection\nand so on", TEMPORARILY_UNAVAILABLE)


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only waiting moves."""
    now = [1000.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(module, "_sleep", sleep)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=None))
    return now


def failing(error: Exception, times: int) -> Callable[[], str]:
    """Return an action that fails so many times."""
    failures = [error] * times

    def act() -> str:
        if failures:
            raise failures.pop()
        return "done"

    return act


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        (DATABASE, AWAY),
        (DATABASE, OperationalError("SELECT 1", {}, Exception("no connection"))),
        (DATABASE, DatabaseError("ROLLBACK", {}, Exception("server closed the connection"))),
        (DATABASE, PendingRollbackError("Can't reconnect until invalid transaction is rolled back")),
        (SERVER, MlflowException("API request failed", INTERNAL_ERROR)),
        (SERVER, NoConnection("Connection refused")),
    ],
    ids=["database", "its connection", "its end", "its transaction", "server", "upload"],
)
def test_a_short_outage_is_waited_for_and_said_once(uri: str, error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    patience = Patience(uri)
    assert patience.call(failing(error, 5)) == "done"
    assert patience.waited
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2, said
    assert "does not answer" in said[0]
    assert said[1].endswith("answers again.")
    assert "secret" not in "".join(said)


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        (DATABASE, MlflowException("no such run", INVALID_PARAMETER_VALUE)),
        (DATABASE, MlflowException("broken", INTERNAL_ERROR)),
        (SERVER, MlflowException("no", BAD_REQUEST)),
        (DATABASE, KeyError("run_id")),
        (DATABASE, IntegrityError("INSERT", {}, Exception("a key is there twice"))),
        (DATABASE, ProgrammingError("SELECT", {}, Exception("no such column"))),
    ],
)
def test_what_waiting_cannot_change_is_raised_at_once(uri: str, error: Exception, time: list[float]) -> None:
    with pytest.raises(type(error)):
        Patience(uri).call(failing(error, 1))
    assert time == [1000.0]


def test_after_a_wait_in_vain_nothing_waits_again_until_the_store_is_back(time: list[float]) -> None:
    patience, attempts = Patience(DATABASE), []

    def gone() -> None:
        attempts.append(time[0])
        raise AWAY

    with pytest.raises(StoreLost, match="cannot be written now: the server closed the connection"):
        patience.call(gone)
    assert module.PATIENCE_SECONDS <= time[0] - 1000 <= module.PATIENCE_SECONDS + module.LONGEST_PAUSE_SECONDS
    so_far, lost_at = len(attempts), time[0]
    for _ in range(10):
        with pytest.raises(StoreLost):
            patience.call(gone)
    assert (len(attempts), time[0]) == (so_far, lost_at), "it was asked a moment ago"
    time[0] += module.SECONDS_BETWEEN_ATTEMPTS
    with pytest.raises(StoreLost):
        patience.call(gone)
    assert len(attempts) == so_far + 1, "once more, without a wait"
    time[0] += module.SECONDS_BETWEEN_ATTEMPTS
    assert patience.call(lambda: "back") == "back"
    assert patience.call(failing(AWAY, 3)) == "done", "the next outage is waited for again"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        MlflowException("attempt to write a readonly database", TEMPORARILY_UNAVAILABLE),
    ],
    ids=["a full disk", "a store that became read-only"],
)
def test_a_store_that_cannot_be_written_is_given_up_at_once(error: Exception, time: list[float]) -> None:
    with pytest.raises(StoreLost):
        Patience(DATABASE).call(failing(error, 1))
    assert time == [1000.0]


def test_an_interruption_ends_the_wait(monkeypatch: pytest.MonkeyPatch, time: list[float]) -> None:
    monkeypatch.setattr(module, "interrupted_while_held", lambda: True)
    with pytest.raises(StoreLost):
        Patience(DATABASE).call(failing(AWAY, 1))
    assert time == [1000.0]


def test_a_patient_client_waits_in_every_call_and_can_be_made_impatient() -> None:
    calls = failing(AWAY, 2)
    client: Any = SimpleNamespace(get_run=lambda run_id, **options: (run_id, options, calls()), store="the store")
    waiting: Any = patient(client, Patience(DATABASE))
    assert waiting.get_run("r1", all=True) == ("r1", {"all": True}, "done")
    assert waiting.store == "the store"
    assert impatient(waiting) is client
    assert impatient(client) is client
