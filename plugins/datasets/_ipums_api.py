"""An extract of IPUMS International with the user's own key: submitted once, waited for, downloaded, checked.

The number of a submitted extract is kept in the cache folder, so the same command goes on where it was interrupted. The key is
read from the environment, sent to IPUMS alone, and neither kept nor printed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dpbench.base.errors import Refused, Unfinished
from dpbench.files.download_cache import cache_folder, sha256, store_checksum, stored_checksums, verify_checksum

from ._ipums import COUNTRY, EXTRA, VARIABLES

KEY = "IPUMS_API_KEY"
SERVER = "https://api.ipums.org"
SERVER_VARIABLE = "DPBENCH_IPUMS_URL"
COLLECTION = "ipumsi"
SUBMITTED = "submitted.json"
HOURS = 3


def fetch(
    sample: str, dataset: str, say: Callable[[str], None], first_wait: float = 2.0, patience: float = HOURS * 3600.0
) -> Path:
    """Bring the extract of a sample onto this machine; the answer is its codebook."""
    folder = cache_folder("ipums", sample)
    codebook = _downloaded(folder, dataset)
    if codebook is None:
        service = _Service(folder, sample, say)
        number = service.number()
        service.wait(number, first_wait, patience)
        codebook = service.download(number)
    say(f"Use it: python -m dpbench dataset={dataset} dataset.extract={codebook}")
    return codebook


def _downloaded(folder: Path, dataset: str) -> Path | None:
    """The codebook of an extract that was downloaded whole."""
    files = [folder / name for name in stored_checksums(folder)]
    if not files or not all(path.is_file() for path in files):
        return None
    for path in files:
        verify_checksum(path, f"`python -m dpbench data fetch {dataset}`")
    return next((path for path in files if path.suffix == ".xml"), None)


class _Service:
    """IPUMS's service for extracts, through ipumspy."""

    def __init__(self, folder: Path, sample: str, say: Callable[[str], None]) -> None:
        key = os.environ.get(KEY, "").strip()
        if not key:
            raise Refused(
                f"The environment variable {KEY} must hold your IPUMS key (account.ipums.org, API keys; register for IPUMS "
                "International first). It is not set."
            )
        try:
            from ipumspy import IpumsApiClient
        except ModuleNotFoundError:
            raise Refused(f"Fetching an IPUMS extract needs ipumspy, which is not installed: {EXTRA}") from None
        self._server = os.environ.get(SERVER_VARIABLE) or SERVER
        _check_address(self._server)
        self._key, self._folder, self._sample, self._say = key, folder, sample, say
        self._client = IpumsApiClient(key, base_url=self._server.rstrip("/"))

    def number(self) -> int:
        """The number of the extract that was submitted before, or is now."""
        state = self._folder / SUBMITTED
        if state.is_file():
            kept = json.loads(state.read_text(encoding="utf-8"))
            if kept.get("server") == self._server:
                self._say(f"Going on with extract {kept['number']}, which was submitted before.")
                return int(kept["number"])
        number = self._submit()
        self._folder.mkdir(parents=True, exist_ok=True)
        state.write_text(json.dumps({"server": self._server, "number": number}) + "\n", encoding="utf-8")
        self._say(f"Submitted extract {number} of sample {self._sample}. IPUMS makes it now; interrupting loses nothing.")
        return number

    def wait(self, number: int, first_wait: float, patience: float) -> None:
        from ipumspy.api.exceptions import IpumsExtractFailure, IpumsNotFound, IpumsTimeoutException

        with self._refusing():
            try:
                self._client.wait_for_extract(number, COLLECTION, inital_wait_time=first_wait, timeout=patience)
            except IpumsTimeoutException:
                raise Unfinished(f"Extract {number} is not made yet. The same command goes on waiting for it.") from None
            except (IpumsExtractFailure, IpumsNotFound):
                self._forget()
                raise Unfinished(
                    f"IPUMS could not make extract {number}, or does not know it any more. The same command submits a new one."
                ) from None

    def download(self, number: int) -> Path:
        """Both files, whole, in their place."""
        from ipumspy.api.exceptions import IpumsExtractNotReady

        arriving = self._folder / "arriving"
        shutil.rmtree(arriving, ignore_errors=True)
        arriving.mkdir(parents=True)
        try:
            with self._refusing():
                try:
                    links = self._client.get_extract_info(number, COLLECTION)["downloadLinks"]
                    for name in ("data", "ddiCodebook"):
                        if name in links:
                            _check_address(links[name]["url"])
                    self._say(f"Downloading extract {number}.")
                    self._client.download_extract(number, COLLECTION, download_dir=arriving)
                except IpumsExtractNotReady:
                    self._forget()
                    raise Unfinished(f"The files of extract {number} have expired. The same command submits a new one.") from None
            return self._keep(arriving, links)
        finally:
            shutil.rmtree(arriving, ignore_errors=True)

    def _keep(self, arriving: Path, links: Any) -> Path:
        names = {kind: str(links[kind]["url"]).rpartition("/")[2] for kind in ("data", "ddiCodebook")}
        digests = {kind: sha256(arriving / name) for kind, name in names.items()}
        for kind, name in names.items():
            told = links[kind].get("sha256")
            if told and told.lower() != digests[kind]:
                raise Refused(f"The download of {name} is damaged: its sha256 is not the one that IPUMS gives. Try again.")
        for kind, name in names.items():
            (arriving / name).replace(self._folder / name)
            store_checksum(self._folder, name, digests[kind])
        self._forget()
        self._say(f"Kept in {self._folder}")
        return self._folder / names["ddiCodebook"]

    def _submit(self) -> int:
        """Ask for every name an attribute may have; what the sample does not have is left out, as long as one is there."""
        from ipumspy import MicrodataExtract
        from ipumspy.api.exceptions import BadIpumsApiRequest

        names = [COUNTRY, *(name for variable in VARIABLES.values() for name in variable.names)]
        while True:
            asked = MicrodataExtract(
                COLLECTION,
                [self._sample],
                names,
                description="dpbench: income and 13 attributes",
                data_structure={"rectangular": {"on": "P"}},
            )
            with self._refusing():
                try:
                    return int(self._client.submit_extract(asked).extract_id)
                except BadIpumsApiRequest as error:
                    words = str(error)
            absent = [name for name in names if re.search(rf"\b{name}\b", words)]
            names = [name for name in names if name not in absent]
            for attribute, variable in VARIABLES.items():
                if not set(variable.names) & set(names):
                    wanted = " or ".join(variable.names)
                    raise Refused(f"The sample {self._sample} must have {wanted} ({attribute}). IPUMS says it has not.")
            if not absent:
                raise Refused(f"IPUMS refuses the extract: {self._masked(words)}")

    def _forget(self) -> None:
        (self._folder / SUBMITTED).unlink(missing_ok=True)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """What the service and the network answer, in one sentence without the key."""
        from ipumspy.api.exceptions import (
            BadIpumsApiRequest,
            IpumsAPIAuthenticationError,
            IpumsApiException,
            IpumsApiRateLimitException,
            IpumsNotFound,
        )

        try:
            yield
        except (Refused, Unfinished, BadIpumsApiRequest):
            raise
        except IpumsAPIAuthenticationError:
            raise Refused(
                f"IPUMS does not accept the key in {KEY}: it is wrong, has expired, or is not for IPUMS International."
            ) from None
        except IpumsNotFound:
            raise Refused(f"{self._server} answers 404: there is no such page or extract.") from None
        except IpumsApiRateLimitException:
            raise Refused("IPUMS has had too many requests with this key. Try again later; nothing is lost.") from None
        except IpumsApiException as error:
            raise Refused(f"IPUMS cannot be asked at {self._server}: {self._first_line(error)}. Nothing is lost.") from None
        except Exception as error:  # noqa: BLE001  an answer that is no JSON, or lacks a field, raises anything
            raise Refused(f"{self._server} answers something that is not IPUMS's ({type(error).__name__}).") from None

    def _first_line(self, error: Exception) -> str:
        words = str(error)
        unreachable = any(word in words for word in ("Max retries", "refused", "resolve", "timed out", "Connection"))
        return "is there a network?" if unreachable else self._masked(words.partition("\n")[0].rstrip(". "))

    def _masked(self, words: str) -> str:
        return words.replace(self._key, "***")


def _check_address(url: str) -> None:
    """A key goes over an encrypted connection, or stays on this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise Refused(f"The address of IPUMS must begin with https://. Got {url!r} instead.")
