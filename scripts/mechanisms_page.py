"""Write docs/mechanisms.md and the README's table of mechanisms, from the plugins' docstrings and class attributes.

    python scripts/mechanisms_page.py            write both
    python scripts/mechanisms_page.py --check    write nothing; fail if a file is stale or a docstring lacks a part

A mechanism's docstring consists of its first line, of paragraphs that begin with one of the words in PARTS, and of any others.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dpbench.base.options import Option, options_of
from dpbench.data.geometry import Geometry
from dpbench.registry.lookup import registry

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "docs" / "mechanisms.md", ROOT / "README.md"
DISTRIBUTION = "dp-regression-bench"
PARTS = {
    "Formula": "formula",
    "Guarantee": "guarantee",
    "Public": "assumed public",
    "Cost": "cost",
    "Reference": "reference",
    "Errata": "what the paper got wrong",
}
OPTIONAL_PARTS = {"Errata"}
BEGIN, END = "<!-- mechanisms: written by scripts/mechanisms_page.py -->", "<!-- end of mechanisms -->"
TOP = """\
# The mechanisms

`python scripts/mechanisms_page.py` writes this page from the docstrings of the mechanisms in this distribution; edit those
instead. `python -m dpbench plugins` also lists your own.

D is the number of coefficients, including the intercept, and n the number of training rows. Neighbours are tables of n rows that
differ in one row. Every ε is that of a whole fit. Defaults are as published if the published version is private; improvements are
options.
"""
SUPPORT = """\
## What fits what

This table holds for default options and a table in the box that declares a sensitive attribute. Pairs without `yes` are pruned
from a sweep, with the sentence below.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    check = parser.parse_args().check
    if missing := list(missing_parts()):
        sys.exit("\n".join(missing))
    stale = []
    for path, text in {PAGE: page(), README: readme(README.read_text(encoding="utf-8"))}.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if stale and check:
        sys.exit(f"Stale: {', '.join(stale)}. Run python scripts/mechanisms_page.py.")
    print(f"Written: {', '.join(stale)}." if stale else "Nothing has changed.")
    return 0


def page() -> str:
    """Return the text of docs/mechanisms.md."""
    mechanisms = shipped("mechanism")
    sections = [TOP, overview(mechanisms), SUPPORT, *support(mechanisms, shipped("model")), *map(section, mechanisms)]
    return "\n".join(sections)


def readme(text: str) -> str:
    """Return the README with a new table between its markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"README.md must contain the lines {BEGIN!r} and {END!r}.")
    return f"{before}{BEGIN}\n\n{overview(shipped('mechanism'), 'docs/mechanisms.md')}\n{END}{after}"


def missing_parts() -> Iterator[str]:
    """Yield a sentence for every part that a docstring lacks."""
    for mechanism in shipped("mechanism"):
        for part in PARTS.keys() - OPTIONAL_PARTS - parts(mechanism).keys():
            yield f"The docstring of {mechanism.name} has no paragraph that begins with '{part}:'."


def shipped(kind: str) -> list[type[Any]]:
    """Return the component classes of this distribution, those that wait for a package included."""
    ours = [entry for entry in registry().entries if entry.kind == kind and entry.plugin.distribution == DISTRIBUTION]
    classes = [
        entry.offer or vars(entry.plugin.load())["MECHANISM"] for entry in ours if entry.offer or entry.health == "missing"
    ]
    return sorted(classes, key=lambda cls: str(cls.name))


def paragraphs(mechanism: type[Any]) -> list[str]:
    """Return the paragraphs of a docstring, each in one line."""
    return [" ".join(text.split()) for text in (inspect.getdoc(mechanism) or "").split("\n\n")]


def parts(mechanism: type[Any]) -> dict[str, str]:
    """Return the paragraphs that begin with the name of a part, without the name."""
    split = [text.partition(": ") for text in paragraphs(mechanism)]
    return {name: text for name, _, text in split if name in PARTS}


def prose(mechanism: type[Any]) -> list[str]:
    """Return the other paragraphs, without the first line."""
    return [text for text in paragraphs(mechanism)[1:] if text.partition(": ")[0] not in PARTS]


def overview(mechanisms: Iterable[type[Any]], page_link: str = "") -> str:
    """Return the table of mechanisms, with links to their sections."""
    rows = [
        (
            f"[`{mechanism.name}`]({page_link}#{mechanism.name})",
            markdown(mechanism.summary().rstrip(".")),
            mechanism.guarantee,
            paper(mechanism),
        )
        for mechanism in mechanisms
    ]
    return table(("mechanism", "what it does", "guarantee", "paper"), rows)


def paper(mechanism: type[Any]) -> str:
    """Return the authors and the year of the paper, the first author alone if there are more than two; ``none`` without one."""
    reference = parts(mechanism)["Reference"].removeprefix("after ")
    found = re.match(r"([^\d:]+) (\d{4})\b", reference)
    if found is None:
        return re.split(r"[,;:]", reference)[0]
    names, year = found.groups()
    first, *others = re.split(r", | and ", names)
    return f"{first} et al. {year}" if len(others) > 1 else f"{names} {year}"


def support(mechanisms: Sequence[type[Any]], models: Sequence[type[Any]]) -> Iterator[str]:
    """Yield the table of mechanisms and models, and the sentences about pairs that do not fit."""
    reasons = {(mechanism.name, model.name): unsupported(mechanism, model) for mechanism in mechanisms for model in models}
    rows = [
        (f"`{mechanism.name}`", *("" if reasons[mechanism.name, model.name] else "yes" for model in models))
        for mechanism in mechanisms
    ]
    yield table(("", *(f"`{model.name}`" for model in models)), rows)
    pruned: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (name, model), sentence in reasons.items():
        if sentence:
            pruned[name, sentence.partition(": ")[2]].append(model)
    yield "".join(f"- {name} does not fit {', '.join(unfit)}: {markdown(why)}\n" for (name, why), unfit in pruned.items())


def unsupported(mechanism: type[Any], model: type[Any]) -> str | None:
    """Return the sentence of a pruned cell, on a table with three attributes, one of them sensitive."""
    names = ("age", "income", "married")
    geometry = Geometry(names, (), True, "box", model.target, attributes=names, sensitive=("married",))
    reason: str | None = mechanism().unsupported(model(), geometry)
    return reason


def section(mechanism: type[Any]) -> str:
    """Return the section about a mechanism."""
    known = parts(mechanism)
    facts = [(title, markdown(known[name])) for name, title in PARTS.items() if name in known]
    options = [
        (f"`mechanism.{opt.name}`", f"`{default_text(opt)}`", markdown(allowed_text(opt)), opt.help)
        for opt in options_of(mechanism)
    ]
    blocks = [
        f"## {mechanism.name}\n",
        f"{markdown(mechanism.summary())}\n",
        table(("", ""), facts),
        *(f"{markdown(text)}\n" for text in prose(mechanism)),
        table(("option", "default", "accepts", ""), options) if options else "It has no options.\n",
    ]
    return "\n".join(blocks)


def default_text(opt: Option) -> str:
    """Return the default in the syntax of the command line."""
    if opt.default is None or isinstance(opt.default, bool):
        return {None: "null", True: "true", False: "false"}[opt.default]
    if isinstance(opt.default, tuple):
        return str(list(opt.default))
    return f"{opt.default:g}" if isinstance(opt.default, float) else str(opt.default)


def allowed_text(opt: Option) -> str:
    """Return what the option accepts, with its words as code."""
    return re.sub(r"'(\w[\w+]*)'", r"``\1``", opt.allowed)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *([text.replace("|", "\\|") for text in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown(text: str) -> str:
    """Return a docstring's text as Markdown: code in single backticks, all other markup escaped."""
    pieces = text.split("``")
    return "`".join(piece if code % 2 else re.sub(r"([*~]|<(?=\w))", r"\\\1", piece) for code, piece in enumerate(pieces))


if __name__ == "__main__":
    sys.exit(main())
