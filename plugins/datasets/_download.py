"""Downloads a file into the cache folder with pooch. Its checksum is stored the first time and enforced later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.download_cache import CHECKSUMS, sha256, store_checksum, stored_checksums

TIMEOUT_SECONDS = 60


def download(url: str, path: Path, say: Callable[[str], None], check: Callable[[Path], str]) -> None:
    """Download a file to ``path`` unless it is there already.

    Before the checksum is stored for the first time, ``check`` returns what is wrong with the file, or an empty text.
    """
    known = stored_checksums(path.parent).get(path.name)
    if path.is_file() and known and sha256(path) == known:
        say(f"Already downloaded: {path}")
        return
    pooch, requests = _libraries()
    say(f"Downloading {url}")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.part")
    partial.unlink(missing_ok=True)
    try:
        fetched = pooch.retrieve(
            url,
            known_hash=None if known is None else f"sha256:{known}",
            fname=partial.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT_SECONDS),
        )
        if known is None and (fault := check(Path(fetched))):
            raise Refused(f"{url} did not send the expected file. {fault}")
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else "an error"
        raise Refused(f"The server answered {status} to {url}. Does this file exist?") from None
    except (requests.RequestException, OSError) as error:
        raise Refused(
            f"The download of {url} failed ({type(error).__name__}): is there a network? Nothing was saved. "
            "Data that was downloaded before needs no network."
        ) from None
    except ValueError:
        raise Refused(
            f"{url} now sends another file than when {path.name} was first downloaded: its sha256 differs. "
            f"If you want the new file, remove the line of {path.name} from {path.parent / CHECKSUMS}."
        ) from None
    else:
        store_checksum(path.parent, path.name, known or sha256(partial))
        partial.replace(path)
        say(f"Saved as {path}")
    finally:
        partial.unlink(missing_ok=True)


def _libraries() -> tuple[Any, Any]:
    try:
        import pooch
        import requests
    except ModuleNotFoundError:
        raise Refused("Downloading needs pooch, which is not installed: pip install 'dp-regression-bench[download]'") from None
    pooch.get_logger().setLevel("WARNING")  # otherwise it prints the checksum with advice
    return pooch, requests
