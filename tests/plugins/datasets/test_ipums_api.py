"""Fetching an IPUMS extract, from a small copy of the service on this machine."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dpbench.__main__ import main
from dpbench.base.errors import Unfinished

pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")

KEY = "0123456789abcdefSECRETKEY"


@dataclass
class Service:
    """A small copy of the service of IPUMS: its files, the requests it received, and how it misbehaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    absent: tuple[str, ...] = ("HRSWORK1", "DISINDEP")
    submitted: list[dict[str, Any]] = field(default_factory=list)
    polls: int = 0
    ready_after: int = 1
    status: str = "completed"
    wrong_checksum: bool = False
    down: bool = False
    repeats_key: bool = False
    """It refuses every request and repeats the key in its answer."""


@pytest.fixture
def service(extracts: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    copy = Service()
    extracts.write(extracts.rows(12), "ipumsi_00007")
    names = ("ipumsi_00007.xml", "ipumsi_00007.dat.gz")
    copy.files = {name: (extracts.folder / name).read_bytes() for name in names}
    for name in names:
        (extracts.folder / name).unlink()

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, content: Any) -> None:
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def allowed(self) -> bool:
            if copy.down:
                self.answer(502, b"<html>Bad gateway</html>")
                return False
            if self.headers["Authorization"] != KEY:
                self.answer(401, {"error": f"Invalid key {self.headers['Authorization']}"})
                return False
            return True

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.allowed():
                return
            if copy.repeats_key:
                self.answer(400, {"detail": f"No extract for {self.headers['Authorization']}"})
                return
            wrong = [name for name in request["variables"] if name in copy.absent]
            if wrong:
                self.answer(400, {"detail": [f"{name}: not available in any of the samples" for name in wrong]})
                return
            copy.submitted.append(request)
            self.answer(200, {"number": 7, "status": "queued"})

        def do_GET(self) -> None:
            if not self.allowed():
                return
            path = urllib.parse.urlsplit(self.path).path
            if path.startswith("/files/"):
                content = copy.files.get(path.rpartition("/")[2])
                self.answer(404 if content is None else 200, content or {"detail": "no"})
            elif path != "/extracts/7":
                self.answer(404, {"detail": "no"})
            else:
                copy.polls += 1
                ready = copy.polls >= copy.ready_after
                self.answer(200, {"number": 7, "status": copy.status if ready else "started", "downloadLinks": self.links()})

        def links(self) -> dict[str, Any]:
            kinds = {"data": "ipumsi_00007.dat.gz", "ddiCodebook": "ipumsi_00007.xml"}
            digest = hashlib.sha256(b"another" if copy.wrong_checksum else copy.files["ipumsi_00007.dat.gz"]).hexdigest()
            base = f"http://127.0.0.1:{self.server.server_address[1]}/files"
            links: dict[str, Any] = {kind: {"url": f"{base}/{name}"} for kind, name in kinds.items()}
            links["data"]["sha256"] = digest
            return links

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    monkeypatch.setenv("DPBENCH_IPUMS_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IPUMS_API_KEY", KEY)
    yield copy
    server.shutdown()
    server.server_close()
    thread.join()


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
