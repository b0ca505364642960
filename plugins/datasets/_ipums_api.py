"""Fetches an extract of IPUMS International with the user's own key: submits it, waits for it, downloads and checks it.

The number of a submitted extract is stored in the cache folder, so the same command continues after an interruption. The key is
read from the environment and sent only to IPUMS. It is neither stored nor printed.
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
from dpbench.files.codebook import INSTALL_COMMAND
from dpbench.files.download_cache import cache_folder, sha256, store_checksum, stored_checksums, verify_checksum

from ._ipums import COUNTRY_VARIABLE, VARIABLES

KEY_VARIABLE = "IPUMS_API_KEY"
SERVER = "https://api.ipums.org"
SERVER_VARIABLE = "DPBENCH_IPUMS_URL"
COLLECTION = "ipumsi"
SUBMITTED_FILE = "submitted.json"
MAX_WAIT_SECONDS = 3 * 3600.0
ARTIFACTS = ("data", "ddiCodebook")
"""The files of an extract, by their names in the answers of the service."""


def fetch(
    sample: str, dataset: str, say: Callable[[str], None], first_wait: float = 2.0, max_wait: float = MAX_WAIT_SECONDS
) -> Path:
    """Download the extract of a sample, unless it is there already, and return the path of its codebook."""
    folder = cache_folder("ipums", sample)
    codebook = _downloaded_codebook(folder, dataset)
    if codebook is None:
        service = _Service(folder, sample, say)
        number = service.number()
        service.wait(number, first_wait, max_wait)
        codebook = service.download(number)
    say(f"Use it: python -m dpbench dataset={dataset} dataset.extract={codebook}")
    return codebook


def _downloaded_codebook(folder: Path, dataset: str) -> Path | None:
    """Return the codebook of an extract whose files are all downloaded; None otherwise."""
    files = [folder / name for name in stored_checksums(folder)]
    if not files or not all(path.is_file() for path in files):
        return None
    for path in files:
        verify_checksum(path, f"`python -m dpbench data fetch {dataset}`")
    return next((path for path in files if path.suffix == ".xml"), None)


class _Service:
    """The extract service of IPUMS, through ipumspy."""

    def __init__(self, folder: Path, sample: str, say: Callable[[str], None]) -> None:
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if not key:
            raise Refused(
                f"The environment variable {KEY_VARIABLE} must hold your IPUMS key (account.ipums.org, API keys; register for "
                "IPUMS International first). It is not set."
            )
        try:
            from ipumspy import IpumsApiClient
        except ModuleNotFoundError:
            raise Refused(f"Fetching an IPUMS extract needs ipumspy, which is not installed: {INSTALL_COMMAND}") from None
        self._server = os.environ.get(SERVER_VARIABLE) or SERVER
        _check_address(self._server)
        self._key, self._folder, self._sample, self._say = key, folder, sample, say
        self._client = IpumsApiClient(key, base_url=self._server.rstrip("/"))

    def number(self) -> int:
        """Return the number of the extract that was submitted before; submit one otherwise."""
        state = self._folder / SUBMITTED_FILE
        if state.is_file():
            submitted = json.loads(state.read_text(encoding="utf-8"))
            if submitted.get("server") == self._server:
                self._say(f"Continuing with extract {submitted['number']}, which was submitted before.")
                return int(submitted["number"])
        number = self._submit()
        self._folder.mkdir(parents=True, exist_ok=True)
        state.write_text(json.dumps({"server": self._server, "number": number}) + "\n", encoding="utf-8")
        self._say(
            f"Submitted extract {number} of sample {self._sample}. IPUMS is making it now. If you interrupt, nothing is lost."
        )
        return number

    def wait(self, number: int, first_wait: float, max_wait: float) -> None:
        from ipumspy.api.exceptions import IpumsExtractFailure, IpumsNotFound, IpumsTimeoutException

        with self._translated_errors():
            try:
                self._client.wait_for_extract(number, COLLECTION, inital_wait_time=first_wait, timeout=max_wait)
            except IpumsTimeoutException:
                raise Unfinished(f"Extract {number} is not ready yet. Run the same command to keep waiting for it.") from None
            except (IpumsExtractFailure, IpumsNotFound):
                self._forget()
                raise Unfinished(
                    f"IPUMS could not make extract {number}, or no longer has it. Run the same command to submit a new one."
                ) from None

    def download(self, number: int) -> Path:
        """Download both files and return the path of the codebook. An incomplete download leaves no file behind."""
        from ipumspy.api.exceptions import IpumsExtractNotReady

        partial = self._folder / "partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            with self._translated_errors():
                try:
                    links = self._client.get_extract_info(number, COLLECTION)["downloadLinks"]
                    for name in ARTIFACTS:
                        if name in links:
                            _check_address(links[name]["url"])
                    self._say(f"Downloading extract {number}.")
                    self._client.download_extract(number, COLLECTION, download_dir=partial)
                except IpumsExtractNotReady:
                    self._forget()
                    raise Unfinished(
                        f"The files of extract {number} have expired. Run the same command to submit a new one."
                    ) from None
            return self._store(partial, links)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _store(self, partial: Path, links: Any) -> Path:
        names = {kind: str(links[kind]["url"]).rpartition("/")[2] for kind in ARTIFACTS}
        digests = {kind: sha256(partial / name) for kind, name in names.items()}
        for kind, name in names.items():
            stated = links[kind].get("sha256")
            if stated and stated.lower() != digests[kind]:
                raise Refused(f"The download of {name} is damaged: its sha256 differs from the one that IPUMS states. Try again.")
        for kind, name in names.items():
            (partial / name).replace(self._folder / name)
            store_checksum(self._folder, name, digests[kind])
        self._forget()
        self._say(f"Saved in {self._folder}")
        return self._folder / names["ddiCodebook"]

    def _submit(self) -> int:
        """Submit an extract and return its number.

        The request lists every name that an attribute may have. The service rejects names that the sample lacks; they are left
        out, as long as each attribute keeps one name.
        """
        from ipumspy import MicrodataExtract
        from ipumspy.api.exceptions import BadIpumsApiRequest

        names = [COUNTRY_VARIABLE, *(name for variable in VARIABLES.values() for name in variable.names)]
        while True:
            request = MicrodataExtract(
                COLLECTION,
                [self._sample],
                names,
                description="dpbench: income and 13 attributes",
                data_structure={"rectangular": {"on": "P"}},
            )
            with self._translated_errors():
                try:
                    return int(self._client.submit_extract(request).extract_id)
                except BadIpumsApiRequest as error:
                    message = str(error)
            absent = [name for name in names if re.search(rf"\b{name}\b", message)]
            names = [name for name in names if name not in absent]
            for attribute, variable in VARIABLES.items():
                if not set(variable.names) & set(names):
                    wanted = " or ".join(variable.names)
                    raise Refused(f"The sample {self._sample} must have {wanted} ({attribute}). According to IPUMS it does not.")
            if not absent:
                raise Refused(f"IPUMS rejects the extract: {self._mask_key(message)}")

    def _forget(self) -> None:
        (self._folder / SUBMITTED_FILE).unlink(missing_ok=True)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turn the errors of the service and of the network into one sentence without the key."""
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
                f"IPUMS does not accept the key in {KEY_VARIABLE}: it is wrong, expired, or not for IPUMS International."
            ) from None
        except IpumsNotFound:
            raise Refused(f"{self._server} answered 404: there is no such page or extract.") from None
        except IpumsApiRateLimitException:
            raise Refused("IPUMS received too many requests with this key. Try again later; nothing is lost.") from None
        except IpumsApiException as error:
            raise Refused(f"IPUMS cannot be reached at {self._server}: {self._first_line(error)}. Nothing is lost.") from None
        except Exception as error:  # noqa: BLE001  an answer that is not JSON, or lacks a field, raises many types
            raise Refused(f"{self._server} sent an answer that IPUMS would not send ({type(error).__name__}).") from None

    def _first_line(self, error: Exception) -> str:
        message = str(error)
        unreachable = any(phrase in message for phrase in ("Max retries", "refused", "resolve", "timed out", "Connection"))
        return "is there a network?" if unreachable else self._mask_key(message.partition("\n")[0].rstrip(". "))

    def _mask_key(self, message: str) -> str:
        return message.replace(self._key, "***")


def _check_address(url: str) -> None:
    """Refuse an address to which the key would be sent without encryption, unless it is this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise Refused(f"The address of IPUMS must begin with https://. Got {url!r} instead.")
