"""Fetching an IPUMS extract, from a small copy of the service on this machine."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from download_servers import KEY, Service

from dpbench.__main__ import main
from dpbench.base.errors import Unfinished

pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")

FETCH = ["data", "fetch", "census"]


def assert_output(capsys: Any, code: int, *words: str, arguments: list[str] = FETCH) -> str:
    capsys.readouterr()
    assert main(arguments) == code
    out, err = capsys.readouterr()
    key = os.environ["IPUMS_API_KEY"]
    assert not key or key not in out + err
    assert "Traceback" not in err
    if code:
        assert err.count("\n") == 1
    for word in words:
        assert word in out + err
    return str(out)


def cache_content(folder: Path) -> str:
    """Everything in the cache folder, as text."""
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


def test_an_extract_is_submitted_downloaded_and_used(service: Service, capsys: Any, tmp_path: Path, read: Any) -> None:
    out = assert_output(
        capsys, 0, "Submitted extract 7 of sample us2000a", "Downloading extract 7", "dataset=census dataset.extract="
    )
    path = Path(out.strip().rpartition("dataset.extract=")[2])
    assert read(path).rows == 12
    (request,) = service.submitted
    assert list(request["samples"]) == ["us2000a"]
    assert request["dataStructure"] == {"rectangular": {"on": "P"}}
    assert {"COUNTRY", "AGE", "HRSUSUAL1", "DISABLED", "INCTOT"} <= set(request["variables"])
    assert not {"HRSWORK1", "DISINDEP"} & set(request["variables"])
    assert KEY not in cache_content(tmp_path / "cache")
    assert_output(capsys, 0, "dataset.extract=")
    assert len(service.submitted) == 1, "a downloaded extract is not requested again"


def test_brazil_has_its_own_sample(service: Service, capsys: Any) -> None:
    assert_output(capsys, 0, "sample br2000a", "dataset=brazil", arguments=["data", "fetch", "brazil"])


def test_an_interrupted_fetch_continues_with_the_same_extract(
    service: Service, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ipumspy

    with monkeypatch.context() as patch:
        patch.setattr(ipumspy.IpumsApiClient, "wait_for_extract", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        assert_output(capsys, 130, "Interrupted.")
    assert_output(capsys, 0, "Continuing with extract 7")
    assert len(service.submitted) == 1


def test_a_download_that_breaks_off_leaves_no_file(service: Service, capsys: Any, tmp_path: Path) -> None:
    whole = service.files.pop("ipumsi_00007.xml")
    assert_output(capsys, 2, "answered 404")
    assert [path.name for path in (tmp_path / "cache").rglob("ipumsi*")] == []
    service.files["ipumsi_00007.xml"] = whole
    assert_output(capsys, 0, "Continuing with extract 7")


def test_a_damaged_download_is_refused(service: Service, capsys: Any, tmp_path: Path) -> None:
    service.wrong_checksum = True
    assert_output(capsys, 2, "The download of ipumsi_00007.dat.gz is damaged: its sha256 differs from the one that IPUMS states.")
    assert [path.name for path in (tmp_path / "cache").rglob("ipumsi*")] == []


def test_a_changed_extract_in_the_cache_is_refused(service: Service, capsys: Any, tmp_path: Path) -> None:
    assert_output(capsys, 0)
    (data,) = (tmp_path / "cache").rglob("*.dat.gz")
    data.write_bytes(b"other")
    assert_output(capsys, 2, "its sha256 has changed")


def test_a_failed_extract_is_submitted_again_next_time(service: Service, capsys: Any) -> None:
    service.status = "failed"
    assert_output(capsys, 1, "IPUMS could not make extract 7")
    service.status = "completed"
    assert_output(capsys, 0, "Submitted extract 7")
    assert len(service.submitted) == 2


def test_an_extract_that_takes_too_long_is_waited_for_later(service: Service, capsys: Any, make: Any) -> None:
    service.ready_after = 1_000
    fetch = sys.modules[type(make("dataset", "census")).__module__].__package__ + "._ipums_api"
    with pytest.raises(Unfinished, match=r"Extract 7 is not ready yet\. Run the same command"):
        importlib.import_module(fetch).fetch("us2000a", "census", lambda _: None, first_wait=0.01, max_wait=0.02)
    service.ready_after = 1
    assert_output(capsys, 0, "Continuing with extract 7")


def test_a_wrong_key_is_one_sentence_without_the_key(service: Service, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPUMS_API_KEY", "another-KEY-of-mine")
    assert_output(capsys, 2, "IPUMS does not accept the key in IPUMS_API_KEY")
    monkeypatch.setenv("IPUMS_API_KEY", "")
    assert_output(capsys, 2, "The environment variable IPUMS_API_KEY must hold your IPUMS key")


def test_a_sample_without_an_attribute_is_refused(service: Service, capsys: Any) -> None:
    service.absent = ("EDATTAIN",)
    assert_output(capsys, 2, "The sample us2000a must have EDATTAIN (education). According to IPUMS it does not.")


def test_an_answer_that_repeats_the_key_is_printed_without_it(service: Service, capsys: Any) -> None:
    service.repeats_key = True
    assert_output(capsys, 2, "IPUMS rejects the extract: No extract for ***")


def test_a_service_that_is_down_or_away_is_one_sentence(service: Service, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service.down = True
    assert_output(capsys, 2, "sent an answer that IPUMS would not send")
    monkeypatch.setenv("DPBENCH_IPUMS_URL", "http://127.0.0.1:9")
    assert_output(capsys, 2, "is there a network?")
    monkeypatch.setenv("DPBENCH_IPUMS_URL", "http://ipums.example.org")
    assert_output(capsys, 2, "The address of IPUMS must begin with https://")
