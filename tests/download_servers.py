"""Servers on this machine that stand in for those of IPUMS and of the Census Bureau. What they send is synthetic."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import urllib.parse
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "0123456789abcdefSECRETKEY"


class Quiet(BaseHTTPRequestHandler):
    """Prints no line for a request."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Service:
    """A small copy of the service of IPUMS: its files, the requests it received, and how it misbehaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    key: str = KEY
    absent: tuple[str, ...] = ("HRSWORK1", "DISINDEP")
    submitted: list[dict[str, Any]] = field(default_factory=list)
    polls: int = 0
    ready_after: int = 1
    status: str = "completed"
    wrong_checksum: bool = False
    down: bool = False
    repeats_key: bool = False
    """It refuses every request and repeats the key in its answer."""

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Answer requests, at this address."""
        copy = self

        class Handler(Quiet):
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
                if self.headers["Authorization"] != copy.key:
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

        with serving(Handler) as address:
            yield address


PERSONS = """\
RT,SERIALNO,ST,SPORDER,AGEP,SEX,MAR,SCHL,DIS,NATIVITY,WKHP,PINCP
P,2019HU0000001,50,1,41,1,1,21,2,1,40,52000
P,2019HU0000001,50,2,39,2,1,16,2,2,20,18000
P,2019HU0000001,50,3,9,1,5,05,2,1,,
P,2019GQ0000002,50,1,20,2,5,19,2,1,15,4000
P,2019HU0000003,50,1,67,2,2,24,1,1,10,-3000
P,2019HU0000004,50,1,30,1,5,12,2,1,50,999000
P,2019HU0000009,50,1,30,1,5,12,2,1,50,1000
"""
HOUSEHOLDS = """\
RT,SERIALNO,TEN,MV,NPF,NOC,VEH
H,2019HU0000004,3,1,,0,2
H,2019HU0000001,1,4,3,1,2
H,2019HU0000003,2,7,1,0,6
H,2019GQ0000002,,,,,
H,2019HU0000005,3,2,2,0,0
"""


def archive(name: str, *tables: str) -> bytes:
    """A zip with one table or a table in parts, and the page that the Bureau adds."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for part, text in enumerate(tables):
            file.writestr(f"{name}{'ab'[part] if len(tables) > 1 else ''}.csv", text)
        file.writestr("ACS2019_PUMS_README.pdf", "a page")
    return buffer.getvalue()


@dataclass
class Bureau:
    """A small copy of the server of the Census Bureau: its files, and the requests that it received."""

    files: dict[str, bytes] = field(
        default_factory=lambda: {
            "/pums/2019/1-Year/csv_pvt.zip": archive("psam_p50", PERSONS),
            "/pums/2019/1-Year/csv_hvt.zip": archive("psam_h50", HOUSEHOLDS),
        }
    )
    requests: list[str] = field(default_factory=list)

    def repeat_persons(self, times: int) -> None:
        """Send the same persons many times, so that there are enough rows for folds."""
        header, *rows = PERSONS.splitlines(keepends=True)
        self.files["/pums/2019/1-Year/csv_pvt.zip"] = archive("psam_p50", header + "".join(rows * times))

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Answer requests, at this address."""
        there = self

        class Handler(Quiet):
            def do_GET(self) -> None:
                there.requests.append(self.path)
                content = there.files.get(self.path)
                self.send_response(200 if content is not None else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

        with serving(Handler) as address:
            yield f"{address}/pums/"
