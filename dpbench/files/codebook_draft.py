"""Drafts of bounds files from the codebook of an extract alone: no row is read, so they are not a leak."""

import json
import re
import textwrap
from collections.abc import Collection, Mapping

from dpbench.base.errors import check_known
from dpbench.files.codebook import Codebook, Variable
from dpbench.files.column_profiles import MAX_DRAFTED_LEVELS

MIN_NUMBERED_SHARE = 0.5
"""A variable is a number if the labels of more than this share of its codes begin with the code itself."""

COMMENT_WIDTH = 128

HEADER = """\
# Drafted from the codebook {label} alone (IPUMS project: {project}). No row was read: what stands here is public.
# Fill in every open bound {{low: , high: }} from what is known without looking at the rows. Values outside are clipped to their
# bounds. `nulls` are the codes that the codebook calls missing: check them. `ignore` leaves a variable out.
target: {target}  # the variable to predict
columns:
"""


def draft_from_codebook(codebook: Codebook, target: str = "") -> str:
    """Return the text of a bounds file, in which the bounds of continuous variables are open."""
    check_known(f"variable in {codebook.label}", [target] if target else [], codebook.variables)
    header = HEADER.format(label=codebook.label, project=codebook.project, target=target)
    return header + "".join(map(_entry, codebook.variables.values()))


def _entry(variable: Variable) -> str:
    """Return the lines of a variable: what the codebook says as a comment, and its declaration below."""
    declaration, labels = _declare(variable)
    words = [variable.label or variable.name]
    if "low: ," in declaration:
        words.append(f"{variable.width} digits{f', {variable.decimals} of them decimals' if variable.decimals else ''}")
    if labels:
        words.append("; ".join(f"{code} {label}" for code, label in labels.items()))
    if variable.missing and not declaration.startswith("ignore"):
        words.append("Missing: " + "; ".join(f"{code} {label}" for code, label in variable.missing.items()))
    comment = textwrap.fill(" ".join(". ".join(words).split()), COMMENT_WIDTH, initial_indent="  # ", subsequent_indent="  #   ")
    return f"{comment}\n  {variable.name}: {declaration}\n"


def _declare(variable: Variable) -> tuple[str, Mapping[str, str]]:
    """Return the drafted declaration of a variable, and the labels that explain it."""
    answers = variable.answers
    if variable.technical:
        return "ignore  # technical: it identifies, dates or weighs rows", {}
    if variable.text and len(answers) < 2:
        return "ignore  # texts without labels", {}
    numbers = {code: label for code, label in answers.items() if not variable.text and _begins_with(label, code)}
    if len(answers) < 2 or len(numbers) > MIN_NUMBERED_SHARE * len(answers):
        return _declare_number(variable, numbers)
    if len(answers) > MAX_DRAFTED_LEVELS:
        return f"ignore  # {len(answers)} labelled codes: too many to be levels", {}
    levels = json.dumps(list(answers), ensure_ascii=False) if variable.text else f"[{', '.join(answers)}]"
    return f"{{levels: {levels}{_nulls(variable.missing)}}}", answers


def _declare_number(variable: Variable, numbers: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    others = {code: label for code, label in variable.answers.items() if code not in numbers}
    low = high = ""
    nulls = list(variable.missing)
    if numbers:
        # a code above all numbers is not one, such as 997 for hours that vary; one below them is, such as 0 for under 1 year
        high = max(numbers, key=float)
        nulls += [code for code in others if float(code) > float(high)]
        low = min((code for code in variable.answers if code not in nulls), key=float)
    kind = "" if variable.decimals else ", kind: integer"
    return f"{{low: {low}, high: {high}{kind}{_nulls(nulls)}}}", others


def _begins_with(label: str, code: str) -> bool:
    number = re.match(r"-?\d+(?:\.\d+)?(?![\w-])", label)
    return number is not None and float(number[0]) == float(code)


def _nulls(codes: Collection[str]) -> str:
    return f", nulls: [{', '.join(codes)}]" if codes else ""
