"""Write docs/mechanisms.md, and the README's table of mechanisms, from the plugins' docstrings and class attributes.

    python scripts/mechanisms_page.py            write them
    python scripts/mechanisms_page.py --check    and fail where they are stale, or a docstring lacks a part

A docstring is its first line, paragraphs that begin with one of the words in PARTS, and any others.
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
OWN = "dp-regression-bench"
PARTS = {
    "Formula": "formula",
    "Guarantee": "guarantee",
    "Public": "taken for public",
    "Cost": "cost",
    "Reference": "reference",
    "Errata": "what the paper got wrong",
}
OPTIONAL = {"Errata"}
BEGIN, END = "<!-- mechanisms: written by scripts/mechanisms_page.py -->", "<!-- end of mechanisms -->"
TOP = """\
# The mechanisms

Written by `python scripts/mechanisms_page.py` from the docstrings of the mechanisms that ship: edit those. `python -m dpbench
plugins` lists yours beside them.

D is the number of coefficients, the intercept's included, n that of training rows. Neighbours are tables of n rows that differ in
one. Every ε is that of a whole fit. Defaults are as published where what was published is private; improvements are options.
"""
SUPPORT = """\
## What fits what

With default options, on a table scaled to the box that declares a sensitive attribute. A pair without `yes` is pruned from a
sweep with the sentence below.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a file is stale")
    check = parser.parse_args().check
    if lacking := list(faults()):
        sys.exit("\n".join(lacking))
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
    """The whole page."""
    mechanisms = shipped("mechanism")
    sections = [TOP, overview(mechanisms), SUPPORT, *support(mechanisms, shipped("model")), *map(section, mechanisms)]
    return "\n".join(sections)


def readme(text: str) -> str:
    """The README with the table between its markers written anew."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"README.md needs the lines {BEGIN!r} and {END!r}.")
    return f"{before}{BEGIN}\n\n{overview(shipped('mechanism'), 'docs/mechanisms.md')}\n{END}{after}"


def faults() -> Iterator[str]:
    """A sentence for every part that a docstring lacks."""
    for mechanism in shipped("mechanism"):
        for part in PARTS.keys() - OPTIONAL - parts(mechanism).keys():
            yield f"The docstring of {mechanism.name} has no paragraph that begins with '{part}:'."


def shipped(kind: str) -> list[type[Any]]:
    """The components of this distribution, by name."""
    return [entry.offer for entry in registry().entries if entry.kind == kind and entry.distribution == OWN and entry.offer]


def paragraphs(mechanism: type[Any]) -> list[str]:
    return [" ".join(text.split()) for text in (inspect.getdoc(mechanism) or "").split("\n\n")]


def parts(mechanism: type[Any]) -> dict[str, str]:
    """The paragraphs that begin with a part's name, without it."""
    found = [text.partition(": ") for text in paragraphs(mechanism)]
    return {name: text for name, _, text in found if name in PARTS}


def prose(mechanism: type[Any]) -> list[str]:
    """The other paragraphs, but for the first line."""
    return [text for text in paragraphs(mechanism)[1:] if text.partition(": ")[0] not in PARTS]


def overview(mechanisms: Iterable[type[Any]], where: str = "") -> str:
    rows = [
        (f"[`{one.name}`]({where}#{one.name})", markdown(one.summary().rstrip(".")), one.guarantee, paper(one))
        for one in mechanisms
    ]
    return table(("mechanism", "what it does", "guarantee", "paper"), rows)


def paper(mechanism: type[Any]) -> str:
    """Authors and year: a reference up to its first comma."""
    return re.split(r"[,;]", parts(mechanism)["Reference"])[0].removeprefix("after ")


def support(mechanisms: Sequence[type[Any]], models: Sequence[type[Any]]) -> Iterator[str]:
    """Mechanism × model, and the sentences of the pairs that make no sense."""
    reasons = {(one.name, model.name): unsupported(one, model) for one in mechanisms for model in models}
    rows = [(f"`{one.name}`", *("" if reasons[one.name, model.name] else "yes" for model in models)) for one in mechanisms]
    yield table(("", *(f"`{model.name}`" for model in models)), rows)
    pruned: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (one, model), sentence in reasons.items():
        if sentence:
            pruned[one, sentence.partition(": ")[2]].append(model)
    yield "".join(f"- {one} does not fit {', '.join(names)}: {markdown(why)}\n" for (one, why), names in pruned.items())


def unsupported(mechanism: type[Any], model: type[Any]) -> str | None:
    """What a pruned cell says, on a table of three attributes of which one is sensitive."""
    names = ("age", "income", "married")
    geometry = Geometry(names, (), True, "box", model.target, attributes=names, sensitive=("married",))
    reason: str | None = mechanism().unsupported(model(), geometry)
    return reason


def section(mechanism: type[Any]) -> str:
    known = parts(mechanism)
    facts = [(title, markdown(known[name])) for name, title in PARTS.items() if name in known]
    options = [(f"`mechanism.{opt.name}`", f"`{shown(opt)}`", markdown(allowed(opt)), opt.help) for opt in options_of(mechanism)]
    blocks = [
        f"## {mechanism.name}\n",
        f"{markdown(mechanism.summary())}\n",
        table(("", ""), facts),
        *(f"{markdown(text)}\n" for text in prose(mechanism)),
        table(("option", "default", "accepts", ""), options) if options else "It has no options.\n",
    ]
    return "\n".join(blocks)


def shown(opt: Option) -> str:
    """A default in the grammar of the command line."""
    if opt.default is None or isinstance(opt.default, bool):
        return {None: "null", True: "true", False: "false"}[opt.default]
    if isinstance(opt.default, tuple):
        return str(list(opt.default))
    return f"{opt.default:g}" if isinstance(opt.default, float) else str(opt.default)


def allowed(opt: Option) -> str:
    return re.sub(r"'(\w[\w+]*)'", r"``\1``", opt.allowed)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown(text: str) -> str:
    """A docstring's text as Markdown: code in single backticks, and nothing else that means something."""
    pieces = text.split("``")
    return "`".join(piece if code % 2 else re.sub(r"([*~]|<(?=\w))", r"\\\1", piece) for code, piece in enumerate(pieces))


if __name__ == "__main__":
    sys.exit(main())
