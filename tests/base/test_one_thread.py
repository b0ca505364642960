"""One BLAS thread."""

from __future__ import annotations

from threadpoolctl import threadpool_info

from dpbench.base.one_thread import one_thread


def test_blas_runs_on_one_thread_inside_and_as_before_outside() -> None:
    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with one_thread():
        inside = threads()
    before = threads()
    with one_thread():
        assert set(threads()) == {1}
    assert inside
    assert threads() == before
