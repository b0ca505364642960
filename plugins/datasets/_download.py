"""One file from a server into the cache folder, with pooch: its checksum is remembered the first time and enforced later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.download_cache import sha256, store_checksum, stored_checksums

SECONDS = 60


def download(url: str, path: Path, say: Callable[[str], None], check: Callable[[Path], str]) -> None:
    """Bring a file into place, unless it is there already; ``check`` says what is wrong with it before it is remembered."""
    known = stored_checksums(path.parent).get(path.name)
    if path.is_file() and known and sha256(path) == known:
        say(f"Already there: {path}")
        return
    pooch, requests = _libraries()
    say(f"Downloading {url}")
    path.parent.mkdir(parents=True, exist_ok=True)
    arriving = path.with_name(f"{path.name}.part")
    arriving.unlink(missing_ok=True)
    try:
        fetched = pooch.retrieve(
            url,
            known_hash=None if known is None else f"sha256:{known}",
            fname=arriving.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(progressbar=False, timeout=SECONDS),
        )
        if known is None and (fault := check(Path(fetched))):
            raise Refused(f"What {url} sent is not what was asked for. {fault}")
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else "an error"
        raise Refused(f"The server answers {status} to {url}. Is there such a file?") from None
    except (requests.RequestException, OSError) as error:
        raise Refused(
            f"The download of {url} failed ({type(error).__name__}): is there a network? Nothing was kept; "
            "what was downloaded before can be used without one."
        ) from None
    except ValueError:
        raise Refused(
            f"What {url} sends now is not what it sent when {path.name} was first downloaded: its sha256 differs. "
            f"If that is meant, remove its line from {path.parent}."
        ) from None
    else:
        store_checksum(path.parent, path.name, known or sha256(arriving))
        arriving.replace(path)
        say(f"Kept as {path}")
    finally:
        arriving.unlink(missing_ok=True)


def _libraries() -> tuple[Any, Any]:
    try:
        import pooch
        import requests
    except ModuleNotFoundError:
        raise Refused("Downloading needs pooch, which is not installed: pip install 'dp-regression-bench[download]'") from None
    pooch.get_logger().setLevel("WARNING")  # it would print the checksum and its advice
    return pooch, requests
