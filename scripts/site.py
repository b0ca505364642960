"""Build the site from docs/ and check every link in it: ``python scripts/site.py`` writes into the folder ``site``.

Needs ``pip install -e '.[docs]'`` and no network. A warning of Sphinx, a link that leads nowhere, an anchor that does not exist
and anything that a reader's browser would load from another server make it fail.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
CONFIGURATION = ROOT / "docs" / "site"
ADDRESSES = ("href", "src", "poster", "data")
"""Attributes whose value is the address of something."""


@dataclass
class Page(HTMLParser):
    """The addresses and the anchors of a page."""

    path: Path
    addresses: list[tuple[str, str]] = field(default_factory=list)
    """The tag and the address of everything that the page links to or loads."""
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ADDRESSES and value:
                self.addresses.append((tag, value))
            elif name in ("id", "name") and value:
                self.anchors.add(value)


@dataclass(frozen=True)
class Site:
    """A folder of pages."""

    folder: Path

    @cached_property
    def pages(self) -> dict[Path, Page]:
        return {path: Page(path) for path in sorted(self.folder.resolve().rglob("*.html"))}

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each address that does not work without a network."""
        for path, page in self.pages.items():
            for tag, address in page.addresses:
                if problem := self._problem(path, tag, address):
                    yield f"{path.relative_to(self.folder.resolve())}: {problem}"

    def _problem(self, path: Path, tag: str, address: str) -> str | None:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            loaded = tag != "a" and parts.scheme != "data"
            return f"<{tag}> loads {address} from another server" if loaded else None
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file():
            return f"{address} leads to no file"
        if parts.fragment and target in self.pages and unquote(parts.fragment) not in self.pages[target].anchors:
            return f"{address} leads to no anchor"
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("site"), help="folder of the site, which is replaced")
    out = parser.parse_args(arguments).out
    if out.exists():
        if not (out / ".buildinfo").is_file():
            print(f"{out} exists and is no site: it is not replaced.", file=sys.stderr)
            return 2
        shutil.rmtree(out)
    build = [
        "-q",
        "--fail-on-warning",
        "--fresh-env",
        "-c",
        str(CONFIGURATION),
        "-d",
        str(out / ".doctrees"),
        str(ROOT),
        str(out),
    ]
    code = subprocess.run([sys.executable, "-m", "sphinx", *build]).returncode
    shutil.rmtree(out / ".doctrees", ignore_errors=True)
    if code:
        return code
    site = Site(out)
    problems = list(site.problems())
    print(*problems, sep="\n", end="\n" if problems else "")
    links = sum(len(page.addresses) for page in site.pages.values())
    print(f"{len(site.pages)} pages, {links} links, {len(problems)} broken: {out}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
