"""Sphinx's settings for the site: the pages of docs/ as they are, in the order of docs/index.md, and an API reference.

``python scripts/site.py`` builds it. The source folder is the checkout, so that every relative link is the one that a code
host shows. Nothing is loaded from a network: the theme brings its styles and uses the reader's own fonts.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference

from dpbench import __version__

START = "docs/index"
SECTION = re.compile(r"^## (?P<caption>.+)\n\n(?P<entries>(?:- .+\n)+)", re.MULTILINE)
FILE_OF_A_PAGE = re.compile(r'(?:src|href)="([^":#?]+)"')
PAGE = re.compile(r"^- \[(?P<title>[^]]+)\]\((?P<path>[^)]+\.(?:md|rst))\)", re.MULTILINE)

project = "dpbench"
copyright = "the dpbench contributors, Apache License 2.0"
version = release = __version__

root_doc = START
include_patterns = ["*.md", "docs/**", "plugins/**/README.md", "examples/*/README.md"]
exclude_patterns = [".*", "site", "tests", "dpbench", "build", "dist", "docs/site/static", "plugins/papers/lin2026"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4  # the anchors of a code host
smartquotes = False  # X'X is a product, not a quotation

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"dpbench {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]
html_theme_options = {"navigation_with_keys": False}


def add_navigation(_: Any, name: str, source: list[str]) -> None:
    """Make the lists of the start page the navigation of all pages, so that there is one text and plain Markdown."""
    if name != START:
        return
    tables = [
        "\n".join(
            [
                "```{toctree}",
                ":hidden:",
                f":caption: {section['caption']}",
                "",
                *(f"{page['title']} <{page['path']}>" for page in PAGE.finditer(section["entries"])),
                "```",
            ]
        )
        for section in SECTION.finditer(source[0])
    ]
    source[0] += "\n" + "\n\n".join(tables) + "\n"


def link_finished_pages(app: Any, doctree: nodes.document) -> None:
    """Let a link to an HTML file that is finished already open it; Sphinx would offer it for download, without its pictures."""
    for node in list(doctree.findall(download_reference)):
        if node["reftarget"].endswith(".html"):
            source = Path(app.env.relfn2path(node["reftarget"], app.env.docname)[1])
            name = f"{source.stem}_page.html"  # the name without _page may be that of the page with the link
            app.env.dpbench_pages = {*getattr(app.env, "dpbench_pages", ()), (source, app.env.docname, name)}
            node.replace_self(nodes.reference("", "", *node.children, refuri=name, internal=True))


def copy_finished_pages(app: Any, error: Exception | None) -> None:
    """Copy the files that :func:`link_finished_pages` has linked, with the files next to them that they show."""
    for source, document, name in () if error else getattr(app.env, "dpbench_pages", ()):
        folder = Path(app.outdir, document).parent
        shutil.copyfile(source, folder / name)
        for shown in FILE_OF_A_PAGE.findall(source.read_text(encoding="utf-8")):
            if (source.parent / shown).is_file():
                shutil.copyfile(source.parent / shown, folder / shown)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", add_navigation)
    app.connect("doctree-read", link_finished_pages, priority=400)  # before Sphinx collects what is offered for download
    app.connect("build-finished", copy_finished_pages)
    return {"parallel_read_safe": False}
